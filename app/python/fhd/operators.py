"""F, F S and their normal operators, for reconstructions of your own.

    (F rho)(m) = sum over p of rho(p) exp(-i 2 pi k_m . r_p),    r_p = (n - N // 2) / N per axis

k in cycles per field of view. No hidden scale: `A.H` is the exact conjugate transpose, of `NUFFT` to its accuracy.
Arrays of numpy, CuPy and torch are read and written where they lie; the result is of the same library, device and
precision. Leading axes are batches. With torch, results are differentiable with respect to the image, the samples, and the
trajectory or the phases (coefficients and basis of `Encoding`).
"""

from __future__ import annotations

import math
import warnings
from functools import partial
from typing import Any, Optional, Sequence, TypeVar, Union, overload

import numpy as np
from numpy.typing import NDArray

from fhd import _native
from fhd._native import Error
from fhd.arrays import complex_array, complex_to_numpy, empty, library, wait_for
from fhd.given_arrays import lengths_of, positions_of, real_of_shape, real_to_numpy, scale_of, shape_of, text_of, weights_of


#: an array of CuPy or torch
Other = TypeVar("Other")


def requires_grad(value: Any) -> bool:
    return library(value) == "torch" and bool(value.requires_grad)


class _Map:
    """What `@` and a call do."""

    def _product(self, values: Any) -> Any:
        raise NotImplementedError

    def parameters(self) -> Sequence[Any]:
        """Return what the map is made of; torch tensors among these that require a gradient get one."""
        return ()

    @overload
    def __matmul__(self, values: NDArray[Any]) -> NDArray[np.complexfloating[Any, Any]]: ...

    @overload
    def __matmul__(self, values: Other) -> Other: ...

    def __matmul__(self, values: Any) -> Any:
        return self._product(values)

    __call__ = __matmul__


class Operator(_Map):
    """A linear map of images to samples: `A @ image`, `A.H @ samples`, `A.normal @ image`.

    shape: of an image. sample_shape: of its samples. Both without the leading axes of a batch.
    """

    shape: tuple[int, ...]
    sample_shape: tuple[int, ...]
    #: of fhd._native, with apply(images, samples, is_adjoint)
    _native: Any
    _normal: Union[Toeplitz, _Explicit, None] = None

    def gradient(self, number: int, image: Any, samples: Any) -> Any:
        """Return the derivative of Re<samples, A image> with respect to the parameter of this number."""
        raise NotImplementedError

    def _learns(self) -> bool:
        return any(requires_grad(parameter) for parameter in self.parameters())

    def values(self, values: Any, is_adjoint: bool = False) -> Any:
        """Return A image, or A^H samples, without a record for gradients."""
        given, made = (self.sample_shape, self.shape) if is_adjoint else (self.shape, self.sample_shape)
        values, batch = _batched(values, given, "samples" if is_adjoint else "image")
        result = empty(values, batch + made)
        if math.prod(batch) > 0:
            images, samples = (result, values) if is_adjoint else (values, result)
            wait_for(images)
            self._native.apply(images, samples, is_adjoint)
        return result

    def apply(self, values: Any, is_adjoint: bool = False) -> Any:
        """Return the same, differentiable in torch."""
        if requires_grad(values) or self._learns():
            from fhd import autograd

            return autograd.apply(self, values, is_adjoint)
        return self.values(values, is_adjoint)

    def _product(self, values: Any) -> Any:
        return self.apply(values)

    def _toeplitz(self) -> Union[Toeplitz, _Explicit]:
        raise NotImplementedError

    def _kind(self) -> str:
        """How its sums are made."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return (
            f"<fhd.{type(self).__name__}: images {list(self.shape)} -> samples {list(self.sample_shape)}, {self._kind()}; "
            f"{_precision_and_device}>"
        )

    @property
    def H(self) -> Adjoint:
        """The adjoint: `A.H @ samples`."""
        return Adjoint(self)

    @property
    def normal(self) -> Union[Toeplitz, _Explicit]:
        """A^H A, by its point spread (Toeplitz) where the trajectory needs no gradient; kept once it is made."""
        if self._learns():
            return _Explicit(self)
        if self._normal is None:
            self._normal = self._toeplitz()
        return self._normal

    def as_scipy(self, dtype: Any = np.complex128) -> Any:
        """Return a scipy.sparse.linalg.LinearOperator between flat vectors of `dtype`."""
        from scipy.sparse.linalg import LinearOperator

        size, samples = math.prod(self.shape), math.prod(self.sample_shape)
        return LinearOperator(
            (samples, size),
            matvec=lambda x: self.values(np.asarray(x, dtype=dtype).reshape(self.shape)).ravel(),
            rmatvec=lambda y: self.values(np.asarray(y, dtype=dtype).reshape(self.sample_shape), True).ravel(),
            dtype=dtype,
        )

    def as_sigpy(self) -> Any:
        """Return a sigpy.linop.Linop of one image (numpy or CuPy)."""
        from fhd import sigpy_view

        return sigpy_view.linop_of(self)


class Adjoint(_Map):
    """A^H of an operator A."""

    def __init__(self, operator: Operator):
        self.H = operator

    def _product(self, values: Any) -> Any:
        return self.H.apply(values, is_adjoint=True)

    def __repr__(self) -> str:
        return f"<the adjoint of {self.H!r}>"


class _Explicit(_Map):
    """A^H A, both carried out: where there is no point spread, or the trajectory needs a gradient."""

    def __init__(self, operator: Operator):
        self._operator = operator

    def _product(self, values: Any) -> Any:
        return self._operator.H @ (self._operator @ values)

    def __repr__(self) -> str:
        return f"<A^H A of {self._operator!r}>"


class _AtPositions(Operator):
    """An operator of a trajectory in cycles per field of view."""

    @property
    def trajectory(self) -> Any:
        raise NotImplementedError

    def parameters(self) -> Sequence[Any]:
        return (self.trajectory,)

    def gradient(self, number: int, image: Any, samples: Any) -> Any:
        from fhd import autograd

        return autograd.gradient_of_positions(self, image, samples)

    def positions(self, like: Any) -> list[Any]:
        """Return the positions of the voxels in fractions of the field of view: for each column of the trajectory
        an array, of the library, precision and device of the complex array `like`, that multiplies an image."""
        positions: list[Any] = []
        for column in range(len(self.shape)):
            axis = len(self.shape) - 1 - column
            count = self.shape[axis]
            places = (np.arange(count) - count // 2) / count
            places = places.reshape([-1 if i == axis else 1 for i in range(len(self.shape))])
            if library(like) == "torch":
                import torch

                positions.append(torch.as_tensor(places, device=like.device).to(like.real.dtype))
            else:
                positions.append(places.astype(like.real.dtype))
        return positions


class _Transform(_AtPositions):
    def __init__(
        self, trajectory: Any, shape: Union[int, Sequence[int]], accuracy: Optional[float], unit: Optional[str], fov_mm: Any
    ):
        positions, self.shape = positions_of(trajectory, shape)
        scale = _scale_of(positions, self.shape, lengths_of(fov_mm, len(self.shape)), unit)
        is_scaled = not (scale == 1).all()
        positions = positions * scale if is_scaled else positions
        self._scale = scale if is_scaled and requires_grad(trajectory) else None
        self._positions = positions if is_scaled and self._scale is None else trajectory
        self.sample_shape = positions.shape[:-1]
        self._native: _native.Transform = _native.Transform(padded_trajectory(positions), matrix_size(self.shape), accuracy)

    @property
    def trajectory(self) -> Any:
        """The positions in cycles per field of view. A tensor with a gradient is scaled at each use: torch walks back once."""
        return self._positions if self._scale is None else self._positions * self._positions.new_tensor(self._scale)

    def _toeplitz(self) -> Toeplitz:
        return Toeplitz(self)

    def accuracy(self, dtype: Any = np.complex64, device: Optional[int] = None) -> float:
        """Relative l2 error that is promised, of that precision, on the CPU or the GPU of that number."""
        return self._native.accuracy(np.dtype(dtype) == np.complex128, -1 if device is None else device)

    def density_weights(self) -> NDArray[np.float64]:
        """Density compensation by the fixed-point iteration of Pipe and Menon, [sample]: A.H @ (w * samples) has the
        intensity of the image."""
        weights: NDArray[np.float64] = self._native.density_weights().reshape(self.sample_shape)
        return weights


class NDFT(_Transform):
    """The exact sum over every pair of voxel and sample.

    trajectory: [sample][axis], columns x, y, z, in cycles per field of view, at most half the matrix. Further leading
        axes, such as [readout][sample][axis], are those of the samples.
    shape: of the image, [y][x] or [z][y][x]; N: that along every axis.
    trajectory_unit, fov_mm: as those of fhd.Scan. A trajectory that fills k-space in another unit is a warning.
    """

    def __init__(
        self, trajectory: Any, shape: Union[int, Sequence[int]], *, trajectory_unit: Optional[str] = None, fov_mm: Any = ()
    ):
        super().__init__(trajectory, shape, None, trajectory_unit, fov_mm)

    def __reduce__(self) -> Any:
        return partial(NDFT, trajectory_unit="cycles/FOV"), (self.trajectory, self.shape)

    def _kind(self) -> str:
        return "exact sums"


class NUFFT(_Transform):
    """The same sum by gridding and an FFT, to a relative l2 error of `accuracy`: 1e-1 ... 1e-6 in single precision,
    ... 1e-12 in double."""

    def __init__(
        self,
        trajectory: Any,
        shape: Union[int, Sequence[int]],
        accuracy: float = 1e-5,
        *,
        trajectory_unit: Optional[str] = None,
        fov_mm: Any = (),
    ):
        super().__init__(trajectory, shape, accuracy, trajectory_unit, fov_mm)
        self._accuracy = accuracy

    def __reduce__(self) -> Any:
        return partial(NUFFT, trajectory_unit="cycles/FOV"), (self.trajectory, self.shape, self._accuracy)

    def _kind(self) -> str:
        return f"gridded to {self._accuracy:g}"


class Sense(_AtPositions):
    """E = F S: an image seen by every coil, then transformed.

    transform: an NDFT or NUFFT. maps: sensitivities, [coil] and the shape of the image. Samples are [coil][sample].
    """

    def __init__(self, transform: _Transform, maps: Any):
        self.transform = _transform_of(transform)
        self.shape = transform.shape
        self._maps = _maps_of(maps, self.shape)
        self.sample_shape = (self._maps.shape[0], *transform.sample_shape)
        self._native = _native.Sense(transform._native, self._maps)

    @property
    def trajectory(self) -> Any:
        return self.transform.trajectory

    def __reduce__(self) -> Any:
        return Sense, (self.transform, self._maps.reshape(-1, *self.shape))

    def _toeplitz(self) -> Toeplitz:
        return Toeplitz(self.transform, self._maps.reshape(-1, *self.shape))

    def _kind(self) -> str:
        return f"{len(self._maps)} coils, {self.transform._kind()}"


class Encoding(Operator):
    """The full signal equation, with phases of any form, decay and coils, as exact sums:

        d_c(m) = sum over p of S_c(p) rho(p) exp(-i sum over l of kappa_l(m) b_l(p)) D(p, t_m)

    coefficients: kappa, [term] and the axes of the samples. basis: b, [term] and the shape of the image; the product of
        both is in radians. k . r is three terms (2 pi k and r), off-resonance one (sample times and the map in rad/s).
    shape: of the image, [y][x] or [z][y][x]. maps: sensitivities, [coil] and that shape; samples are then [coil]....
    decay_per_s: R = 1/T2*, of that shape, with the sample times t in s: D = exp(-R t). Of two components, as of sodium:
        second_decay_per_s, R', and fraction of the first, f in 0 ... 1, of that shape: D = f exp(-R t) + (1 - f) exp(-R' t).
    """

    def __init__(
        self,
        coefficients: Any,
        basis: Any,
        shape: Union[int, Sequence[int]],
        maps: Any = None,
        *,
        decay_per_s: Any = None,
        sample_time_s: Any = None,
        second_decay_per_s: Any = None,
        fraction: Any = None,
    ):
        kappa, b = real_to_numpy(coefficients, "coefficients"), real_to_numpy(basis, "basis")
        self.shape = shape_of(shape, b.ndim - 1)
        if kappa.ndim < 2 or kappa.size == 0:
            raise Error(f"coefficients: expected [term][sample] with at least one of each, found {text_of(kappa.shape)}")
        terms, samples = kappa.shape[0], kappa.shape[1:]
        if b.shape != (terms, *self.shape):
            remedy = "; give basis.reshape(-1, *shape)" if b.size == terms * math.prod(self.shape) else ""
            raise Error(
                f"basis: expected {text_of((terms, *self.shape))}, the terms of coefficients and the shape of the image, "
                f"found {text_of(b.shape)}{remedy}"
            )
        if (decay_per_s is None) != (sample_time_s is None):
            raise Error("decay_per_s: expected together with sample_time_s, found one of them")
        if (second_decay_per_s is None) != (fraction is None):
            raise Error("second_decay_per_s: expected together with fraction, found one of them")
        if fraction is not None and decay_per_s is None:
            raise Error("second_decay_per_s: expected together with decay_per_s, found without")
        of_voxels = {"decay_per_s": decay_per_s, "second_decay_per_s": second_decay_per_s, "fraction": fraction}
        decay, second, first_share = (
            None if values is None else real_of_shape(values, self.shape, name, "the shape of the image", np.float64).reshape(-1)
            for name, values in of_voxels.items()
        )
        times = None
        if decay_per_s is not None:
            times = real_of_shape(sample_time_s, samples, "sample_time_s", "a time for each sample", np.float64).reshape(-1)
        self._arguments = (coefficients, basis, self.shape, maps, decay_per_s, sample_time_s, second_decay_per_s, fraction)
        self._terms, self._coils, self.sample_shape = terms, 0, samples
        self._native: Any = _native.Transform(
            kappa.reshape(terms, -1), b.reshape(terms, -1), decay, times, second, first_share, matrix_size(self.shape)
        )
        if maps is not None:
            values = _maps_of(maps, self.shape)
            self._native, self._coils = _native.Sense(self._native, values), len(values)
            self.sample_shape = (self._coils, *samples)

    def parameters(self) -> Sequence[Any]:
        return self._arguments[:2]

    def gradient(self, number: int, image: Any, samples: Any) -> Any:
        from fhd import autograd

        coefficients, basis = self._arguments[:2]
        if number == 0:
            return autograd.gradient_of_coefficients(self, basis, image, samples)
        return autograd.gradient_of_basis(self, coefficients, image, samples)

    def __reduce__(self) -> Any:
        names = ("decay_per_s", "sample_time_s", "second_decay_per_s", "fraction")
        return partial(Encoding, **dict(zip(names, self._arguments[4:]))), self._arguments[:4]

    def _toeplitz(self) -> _Explicit:
        return _Explicit(self)

    def _kind(self) -> str:
        coils = f"{self._coils} coils, " if self._coils else ""
        decay = "" if self._arguments[4] is None else " and decay"
        return f"{coils}exact sums of {self._terms} terms{decay}"


class Toeplitz(_Map):
    """sum over coils of conj(S_c) F^H W F S_c, by its point spread: two FFTs of twice the size, whatever the number of
    samples.

    transform: whose F. maps: [coil] and the shape of the image; None: one coil of ones. weights: [sample], of W; None: 1.
    """

    def __init__(self, transform: _Transform, maps: Any = None, weights: Any = None):
        self.shape = _transform_of(transform).shape
        self._arguments = (transform, maps, weights)
        self._native = _native.Normal(
            transform._native,
            None if maps is None else _maps_of(maps, self.shape),
            None if weights is None else weights_of(weights, transform.sample_shape),
        )

    def __reduce__(self) -> Any:
        return Toeplitz, self._arguments

    def __repr__(self) -> str:
        transform, maps, weights = self._arguments
        coils = "" if maps is None else f"{len(maps)} coils, "
        weighted = "" if weights is None else "weighted, "
        return (
            f"<fhd.Toeplitz: images {list(self.shape)}, {coils}{math.prod(transform.sample_shape)} samples, {weighted}"
            f"{transform._kind()}; {_precision_and_device}>"
        )

    @property
    def H(self) -> Toeplitz:
        return self

    def values(self, image: Any, is_adjoint: bool = False) -> Any:
        """Return the product with an image, without a record for gradients; it is its own adjoint."""
        image, _ = _batched(image, self.shape, "image")
        result = empty(image, tuple(image.shape))
        if math.prod(image.shape) > 0:
            wait_for(image)
            self._native.apply(image, result)
        return result

    def _product(self, values: Any) -> Any:
        if requires_grad(values):
            from fhd import autograd

            return autograd.apply(self, values, False)
        return self.values(values)


_precision_and_device = "complex64 or complex128 as the arrays, on their device: CPU" + (
    " or CUDA" if _native.built_with_cuda else " (built without CUDA)"
)


def _scale_of(
    positions: NDArray[Any], shape: tuple[int, ...], fov_mm: list[float], unit: Optional[str]
) -> NDArray[Any]:
    """Return the factors of the unit; an operator may be asked for any positions within k-space, so that a doubt about a unit
    that is not stated is a warning."""
    try:
        return scale_of(positions, shape, fov_mm, unit)[0]
    except Error as error:
        if unit is not None:
            raise
        scale = scale_of(positions, shape, fov_mm, "cycles/FOV")[0]
        warnings.warn(str(error), stacklevel=4)
        return scale


def matrix_size(shape: Sequence[int]) -> list[int]:
    """[x, y, z] of a shape [y][x] or [z][y][x]."""
    return ([int(n) for n in reversed(shape)] + [1, 1])[:3]


def padded_trajectory(positions: NDArray[np.float64]) -> NDArray[np.float64]:
    """[3][sample] of [...][axis] with fewer axes."""
    rows = np.zeros((3, math.prod(positions.shape[:-1])))
    rows[: positions.shape[-1]] = positions.reshape(-1, positions.shape[-1]).T
    return rows


def _transform_of(transform: Any) -> _Transform:
    if not isinstance(transform, _Transform):
        raise Error(f"transform: expected an fhd.NDFT or fhd.NUFFT, found {type(transform).__name__}; maps come behind it")
    return transform


def _maps_of(maps: Any, shape: tuple[int, ...]) -> NDArray[np.complex128]:
    values: NDArray[np.complex128] = complex_to_numpy(maps, "maps").astype(np.complex128)
    if values.shape[1:] != shape:
        raise Error(f"maps: expected [coil] and the shape {list(shape)} of the image, found {list(values.shape)}")
    return values.reshape(values.shape[0], *([1, 1, *shape][-3:]))


def _batched(array: Any, shape: tuple[int, ...], name: str) -> tuple[Any, tuple[int, ...]]:
    """Contiguous and complex, and its leading axes."""
    array = complex_array(array, name)
    leading = len(array.shape) - len(shape)
    if leading < 0 or tuple(array.shape[leading:]) != shape:
        raise Error(f"{name}: expected {list(shape)}, with any leading axes, found {list(array.shape)}")
    return array, tuple(array.shape[:leading])
