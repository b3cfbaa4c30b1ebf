"""The full signal equation against its sums, written out in numpy."""

import pickle

import numpy as np
import pytest

import fhd

rng = np.random.default_rng(3)

# Promised in recon/transform/phase/phase.hpp.
TOLERANCE = {np.complex64: 5e-6, np.complex128: 1e-12}


def complex_normal(*shape):
    return rng.normal(size=shape) + 1j * rng.normal(size=shape)


def problem(shape, samples, terms=5, size=20):
    """coefficients, basis, decay rates and sample times"""
    return (
        size * rng.uniform(-1, 1, (terms, *samples)),
        rng.uniform(-1, 1, (terms, *shape)),
        rng.uniform(0, 100, shape),
        rng.uniform(0, 0.02, samples),
    )


def matrix(kappa, basis, decay, times):
    terms = len(kappa)
    phase = kappa.reshape(terms, -1).T @ basis.reshape(terms, -1)
    return np.exp(-1j * phase - np.outer(times.ravel(), decay.ravel()))


@pytest.mark.parametrize("shape, samples", [((16,), (5,)), ((9, 8), (3, 14)), ((3, 4, 5), (41,))])
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_encoding_is_the_sum(shape, samples, dtype, relative_error):
    kappa, basis, decay, times = problem(shape, samples)
    maps, x, d = complex_normal(3, *shape), complex_normal(2, *shape).astype(dtype), complex_normal(2, 3, *samples).astype(dtype)
    a = fhd.Encoding(kappa, basis, shape, maps, decay_per_s=decay, sample_time_s=times)
    e = matrix(kappa, basis, decay, times)
    expected = np.einsum("mp,bcp->bcm", e, (x[:, None] * maps).reshape(2, 3, -1))
    y, z = a @ x, a.H @ d
    assert y.dtype == z.dtype == dtype and y.shape == d.shape and z.shape == x.shape
    assert relative_error(y, expected) <= TOLERANCE[dtype]
    assert relative_error(z, np.einsum("mp,bcm,cp->bp", e.conj(), d.reshape(2, 3, -1), maps.reshape(3, -1).conj())) <= TOLERANCE[dtype]
    assert relative_error(a.normal(x), a.H @ (a @ x)) == 0


def test_decay_of_two_components(relative_error):
    kappa, basis, decay, times = problem((4, 5), (30,))
    share = np.random.default_rng(3).uniform(size=(4, 5))
    given = {"decay_per_s": 9 * decay, "sample_time_s": times, "second_decay_per_s": decay, "fraction": share}
    a = fhd.Encoding(kappa, basis, (4, 5), **given)
    e = matrix(kappa, basis, 9 * decay, times) * share.ravel() + matrix(kappa, basis, decay, times) * (1 - share).ravel()
    image, samples = complex_normal(4, 5), complex_normal(30)
    assert relative_error((a @ image).ravel(), e @ image.ravel()) <= 1e-12
    assert relative_error((a.H @ samples).ravel(), e.conj().T @ samples.ravel()) <= 1e-12
    with pytest.raises(fhd.Error, match="together with fraction"):
        fhd.Encoding(kappa, basis, (4, 5), **{**given, "fraction": None})
    with pytest.raises(fhd.Error, match="fraction of decay: expected 0 ... 1"):
        fhd.Encoding(kappa, basis, (4, 5), **{**given, "fraction": 2 * share + 1})


def test_without_maps_and_decay_it_is_one_coil(relative_error):
    kappa, basis, _, _ = problem((6, 7), (30,))
    a, x = fhd.Encoding(kappa, basis, (6, 7)), complex_normal(6, 7)
    assert (a @ x).shape == (30,)
    assert relative_error(a @ x, matrix(kappa, basis, np.zeros(42), np.zeros(30)) @ x.ravel()) <= 1e-13


def test_k_and_off_resonance_are_terms(relative_error):
    shape = (8, 10)
    k = rng.uniform(-0.5, 0.5, (50, 2)) * [10, 8]
    y, x = np.meshgrid(*[(np.arange(n) - n // 2) / n for n in shape], indexing="ij")
    a = fhd.Encoding(2 * np.pi * k.T, np.stack([x, y]), shape)
    image = complex_normal(*shape)
    assert relative_error(a @ image, fhd.NDFT(k, shape) @ image) <= 1e-13


def test_encodings_can_be_pickled_and_solved(relative_error):
    lsmr = pytest.importorskip("scipy.sparse.linalg").lsmr
    kappa, basis, decay, times = problem((4, 5), (200,))
    a = fhd.Encoding(kappa, basis, (4, 5), complex_normal(2, 4, 5), decay_per_s=decay, sample_time_s=times)
    x = complex_normal(4, 5)
    copied = pickle.loads(pickle.dumps(a))
    assert np.array_equal(copied @ x, a @ x)
    found = lsmr(a.as_scipy(), (a @ x).ravel(), atol=1e-12, btol=1e-12, maxiter=1000)[0]
    assert relative_error(found, x) <= 1e-9


ones = np.ones
WRONG = [
    (lambda: fhd.Encoding(ones((2, 9)), ones((3, 4, 5)), (4, 5)), r"basis: expected \[2\]\[4\]\[5\]"),
    (lambda: fhd.Encoding(ones((2, 9)), ones((2, 20)), (4, 5)), r"give basis.reshape\(-1, \*shape\)"),
    (lambda: fhd.Encoding(ones(9), ones((1, 4, 5)), (4, 5)), r"coefficients: expected \[term\]\[sample\]"),
    (lambda: fhd.Encoding(ones((2, 9)) * np.nan, ones((2, 4, 5)), (4, 5)), "coefficients: expected finite numbers"),
    (lambda: fhd.Encoding(ones((2, 9)), ones((2, 4, 5)) * 1j, (4, 5)), "basis: expected real numbers"),
    (lambda: fhd.Encoding(ones((2, 9)) * 1e6, ones((2, 4, 5)), (4, 5)), "rad/m and m, .*not mm"),
    (lambda: fhd.Encoding(ones((2, 9)), ones((2, 4, 5)), (4, 5), ones((3, 5, 4))), "maps: expected"),
    (lambda: fhd.Encoding(ones((2, 9)), ones((2, 4, 5)), (4, 5), decay_per_s=ones((4, 5))), "together with sample_time_s"),
    (
        lambda: fhd.Encoding(ones((2, 9)), ones((2, 4, 5)), (4, 5), decay_per_s=ones((4, 5)), sample_time_s=ones(8)),
        "sample_time_s: expected",
    ),
    (
        lambda: fhd.Encoding(ones((2, 9)), ones((2, 4, 5)), (4, 5), decay_per_s=-ones((4, 5)), sample_time_s=ones(9)),
        "decay: expected rates >= 0",
    ),
]


@pytest.mark.parametrize("make, message", WRONG)
def test_wrong_terms_are_errors_in_words(make, message):
    with pytest.raises(fhd.Error, match=message):
        make()
