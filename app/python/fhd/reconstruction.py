"""Reconstructs images from scans, with the options of `fhd recon`."""

from __future__ import annotations

import copy
import json
import os
import tempfile
import warnings
from collections import Counter
from typing import TYPE_CHECKING, Any, Callable, Iterable, Optional, Sequence, Union

import numpy as np
from numpy.typing import NDArray

from fhd import _native
from fhd._native import Error
from fhd.arguments import table, values_of
from fhd.checks import Certificate, Verdict
from fhd.option_types import ArrayOptions, Path, ReconOptions
from fhd.progress import listener_of
from fhd.scan import Scan, ScanArguments, read
from fhd.signatures import Option, describe, options_of

if TYPE_CHECKING:
    from typing_extensions import Never, Unpack

#: Called with the stage, the steps done and in all, and the residual (< 0 where there is none).
Progress = Union[None, bool, Callable[[str, int, int, float], object]]

Images = NDArray[np.complexfloating[Any, Any]]


class Result:
    """Images, and how they were made.

    image: complex, [repetition][slice][z][y][x].
    gridded: the conventional image of the same scan, likewise; None where it was left out.
    report: what `fhd recon` writes as OUT.json; `report["images"][i]` of every image.
    diagnostics: sensitivity_maps [coil][y][x], point_spread [y][x], ... of the first image.
    affines: voxel (x, y, z, 1) of each slice to mm in the patient, LPS, [slice] x 3 x 4; affine: that of the first.

    Results can be pickled: all but `save`, which works where the result was made.
    """

    #: of fhd.load
    _file: Optional[str] = None

    def __init__(
        self,
        image: Images,
        gridded: Optional[Images],
        report: dict[str, Any],
        diagnostics: dict[str, NDArray[Any]],
        affines: NDArray[np.float64],
        handle: Optional[_native.ResultHandle] = None,
    ):
        self.image, self.gridded, self.report, self.diagnostics = image, gridded, report, diagnostics
        self.affines = affines
        self._handle = handle

    @property
    def affine(self) -> NDArray[np.float64]:
        matrix: NDArray[np.float64] = self.affines[0]
        return matrix

    @property
    def certificate(self) -> Optional[Certificate]:
        """The check of how exact the first image is; None where it was not checked."""
        certificate: Optional[Certificate] = self.report["images"][0].get("certificate")
        return certificate

    @property
    def verdict(self) -> Optional[Verdict]:
        """The judgement whether the model explains the data of the first image; None where it was not judged. Of others:
        report["images"][i]["verdict"]."""
        verdict: Optional[Verdict] = self.report["images"][0].get("verdict")
        return verdict

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

    def save(self, prefix: Path, force: bool = False) -> None:
        """Write PREFIX.h5, .nii.gz, .png and .json, whole or not at all. What is there already is replaced where it is
        of the same scan; anything else only by force."""
        if self._handle is None:
            raise Error(
                "save: this result was loaded from a file or pickled; copy the file, or save it in the process that made it"
            )
        self._handle.save(os.fspath(prefix), force)

    def save_page(self, path: Path, force: bool = False) -> None:
        """Write the page of `fhd report` for a browser, one HTML file: the images, their errors, how they were made and what
        is suspicious. Replaces pages of fhd; anything else only by force."""
        with tempfile.TemporaryDirectory() as folder:
            result = self._file
            if result is None:
                prefix = os.path.join(folder, os.path.splitext(os.path.basename(path))[0])
                self.save(prefix)
                result = prefix + ".h5"
            _native.write_page(result, os.fspath(path), force)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_handle": None}

    def __copy__(self) -> Result:
        made = object.__new__(type(self))
        vars(made).update(vars(self))
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Result:
        made = copy.copy(self)
        for name, value in self.__getstate__().items():
            if name != "_handle":
                setattr(made, name, copy.deepcopy(value, memo))
        return made

    def __repr__(self) -> str:
        images = self.report.get("images", [])
        path = self.report.get("environment", {}).get("input_path")
        certificates = [image.get("certificate") for image in images]
        verdicts = [image.get("verdict") for image in images]
        parts = [
            f"image {list(self.image.shape)} {self.image.dtype}",
            *([f"of {path}"] if path else []),
            "certificate " + _counted("passed" if c["passed"] else "failed" if c else "none" for c in certificates),
            "verdict " + _counted(v["judgement"] if v else "none" for v in verdicts),
        ]
        return f"<fhd.Result: {', '.join(parts)}>"


def _counted(words: Iterable[str]) -> str:
    """"passed", or "passed (2), failed (1)"."""
    counts = Counter(words)
    return ", ".join(word if len(counts) == 1 else f"{word} ({count})" for word, count in counts.items()) or "none"


def recon(scan: Union[Scan, Path], *more: Never, progress: Progress = None, **options: Unpack[ReconOptions]) -> Result:
    """Reconstruct a Scan, or the scan file of that path, as `fhd recon` does.

    progress: True or False, or a function that hears of it; None: shown in notebooks and on terminals.
    options: those of `fhd recon`, as keywords: lambda_=1e-3, regularizer={"wavelet": 0.01}, coils="espirit",
        iterations=30, precision="double", ... `fhd.options()` lists them with types and defaults. Those that say what a
        file leaves out are for a path; of a Scan, they are given to fhd.read or fhd.Scan.
    """
    _require_scan(scan)
    _refuse("recon", "one scan", more)
    return _recon(scan, {"progress": progress, **options}, stacklevel=3)


def _refuse(function: str, expected: str, more: tuple[Any, ...]) -> None:
    if more:
        raise Error(f"{function}: expected {expected} and keywords, found more; give maps=..., lambda_=... and others by name")


def _require_scan(scan: Any) -> None:
    if not isinstance(scan, (Scan, str, os.PathLike)):
        raise Error(
            f"scan: expected an fhd.Scan or the path of a file, found {type(scan).__name__}; "
            "fhd.reconstruct(kspace, trajectory, shape) takes arrays"
        )


def _recon(scan: Union[Scan, Path], options: dict[str, Any], stacklevel: int) -> Result:
    """`stacklevel`: of warnings, from here to the caller."""
    progress, device = options.pop("progress", None), options.pop("device", "auto")
    if not isinstance(device, str):
        raise Error(f"device: expected 'auto', 'cpu', 'cuda' or 'cuda:0', found {device!r}")
    # field_map may also be "auto" or "off", which are not of the file.
    # The value may be an array, which has no truth value.
    is_word = {name for name, value in options.items() if isinstance(value, str) and value in ("auto", "off")}
    of_file = set(table(of_files=True)) & set(options) - is_word
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


class ReconstructOptions(ScanArguments, ArrayOptions, total=False):
    """Options of `fhd.reconstruct`: those of the scan and those of its reconstruction."""


def reconstruct(
    kspace: Any,
    trajectory: Any,
    shape: Union[int, Sequence[int]],
    *more: Never,
    progress: Progress = None,
    **options: Unpack[ReconstructOptions],
) -> Result:
    """Reconstruct arrays: fhd.recon(fhd.Scan(kspace, trajectory, shape, ...), ...).

    trajectory_unit, maps, noise, field_map, sample_time_s, fov_mm, position_mm, directions are those of fhd.Scan; other
    options those of fhd.recon.
    """
    _refuse("reconstruct", "kspace, trajectory, shape", more)
    if of_files := (set(table(of_files=True)) & set(options)) - _scan_arguments:
        name = min(of_files)
        instead = "shape, the third argument, is the matrix of arrays" if name == "matrix" else "arrays are taken as they are"
        raise Error(f"{name}: is for files alone; {instead}")
    given: dict[str, Any] = {"progress": progress, **options}
    of_scan = {name: given.pop(name) for name in _scan_arguments & set(given)}
    return _recon(Scan(kspace, trajectory, shape, **of_scan), given, stacklevel=3)


def options() -> dict[str, dict[str, Any]]:
    """The options of `fhd.recon`: for each keyword its text, its type, its default, and whether it is a flag."""
    return {
        name: {"text": option.text, "type": option.type, "is_flag": option.is_flag, "default": table()[name][3]}
        for name, option in options_of().items()
    }


def load(path: Path) -> Result:
    """The result that `fhd recon` or `Result.save` wrote as OUT.h5."""
    reported = _native.load(os.fspath(path))
    try:
        report = json.loads(reported["report"])
    except (ValueError, RecursionError):
        raise Error(f"{os.fspath(path)}:/report/json: expected the report of 'fhd recon', found text that is not JSON") from None
    result = Result(reported["image"], reported["gridded"], report, {}, np.array(reported["affines"]))
    result._file = os.path.abspath(path)
    return result


def load_image(path: Path, dataset: str = "/image") -> Images:
    """The images [repetition][slice][z][y][x] of any HDF5 file of fhd, such as the truth of `fhd simulate`."""
    images: Images = _native.load_image(os.fspath(path), dataset)
    return images


_scan_arguments = set(ScanArguments.__annotations__)


def _describe_options() -> None:
    """For help() and completion; type checkers read option_types.py."""
    of_recon, of_files = options_of(), options_of(of_files=True)
    describe(recon, {**of_files, **of_recon}.values())
    describe(read, of_files.values())
    of_scan = [Option(name, "that of fhd.Scan", None, "", False) for name in ScanArguments.__annotations__]
    describe(reconstruct, of_scan + [option for name, option in of_recon.items() if name in ArrayOptions.__annotations__])


_describe_options()
