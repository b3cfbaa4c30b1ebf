"""The options of `fhd.recon` and `fhd.read` as Python knows them: name, type, default, text. All from the table of the
program, which help(), completion, the reference and type checkers follow.

`python3 -c 'import fhd.signatures as s; print(s.source(), end="")'` prints option_types.py.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from typing import Any, Callable, Iterable, NamedTuple, TypeVar

from fhd import _native
from fhd.arguments import keyword_of

#: types of the words in capitals that the help of the program shows for values
_types = {
    "N": "int",
    "K": "int",
    "NUMBER": "float",
    "SHARE": "float",
    "GIB": "float",
    "HZ": "float",
    "FILE": "Path",
    "DIR": "Path",
    "NAME": "str",
    "SIZE": "str",
    "GPUS": "str",
    "LIST": "int | Sequence[int] | str",
    "X,Y,Z": "float | Sequence[float]",
    "X,Y[,Z]": "Sequence[float]",
    "TERM[:STRENGTH],...": "str | Mapping[Term, float | Literal['auto']]",
}
#: options with other numbers than their value says
_own_types = {"matrix": "int | Sequence[int]"}

Function = TypeVar("Function", bound=Callable[..., Any])


class Option(NamedTuple):
    """One keyword."""

    name: str
    type: str  #: as it is written in Python; None, too, leaves an option out
    default: Any  #: None: none, or its text says it
    text: str
    is_flag: bool

    @property
    def line(self) -> str:
        """Its text, with the default where that is not in it."""
        return self.text if self.default in (None, False) else f"{self.text} [{self.default}]"


def options_of(of_files: bool = False) -> dict[str, Option]:
    """Return the options of `fhd.recon`, or those of `fhd.read`, by keyword."""
    options = {}
    for flag, text, is_flag, default, value in _native.options(of_files):
        name = keyword_of(flag)
        given = False if is_flag else _number_or_text(default)
        options[name] = Option(name, _own_types.get(name) or type_of(value), given, in_keywords(text), is_flag)
    return options


def type_of(value: str) -> str:
    """"N|exact" -> "int | Literal['exact']"; an empty text: a flag."""
    if not value:
        return "bool"
    types: list[str] = []
    words: list[str | int] = []
    for part in value.strip("{}").split("," if value[0] == "{" else "|"):
        if part in _types:
            types.append(_types[part])
        else:
            words.append(part)
            if part.isdigit():
                words.append(int(part))
    if words:
        types.append(f"Literal[{', '.join(map(repr, words))}]")
    return " | ".join(types)


def in_keywords(text: str) -> str:
    """Return a text of the program with the names of options as keywords: "--lambda" -> "`lambda_`"."""
    return re.sub(r"--[a-z][a-z-]*", lambda flag: f"`{keyword_of(flag[0])}`", text)


def describe(function: Function, options: Iterable[Option]) -> Function:
    """Give a function that takes **options their names: for help(), inspect.signature and completion."""
    own = inspect.signature(function)
    parameters = [p for p in own.parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    names = {p.name for p in parameters}
    listed = [option for option in options if option.name not in names]
    parameters += [inspect.Parameter(o.name, inspect.Parameter.KEYWORD_ONLY, default=o.default) for o in listed]
    function.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    function.__doc__ = f"{inspect.getdoc(function)}\n\nOptions:\n\n" + "\n".join(map(_entry, listed))
    return function


def _entry(option: Option) -> str:
    text = textwrap.fill(option.line, 100, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)
    return f"{option.name}: {option.type}\n{text}".rstrip()


def _number_or_text(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text or None


def source() -> str:
    """Return the text of option_types.py."""
    recon, read = options_of(), options_of(of_files=True)
    of_arrays = {name: option for name, option in recon.items() if name not in read}
    of_files = {name: option for name, option in read.items() if recon.get(name, option) == option}
    of_read = {name: option for name, option in read.items() if name not in of_files}
    of_recon = {name: recon[name] for name in of_read}
    parts = [
        '"""The options of `fhd.recon`, `fhd.reconstruct` and `fhd.read` as types.\n\n'
        'Written by fhd.signatures.source() from the table of the program; not by hand.\n"""\n',
        "from __future__ import annotations\n",
        "import os\nfrom typing import Literal, Mapping, Sequence, TypedDict, Union\n",
        'Path = Union[str, "os.PathLike[str]"]',
        f"Term = Literal[{', '.join(map(repr, _native.terms()))}]\n",
        _typed_dict("FileOptions", of_files, "What a file leaves out, and what reading it may take."),
        _typed_dict("ArrayOptions", of_arrays, "Options of a reconstruction, without those of files."),
        _typed_dict("ReadOptions(FileOptions)", of_read, "Options of `fhd.read`."),
        _typed_dict("ReconOptions(FileOptions, ArrayOptions)", of_recon, "Options of `fhd.recon`."),
    ]
    return "\n".join(parts).replace("'", '"').rstrip("\n") + "\n"


def _typed_dict(name: str, options: dict[str, Option], text: str) -> str:
    head = f"{name.removesuffix(')')}, total=False)" if "(" in name else f"{name}(TypedDict, total=False)"
    lines = ["", f"class {head}:", f'    """{text}"""', ""]
    for option in options.values():
        declaration = f"{option.name}: {option.type} | None".replace(" | ", "\0|\0")  # lines end within brackets alone
        lines.append(_filled(declaration, "    " * 2).replace("\0", " "))
        told = option.line.replace("'", "\u2019")
        lines.append(_filled(f'"""{told}"""', "    "))
    return "\n".join(lines) + "\n"


def _filled(text: str, indent: str) -> str:
    return textwrap.fill(
        text, 120, initial_indent="    ", subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
    )
