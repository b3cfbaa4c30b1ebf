"""The compiled module. Its functions are for the files beside it."""

from typing import Any, Callable, Mapping, Optional, Sequence, overload

version: str
built_with_cuda: bool

class Error(ValueError):
    """What is wrong, where, what was expected, and how to mend it."""

class DeviceError(Error):
    """A GPU that fails or has too little memory."""

class Transform:
    sample_count: int
    @overload
    def __init__(self, trajectory: Any, matrix_size: Sequence[int], accuracy: Optional[float]) -> None: ...
    @overload
    def __init__(self, coefficients: Any, basis: Any, decay: Any, sample_time: Any, second_decay: Any, fraction: Any, matrix_size: Sequence[int]) -> None: ...
    def accuracy(self, in_double: bool, device: int) -> float: ...
    def density_weights(self) -> Any: ...
    def apply(self, images: Any, samples: Any, adjoint: bool) -> None: ...

class Sense:
    def __init__(self, transform: Transform, maps: Any) -> None: ...
    def apply(self, images: Any, samples: Any, adjoint: bool) -> None: ...

class Normal:
    def __init__(self, transform: Transform, maps: Any, weights: Any) -> None: ...
    def apply(self, images: Any, samples: Any, adjoint: bool = False) -> None: ...

class ScanHandle:
    summary: str
    def volume(self, slice: int, repetition: int) -> dict[str, Any]: ...

class ResultHandle:
    image: Any
    gridded: Any
    diagnostics: dict[str, Any]
    affines: Any
    report: str
    def save(self, prefix: str, force: bool) -> None: ...

def read(path: str, given: Mapping[str, str]) -> ScanHandle: ...
def scan_of_arrays(
    kspace: Any,
    trajectory: Any,
    matrix_size: Sequence[int],
    fov_mm: Sequence[float],
    position_mm: Sequence[float],
    directions: Sequence[Sequence[float]],
    readout_length: int,
    maps: Any,
    noise: Any,
    field_map: Any,
    sample_time_s: Any,
    unit: str = "",
) -> ScanHandle: ...
def scale_of_unit(
    unit: str, largest_k: Sequence[float], matrix_size: Sequence[int], fov_mm: Sequence[float]
) -> tuple[list[float], str]: ...
def recon(
    scan: ScanHandle,
    given: Mapping[str, str],
    device: str,
    call: str,
    listener: Optional[Callable[[str, int, int, float], object]],
) -> ResultHandle: ...
def load(path: str) -> dict[str, Any]: ...
def load_image(path: str, dataset: str) -> Any: ...
def write_page(result: str, path: str, force: bool) -> None: ...
def options(of_files: bool) -> list[tuple[str, str, bool, str, str]]: ...
def terms() -> list[str]: ...
def nearest_word(word: str, known: Sequence[str]) -> str: ...
