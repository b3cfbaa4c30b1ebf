"""Arrays of numpy, CuPy and torch: which library one is of, and one like it. No library but numpy is imported here that
the array at hand has not brought."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from fhd._native import Error

_complex_of = {"float32": "complex64", "float64": "complex128", "complex64": "complex64", "complex128": "complex128"}


def library(array: Any) -> str:
    """ "torch", "cupy", or "numpy" for all else."""
    name = type(array).__module__.partition(".")[0]
    return name if name in ("torch", "cupy") else "numpy"


def _dtype_name(array: Any) -> str:
    return str(array.dtype).rpartition(".")[2]


def complex_array(array: Any, name: str) -> Any:
    """`array`, contiguous and complex, as it is where it is so already: complex64 of single precision, complex128 of
    double. Integers and other types are an Error: the precision would be a guess."""
    if library(array) == "numpy":
        array = np.asarray(array)
        array = array.astype(array.dtype.newbyteorder("="), copy=False)
    wanted = _complex_of.get(_dtype_name(array))
    if wanted is None:
        raise Error(f"{name}: expected complex64 or complex128 (or float32, float64), found {_dtype_name(array)}")
    if library(array) == "torch":
        array = array.detach().to(getattr(sys.modules["torch"], wanted))
        return array.resolve_conj().resolve_neg().contiguous()
    return _module_of(array).ascontiguousarray(array, dtype=wanted)


def empty(like: Any, shape: tuple[int, ...]) -> Any:
    """Return an array of the library, type and device of `like`; its values are not set."""
    if library(like) == "torch":
        return sys.modules["torch"].empty(shape, dtype=like.dtype, device=like.device)
    return _module_of(like).empty(shape, dtype=like.dtype)


def wait_for(array: Any) -> None:
    """Until the work is done that makes it, where its library queues work on a GPU."""
    if library(array) == "torch" and array.is_cuda:
        sys.modules["torch"].cuda.current_stream(array.device).synchronize()
    elif library(array) == "cupy":
        sys.modules["cupy"].cuda.get_current_stream().synchronize()


def to_numpy(array: Any, dtype: Any) -> np.ndarray:
    """Return a contiguous copy in host memory, or the array itself where it is one."""
    if library(array) == "torch":
        array = array.detach().cpu().resolve_conj().resolve_neg().numpy()
    elif library(array) == "cupy":
        array = array.get()
    return np.ascontiguousarray(array, dtype=dtype)


def complex_to_numpy(array: Any, name: str) -> np.ndarray:
    """Return complex_array as to_numpy does: complex64 or complex128, as its precision is."""
    array = complex_array(array, name)
    return to_numpy(array, _dtype_name(array))


def _module_of(array: Any) -> Any:
    return sys.modules["cupy"] if library(array) == "cupy" else np
