"""Turns keywords into options of the program, by its table."""

from __future__ import annotations

import keyword
import os
from typing import Any, Iterable, Mapping

import numpy as np

from fhd import _native
from fhd._native import Error


def keyword_of(flag: str) -> str:
    """"--lambda" -> "lambda_", "--no-gridded-image" -> "no_gridded_image"."""
    name = flag[2:].replace("-", "_")
    return name + "_" if keyword.iskeyword(name) else name


def table(of_files: bool = False) -> dict[str, tuple[str, str, bool, str]]:
    """The options of `fhd.recon`, or those of `fhd.read`: keyword -> flag, text, whether it is a flag, default."""
    return {keyword_of(row[0]): row[:4] for row in _native.options(of_files)}


def values_of(options: Mapping[str, Any], of_files: bool = False, beside: Iterable[str] = ()) -> dict[str, str]:
    """{flag: text of the value} for keywords of `table`. False and None leave an option out; lists and tuples are joined
    by commas, dicts as "key:value". Raises Error at an unknown keyword; `beside`: further keywords of the function."""
    known, values = table(of_files), {}
    for name, value in options.items():
        if name not in known:
            near = _native.nearest_word(name, list({*known, *beside}))
            raise Error(f"{name}: no such option; " + (f"did you mean {near}?" if near else "fhd.options() lists them"))
        if value is not None and value is not False:
            values[known[name][0]] = _text_of(value, name)
    return values


def _text_of(value: Any, name: str) -> str:
    if isinstance(value, Mapping):
        return ",".join(f"{key}:{_text_of(of, name)}" for key, of in value.items())
    if isinstance(value, (list, tuple)):
        return ",".join(_text_of(part, name) for part in value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if value is True:
        return "true"
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    if isinstance(value, (str, int, np.integer)):
        return str(value)
    raise Error(f"{name}: expected a number, a text, a list or a dict of these, found {type(value).__name__}")
