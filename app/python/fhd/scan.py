"""Scans of files or of arrays."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Sequence, TypedDict

import numpy as np
from numpy.typing import NDArray

from fhd import _native
from fhd._native import Error
from fhd.arguments import values_of
from fhd.arrays import complex_to_numpy, to_numpy
from fhd.operators import matrix_size, padded_trajectory
from fhd.option_types import Path, ReadOptions

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Volume(NamedTuple):
    """One slice, or volume, of one repetition, in fhd's units."""

    kspace: NDArray[Any]  #: [coil][sample]
    trajectory: NDArray[Any]  #: [sample][axis], columns x, y (and z), cycles per field of view
    shape: tuple[int, ...]  #: of the image, [y][x] or [z][y][x]
    fov_mm: tuple[float, float, float]  #: along x, y, z; 0 where not known
    position_mm: tuple[float, float, float]  #: of the centre, patient LPS
    directions: tuple[tuple[float, ...], ...]  #: of x, y, z, patient LPS
    maps: Optional[NDArray[Any]]  #: [coil] and shape
    noise: Optional[NDArray[Any]]  #: [coil][sample], without signal
    field_map: Optional[NDArray[Any]]  #: rad/s, of the shape
    sample_time_s: Optional[NDArray[Any]]  #: [sample]
    remarks: list[str]  #: what was done to the values, one sentence each


class ScanArguments(TypedDict, total=False):
    """What `fhd.Scan` takes beside k-space, trajectory and shape; see there."""

    fov_mm: Sequence[float]
    maps: Any
    noise: Any
    field_map: Any
    sample_time_s: Any
    position_mm: Sequence[float]
    directions: Sequence[Sequence[float]]


class Scan:
    """A scan of arrays; `fhd.read` gives one of a file. Scans can be pickled: arrays whole, files by their path.

    kspace: [coil][sample], complex; with leading axes [repetition] or [repetition][slice] a series. Where the trajectory
        is [readout][sample][axis], k-space is [coil][readout][sample].
    trajectory: [sample][axis], columns x, y (and z), in cycles per field of view.
    shape: of the image, [y][x] or [z][y][x].
    fov_mm: along x, y (and z).
    maps: sensitivities, [coil] and shape; without, they are found from the scan.
    noise: [coil][sample] without signal, to whiten by.
    field_map: off-resonance in rad/s, of the shape; with sample_time_s, [sample], s from the excitation.
    position_mm, directions: of the centre of the field of view, and of x, y, z in the patient (LPS).
    """

    def __init__(
        self,
        kspace: Any,
        trajectory: Any,
        shape: Sequence[int],
        *,
        fov_mm: Sequence[float] = (),
        maps: Any = None,
        noise: Any = None,
        field_map: Any = None,
        sample_time_s: Any = None,
        position_mm: Sequence[float] = (0, 0, 0),
        directions: Sequence[Sequence[float]] = ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    ):
        positions = to_numpy(trajectory, np.float64)
        shape = tuple(int(n) for n in shape)
        if len(shape) not in (2, 3):
            raise Error(f"shape: expected [y][x] or [z][y][x], found {list(shape)}")
        if positions.ndim < 2 or positions.shape[-1] != len(shape):
            raise Error(
                f"trajectory: expected [sample][axis] with {len(shape)} axes, as the shape, found {list(positions.shape)}"
            )
        values = complex_to_numpy(kspace, "kspace")
        sample_shape = positions.shape[:-1]
        leading = values.ndim - len(sample_shape) - 1
        if leading not in (0, 1, 2) or values.shape[leading + 1 :] != sample_shape:
            raise Error(
                f"kspace: expected [coil]{_text(sample_shape)}, as the trajectory, or [repetition][coil]..., or "
                f"[repetition][slice][coil]..., found {list(values.shape)}"
            )
        if field_map is not None and sample_time_s is None:
            raise Error("field_map: expected sample_time_s beside it, found none")
        repetitions, slices = (values.shape[:leading] + (1, 1))[:2]
        coils = values.shape[leading]
        values = values.reshape(repetitions, slices, coils, -1)
        image = [1, 1, *shape][-3:]
        self._handle = _native.scan_of_arrays(
            values,
            padded_trajectory(positions),
            matrix_size(shape),
            _three(fov_mm, "fov_mm"),
            _three(position_mm, "position_mm"),
            [_three(direction, "directions") for direction in directions],
            sample_shape[-1] if len(sample_shape) > 1 else 0,
            None if maps is None else _shaped(complex_to_numpy(maps, "maps"), (coils, *shape), (coils, *image), "maps"),
            None if noise is None else _noise(noise, coils),
            None if field_map is None else _shaped(to_numpy(field_map, np.float32), shape, image, "field_map"),
            None if sample_time_s is None else _times(sample_time_s, sample_shape),
        )

    #: path and options of `fhd.read`; None: of arrays
    _file: Optional[tuple[str, dict[str, Any]]] = None

    @classmethod
    def _of_handle(cls, handle: Any) -> "Scan":
        scan = cls.__new__(cls)
        scan._handle = handle
        return scan

    def __reduce__(self) -> Any:
        return (_opened, self._file) if self._file else (_of_arrays, self._arrays())

    def _arrays(self) -> tuple[Any, ...]:
        """The arguments of _native.scan_of_arrays that make this scan."""
        facts = self.summary
        slices, repetitions = range(facts["slice_count"]), range(facts["repetition_count"])
        first = self._handle.volume(0, 0)
        kspace = [[self._handle.volume(s, r)["kspace"] for s in slices] for r in repetitions]
        of_space = (first[name] for name in ("fov_mm", "position_mm", "directions"))
        pieces = (first[name] for name in ("maps", "noise", "field_map", "sample_time_s"))
        size = first["shape"][::-1]
        return (np.array(kspace), first["trajectory"], size, *of_space, facts["readout_length"], *pieces)

    @property
    def summary(self) -> dict[str, Any]:
        """Facts of the scan, those of `fhd info --json`: format, coil_count, samples_per_scan, fov_mm, inferred, ...;
        and its shape."""
        facts = json.loads(self._handle.summary)
        return {**facts, "shape": tuple(reversed(facts["matrix_size"]))}

    def volume(self, slice: int = 0, repetition: int = 0) -> Volume:
        """Read one volume; of a file, from the disk."""
        reported = self._handle.volume(slice, repetition)
        axes = 2 if reported["shape"][0] == 1 else 3
        shape = reported["shape"][3 - axes :]

        def image(array: Any) -> Any:
            return None if array is None else array.reshape(*array.shape[:-3], *shape)

        reported["shape"] = shape
        reported["trajectory"] = np.ascontiguousarray(reported["trajectory"][:axes].T)
        reported["maps"], reported["field_map"] = image(reported["maps"]), image(reported["field_map"])
        for name in ("fov_mm", "position_mm"):
            reported[name] = tuple(reported[name])
        reported["directions"] = tuple(tuple(direction) for direction in reported["directions"])
        return Volume(**reported)

    def __repr__(self) -> str:
        s = self.summary
        name = f"{s['format']} {s['path']}" if self._file else s["format"]
        beside = [f"{s[f'{what}_count']} {what}s" for what in ("slice", "repetition") if s[f"{what}_count"] > 1]
        found = ["maps"] * s["has_sensitivity_maps"] + ["field map"] * s["has_field_map"]
        parts = [
            f"shape {list(s['shape'])}",
            f"{s['coil_count']} coils",
            f"{s['samples_per_scan']} samples",
            *beside,
            *([f"with {' and '.join(found)}"] if found else []),
        ]
        return f"<fhd.Scan {name}: {', '.join(parts)}>"


def read(path: Path, **options: Unpack[ReadOptions]) -> Scan:
    """Open a scan file: ISMRMRD or fhd HDF5, BART .cfl, an IMPATIENT directory. Headers are read now, samples when they
    are needed.

    options: what the file leaves out, and what reading it may take: it is read in a process of its own, which may do
        nothing else; trust_input=True: in this process, without limits.
    """
    scan = Scan._of_handle(_native.read(os.fspath(path), values_of(options, of_files=True)))
    scan._file = os.path.abspath(path), {**options}
    return scan


def _opened(path: str, options: dict[str, Any]) -> Scan:
    return read(path, **options)


def _of_arrays(*arguments: Any) -> Scan:
    return Scan._of_handle(_native.scan_of_arrays(*arguments))


def _text(shape: Sequence[int]) -> str:
    return "".join(f"[{n}]" for n in shape)


def _three(values: Sequence[float], name: str) -> list[float]:
    try:
        values = [float(value) for value in values]
    except (TypeError, ValueError):
        raise Error(f"{name}: expected numbers along x, y (and z), found {values!r}; give {name}=(X, Y, Z)") from None
    if len(values) > 3:
        raise Error(f"{name}: expected at most 3 numbers, x, y, z, found {len(values)}")
    return (values + [0.0, 0.0, 0.0])[:3]


def _shaped(array: NDArray[Any], shape: Sequence[int], full: Sequence[int], name: str) -> NDArray[Any]:
    if array.shape != tuple(shape):
        raise Error(f"{name}: expected {_text(shape)}, found {_text(array.shape)}")
    return array.reshape(tuple(full))


def _noise(noise: Any, coils: int) -> NDArray[Any]:
    values = complex_to_numpy(noise, "noise").astype(np.complex64)
    if values.ndim != 2 or values.shape[0] != coils:
        raise Error(f"noise: expected [{coils}][sample], found {_text(values.shape)}")
    return values


def _times(times: Any, sample_shape: Sequence[int]) -> NDArray[Any]:
    return _shaped(to_numpy(times, np.float64), sample_shape, (int(np.prod(sample_shape)),), "sample_time_s")
