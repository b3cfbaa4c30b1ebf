"""Turns keywords into options of the program, by its table."""

from __future__ import annotations

import difflib
import keyword
import os
from typing import Any, Mapping

from fhd import _native
from fhd._native import Error


def keyword_of(flag: str) -> str:
    """"--lambda" -> "lambda_", "--no-gridded-image" -> "no_gridded_image"."""
    name = flag[2:].replace("-", "_")
    return name + "_" if keyword.iskeyword(name) else name


def table(of_files: bool = False) -> dict[str, tuple[str, str, bool, str]]:
    """The options of `fhd.recon`, or those of `fhd.read`: keyword -> flag, text, whether it is a flag, default."""
    return {keyword_of(row[0]): row[:4] for row in _native.options(of_files)}


def values_of(options: Mapping[str, Any], of_files: bool = False) -> dict[str, str]:
    """{flag: text of the value} for keywords of `table`. False and None leave an option out; lists and tuples are joined
    by commas, dicts as "key:value". Throws Error at an unknown keyword."""
    known, values = table(of_files), {}
    for name, value in options.items():
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            raise Error(f"{name}: no such option" + (f"; did you mean {near[0]}?" if near else ""))
        if value is not None and value is not False:
            values[known[name][0]] = _text_of(value)
    return values


def _text_of(value: Any) -> str:
    if isinstance(value, Mapping):
        return ",".join(f"{key}:{_text_of(of)}" for key, of in value.items())
    if isinstance(value, (list, tuple)):
        return ",".join(_text_of(part) for part in value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if value is True:
        return "true"
    return repr(float(value)) if isinstance(value, float) else str(value)
