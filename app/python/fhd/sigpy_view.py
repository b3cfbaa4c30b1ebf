"""An operator as a linop of SigPy."""

from __future__ import annotations

from typing import Any

import sigpy


class _View(sigpy.linop.Linop):
    def __init__(self, operator: Any, is_adjoint: bool):
        self._operator, self._is_adjoint = operator, is_adjoint
        images, samples = list(operator.shape), list(operator.sample_shape)
        super().__init__(images if is_adjoint else samples, samples if is_adjoint else images)

    def _apply(self, input: Any) -> Any:
        return self._operator.values(input, self._is_adjoint)

    def _adjoint_linop(self) -> Any:
        return _View(self._operator, not self._is_adjoint)


def linop_of(operator: Any) -> Any:
    return _View(operator, False)
