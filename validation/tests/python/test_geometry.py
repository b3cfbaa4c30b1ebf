"""Where the voxels of every result lie: a marker at a known place in the patient, read back by nibabel, SimpleITK, pydicom and
ismrmrd from scans of 30 geometries; and trajectories in the axes of the magnet or of the image."""

import os
import subprocess

import numpy as np
import pytest

pytest.importorskip("ismrmrd")

import geometries
from geometries import GEOMETRIES, Geometry, Plane, expect_marker

LPS = np.diag([-1.0, -1.0, 1.0])


def fhd(*arguments, cwd):
    return subprocess.run([os.environ["FHD_PROGRAM"], *map(str, arguments)], cwd=cwd, capture_output=True, text=True)


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    """The folder of results of a geometry, and what was printed; made once."""
    made = {}

    def of(name):
        if name not in made:
            folder = tmp_path_factory.mktemp("geometry")
            geometries.write(folder / "scan.h5", GEOMETRIES[name])
            call = ["recon", "scan.h5", "-o", "out", "--ismrmrd-images", "images.h5", "--device", "cpu"]
            done = fhd(*call, "--dicom", "series", cwd=folder)
            if "fhd_dicom.so" in done.stderr:  # a build without DCMTK
                done = fhd(*call, cwd=folder)
            assert done.returncode == 0, done.stderr
            made[name] = folder, done.stdout
        return made[name]

    return of


def niftis(folder, g):
    names = ["out.nii.gz"] if g.stacks == 1 else [f"out_{i + 1}.nii.gz" for i in range(g.stacks)]
    assert sorted(path.name for path in folder.glob("*.nii.gz")) == sorted(names)
    assert sorted(path.name for path in folder.glob("*.png")) == sorted(name.replace(".nii.gz", ".png") for name in names)
    return [folder / name for name in names]


def planes_of(values, affine):
    """Of [x][y][z] and voxel -> LPS, 4 x 4."""
    return [Plane(values[:, :, z].T, affine[:3, 3] + affine[:3, 2] * z, affine[:3, 0], affine[:3, 1]) for z in range(values.shape[2])]


def test_there_are_30():
    assert len(GEOMETRIES) >= 30


@pytest.mark.parametrize("name", GEOMETRIES)
def test_nifti(result, name):
    nibabel = pytest.importorskip("nibabel")
    g = GEOMETRIES[name]
    folder, printed = result(name)
    assert g.note in printed
    planes = []
    for path in niftis(folder, g):
        image = nibabel.load(path)
        sform, qform = image.get_sform(), image.get_qform()
        assert np.allclose(sform, qform, atol=2e-4 * np.abs(sform).max() / 100), "both say the same"
        affine = image.affine.copy()
        affine[:3] = LPS @ affine[:3]
        planes += planes_of(np.asanyarray(image.dataobj), affine)
        if g.even and image.shape[2] > 1:
            assert image.header.get_zooms()[2] == pytest.approx(g.fov[2] / g.matrix[2], rel=1e-5)
    expect_marker(planes, g, exact_places=g.even)


@pytest.mark.parametrize("name", GEOMETRIES)
def test_simpleitk(result, name):
    sitk = pytest.importorskip("SimpleITK")
    g = GEOMETRIES[name]
    folder, _ = result(name)
    read = [sitk.ReadImage(str(path)) for path in niftis(folder, g)]
    if (folder / "series").is_dir() and g.stacks == 1 and g.even and len(g.slices) > 1:
        names = sitk.ImageSeriesReader.GetGDCMSeriesFileNames(str(folder / "series"))
        expect_marker(sitk_planes(sitk.ReadImage(names)), g)
    expect_marker([plane for image in read for plane in sitk_planes(image)], g, exact_places=g.even)


def sitk_planes(image):
    import SimpleITK as sitk

    n = image.GetSize()
    at = lambda *voxel: np.array(image.TransformContinuousIndexToPhysicalPoint([float(v) for v in voxel]))
    values = sitk.GetArrayFromImage(image)
    return [Plane(values[z], at(0, 0, z), at(1, 0, z) - at(0, 0, z), at(0, 1, z) - at(0, 0, z)) for z in range(n[2])]


@pytest.mark.parametrize("name", GEOMETRIES)
def test_dicom(result, name):
    pydicom = pytest.importorskip("pydicom")
    g = GEOMETRIES[name]
    folder, _ = result(name)
    if not (folder / "series").is_dir():
        pytest.skip("fhd was built without DCMTK")
    planes = []
    for path in sorted((folder / "series").iterdir()):
        file = pydicom.dcmread(path)
        o = np.array(file.ImageOrientationPatient, float)
        rows, columns = map(float, file.PixelSpacing)
        planes.append(Plane(file.pixel_array * float(file.RescaleSlope), np.array(file.ImagePositionPatient, float),
                            o[:3] * columns, o[3:] * rows))
    assert len(planes) == len(g.slices) * g.matrix[2]
    expect_marker(planes, g)


@pytest.mark.parametrize("name", GEOMETRIES)
def test_ismrmrd_images_and_h5(result, name):
    import h5py
    import ismrmrd

    g = GEOMETRIES[name]
    folder, _ = result(name)
    nx, ny, nz = g.matrix
    half = np.array([nx // 2, ny // 2, nz // 2])
    of_slices, planes = {where.counter: where for where in g.slices}, []
    with ismrmrd.Dataset(str(folder / "images.h5"), "dataset", create_if_needed=False) as file:
        for i in range(file.number_of_images("image_0")):
            image = file.read_image("image_0", i)
            own = of_slices[image.slice]
            assert np.allclose(image.position, own.centre, atol=1e-4) and np.allclose(image.slice_dir, own.axes[2], atol=1e-6)
            affine = np.eye(4)
            affine[:3, :3] = np.stack([image.read_dir, image.phase_dir, image.slice_dir], 1) * np.array(g.fov) / g.matrix
            affine[:3, 3] = np.array(image.position) - affine[:3, :3] @ half
            planes += planes_of(image.data[0].T, affine)
    expect_marker(planes, g)
    with h5py.File(folder / "out.h5") as file:
        counters = list(file["image"].attrs["slice_counters"])
        positions = file["image"].attrs["position_mm"].reshape(-1, 3)
        reads = np.broadcast_to(file["image"].attrs["read_direction"].reshape(-1, 3), (len(counters), 3))
    for counter, position, read in zip(counters, positions, reads):
        assert np.allclose(position, of_slices[counter].centre, atol=1e-4)
        assert np.allclose(read, of_slices[counter].axes[0], atol=1e-6)
    for before, after in zip(counters, counters[1:]):  # by place within a stack
        a, b = of_slices[before], of_slices[after]
        if g.stacks == 1:
            assert (b.centre - a.centre) @ a.axes[2] > 0


# --- Axes of trajectories

DEVICE = np.diag([1.0, -1.0, -1.0])  # gradients whose y and z run against P and S, as of a patient head first, supine


def radial(seed=None, axes=None, matrix=(32, 32, 1), **more):
    axes = geometries.rotation(seed) if axes is None else axes
    fov = more.pop("fov", (200.0, 200.0, 6.0))
    return Geometry(geometries.stack(axes, [1.3], **more), matrix=matrix, fov=fov, trajectory="radial", axes="magnet")


def in_magnet(k, where):
    return k @ where.axes


NOISE = np.random.default_rng(3)
TURNED = geometries.tilted("z", 20)
BOTH = ("--trajectory-axes image", "--trajectory-axes magnet")
AXES = {  # geometry, unit, the trajectory in the file, what is right: "image", "magnet", or words of the refusal and the option then
    "double oblique": (radial(21), "cycles/FOV", in_magnet, "magnet"),
    "unit not stated": (radial(22), None, in_magnet, "magnet"),
    "1/m": (radial(23), "1/m", lambda k, w: in_magnet(k, w) / 0.2, "magnet"),
    "radians/voxel": (radial(24), "radians/voxel", lambda k, w: in_magnet(k, w) * 2 * np.pi / 32, "magnet"),
    "FOV not square": (radial(25, fov=(180.0, 220.0, 6.0)), "1/m", lambda k, w: (k / np.array([0.18, 0.22, 1])) @ w.axes, "magnet"),
    "left-handed": (radial(axes=geometries.MIRROR @ geometries.rotation(26)), "cycles/FOV", in_magnet, "magnet"),
    "off the plane by a little": (
        radial(27), "cycles/FOV", lambda k, w: in_magnet(k, w) + 0.02 * NOISE.standard_normal(k.shape) @ np.outer(w.axes[2], w.axes[2]),
        "magnet"),
    "image axes": (radial(28), "cycles/FOV", lambda k, w: k, "image"),
    "image axes with weights": (
        radial(29), "cycles/FOV", lambda k, w: np.column_stack([k[:, :2], np.hypot(k[:, 0], k[:, 1]) / 16]), "image"),
    "axial, turned, third axis zero": (radial(axes=TURNED), "cycles/FOV", lambda k, w: k, "image"),
    "axial, turned, third axis measured": (
        radial(axes=TURNED), "cycles/FOV", lambda k, w: k + 1e-2 * NOISE.standard_normal(k.shape) * [0, 0, 1],
        ("turned within the plane", "image")),
    "axes of the gradients": (
        radial(30), "cycles/FOV", lambda k, w: in_magnet(k, w) @ DEVICE, ("signs of the trajectory's axes", None)),
    "another slice's directions": (
        radial(31), "cycles/FOV", lambda k, w: k @ geometries.rotation(32), ("samples in the plane of the slice", None)),
}


def expect_marker_in_nifti(path, g):
    nibabel = pytest.importorskip("nibabel")
    image = nibabel.load(path)
    affine = image.affine.copy()
    affine[:3] = LPS @ affine[:3]
    expect_marker(planes_of(np.asanyarray(image.dataobj), affine), g, exact_places=False)


@pytest.mark.parametrize("name", AXES)
def test_trajectory_axes(tmp_path, name):
    g, unit, stored, right = AXES[name]
    geometries.write(tmp_path / "scan.h5", g, unit, stored)
    call = ["recon", "scan.h5", "-o", "out", "--device", "cpu"]
    done = fhd(*call, cwd=tmp_path)
    if not isinstance(right, str):
        words, right = right
        assert done.returncode != 0 and not (tmp_path / "out.h5").exists()
        assert all(part in done.stderr for part in (words, *BOTH))
        if right is None:
            return
        done = fhd(*call, "--trajectory-axes", right, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert ("to be in the axes of the magnet" in done.stdout) == (right == "magnet")
    expect_marker_in_nifti(tmp_path / "out.nii.gz", g)


def test_trajectory_axes_of_a_file_beside(tmp_path):
    """The same trajectory in a file of its own, and the scan's own readouts without one."""
    h5py = pytest.importorskip("h5py")
    g = radial(33)
    geometries.write(tmp_path / "scan.h5", g, stored=lambda k, w: k)
    k = np.concatenate([in_magnet(k, g.slices[0]) for k, _, _ in geometries.readouts_of(g)])
    with h5py.File(tmp_path / "magnet.h5", "w") as file:
        file["trajectory"] = k
        file["trajectory"].attrs["unit"] = "cycles/FOV"
    done = fhd("recon", "scan.h5", "-o", "out", "--device", "cpu", "--trajectory", "magnet.h5", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    expect_marker_in_nifti(tmp_path / "out.nii.gz", g)


def test_directions_that_are_not_stated_are_asked_for(tmp_path):
    geometries.write(tmp_path / "scan.h5", radial(34), stored=in_magnet, directions=False)
    done = fhd("recon", "scan.h5", "-o", "out", "--device", "cpu", cwd=tmp_path)
    assert done.returncode != 0 and "the file states no directions" in done.stderr
