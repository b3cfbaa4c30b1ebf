"""Scans of files or of arrays."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Sequence, TypedDict, Union

import numpy as np
from numpy.typing import NDArray

from fhd import _native
from fhd._native import Error
from fhd.arguments import values_of
from fhd.given_arrays import (
    kspace_of,
    lengths_of,
    maps_of,
    noise_of,
    positions_of,
    real_of_shape,
    require_order,
    scale_of,
    three_of,
)
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

    trajectory_unit: Optional[str]
    fov_mm: Union[float, Sequence[float]]
    maps: Any
    noise: Any
    field_map: Any
    sample_time_s: Any
    position_mm: Sequence[float]
    directions: Sequence[Sequence[float]]


class Scan:
    """A scan of arrays; `fhd.read` gives one of a file. Scans can be pickled: arrays whole, files by their path.

    kspace: [coil][sample], complex, [sample] of one coil; with leading axes [repetition] or [repetition][slice] a series. Where the trajectory
        is [readout][sample][axis], k-space is [coil][readout][sample].
    trajectory: [sample][axis], columns x, y (and z), in cycles per field of view or in trajectory_unit.
    shape: of the image, [y][x] or [z][y][x]; N: (N, N) or (N, N, N), as the trajectory has columns.
    trajectory_unit: "cycles/FOV", "cycles/voxel" (+-0.5), "radians/voxel" (+-pi), "kmax" (+-1), "1/m", "1/mm", "radians/m",
        "radians/mm" (these four with fov_mm), or "auto", inferred. None: cycles/FOV, and an Error where the trajectory fills
        k-space in another unit.
    fov_mm: along x, y (and z); a number: along every axis of the image.
    maps: sensitivities, [coil] and shape; without, they are found from the scan.
    noise: [coil][sample] without signal, to whiten by.
    field_map: off-resonance in rad/s, of the shape; with sample_time_s, [sample], s from the excitation.
    position_mm, directions: of the centre of the field of view, and of x, y, z in the patient (LPS).
    """

    def __init__(
        self,
        kspace: Any,
        trajectory: Any,
        shape: Union[int, Sequence[int]],
        *,
        trajectory_unit: Optional[str] = None,
        fov_mm: Union[float, Sequence[float]] = (),
        maps: Any = None,
        noise: Any = None,
        field_map: Any = None,
        sample_time_s: Any = None,
        position_mm: Sequence[float] = (0, 0, 0),
        directions: Sequence[Sequence[float]] = ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    ):
        positions, sizes = positions_of(trajectory, shape)
        if len(sizes) not in (2, 3):
            raise Error(f"shape: expected [y][x] or [z][y][x], found {list(sizes)}; a line is shape=(1, {sizes[-1]})")
        sample_shape = positions.shape[:-1]
        values, leading = kspace_of(kspace, sample_shape, sizes)
        require_order(values, leading, positions)
        if field_map is not None and sample_time_s is None:
            raise Error("field_map: expected sample_time_s beside it, found none; give the times of the samples in s")
        lengths = lengths_of(fov_mm, len(sizes))
        scale, unit = scale_of(positions, sizes, lengths, trajectory_unit)
        repetitions, slices = (values.shape[:leading] + (1, 1))[:2]
        coils = values.shape[leading]
        values = values.reshape(repetitions, slices, coils, -1)
        image = [1, 1, *sizes][-3:]
        self._handle = _native.scan_of_arrays(
            values,
            padded_trajectory(positions * scale),
            matrix_size(sizes),
            lengths,
            three_of(position_mm, "position_mm"),
            [three_of(direction, "directions") for direction in directions],
            sample_shape[-1] if len(sample_shape) > 1 else 0,
            None if maps is None else maps_of(maps, coils, sizes, image),
            None if noise is None else noise_of(noise, coils),
            None if field_map is None else _field_map(field_map, sizes, image),
            None if sample_time_s is None else _times(sample_time_s, sample_shape),
            unit,
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
        return (np.array(kspace), first["trajectory"], size, *of_space, facts["readout_length"], *pieces, " ".join(facts["inferred"]))

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


def _field_map(field_map: Any, shape: tuple[int, ...], image: Sequence[int]) -> NDArray[Any]:
    return real_of_shape(field_map, shape, "field_map", "the shape of the image", np.float32).reshape(tuple(image))


def _times(times: Any, sample_shape: Sequence[int]) -> NDArray[Any]:
    return real_of_shape(times, sample_shape, "sample_time_s", "a time for each sample", np.float64).reshape(-1)
