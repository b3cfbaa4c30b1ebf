"""Gradients against central differences."""

import pytest

torch = pytest.importorskip("torch")

import fhd  # noqa: E402

torch.manual_seed(2)
SHAPE, SAMPLES, COILS = (6, 5), 9, 3


def normal(*shape):
    return torch.randn(*shape, dtype=torch.complex128)


def trajectory():
    return (torch.rand(SAMPLES, 2, dtype=torch.float64) - 0.5) * torch.tensor([4.5, 5.5])


MAPS = normal(COILS, *SHAPE)
MAKERS = {
    "ndft": (lambda k: fhd.NDFT(k, SHAPE), (SAMPLES,)),
    "nufft": (lambda k: fhd.NUFFT(k, SHAPE, 1e-12), (SAMPLES,)),
    "sense": (lambda k: fhd.Sense(fhd.NDFT(k, SHAPE), MAPS), (COILS, SAMPLES)),
}


def require_gradients(function, *inputs):
    """Every derivative of Re <w, function> equals central differences to 1e-6 of the largest. Of steps h these are
    off by h^2 |f'''| / 6 and by rounding over h: 1e-10 and 1e-11 at h = 1e-5."""
    weights = normal(*function(*inputs).shape)
    loss = lambda *values: (weights.conj() * function(*values)).sum().real  # noqa: E731
    inputs = [value.clone().requires_grad_() for value in inputs]
    gradients = torch.autograd.grad(loss(*inputs), inputs)
    h = 1e-5
    for which, gradient in enumerate(gradients):
        flat = inputs[which].detach().clone().reshape(-1)
        for i in range(flat.numel()):
            found = 0
            for unit in [1, 1j] if flat.is_complex() else [1]:
                ends = []
                for sign in (1, -1):
                    moved = flat.clone()
                    moved[i] += sign * h * unit
                    values = [value.detach() for value in inputs]
                    values[which] = moved.reshape(gradient.shape)
                    ends.append(loss(*values))
                found = found + unit * (ends[0] - ends[1]) / (2 * h)
            assert abs(gradient.reshape(-1)[i] - found) <= 1e-6 * gradient.abs().max()


def test_encodings_have_gradients_of_image_samples_coefficients_and_basis():
    decay, times = torch.rand(*SHAPE, dtype=torch.float64), torch.rand(SAMPLES, dtype=torch.float64)
    of_two = {"second_decay_per_s": 9 * decay, "fraction": torch.rand(*SHAPE, dtype=torch.float64)}
    make = lambda kappa, b: fhd.Encoding(kappa, b, SHAPE, MAPS, decay_per_s=decay, sample_time_s=times, **of_two)  # noqa: E731
    phases = 5 * torch.rand(3, SAMPLES, dtype=torch.float64), torch.rand(3, *SHAPE, dtype=torch.float64)
    require_gradients(lambda x, *phases: make(*phases) @ x, normal(2, *SHAPE), *phases)
    require_gradients(lambda d, *phases: make(*phases).H @ d, normal(COILS, SAMPLES), *phases)
    require_gradients(lambda x, *phases: make(*phases).normal @ x, normal(*SHAPE), *phases)


@pytest.mark.parametrize("name", ["ndft", "sense"])
def test_gradients_of_image_samples_and_trajectory(name):
    make, sample_shape = MAKERS[name]
    require_gradients(lambda x, k: make(k) @ x, normal(*SHAPE), trajectory())
    require_gradients(lambda d, k: make(k).H @ d, normal(*sample_shape), trajectory())
    require_gradients(lambda x, k: make(k).normal @ x, normal(*SHAPE), trajectory())


def test_gradients_of_gridding():
    make, sample_shape = MAKERS["nufft"]
    require_gradients(lambda x, k: make(k) @ x, normal(*SHAPE), trajectory())
    require_gradients(lambda d, k: make(k).H @ d, normal(*sample_shape), trajectory())


def test_gradients_through_toeplitz_batches_and_real_images():
    k = trajectory()
    operator = fhd.NDFT(k, SHAPE)
    require_gradients(lambda x: operator.normal @ x, normal(2, *SHAPE))
    require_gradients(lambda x, k: fhd.NDFT(k, SHAPE) @ x, torch.randn(2, *SHAPE, dtype=torch.float64), k)


def test_results_are_tensors_of_the_same_type_and_conjugates_are_resolved():
    operator = fhd.NDFT(trajectory(), SHAPE)
    x = normal(*SHAPE)
    assert torch.equal(operator @ x.conj(), operator @ x.conj().resolve_conj())
    single = operator @ x.to(torch.complex64)
    assert single.dtype == torch.complex64 and not single.requires_grad


def test_second_derivatives_are_refused():
    k = trajectory().requires_grad_()
    x = normal(*SHAPE)
    (gradient,) = torch.autograd.grad((fhd.NDFT(k, SHAPE) @ x).abs().sum(), k, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()


def test_an_operator_in_another_unit_goes_backward_again_and_again():
    k = (trajectory() / 6).requires_grad_()
    operator = fhd.NDFT(k, (6, 6), trajectory_unit="cycles/voxel")
    image = normal(6, 6)
    gradients = [torch.autograd.grad((operator @ image).abs().sum(), k)[0] for _ in range(2)]
    in_fov = (6 * k.detach()).requires_grad_()
    expected = 6 * torch.autograd.grad((fhd.NDFT(in_fov, (6, 6)) @ image).abs().sum(), in_fov)[0]
    for gradient in gradients:
        torch.testing.assert_close(gradient, expected, rtol=1e-9, atol=1e-9)
