"""Scans of files or of arrays."""

from __future__ import annotations

import json
import os
from typing import Any, NamedTuple, Optional, Sequence, Union

import numpy as np

from fhd import _native
from fhd._native import Error
from fhd.arguments import values_of
from fhd.given_arrays import kspace_of, lengths_of, maps_of, noise_of, positions_of, real_of_shape, scale_of, three_of
from fhd.operators import matrix_size, padded_trajectory


class Volume(NamedTuple):
    """One slice, or volume, of one repetition, in fhd's units."""

    kspace: np.ndarray  #: [coil][sample]
    trajectory: np.ndarray  #: [sample][axis], columns x, y (and z), cycles per field of view
    shape: tuple[int, ...]  #: of the image, [y][x] or [z][y][x]
    fov_mm: tuple[float, float, float]  #: along x, y, z; 0 where not known
    position_mm: tuple[float, float, float]  #: of the centre, patient LPS
    directions: tuple[tuple[float, ...], ...]  #: of x, y, z, patient LPS
    maps: Optional[np.ndarray]  #: [coil] and shape
    noise: Optional[np.ndarray]  #: [coil][sample], without signal
    field_map: Optional[np.ndarray]  #: rad/s, of the shape
    sample_time_s: Optional[np.ndarray]  #: [sample]
    remarks: list[str]  #: what was done to the values, one sentence each


class Scan:
    """A scan of arrays; `fhd.read` gives one of a file.

    kspace: [coil][sample], complex; with leading axes [repetition] or [repetition][slice] a series. Where the trajectory
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

    @classmethod
    def _of_handle(cls, handle: Any) -> "Scan":
        scan = cls.__new__(cls)
        scan._handle = handle
        return scan

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
        return (
            f"<fhd.Scan {s['format']}: {s['coil_count']} coils, {s['samples_per_scan']} samples, "
            f"shape {list(s['shape'])}, {s['slice_count']} slices, {s['repetition_count']} repetitions>"
        )


def read(path: Any, **options: Any) -> Scan:
    """Open a scan file: ISMRMRD or fhd HDF5, BART .cfl, an IMPATIENT directory. Headers are read now, samples when they
    are needed.

    options: what the file leaves out, as `fhd recon --help` says it: matrix, fov_mm, trajectory_unit, zeros, group,
    trajectory, maps, noise, field_map, field_map_unit. The file is read in a process of its own, which may do nothing
    else; how much it may take: input_memory (GiB), input_seconds. trust_input=True: in this process, without limits.
    """
    return Scan._of_handle(_native.read(os.fspath(path), values_of(options, of_files=True)))


def _field_map(field_map: Any, shape: tuple[int, ...], image: Sequence[int]) -> np.ndarray:
    return real_of_shape(field_map, shape, "field_map", "the shape of the image", np.float32).reshape(tuple(image))


def _times(times: Any, sample_shape: Sequence[int]) -> np.ndarray:
    return real_of_shape(times, sample_shape, "sample_time_s", "a time for each sample", np.float64).reshape(-1)
