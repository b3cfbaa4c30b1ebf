"""Keywords as options of the command line: one table, that of the program."""

from __future__ import annotations

import difflib
import keyword
import os
from typing import Any, Iterable, Mapping

from fhd._native import Error


def option_of(name: str) -> str:
    """ "lambda_" -> "--lambda", "no_gridded_image" -> "--no-gridded-image"."""
    return "--" + name.rstrip("_").replace("_", "-")


def keyword_of(option: str) -> str:
    """The inverse of option_of."""
    name = option[2:].replace("-", "_")
    return name + "_" if keyword.iskeyword(name) else name


def arguments_of(options: Mapping[str, Any], known: Iterable[str] = ()) -> list[str]:
    """["--name=value", ...]. True: a flag; False or None: left out; lists and tuples: joined by commas, dicts as
    "key:value". Throws Error at a keyword that is not `known`, where some are."""
    known = list(known)
    arguments = []
    for name, value in options.items():
        option = option_of(name)
        if known and option not in known:
            near = difflib.get_close_matches(option, known, 1)
            raise Error(f"{name}: no such option" + (f"; did you mean {keyword_of(near[0])}?" if near else ""))
        if value is None or value is False:
            continue
        arguments.append(option if value is True else f"{option}={_text_of(value)}")
    return arguments


def _text_of(value: Any) -> str:
    if isinstance(value, Mapping):
        return ",".join(f"{key}:{_text_of(of)}" for key, of in value.items())
    if isinstance(value, (list, tuple)):
        return ",".join(_text_of(part) for part in value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return repr(float(value)) if isinstance(value, float) else str(value)
