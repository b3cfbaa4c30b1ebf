"""Reconstructions: what Python gets is what the program writes."""

import json
import os
import pathlib
import signal
import threading

import numpy as np
import pytest

import fhd


@pytest.fixture(scope="module")
def scan(radial):
    return fhd.read(radial)


@pytest.fixture(scope="module")
def result(scan):
    return fhd.recon(scan, lambda_=1e-3)


def test_import_is_quick_and_brings_no_more_than_numpy():
    import subprocess
    import sys

    code = "import sys, fhd; assert not {'torch', 'cupy', 'scipy', 'matplotlib'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_scan_tells_what_it_holds(scan):
    assert scan.summary["coil_count"] == 4
    assert scan.summary["shape"] == (1, 48, 48)
    volume = scan.volume()
    assert volume.kspace.shape == (4, len(volume.trajectory))
    assert volume.shape == (48, 48) and volume.maps.shape == (4, 48, 48)
    assert np.abs(volume.trajectory).max() <= 24


def test_the_image_is_that_of_the_program(program, radial, result, tmp_path):
    program("recon", radial, "-o", "image", "--lambda", "0.001", cwd=tmp_path)
    written = fhd.load(tmp_path / "image.h5")
    assert np.array_equal(result.image, written.image)
    assert np.array_equal(result.gridded, written.gridded)
    assert np.array_equal(result.affine, written.affine)
    ours, theirs = result.report["images"][0], written.report["images"][0]
    assert ours["settings"] == theirs["settings"]
    assert ours["relative_residuals"] == theirs["relative_residuals"]


def test_saved_results_are_those_of_the_program(radial, result, tmp_path):
    result.save(tmp_path / "out")
    assert sorted(os.listdir(tmp_path)) == ["out.h5", "out.json", "out.nii.gz", "out.png"]
    report = json.loads((tmp_path / "out.json").read_text())
    assert report["environment"]["command_line"] == "fhd.recon(scan, lambda_=0.001)"
    assert report["environment"]["input_path"] == str(radial)
    assert np.array_equal(fhd.load(tmp_path / "out.h5").image, result.image)
    result.save(tmp_path / "out")  # of the same scan: replaced
    assert np.array_equal(fhd.load(tmp_path / "out.h5").gridded, result.gridded)


def test_pages_are_those_of_the_program(program, radial, result, tmp_path):
    program("recon", radial, "-o", "image", "--lambda", "0.001", cwd=tmp_path)
    program("report", "image.h5", "-o", "program.html", cwd=tmp_path)
    fhd.load(tmp_path / "image.h5").save_page(tmp_path / "loaded.html")
    assert (tmp_path / "loaded.html").read_text().replace(f"{tmp_path}/", "") == (tmp_path / "program.html").read_text()
    result.save_page(tmp_path / "made.html")
    made = (tmp_path / "made.html").read_text()
    assert "<title>made</title>" in made and "fhd.recon(scan, lambda_=0.001)" in made
    (tmp_path / "other.html").write_text("by hand")
    with pytest.raises(fhd.Error, match="other.html: .*force=True overwrites it"):
        result.save_page(tmp_path / "other.html")


def test_a_result_of_another_scan_is_left_alone(program, result, tmp_path):
    program("simulate", "-o", "other", "--matrix", "24", cwd=tmp_path)
    program("recon", "other.h5", "-o", "out", cwd=tmp_path)
    before = (tmp_path / "out.h5").read_bytes()
    with pytest.raises(fhd.Error, match="out"):
        result.save(tmp_path / "out")
    assert (tmp_path / "out.h5").read_bytes() == before
    result.save(tmp_path / "out", force=True)
    assert np.array_equal(fhd.load(tmp_path / "out.h5").image, result.image)


def test_arrays_give_the_image_of_the_file(scan, result):
    v = scan.volume()
    of_arrays = fhd.reconstruct(
        v.kspace, v.trajectory, v.shape, maps=v.maps, noise=v.noise, fov_mm=v.fov_mm, lambda_=1e-3, progress=False
    )
    assert np.array_equal(of_arrays.image, result.image)


def test_results_of_arrays_replace_those_of_the_same_arrays_alone(scan, tmp_path):
    v = scan.volume()

    def reconstructed(factor):
        return fhd.reconstruct(factor * v.kspace, v.trajectory, v.shape, maps=v.maps, iterations=2)

    reconstructed(1).save(tmp_path / "out")
    checksum = json.loads((tmp_path / "out.json").read_text())["input"]["checksum"]
    assert checksum.startswith("sha256-arrays:")
    reconstructed(1).save(tmp_path / "out")
    before = (tmp_path / "out.h5").read_bytes()
    with pytest.raises(fhd.Error, match="out"):
        reconstructed(2).save(tmp_path / "out")
    assert (tmp_path / "out.h5").read_bytes() == before


def test_a_file_may_be_called_arrays(radial, result, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "arrays").write_bytes(radial.read_bytes())
    of_file = fhd.recon("arrays", lambda_=1e-3)
    assert np.array_equal(of_file.image, result.image)
    assert of_file.report["input"]["checksum"] == result.report["input"]["checksum"]


def test_a_dicom_series_is_saved_beside_the_rest(scan, tmp_path):
    pydicom = pytest.importorskip("pydicom")
    if not pathlib.Path(fhd._native.__file__).with_name("fhd_dicom.so").exists():
        pytest.skip("built without DCMTK")
    fhd.recon(scan, dicom=True).save(tmp_path / "out")
    (file,) = (tmp_path / "out_dicom").iterdir()
    assert pydicom.dcmread(file).pixel_array.shape == (48, 48)


def test_noise_maps_are_diagnostics_and_are_saved(scan, tmp_path):
    result = fhd.recon(scan, noise_map=4, ismrmrd_images=True)
    assert result.diagnostics["noise_deviation"].shape == (1, 48, 48)
    result.save(tmp_path / "out")
    names = set(os.listdir(tmp_path))
    assert {"out_noise.nii.gz", "out_snr.nii.gz", "out_images.h5"} <= names
    result.save(tmp_path / "out")  # of the same scan: replaced


def test_series_of_arrays_keep_their_order(scan):
    v = scan.volume()
    series = np.stack([v.kspace, 2 * v.kspace, -1j * v.kspace])
    image = fhd.reconstruct(series, v.trajectory, v.shape, maps=v.maps, lambda_=1e-3, no_gridded_image=True).image
    one = fhd.reconstruct(v.kspace, v.trajectory, v.shape, maps=v.maps, lambda_=1e-3, no_gridded_image=True).image
    assert image.shape == (3, 1, 1, 48, 48)
    # A series and a single volume stop at the same tolerance, 1e-3 of the residual by default or better.
    for factor, found in zip([1, 2, -1j], image):
        assert np.linalg.norm(found - factor * one[0]) <= 5e-3 * np.linalg.norm(found)


def test_double_precision_is_kept(scan):
    v = scan.volume()
    image = fhd.reconstruct(
        v.kspace.astype(complex), v.trajectory, v.shape, maps=v.maps, precision="double", no_gridded_image=True
    ).image
    assert image.dtype == np.complex128


def test_certificate_diagnostics_and_progress(scan):
    heard = []
    result = fhd.recon(scan, regularizer={"tv": 0.01}, progress=lambda *news: heard.append(news))
    assert result.certificate["passed"]
    assert result.diagnostics["sensitivity_maps"].shape == (4, 48, 48)
    assert all(len(news) == 4 for news in heard)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"lamda": 1}, "did you mean lambda_"),
        ({"lambda_": "much"}, "lambda_: expected auto"),
        ({"lambda_": -1.0}, "lambda"),
        ({"matrix": (64, 64)}, "matrix: says what a file leaves out"),
        ({"fov_mm": 200}, "fov_mm: says what a file leaves out"),
        ({"device": "cuda:99"}, "cuda"),
        ({"regularizer": {"tv": float("nan")}}, "regularizer"),
    ],
)
def test_wrong_options_are_errors_in_words(scan, options, message):
    with pytest.raises(fhd.Error, match=message):
        fhd.recon(scan, **options)


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda v: dict(kspace=v.kspace[:, :-1]), "kspace: expected"),
        (lambda v: dict(kspace=v.kspace * np.nan), "finite|NaN|nan"),
        (lambda v: dict(trajectory=v.trajectory * 9), "trajectory"),
        (lambda v: dict(maps=v.maps[:2]), "maps: expected"),
        (lambda v: dict(field_map=np.zeros(v.shape)), "field_map: expected sample_time_s"),
        (lambda v: dict(shape=(48, 48, 2)), "trajectory: expected"),
    ],
)
def test_wrong_arrays_are_errors_in_words(scan, change, message):
    v = scan.volume()
    arguments = dict(kspace=v.kspace, trajectory=v.trajectory, shape=v.shape) | change(v)
    with pytest.raises(fhd.Error, match=message):
        fhd.recon(fhd.Scan(**arguments))


@pytest.mark.parametrize("options", [{"fov": 200}, {"lambda_": 1}])
def test_reading_takes_the_options_of_reading_alone(radial, options):
    with pytest.raises(fhd.Error, match="no such option"):
        fhd.read(radial, **options)


def test_absent_and_broken_files_are_errors(tmp_path):
    (tmp_path / "broken.h5").write_bytes(b"not HDF5")
    for name in ("absent.h5", "broken.h5"):
        with pytest.raises(fhd.Error, match=name):
            fhd.read(tmp_path / name)
        with pytest.raises(fhd.Error, match=name):
            fhd.load(tmp_path / name)


def test_ctrl_c_ends_the_work(scan):
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        for _ in range(10000):
            fhd.recon(scan, iterations=1000, tolerance=1e-15, precision="double", coils="espirit")
    timer.join()
    assert fhd.recon(scan).image.shape == (1, 1, 1, 48, 48)


def test_a_real_scan(real_scans):
    folder = real_scans / "impatient_brain_spiral" / "64x64x16-4coils"
    if not folder.exists():
        pytest.skip("that scan is not here")
    result = fhd.recon(folder, progress=False)
    assert result.image.shape == (1, 1, 16, 64, 64)
    assert result.certificate["passed"]
