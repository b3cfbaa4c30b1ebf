"""Reconstructs images from scans, with the options of `fhd recon`."""

from __future__ import annotations

import json
import os
import warnings
from typing import Any, Callable, Optional, Sequence, Union

import numpy as np

from fhd import _native
from fhd._native import Error
from fhd.arguments import table, values_of
from fhd.progress import listener_of
from fhd.scan import Scan, read

#: Called with the stage, the steps done and in all, and the residual (< 0 where there is none).
Progress = Union[None, bool, Callable[[str, int, int, float], None]]


class Result:
    """Images, and how they were made.

    image: complex, [repetition][slice][z][y][x].
    gridded: the conventional image of the same scan, likewise; None where it was left out.
    report: what `fhd recon` writes as OUT.json; `report["images"][i]` of every image.
    diagnostics: sensitivity_maps [coil][y][x], point_spread [y][x], ... of the first image.
    affines: voxel (x, y, z, 1) of each slice to mm in the patient, LPS, [slice] x 3 x 4; affine: that of the first.
    """

    def __init__(self, image: np.ndarray, gridded: Any, report: dict, diagnostics: dict, affines: Any, handle: Any = None):
        self.image, self.gridded, self.report, self.diagnostics = image, gridded, report, diagnostics
        self.affines = affines
        self._handle = handle

    @property
    def affine(self) -> np.ndarray:
        return self.affines[0]

    @property
    def certificate(self) -> Optional[dict]:
        """The check of how exact the first image is; None where it was not checked."""
        return self.report["images"][0].get("certificate")

    @property
    def warnings(self) -> list[str]:
        """The doubts about all images and their scan: messages of severity "warning" and "suspicion", each once."""
        doubts = [
            message
            for image in self.report["images"]
            for message in image.get("messages", [])
            if message["severity"] in ("warning", "suspicion")
        ]
        lines = [m["text"] if not m["remedy"] else f"{m['text'].rstrip('.')}. Remedy: {m['remedy']}." for m in doubts]
        return list(dict.fromkeys(lines))

    def save(self, prefix: Any, force: bool = False) -> None:
        """Write PREFIX.h5, .nii.gz, .png and .json, whole or not at all. What is there already is replaced where it is
        of the same scan; anything else only by force."""
        if self._handle is None:
            raise Error("save: this result was loaded from a file; copy the file")
        self._handle.save(os.fspath(prefix), force)

    def __repr__(self) -> str:
        return f"<fhd.Result {list(self.image.shape)} {self.image.dtype}>"


def recon(scan: Any, *, progress: Progress = None, device: str = "auto", **options: Any) -> Result:
    """Reconstruct a Scan, or the scan file of that path, as `fhd recon` does.

    progress: True or False, or a function that hears of it; None: shown in notebooks and on terminals.
    device: "auto", "cpu", "cuda", "cuda:1".
    options: those of `fhd recon`, as keywords: lambda_=1e-3, regularizer={"wavelet": 0.01}, coils="espirit",
        iterations=30, precision="double", ... `fhd.options()` lists them with defaults.
    """
    return _recon(scan, {"progress": progress, "device": device, **options}, stacklevel=3)


def _recon(scan: Any, options: dict[str, Any], stacklevel: int) -> Result:
    """`stacklevel`: of warnings, from here to the caller."""
    progress, device = options.pop("progress", None), options.pop("device", "auto")
    # field_map may also be "auto" or "off", which are not of the file.
    of_file = {name for name in set(table(of_files=True)) & set(options) if options[name] not in ("auto", "off")}
    if not isinstance(scan, (Scan, str, os.PathLike)):
        raise Error(
            f"scan: expected an fhd.Scan or the path of a file, found {type(scan).__name__}; "
            "fhd.reconstruct(kspace, trajectory, shape) takes arrays"
        )
    if not isinstance(scan, Scan):
        scan = read(scan, **{name: options.pop(name) for name in of_file})
    elif of_file:
        name = min(of_file)
        where = f"fhd.read(path, {name}=...)" + (f" or fhd.Scan(..., {name}=...)" if name in _scan_arguments else "")
        raise Error(f"{name}: says what a file leaves out; give it to {where}, which makes the scan")
    values = values_of(options, beside=_scan_arguments | {"progress", "device"})
    call = f"fhd.recon({', '.join(['scan', *(f'{name}={value!r}' for name, value in options.items())])})"

    with listener_of(progress) as listener:
        handle = _native.recon(scan._handle, values, device, call, listener)
    result = Result(
        handle.image,
        handle.gridded,
        json.loads(handle.report),
        handle.diagnostics,
        np.array(handle.affines),
        handle,
    )
    for sentence in result.warnings:
        warnings.warn(sentence, stacklevel=stacklevel)
    return result


def reconstruct(kspace: Any, trajectory: Any, shape: Union[int, Sequence[int]], **options: Any) -> Result:
    """Reconstruct arrays: fhd.recon(fhd.Scan(kspace, trajectory, shape, ...), ...).

    trajectory_unit, maps, noise, field_map, sample_time_s, fov_mm, position_mm, directions are those of fhd.Scan; other
    options those of fhd.recon.
    """
    if of_files := (set(table(of_files=True)) & set(options)) - _scan_arguments:
        name = min(of_files)
        instead = "shape, the third argument, is the matrix of arrays" if name == "matrix" else "arrays are taken as they are"
        raise Error(f"{name}: is for files alone; {instead}")
    of_scan = {name: options.pop(name) for name in _scan_arguments & set(options)}
    return _recon(Scan(kspace, trajectory, shape, **of_scan), options, stacklevel=3)


def options() -> dict[str, dict[str, Any]]:
    """The options of `fhd.recon`: for each keyword its text, its default, and whether it is a flag."""
    return {
        name: {"text": text, "is_flag": is_flag, "default": default}
        for name, (_, text, is_flag, default) in table().items()
    }


def load(path: Any) -> Result:
    """The result that `fhd recon` or `Result.save` wrote as OUT.h5."""
    reported = _native.load(os.fspath(path))
    try:
        report = json.loads(reported["report"])
    except (ValueError, RecursionError):
        raise Error(f"{os.fspath(path)}:/report/json: expected the report of 'fhd recon', found text that is not JSON") from None
    return Result(reported["image"], reported["gridded"], report, {}, np.array(reported["affines"]))


def load_image(path: Any, dataset: str = "/image") -> np.ndarray:
    """The images [repetition][slice][z][y][x] of any HDF5 file of fhd, such as the truth of `fhd simulate`."""
    return _native.load_image(os.fspath(path), dataset)


_scan_arguments = {"trajectory_unit", "maps", "noise", "field_map", "sample_time_s", "fov_mm", "position_mm", "directions"}
