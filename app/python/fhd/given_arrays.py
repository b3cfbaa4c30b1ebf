"""The arrays of a scan as users give them: their types, shapes and units. What is wrong is one sentence, which names the
keyword and the way out."""

from __future__ import annotations

import math
import operator
from typing import Any, Optional, Sequence

import numpy as np
from numpy.typing import NDArray

from fhd import _native
from fhd._native import Error
from fhd.arrays import complex_to_numpy, library, to_numpy


def text_of(shape: Sequence[int]) -> str:
    """ "[4][64][64]" """
    return "".join(f"[{n}]" for n in shape) or "a single value"


def _array_of(array: Any, name: str) -> tuple[Any, str]:
    """Return an array, and the name of its type: "complex64"."""
    if isinstance(array, (str, bytes)) or hasattr(array, "__fspath__"):
        raise Error(
            f"{name}: expected an array, found the text {str(array)!r}; fhd.recon(path) and fhd.read(path) take files"
        )
    if library(array) == "numpy":
        try:
            array = np.asarray(array)
        except ValueError:
            raise Error(f"{name}: expected an array of numbers, found rows of different lengths") from None
    return array, str(array.dtype).rpartition(".")[2]


def real_to_numpy(array: Any, name: str) -> NDArray[Any]:
    """Return an array of finite real numbers as float64. Whole numbers are taken: float64 holds them exactly."""
    array, kind = _array_of(array, name)
    if kind.startswith("complex"):
        raise Error(
            f"{name}: expected real numbers, found {kind}; real and imaginary parts are axes of their own: "
            f"np.stack([{name}.real, {name}.imag], -1)"
        )
    if not kind.startswith(("float", "int", "uint", "bfloat")):
        raise Error(f"{name}: expected an array of numbers, found {getattr(array.dtype, 'type', array.dtype).__name__}")
    values = to_numpy(array, np.float64)
    require_finite(values, name)
    return values


def complex_of(array: Any, name: str) -> NDArray[Any]:
    """Return an array of finite complex numbers as complex64 or complex128. Real arrays are an Error: k-space is complex."""
    array, kind = _array_of(array, name)
    if not kind.startswith("complex"):
        raise Error(
            f"{name}: expected complex64 or complex128, found {kind}; real and imaginary parts in a last axis are "
            f"{name}[..., 0] + 1j * {name}[..., 1], and values that are real indeed {name} + 0j"
        )
    values = complex_to_numpy(array, name)
    require_finite(values, name)
    return values


def require_finite(values: NDArray[Any], name: str) -> None:
    """Raise Error where a value is NaN or infinite; their sum is then, too."""
    with np.errstate(all="ignore"):
        if np.isfinite(values.sum(dtype=np.complex128 if np.iscomplexobj(values) else np.float64)):
            return
    count = values.size - int(np.count_nonzero(np.isfinite(values)))
    if count > 0:
        raise Error(
            f"{name}: expected finite numbers, found NaN or infinity in {count} of {values.size} values; "
            "leave out these samples, or find what made them"
        )


def shape_of(shape: Any, axes: int) -> tuple[int, ...]:
    """Return the shape of an image with so many axes: a whole number N is (N, N) or (N, N, N)."""
    try:
        sizes = tuple(operator.index(n) for n in (shape if np.iterable(shape) else (shape,) * axes))
    except TypeError:
        raise Error(
            f"shape: expected whole numbers of voxels, [y][x] or [z][y][x], found {shape!r}; give shape=(128, 128) or shape=128"
        ) from None
    if not sizes or min(sizes) < 1:
        raise Error(f"shape: expected sizes >= 1 along [y][x] or [z][y][x], found {list(sizes)}")
    return sizes


def positions_of(trajectory: Any, shape: Any) -> tuple[NDArray[Any], tuple[int, ...]]:
    """Return the positions [sample]...[axis] as float64, and the shape of the image that they have the axes of."""
    positions = real_to_numpy(trajectory, "trajectory")
    found = text_of(positions.shape)
    if positions.ndim < 2:
        raise Error(
            f"trajectory: expected [sample][axis] with the columns x, y (and z), found {found}; np.stack([kx, ky], -1)"
        )
    if positions.size == 0:
        raise Error(f"trajectory: expected at least one sample [sample][axis], found {found}")
    last, first = positions.shape[-1], positions.shape[0]
    of_image = shape_of(shape, last if last in (1, 2, 3) else first if first in (2, 3) else 2)
    if len(of_image) > 3:
        raise Error(
            f"shape: expected [y][x] or [z][y][x], found {list(of_image)}; slices and repetitions are axes of kspace"
        )
    if last == len(of_image):
        return positions, of_image
    remedy = "; further axes stand in front of that of x, y, z"
    if first == len(of_image):
        remedy = "; give trajectory.T" if positions.ndim == 2 else "; give np.moveaxis(trajectory, 0, -1)"
    elif last == 3 and len(of_image) == 2:
        remedy = "; give trajectory[..., :2] for a slice, or shape=(z, y, x)"
    elif last == 2 and len(of_image) == 3:
        remedy = "; give shape=(y, x) for a slice, or a third column"
    as_shape = f", as the shape {list(of_image)} has" if np.iterable(shape) else ""
    raise Error(f"trajectory: expected [sample][axis] with {len(of_image)} axes{as_shape}, found {found}{remedy}")


def lengths_of(fov_mm: Any, axes: int) -> list[float]:
    """Return the field of view along x, y, z in mm: 0 where not known; a number is that of every axis of the image."""
    if isinstance(fov_mm, (int, float, np.number)) and not isinstance(fov_mm, bool):
        fov_mm = (fov_mm,) * axes
    lengths = three_of(fov_mm, "fov_mm")
    if not all(0 <= length < math.inf for length in lengths):
        raise Error(f"fov_mm: expected lengths in mm, found {fov_mm!r}; give fov_mm=(220, 220, 5), 0 where not known")
    return lengths


def three_of(values: Any, name: str) -> list[float]:
    """Return up to three numbers along x, y, z, and zeros for those that are left out."""
    try:
        if isinstance(values, str):
            raise TypeError
        numbers = [float(value) for value in values]
    except (TypeError, ValueError):
        raise Error(f"{name}: expected numbers along x, y (and z), found {values!r}; give {name}=(X, Y, Z)") from None
    if len(numbers) > 3:
        raise Error(f"{name}: expected at most 3 numbers, along x, y, z, found {len(numbers)}")
    return (numbers + [0.0, 0.0, 0.0])[:3]


def scale_of(
    positions: NDArray[Any], shape: Sequence[int], fov_mm: Sequence[float], unit: Optional[str]
) -> tuple[NDArray[Any], str]:
    """Return the factors [axis] that turn positions in `unit` into cycles per field of view, and a sentence on the unit.

    None is cycles per field of view, unless positions fill k-space in another unit, which is an Error; "auto" is inferred.
    """
    axes = len(shape)
    if unit is not None and not isinstance(unit, str):
        raise Error(
            f'trajectory_unit: expected a text, found {unit!r}; give trajectory_unit="radians/voxel" or another unit'
        )
    lowest, highest = positions.reshape(-1, axes).min(axis=0), positions.reshape(-1, axes).max(axis=0)
    largest = np.maximum(-lowest, highest)
    matrix = [*reversed(shape), 1, 1][:3]
    halves = [n // 2 for n in matrix[:axes]]
    if unit is None and (lowest >= 0).all() and all(half < k <= 2 * half for half, k in zip(halves, highest)):
        raise Error(
            f"trajectory: expected positions about 0, |k| <= N / 2, found {lowest.min():.4g} ... {highest.max():.4g}; "
            f"give trajectory - {halves}"
        )
    scale, sentence = _native.scale_of_unit(unit or "", [*largest, 0.0, 0.0][:3], matrix, list(fov_mm))
    return np.array(scale[:axes]), sentence


def weights_of(weights: Any, sample_shape: tuple[int, ...]) -> NDArray[Any]:
    """Return weights of samples, flat."""
    values = real_to_numpy(weights, "weights")
    if values.size != math.prod(sample_shape):
        raise Error(f"weights: expected {text_of(sample_shape)}, a weight for each sample, found {text_of(values.shape)}")
    return values.reshape(-1)


def kspace_of(kspace: Any, sample_shape: tuple[int, ...], shape: tuple[int, ...]) -> tuple[NDArray[Any], int]:
    """Return k-space [coil]... with the axes of the samples behind, and how many axes, 0 to 2, stand in front of the coil.
    K-space with the axes of the samples alone is that of one coil."""
    values = complex_of(kspace, "kspace")
    if values.shape == sample_shape:
        values = values[None]
    leading = values.ndim - len(sample_shape) - 1
    if leading in (0, 1, 2) and values.shape[leading + 1 :] == sample_shape and values.size > 0:
        return values, leading
    raise Error(
        f"kspace: expected [coil]{text_of(sample_shape)}, as the trajectory has samples, or [repetition] or "
        f"[repetition][slice] in front, found {text_of(values.shape)}{_remedy_of(values.shape, sample_shape, shape)}"
    )


def require_order(values: NDArray[Any], leading: int, positions: NDArray[Any]) -> None:
    """Raise Error where axes of one length are exchanged: the energy of k-space lies about its centre only if they change
    places. values: those of kspace_of."""
    first = values.reshape(-1, *values.shape[leading:])[0]
    pairs = [(a, b) for a in range(first.ndim) for b in range(a) if first.shape[a] == first.shape[b] > 2]
    if not pairs:
        return
    with np.errstate(all="ignore"):
        energy = first.real**2 + first.imag**2
        distance = ((positions / abs(positions).max()) ** 2).sum(axis=-1)
        mean = {pair: float((energy.swapaxes(*pair) * distance).sum()) for pair in [(0, 0), *pairs]}
    a, b = min(pairs, key=lambda pair: mean[pair])
    if 4 * mean[a, b] < mean[0, 0]:
        call = "kspace.T" if values.ndim == 2 else f"np.swapaxes(kspace, {a - first.ndim}, {b - first.ndim})"
        raise Error(
            f"kspace: expected most of the signal about the centre of k-space, where it is if two axes of {first.shape[a]} are "
            f"exchanged; give {call}, or one axis of samples if the order is right"
        )


def _remedy_of(found: tuple[int, ...], samples: tuple[int, ...], shape: tuple[int, ...]) -> str:
    """The way from k-space of that shape to one with those samples, where it is known."""
    if found == samples[::-1]:
        return "; give kspace.T"
    moved = (found[-1], *found[:-1])
    for start, call in ((found, "kspace"), (moved, "np.moveaxis(kspace, -1, 0)")):
        if start[1:] == samples:
            return "; give kspace.T" if len(found) == 2 else f"; give {call}"
        if start[1:] == samples[::-1]:
            return f"; give np.swapaxes({call}, -1, -2)"
        if len(start) != len(samples) + 1 and math.prod(start[1:]) == math.prod(samples):
            return f"; give {call}.reshape({', '.join(map(str, (start[0], *samples)))})"
    if found[-len(shape) :] == shape:
        return "; it has the shape of the image: k-space of an image is fhd.NDFT(trajectory, shape) @ image"
    return "; each sample of k-space has one position"


def maps_of(maps: Any, coils: int, shape: tuple[int, ...], image: Sequence[int]) -> NDArray[Any]:
    """Return sensitivity maps [coil][z][y][x]. Maps may be real."""
    values = complex_to_numpy(maps, "maps")
    require_finite(values, "maps")
    expected = (coils, *shape)
    if values.shape == expected:
        return values.reshape(coils, *image)
    remedy = "; they are those of all coils of kspace, with the shape of the image"
    if values.shape == (*shape, coils):
        remedy = "; give np.moveaxis(maps, -1, 0)"
    raise Error(f"maps: expected {text_of(expected)}, found {text_of(values.shape)}{remedy}")


def noise_of(noise: Any, coils: int) -> NDArray[Any]:
    """Return noise [coil][sample] as complex64."""
    values = complex_of(noise, "noise").astype(np.complex64)
    if values.ndim == 2 and values.shape[0] == coils and values.size > 0:
        return values
    remedy = "; give noise.T" if values.ndim == 2 and values.shape[1] == coils else "; it has the coils of kspace"
    raise Error(f"noise: expected [{coils}][sample], found {text_of(values.shape)}{remedy}")


def real_of_shape(array: Any, expected: Sequence[int], name: str, meaning: str, dtype: Any) -> NDArray[Any]:
    """Return a real array of that shape; `meaning`: whose shape that is."""
    values = real_to_numpy(array, name)
    if values.shape != tuple(expected):
        raise Error(f"{name}: expected {text_of(expected)}, {meaning}, found {text_of(values.shape)}")
    return values.astype(dtype)
