"""fhd as a backend of mri-nufft: after `import fhd.mri_nufft`, `mrinufft.get_operator("fhd")` grids, to an accuracy that
it is told, and `get_operator("fhd-exact")` is the exact sum, of every pair of voxel and sample.

mri-nufft counts axes of a trajectory as those of the image, in radians per voxel or cycles per voxel, and scales both F
and its adjoint by 1 / sqrt(2^d N), N voxels along d axes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from mrinufft._array_compat import _array_to_numpy
from mrinufft._utils import proper_trajectory
from mrinufft.operators.base import FourierOperatorCPU, _ToggleGradPlanMixin

from fhd.operators import NDFT, NUFFT


class _Plan:
    """The interface that mri-nufft asks of a transform, without its scale: arrays [batch][sample] and [batch] and shape."""

    def __init__(self, samples: np.ndarray, shape: tuple[int, ...], make: Any):
        self._make, self._shape = make, shape
        self._is_conjugate = False
        self.set_samples(samples)

    def set_samples(self, samples: np.ndarray) -> None:
        cycles = samples.astype(np.float64) / (2 * math.pi) * self._shape
        self.transform = self._make(cycles[:, ::-1], self._shape)

    def op(self, coeffs: np.ndarray, image: np.ndarray) -> np.ndarray:
        return self._applied(self.transform, image.reshape(-1, *self._shape), coeffs)

    def adj_op(self, coeffs: np.ndarray, image: np.ndarray) -> np.ndarray:
        return self._applied(self.transform.H, coeffs.reshape(-1, coeffs.shape[-1]), image)

    def _applied(self, operator: Any, values: np.ndarray, result: np.ndarray) -> np.ndarray:
        made = (operator @ values.conj()).conj() if self._is_conjugate else operator @ values
        np.copyto(result, made.reshape(result.shape))
        return result

    def toggle_grad_traj(self) -> None:
        """The sum with exp(+i 2 pi k r), of which mri-nufft makes gradients of positions."""
        self._is_conjugate = not self._is_conjugate


class MRIfhd(FourierOperatorCPU, _ToggleGradPlanMixin):
    """Transforms by gridding, to `accuracy` (relative l2 error, 1e-6 unless it is given); parameters as those of the
    other backends of mri-nufft."""

    backend = "fhd"
    available = True
    autograd_available = True

    def __init__(
        self,
        samples: Any,
        shape: Any,
        density: Any = False,
        n_coils: int = 1,
        n_batchs: int = 1,
        n_trans: int = 1,
        smaps: Any = None,
        squeeze_dims: bool = True,
        **options: Any,
    ):
        samples = _array_to_numpy(proper_trajectory(samples, normalize="pi"))
        super().__init__(
            samples,
            shape,
            density,
            n_coils=n_coils,
            n_batchs=n_batchs,
            n_trans=n_trans,
            smaps=smaps,
            raw_op=_Plan(samples, tuple(shape), lambda k, n: self.make_transform(k, n, **options)),
            squeeze_dims=squeeze_dims,
        )

    @staticmethod
    def make_transform(trajectory: np.ndarray, shape: tuple[int, ...], accuracy: float = 1e-6) -> Any:
        return NUFFT(trajectory, shape, accuracy, trajectory_unit="cycles/FOV")

    def update_samples(self, new_samples: Any, unsafe: bool = False) -> None:
        if not unsafe:
            new_samples = _array_to_numpy(proper_trajectory(new_samples, normalize="pi"))
        self._samples = new_samples
        self.raw_op.set_samples(new_samples)
        self.compute_density(self._density_method)

    def _make_plan_grad(self, **_: Any) -> None:
        pass  # one plan serves both signs

    @classmethod
    def pipe(
        cls, kspace_loc: Any, volume_shape: Any, max_iter: int = 10, osf: float = 2, normalize: bool = True, **_: Any
    ) -> np.ndarray:
        """Density compensation by the fixed-point iteration of Pipe and Menon, by fhd's kernel and number of steps:
        max_iter and osf are not used."""
        shape = tuple(volume_shape)
        samples = _array_to_numpy(proper_trajectory(kspace_loc, normalize="pi"))
        weights = _Plan(samples, shape, MRIfhdExact.make_transform).transform.density_weights().astype(samples.dtype)
        if normalize:
            operator = cls(samples, shape)
            image = np.ones(shape, dtype=operator.cpx_dtype)
            weights /= np.mean(np.abs(operator.adj_op(weights * operator.op(image))))
        return weights


class MRIfhdExact(MRIfhd):
    """The exact sum: an oracle, and as fast as gridding where there are few samples or voxels."""

    backend = "fhd-exact"

    @staticmethod
    def make_transform(trajectory: np.ndarray, shape: tuple[int, ...]) -> Any:
        return NDFT(trajectory, shape, trajectory_unit="cycles/FOV")
