"""Gradients in torch. The derivative of the exact sum is an exact sum:

    d(A x)(m) / dk_a(m)   = -2 pi i (A (r_a x))(m)
    d(A^H d)(p) / dk_a(m) = +2 pi i r_a(p) conj(S_c(p)) d_c(m) exp(+i 2 pi k_m . r_p)

so that of a real loss L with gradients g (torch's convention, dL/dRe + i dL/dIm)

    of A x:    dL/dx = A^H g,    dL/dk_a(m) = sum over c of Re[conj(g_c(m)) (-2 pi i) (A (r_a x))_c(m)]
    of A^H d:  dL/dd = A g,      dL/dk_a(m) = sum over c of Re[2 pi i d_c(m) conj((A (r_a g))_c(m))]

First derivatives only.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.autograd.function import once_differentiable


def _gradient_of_positions(operator: Any, trajectory: Any, image: Any, samples: Any) -> Any:
    """sum over batch and coils of Re[2 pi i samples conj(A (r_a image))], [sample][axis]."""
    columns = []
    for position in operator.positions(image):
        turned = operator.values(image * position, False)
        parts = (2j * math.pi * samples * turned.conj()).real
        columns.append(parts.reshape(-1, *trajectory.shape[:-1]).sum(0))
    return torch.stack(columns, -1).to(trajectory)


class _Apply(torch.autograd.Function):
    """A, or A^H where `is_adjoint`, on `values`: of a gradient with respect to them the other one."""

    @staticmethod
    def forward(context: Any, values: Any, trajectory: Any, operator: Any, is_adjoint: bool) -> Any:
        context.operator, context.is_adjoint = operator, is_adjoint
        context.save_for_backward(values, trajectory)
        return operator.values(values, is_adjoint)

    @staticmethod
    @once_differentiable
    def backward(context: Any, gradient: Any) -> Any:
        values, trajectory = context.saved_tensors
        of_values = of_trajectory = None
        if context.needs_input_grad[0]:
            of_values = context.operator.values(gradient, not context.is_adjoint)
            of_values = of_values if values.is_complex() else of_values.real
        if context.needs_input_grad[1]:
            # Re[conj(g) (-2 pi i) b] = Re[2 pi i g conj(b)]: both maps have one formula
            image, samples = (gradient, values) if context.is_adjoint else (values, gradient)
            of_trajectory = _gradient_of_positions(context.operator, trajectory, image, samples)
        return of_values, of_trajectory, None, None


def apply(operator: Any, values: Any, is_adjoint: bool) -> Any:
    """Return A values, or A^H values, with a record for gradients."""
    trajectory = getattr(operator, "trajectory", None)
    if not isinstance(trajectory, torch.Tensor):  # none: there is a gradient of the image, or the samples, alone
        trajectory = torch.as_tensor([] if trajectory is None else trajectory)
    return _Apply.apply(torch.as_tensor(values), trajectory, operator, is_adjoint)
