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
        turned = operator.forward_values(image * position)
        parts = (2j * math.pi * samples * turned.conj()).real
        columns.append(parts.reshape(-1, *trajectory.shape[:-1]).sum(0))
    return torch.stack(columns, -1).to(trajectory)


class _Forward(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, image: Any, trajectory: Any, operator: Any) -> Any:
        context.operator = operator
        context.save_for_backward(image, trajectory)
        return operator.forward_values(image)

    @staticmethod
    @once_differentiable
    def backward(context: Any, gradient: Any) -> Any:
        image, trajectory = context.saved_tensors
        of_image = of_trajectory = None
        if context.needs_input_grad[0]:
            of_image = context.operator.adjoint_values(gradient)
            of_image = of_image if image.is_complex() else of_image.real
        if context.needs_input_grad[1]:
            # Re[conj(g) (-2 pi i) b] = Re[2 pi i g conj(b)]
            of_trajectory = _gradient_of_positions(context.operator, trajectory, image, gradient)
        return of_image, of_trajectory, None


class _Adjoint(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, samples: Any, trajectory: Any, operator: Any) -> Any:
        context.operator = operator
        context.save_for_backward(samples, trajectory)
        return operator.adjoint_values(samples)

    @staticmethod
    @once_differentiable
    def backward(context: Any, gradient: Any) -> Any:
        samples, trajectory = context.saved_tensors
        of_samples = of_trajectory = None
        if context.needs_input_grad[0]:
            of_samples = context.operator.forward_values(gradient)
            of_samples = of_samples if samples.is_complex() else of_samples.real
        if context.needs_input_grad[1]:
            of_trajectory = _gradient_of_positions(context.operator, trajectory, gradient, samples)
        return of_samples, of_trajectory, None


class _Hermitian(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, image: Any, operator: Any) -> Any:
        context.operator = operator
        context.is_complex = image.is_complex()
        return operator.values(image)

    @staticmethod
    @once_differentiable
    def backward(context: Any, gradient: Any) -> Any:
        result = context.operator.values(gradient)
        return (result if context.is_complex else result.real), None


def forward(operator: Any, image: Any) -> Any:
    return _Forward.apply(*_tensors(operator, image), operator)


def adjoint(operator: Any, samples: Any) -> Any:
    return _Adjoint.apply(*_tensors(operator, samples), operator)


def hermitian(operator: Any, image: Any) -> Any:
    return _Hermitian.apply(image, operator)


def _tensors(operator: Any, values: Any) -> tuple[Any, Any]:
    trajectory = operator.trajectory
    if not isinstance(trajectory, torch.Tensor):
        trajectory = torch.as_tensor(trajectory)
    return torch.as_tensor(values), trajectory
