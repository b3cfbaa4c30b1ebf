"""The full signal equation with fields that were measured beside a scan."""

import numpy as np
import pytest

h5py = pytest.importorskip("h5py")

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


def test_the_program_finds_these_images_from_the_file_itself(measured, real_scans, program, tmp_path):
    """`fhd forward` makes the samples with all terms, `fhd recon` the images; fields and times come from the file of MATLAB.
    Its rows lie along -x of the magnet, its columns along -y. Errors are those of conjugate gradients in NumPy on the voxels
    above 2 % of the largest; another program found 5.6, 6.0 and 16.0 % on voxels that it does not state."""
    (rows, columns), kappa, basis, maps, image = measured
    fields = real_scans / "matmri" / "dataForDemonstrations.mat"
    with h5py.File(tmp_path / "scan.h5", "w") as scan:
        scan["kspace"] = np.ones((len(maps), kappa.shape[1]), np.complex64)
        scan["trajectory"] = -0.0015 / (2 * np.pi) * np.stack([columns * kappa[2], rows * kappa[1]], axis=1)
        scan["trajectory"].attrs["unit"] = "cycles/FOV"
        scan["sensitivity_maps"] = maps[:, None].astype(np.complex64)
        scan.attrs["matrix_size"] = np.array([columns, rows, 1], np.int32)
        scan.attrs["fov_mm"] = [1.5 * columns, 1.5 * rows, 1.5]
        scan.attrs["position_mm"] = 1e3 * basis[1:4, rows // 2, columns // 2]
        directions = {"read_direction": [0.0, -1, 0], "phase_direction": [-1.0, 0, 0], "slice_direction": [0.0, 0, -1]}
        scan.attrs.update(directions)
    with h5py.File(tmp_path / "image.h5", "w") as file:
        file["image"] = image[None].astype(complex)
    with h5py.File(tmp_path / "off_resonance.h5", "w") as file:
        file["field_map"] = -1e6 * basis[-1][None]
    np.savetxt(tmp_path / "linear.txt", kappa[:4].T, fmt="%.17g")
    program("forward", "image.h5", "scan.h5", "-o", "made.h5", "--fields", fields, "--field-map", "off_resonance.h5", cwd=tmp_path)
    models = ([fields], 5.505), (["linear.txt"], 5.899), (["linear.txt", "--field-map", "off"], 16.015)
    is_object = abs(image) > 0.02 * abs(image).max()
    for options, percent in models:
        program("recon", "made.h5", "-o", "out", "--force", "--lambda", 0, "--iterations", 20, "--tolerance", 0, "--preconditioner",
                "none", "--compress", "off", "--whiten", "off", "--surroundings", "off", "--fields", *options, cwd=tmp_path)
        with h5py.File(tmp_path / "out.h5") as file:
            found = abs(file["image"][()].reshape(rows, columns))
        difference = 100 * np.linalg.norm((found - abs(image))[is_object]) / np.linalg.norm(image[is_object])
        assert abs(difference - percent) <= 0.01
