"""The full signal equation with fields that were measured beside a scan."""

import numpy as np
import pytest

import fhd


@pytest.fixture(scope="module")
def measured(real_scans):
    """Fields measured beside a scan (MatMRI, whose phases have the other sign): shape, terms and their basis, maps, image."""
    loadmat = pytest.importorskip("scipy.io").loadmat
    mat = loadmat(real_scans / "matmri" / "dataForDemonstrations.mat")
    x, y, z = (mat[name].astype(float) for name in "XYZ")
    spherical = [x**0, x, y, z, x * y, z * y, 3 * z**2 - (x**2 + y**2 + z**2), x * z, x**2 - y**2]
    maxwell = [z**2, x**2 + y**2, x * z, y * z]
    off_resonance = [mat["b0map"].astype(float).reshape(x.shape)]
    kappa = np.concatenate([mat["phs_spha"].T, mat["phs_conc"].T, mat["datatime"].reshape(1, -1)]).astype(float)
    maps = np.moveaxis(mat["Crcvr"].reshape(*x.shape, -1), -1, 0)
    return x.shape, -kappa, np.stack(spherical + maxwell + off_resonance), maps, mat["im0"].reshape(x.shape)


def conjugate_gradient(a, samples, iterations):
    b = a.H @ samples
    x, r = np.zeros_like(b), b
    p, squared = r, np.vdot(r, r).real
    for _ in range(iterations):
        q = a.normal(p)
        step = squared / np.vdot(p, q).real
        x, r = x + step * p, r - step * q
        before, squared = squared, np.vdot(r, r).real
        p = r + squared / before * p
    return x


def test_measured_fields_give_the_sums_of_numpy(measured, relative_error):
    shape, kappa, basis, maps, image = measured
    some = slice(0, None, 37)
    phase = kappa[:, some].T @ basis.reshape(len(kappa), -1)
    expected = np.exp(-1j * phase) @ (maps * image).reshape(len(maps), -1).T
    for dtype in (np.complex64, np.complex128):
        a = fhd.Encoding(kappa[:, some], basis, shape, maps)
        assert relative_error(a @ image.astype(dtype), expected.T) <= 1e-5


def test_images_of_three_models_have_the_known_errors(measured):
    """Samples made with all terms, 20 iterations from zero: errors of the magnitude within the object as another program
    found them, of all terms, without second order and Maxwell terms, and of k alone."""
    shape, kappa, basis, maps, image = measured
    image = image.astype(np.complex64)
    samples = fhd.Encoding(kappa, basis, shape, maps) @ image
    is_object = abs(image) > 0.02 * abs(image).max()
    off_resonance = len(kappa) - 1
    for terms, percent in ((range(len(kappa)), 5.6), ((0, 1, 2, 3, off_resonance), 6.0), ((0, 1, 2, 3), 16.0)):
        model = fhd.Encoding(kappa[list(terms)], basis[list(terms)], shape, maps)
        found = conjugate_gradient(model, samples, 20)
        difference = (abs(found) - abs(image))[is_object]
        assert abs(100 * np.linalg.norm(difference) / np.linalg.norm(image[is_object]) - percent) <= 0.1
