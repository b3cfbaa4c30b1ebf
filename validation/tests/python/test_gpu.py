"""Operators on arrays that lie on a GPU."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import fhd  # noqa: E402

pytestmark = pytest.mark.skipif(not (torch.cuda.is_available() and fhd.built_with_cuda), reason="there is no GPU, or fhd was built without CUDA")

SHAPE, SAMPLES, COILS = (24, 40), 500, 3
rng = np.random.default_rng(3)
TRAJECTORY = (rng.random((SAMPLES, 2)) - 0.5) * [40, 24]
# Of single precision, recon/transform/transform.hpp; of double, rounding.
TOLERANCE = {torch.complex64: 3e-5, torch.complex128: 1e-12}


def normal(*shape):
    return rng.normal(size=shape) + 1j * rng.normal(size=shape)


def operators():
    exact = fhd.NDFT(TRAJECTORY, SHAPE)
    return {"ndft": exact, "sense": fhd.Sense(exact, normal(COILS, *SHAPE)), "nufft": fhd.NUFFT(TRAJECTORY, SHAPE, 1e-5)}


@pytest.mark.parametrize("name", ["ndft", "sense", "nufft"])
@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_results_of_torch_are_those_of_the_cpu(name, dtype, relative_error):
    a = operators()[name]
    x = torch.as_tensor(normal(2, *SHAPE)).to(dtype)
    d = torch.as_tensor(normal(2, *a.sample_shape)).to(dtype)
    tolerance = TOLERANCE[dtype] + (2e-5 if name == "nufft" else 0)
    for function, value in [(a.__matmul__, x), (a.H.__matmul__, d), (a.normal.__matmul__, x)]:
        found = function(value.cuda())
        assert found.is_cuda and found.dtype == dtype
        assert relative_error(found.cpu().numpy(), function(value).numpy()) <= 2 * tolerance


def test_nothing_is_copied():
    """torch, which makes every array of the GPU here, makes the result alone; and what was queued before is waited for."""
    a = fhd.NDFT(TRAJECTORY, SHAPE)
    x = torch.as_tensor(normal(64, *SHAPE)).to(torch.complex64).cuda()
    a @ x
    torch.cuda.synchronize()
    seen = []
    native = a._native

    class Watching:
        def apply(self, images, samples, adjoint):
            seen.extend([images.data_ptr(), samples.data_ptr()])
            native.apply(images, samples, adjoint)

    a._native = Watching()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    y = a @ x
    assert seen == [x.data_ptr(), y.data_ptr()]
    assert torch.cuda.max_memory_allocated() - before <= y.numel() * y.element_size() + 512


def test_work_that_was_queued_is_waited_for(relative_error):
    a = fhd.NDFT(TRAJECTORY, SHAPE)
    x = torch.as_tensor(normal(*SHAPE)).cuda()
    expected = (a @ x).cpu().numpy()
    big = torch.randn(6000, 6000, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        late = x.clone().zero_()
        for _ in range(20):
            big = big @ big
            big = big / big.norm()
        late += x + 0 * big.sum()
        y = a @ late
    assert relative_error(y.cpu().numpy(), expected) <= 1e-12


def test_gradients_stay_on_the_gpu(relative_error):
    k = torch.as_tensor(TRAJECTORY).requires_grad_()
    x = torch.as_tensor(normal(*SHAPE))
    gradients = []
    for device in ("cpu", "cuda"):
        position = k.detach().clone().to(device).requires_grad_()
        image = x.clone().to(device).requires_grad_()
        (fhd.NDFT(position, SHAPE) @ image).abs().pow(2).sum().backward()
        assert position.grad.device.type == image.grad.device.type == device
        gradients.append((position.grad.cpu().numpy(), image.grad.cpu().numpy()))
    for cpu, gpu in zip(*gradients):
        assert relative_error(gpu, cpu) <= 1e-10


def test_cupy_arrays_are_taken(relative_error):
    cupy = pytest.importorskip("cupy")
    for name, a in operators().items():
        x = normal(*SHAPE)
        found = a @ cupy.asarray(x)
        assert isinstance(found, cupy.ndarray)
        assert relative_error(found.get(), a @ x) <= (2e-5 if name == "nufft" else 1e-12)


def test_reconstructions_take_the_gpu(relative_error):
    samples = fhd.NDFT(TRAJECTORY, SHAPE) @ normal(*SHAPE)
    images = [
        fhd.reconstruct(samples[None], TRAJECTORY, SHAPE, coils="none", device=device, progress=False).image
        for device in ("cpu", "cuda")
    ]
    assert relative_error(images[1], images[0]) <= 1e-3  # both stop at the tolerance of the solver
