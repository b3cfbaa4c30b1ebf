"""Shows progress in notebooks and on terminals."""

from __future__ import annotations

import contextlib
import sys
import time
from typing import Any, Iterator

_delay_s = 1.0  # shorter work shows nothing


def _someone_looks() -> bool:
    return "ipykernel" in sys.modules or sys.stderr is not None and sys.stderr.isatty()


@contextlib.contextmanager
def listener_of(progress: Any) -> Iterator[Any]:
    """Yield a function that the work calls with its progress, or None."""
    if callable(progress):
        yield progress
        return
    if progress is False or (progress is None and not _someone_looks()):
        yield None
        return
    begin = time.monotonic()
    width = 0

    def show(stage: str, done: int, total: int, residual: float) -> None:
        nonlocal width
        if progress is None and time.monotonic() - begin < _delay_s:
            return
        line = f"{stage}  {done} of {total}" + (f", residual {residual:.1e}" if residual >= 0 else "")
        sys.stderr.write("\r" + line.ljust(width))
        sys.stderr.flush()
        width = len(line)

    try:
        yield show
    finally:
        if width:
            sys.stderr.write("\r" + " " * width + "\r")
            sys.stderr.flush()
