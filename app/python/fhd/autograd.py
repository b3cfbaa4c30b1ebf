"""Gradients in torch. The derivative of the exact sum is an exact sum. With the phases phi = sum over l of kappa_l(m) b_l(p), of
which k . r is the case kappa = 2 pi k, b = r,

    d Re<g, A x> / dkappa_l(m) = sum over coils of Re[i g_c(m) conj((A (b_l x))_c(m))]
    d Re<g, A x> / db_l(p)     = Re[i conj(x(p)) (A^H (kappa_l g))(p)]

With torch's convention of gradients g (dL/dRe + i dL/dIm), a real loss L has

    of A x:    dL/dx = A^H g,    dL/dkappa and dL/db as above
    of A^H d:  dL/dd = A g,      dL/dkappa and dL/db as above with d for g and g for x

First derivatives only.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.autograd.function import once_differentiable


def _per_sample(operator: Any, position: Any, image: Any, samples: Any, shape: Any) -> Any:
    """Return the sum over batch and coils of Re[i samples conj(A (position image))]; `shape` is that of the samples of a coil."""
    turned = operator.values(image * position, False)
    return (1j * samples * turned.conj()).real.reshape(-1, *shape).sum(0)


def gradient_of_positions(operator: Any, image: Any, samples: Any) -> Any:
    """Return the gradient of the positions in cycles per field of view, [sample][axis]."""
    shape = operator.trajectory.shape[:-1]
    columns = [_per_sample(operator, position, image, samples, shape) for position in operator.positions(image)]
    return 2 * math.pi * torch.stack(columns, -1)


def gradient_of_coefficients(operator: Any, basis: Any, image: Any, samples: Any) -> Any:
    """Return the gradient of kappa, [term][sample]."""
    shape = operator.parameters()[0].shape[1:]
    terms = torch.as_tensor(basis, device=image.device).detach().to(image.real.dtype)
    return torch.stack([_per_sample(operator, term, image, samples, shape) for term in terms])


def gradient_of_basis(operator: Any, coefficients: Any, image: Any, samples: Any) -> Any:
    """Return the gradient of b, [term][voxel]."""
    terms = torch.as_tensor(coefficients, device=image.device).detach().to(image.real.dtype)
    turned = [operator.values(samples * term, True) for term in terms]
    return torch.stack([(1j * image.conj() * each).real.reshape(-1, *operator.shape).sum(0) for each in turned])


class _Apply(torch.autograd.Function):
    """A, or A^H where `is_adjoint`, on `values`: of a gradient with respect to them the other one."""

    @staticmethod
    def forward(context: Any, values: Any, operator: Any, is_adjoint: bool, *parameters: Any) -> Any:
        context.operator, context.is_adjoint = operator, is_adjoint
        context.save_for_backward(values, *parameters)
        return operator.values(values, is_adjoint)

    @staticmethod
    @once_differentiable
    def backward(context: Any, gradient: Any) -> Any:
        values, *parameters = context.saved_tensors
        of_values = None
        if context.needs_input_grad[0]:
            of_values = context.operator.values(gradient, not context.is_adjoint)
            of_values = of_values if values.is_complex() else of_values.real
        image, samples = (gradient, values) if context.is_adjoint else (values, gradient)
        of_parameters = [
            context.operator.gradient(number, image, samples).to(parameter) if needed else None
            for number, (parameter, needed) in enumerate(zip(parameters, context.needs_input_grad[3:]))
        ]
        return of_values, None, None, *of_parameters


def apply(operator: Any, values: Any, is_adjoint: bool) -> Any:
    """Return A values, or A^H values, with a record for gradients."""
    parameters = [torch.as_tensor(parameter) for parameter in operator.parameters()]
    return _Apply.apply(torch.as_tensor(values), operator, is_adjoint, *parameters)
