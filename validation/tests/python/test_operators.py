"""Operators against the sums themselves, written out in numpy."""

import pickle
import warnings

import numpy as np
import pytest

import fhd

rng = np.random.default_rng(1)

# Rounding of sums: about sqrt(number of terms) times the unit roundoff, and of phases of up to 2 pi 16 rad; single
# precision of fhd promises 3e-5 (recon/transform/transform.hpp).
TOLERANCE = {np.complex64: 3e-5, np.complex128: 1e-12}


def positions(shape):
    """[p][axis x, y, z] in fractions of the field of view."""
    grids = np.meshgrid(*[(np.arange(n) - n // 2) / n for n in shape], indexing="ij")
    return np.stack([grid.ravel() for grid in reversed(grids)], -1)


def matrix(trajectory, shape):
    return np.exp(-2j * np.pi * trajectory @ positions(shape).T)


def trajectory_of(shape, count):
    return rng.uniform(-0.5, 0.5, (count, len(shape))) * list(reversed(shape))


def complex_normal(*shape):
    return rng.normal(size=shape) + 1j * rng.normal(size=shape)


@pytest.mark.parametrize("shape", [(16,), (12, 17), (5, 8, 7), (1, 1), (1, 9)])
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_ndft_is_the_sum(shape, dtype, relative_error):
    k = trajectory_of(shape, 37)
    a, f = fhd.NDFT(k, shape), matrix(k, shape)
    x, d = complex_normal(*shape).astype(dtype), complex_normal(37).astype(dtype)
    y, z, w = a @ x, a.H @ d, a.normal @ x
    assert y.dtype == z.dtype == w.dtype == dtype
    assert z.shape == w.shape == shape
    assert relative_error(y, f @ x.ravel()) <= TOLERANCE[dtype]
    assert relative_error(z, f.conj().T @ d) <= TOLERANCE[dtype]
    assert relative_error(w, f.conj().T @ (f @ x.ravel())) <= 2 * TOLERANCE[dtype]


def test_nufft_is_the_sum_to_its_accuracy(relative_error):
    shape = (24, 20)
    k = trajectory_of(shape, 300)
    x, d, f = complex_normal(*shape), complex_normal(300), matrix(k, shape)
    for accuracy in (1e-3, 1e-6, 1e-9):
        a = fhd.NUFFT(k, shape, accuracy)
        assert relative_error(a @ x, f @ x.ravel()) <= accuracy
        assert relative_error(a.H @ d, f.conj().T @ d) <= accuracy
        assert a.accuracy(np.complex128) <= accuracy


def test_leading_axes_are_a_batch_and_axes_of_readouts_stay(relative_error):
    shape = (8, 10)
    k = trajectory_of(shape, 3 * 5)
    flat, shaped = fhd.NDFT(k, shape), fhd.NDFT(k.reshape(3, 5, 2), shape)
    x = complex_normal(2, 4, *shape)
    y = shaped @ x
    assert y.shape == (2, 4, 3, 5)
    for i in np.ndindex(2, 4):
        assert np.array_equal(y[i].ravel(), flat @ x[i])
    z = shaped.H @ y
    assert z.shape == x.shape
    assert relative_error(z[1, 2], flat.H @ y[1, 2].ravel()) <= 1e-14


def test_sense_multiplies_by_maps_and_its_adjoint_is_the_adjoint(relative_error):
    shape = (9, 8)
    k, maps = trajectory_of(shape, 40), complex_normal(3, *shape)
    a = fhd.Sense(fhd.NDFT(k, shape), maps)
    x, d = complex_normal(2, *shape), complex_normal(2, 3, 40)
    f = matrix(k, shape)
    expected = np.einsum("mp,bcp->bcm", f, (x[:, None] * maps).reshape(2, 3, -1))
    assert relative_error(a @ x, expected) <= 1e-12
    left, right = np.vdot(d, a @ x), np.vdot(a.H @ d, x)
    assert abs(left - right) <= 1e-12 * np.linalg.norm(a @ x) * np.linalg.norm(d)
    assert relative_error(a.normal @ x, a.H @ (a @ x)) <= 1e-12


def test_toeplitz_takes_weights(relative_error):
    shape = (8, 8)
    k, weights = trajectory_of(shape, 50), rng.uniform(0, 2, 50)
    a, x, f = fhd.NDFT(k, shape), complex_normal(*shape), matrix(k, shape)
    t = fhd.Toeplitz(a, weights=weights)
    assert relative_error(t @ x, f.conj().T @ (weights * (f @ x.ravel()))) <= 1e-12
    assert t.H is t


def test_strided_real_frozen_and_empty_arrays_are_taken(relative_error):
    shape = (6, 6)
    a = fhd.NDFT(trajectory_of(shape, 11), shape)
    x = complex_normal(6, 12)
    assert np.array_equal(a @ x[:, ::2], a @ x[:, ::2].copy())
    assert np.array_equal(a @ x.real[:, ::2], a @ (x.real[:, ::2] + 0j))
    frozen = x[:, ::2].copy()
    frozen.setflags(write=False)
    assert np.array_equal(a @ frozen, a @ x[:, ::2])
    assert np.array_equal(a.normal @ frozen, a.normal @ x[:, ::2])
    assert np.array_equal(a.H @ (a @ frozen).astype(">c16"), a.H @ (a @ frozen))
    assert (a @ np.empty((0, *shape), np.complex64)).shape == (0, 11)


def test_density_weights_make_the_adjoint_an_image(relative_error):
    n = 24
    angles = np.pi * np.arange(48) / 48
    radii = np.arange(-n, n) / 2
    k = np.stack([np.outer(np.cos(angles), radii), np.outer(np.sin(angles), radii)], -1)
    a = fhd.NDFT(k, (n, n))
    x = np.zeros((n, n), complex)
    x[8:16, 8:16] = 1
    image = a.H @ (a.density_weights() * (a @ x))
    # A radial scan of all angles lacks the corners of k-space: Gibbs ringing of the square, about a tenth.
    assert relative_error(image, x) <= 0.25


def test_operators_can_be_pickled():
    shape = (5, 6)
    a = fhd.NDFT(trajectory_of(shape, 20), shape)
    x = complex_normal(*shape)
    kinds = [a, fhd.NUFFT(a.trajectory, shape, 1e-7), fhd.Sense(a, complex_normal(2, *shape)), fhd.Toeplitz(a, weights=np.ones(20))]
    small = fhd.NDFT(a.trajectory / 30, shape, trajectory_unit="cycles/FOV")  # of which no unit is guessed again
    for operator in [*kinds, small]:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            copied = pickle.loads(pickle.dumps(operator))
        assert np.array_equal(copied @ x, operator @ x)


def test_scipy_solves_with_it(relative_error):
    lsmr = pytest.importorskip("scipy.sparse.linalg").lsmr
    shape = (5, 6)
    a = fhd.NDFT(trajectory_of(shape, 200), shape)
    x = complex_normal(*shape)
    found = lsmr(a.as_scipy(), (a @ x).ravel(), atol=1e-12, btol=1e-12)[0]
    assert relative_error(found, x) <= 1e-9


def test_sigpy_takes_it(relative_error):
    pytest.importorskip("sigpy")
    shape = (5, 6)
    a = fhd.NDFT(trajectory_of(shape, 20), shape)
    x, linop = complex_normal(*shape), a.as_sigpy()
    assert np.array_equal(linop * x, a @ x)
    assert np.array_equal(linop.H * (a @ x), a.H @ (a @ x))


@pytest.mark.parametrize(
    "what, message",
    [
        (lambda a: a @ np.ones((6, 7)), r"image: expected \[6, 6\]"),
        (lambda a: a @ np.ones((6, 6), int), "image: expected complex64 or complex128"),
        (lambda a: a.H @ np.ones(10, complex), r"samples: expected \[11\]"),
        (lambda a: fhd.NDFT(np.full((3, 2), 4.0), (6, 6)), r"trajectory along x: expected \|k\| <= 3 cycles/FOV for a matrix of 6"),
        (lambda a: fhd.NDFT(np.full((3, 2), np.nan), (6, 6)), "trajectory: expected finite numbers"),
        (lambda a: fhd.NDFT(np.zeros((3, 3)), (6, 6)), "trajectory: expected"),
        (lambda a: fhd.NDFT(np.zeros((0, 2)), (6, 6)), "at least one sample"),
        (lambda a: fhd.NDFT(np.zeros((3, 2)), (6, 0)), "shape: expected sizes >= 1"),
        (lambda a: fhd.NUFFT(np.zeros((3, 2)), (6, 6), -1) @ np.ones((6, 6), complex), "accuracy"),
        (lambda a: fhd.Sense(a, np.ones((2, 6, 5), complex)), "maps: expected"),
        (lambda a: fhd.Toeplitz(a, weights=np.full(11, -1.0)) @ np.ones((6, 6), complex), "weights: expected"),
    ],
)
def test_wrong_arrays_are_errors_in_words(what, message):
    a = fhd.NDFT(trajectory_of((6, 6), 11), (6, 6))
    with pytest.raises(fhd.Error, match=message):
        what(a)
