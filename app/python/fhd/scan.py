"""Scans of files or of arrays."""

from __future__ import annotations

import json
import os
from typing import Any, NamedTuple, Optional, Sequence

import numpy as np

from fhd import _native
from fhd._native import Error
from fhd.arguments import values_of
from fhd.arrays import complex_to_numpy, to_numpy
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


def _shaped(array: np.ndarray, shape: Sequence[int], full: Sequence[int], name: str) -> np.ndarray:
    if array.shape != tuple(shape):
        raise Error(f"{name}: expected {_text(shape)}, found {_text(array.shape)}")
    return array.reshape(tuple(full))


def _noise(noise: Any, coils: int) -> np.ndarray:
    values = complex_to_numpy(noise, "noise").astype(np.complex64)
    if values.ndim != 2 or values.shape[0] != coils:
        raise Error(f"noise: expected [{coils}][sample], found {_text(values.shape)}")
    return values


def _times(times: Any, sample_shape: Sequence[int]) -> np.ndarray:
    return _shaped(to_numpy(times, np.float64), sample_shape, (int(np.prod(sample_shape)),), "sample_time_s")
