"""Files as scanners' converters and labs write them: read rightly, or refused with a remedy that works when it is followed."""

import gzip
import json
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest

h5py = pytest.importorskip("h5py")
ismrmrd = pytest.importorskip("ismrmrd")
pytest.importorskip("scipy")

FILES = pathlib.Path(os.environ.get("FHD_SCANS", "/absent")) / ".." / "files"
PHASECORR, NAVIGATION, RTFEEDBACK, HPFEEDBACK, DUMMY, REVERSE, SURFACE, NOISE = 24, 23, 28, 26, 27, 22, 29, 19


@pytest.fixture(scope="session")
def files():
    if not (FILES / "lib.py").exists():
        pytest.skip("the files of other people are not here")
    return FILES


@pytest.fixture(scope="session")
def lib(files):
    sys.path.insert(0, str(files))
    import lib as of_files

    return of_files


def run(*arguments, cwd):
    return subprocess.run(
        [os.environ["FHD_PROGRAM"], *map(str, arguments)], check=False, cwd=cwd, capture_output=True, text=True
    )


def reconstructed(path, folder, *options):
    done = run("recon", path, "-o", "image", "--force", *options, cwd=folder)
    assert done.returncode == 0, done.stderr
    with h5py.File(folder / "image.h5") as file:
        return np.squeeze(file["image"][...]), done


def error_of(lib, image, n):
    return lib.error(image, lib.truth(n), True)


def refused(path, folder, *options):
    done = run("recon", path, "-o", "refused", *options, cwd=folder)
    assert done.returncode != 0
    assert done.stderr.count("\n") == 1
    return done.stderr


# --- The files


@pytest.mark.parametrize(
    "name, n, bound, words",
    [
        ("epi_phasecorr_and_navigator.h5", 48, 0.01, "aligned by 3 phase-correction readouts"),
        ("epi_phasecorr_alone.h5", 48, 0.01, "aligned by 3 phase-correction readouts"),
        ("header_ns0.h5", 32, 0.001, ""),
        ("stream.ismrmrd", 32, 0.001, "ISMRMRD stream"),
        ("trajectory_rad_per_m.h5", 32, 0.25, "radians/m"),  # shaded by the maps, as in 1/m
    ],
)
def test_files_are_read(lib, files, tmp_path, name, n, bound, words):
    image, done = reconstructed(files / name, tmp_path)
    assert error_of(lib, image, n) <= bound
    assert words in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize("n, fov_mm", [(32, 200.0), (32, 320.0), (48, 160.0), (40, 300.0), (24, 100.0)])
@pytest.mark.parametrize("per_mm", [False, True])
def test_radians_per_length_are_the_same_image_as_cycles_or_named(lib, tmp_path, n, fov_mm, per_mm):
    k, images = lib.radial(n, 51), []
    samples = lib.samples(k[..., 0], k[..., 1], 2)
    for scale in (1.0, 2 * np.pi / (fov_mm if per_mm else fov_mm / 1000)):
        spokes = [lib.acquisition(samples[:, i], k[i] * scale, dt=5.0, kspace_encode_step_1=i) for i in range(51)]
        lib.write(tmp_path / "scan.h5", lib.header("radial", (n, n, 1), (fov_mm, fov_mm, 5), coils=2), spokes)
        options = []
        if per_mm and scale != 1 and (line := run("info", "scan.h5", cwd=tmp_path).stderr):
            assert "--trajectory-unit radians/mm" in line
            options = ["--trajectory-unit", "radians/mm"]
        images.append(reconstructed("scan.h5", tmp_path, *options)[0])
    assert lib.error(images[1], images[0]) < 1e-3


def test_an_echo_train_called_cartesian_is_corrected_by_its_own_times(lib, files, tmp_path):
    scan, map_of = files / "epi_named_cartesian.h5", files / "epi_named_cartesian_b0.nii.gz"
    plain, done = reconstructed(scan, tmp_path, "--strict")
    assert done.stderr == ""
    image, done = reconstructed(scan, tmp_path, "--strict", "--field-map", map_of, "--field-map-unit", "hz")
    assert done.stderr == ""
    assert "sample_time_s" not in done.stdout + run("check", scan, cwd=tmp_path).stdout
    assert error_of(lib, plain, 32) > 0.03
    assert error_of(lib, image, 32) < 0.003
    # Without the echo spacing in its header.
    shutil.copy(scan, tmp_path / "untold.h5")
    os.chmod(tmp_path / "untold.h5", 0o644)
    with h5py.File(tmp_path / "untold.h5", "r+") as file:
        xml = file["dataset/xml"][0].replace(b"echoSpacing", b"nothingness")
        file["dataset/xml"][0] = xml
    assert "sample times" in refused("untold.h5", tmp_path, "--field-map", map_of, "--field-map-unit", "hz")


def test_the_newest_format_of_hdf5_is_read_or_its_remedy_works(lib, files, tmp_path):
    done = run("recon", files / "own_latest.h5", "-o", "image", cwd=tmp_path)
    if done.returncode != 0:
        assert "libver=('earliest', 'v110')" in done.stderr
        try:
            with (
                h5py.File(files / "own_latest.h5") as old,
                h5py.File(tmp_path / "new.h5", "w", libver=("earliest", "v110")) as new,
            ):
                for name, dataset in old.items():
                    new[name] = dataset[...]
                    new[name].attrs.update(dataset.attrs)
                new.attrs.update(old.attrs)
        except (OSError, AttributeError, TypeError):
            pytest.skip("this h5py does not read the format either")
        reconstructed("new.h5", tmp_path, "--trajectory-unit", "auto")


# --- Variants


def epi(lib, path, navigator_flags=(), line_flags=(), delay=0.6, n=48):
    """An EPI of alternating lines with a delay, and three navigators with more flags."""
    k = lib.cartesian(n)[0]
    ramp = np.exp(2j * np.pi * delay * (np.arange(n) - n // 2) / n + 0.5j)
    image = lambda line: np.fft.fftshift(np.fft.ifft(np.fft.ifftshift(line)))
    samples = lambda line: np.fft.fftshift(np.fft.fft(np.fft.ifftshift(line)))

    def readout(line, reverse, flags, **index):
        values = samples(image(line) * ramp)[::-1] if reverse else line
        return lib.acquisition(values[None], flags=[*flags, *([REVERSE] if reverse else [])], dt=5.0, **index)

    lines = [
        readout(k[n // 2], i % 2 == 1, [PHASECORR, *navigator_flags], kspace_encode_step_1=n // 2, segment=i % 2)
        for i in range(3)
    ]
    lines += [readout(k[i], i % 2 == 1, line_flags, kspace_encode_step_1=i, segment=i % 2) for i in range(n)]
    lib.write(
        path, lib.header("cartesian", (n, n, 1), (200, 200, 5), limits={"kspace_encoding_step_1": (0, n - 1, n // 2)}), lines
    )


@pytest.mark.parametrize(
    "navigator_flags, line_flags",
    [
        ((), ()),
        ((NAVIGATION,), ()),
        ((RTFEEDBACK,), ()),
        ((HPFEEDBACK,), ()),
        ((DUMMY,), ()),
        ((NAVIGATION, RTFEEDBACK), ()),
        ((NAVIGATION, RTFEEDBACK, HPFEEDBACK), ()),
        ((SURFACE,), (SURFACE,)),
        ((NAVIGATION, RTFEEDBACK, SURFACE), (SURFACE,)),
        ((NAVIGATION, RTFEEDBACK), (21,)),
    ],
)
def test_flags_that_accompany_a_purpose_do_not_hide_it(lib, tmp_path, navigator_flags, line_flags):
    epi(lib, tmp_path / "epi.h5", navigator_flags, line_flags)
    image, done = reconstructed("epi.h5", tmp_path)
    assert "aligned by 3" in done.stdout
    assert error_of(lib, image, 48) <= 0.012


@pytest.mark.parametrize(
    "change",
    [
        lambda xml: (
            xml.replace("<", "<mrd:").replace("<mrd:/", "</mrd:").replace("<mrd:?", "<?").replace("xmlns=", "xmlns:mrd=")
        ),
        lambda xml: xml.replace('<?xml version="1.0" encoding="ascii"?>', ""),
        lambda xml: "\ufeff" + xml,
        lambda xml: xml.replace('encoding="ascii"', 'encoding="UTF-8"'),
        lambda xml: xml[: xml.index("<reconSpace>")] + xml[xml.index("</reconSpace>") + 12 :],
        lambda xml: xml[: xml.index("<encodingLimits>")] + xml[xml.index("</encodingLimits>") + 17 :],
        lambda xml: xml[: xml.index("<acquisitionSystem")] + xml[xml.index("</acquisitionSystemInformation>") + 31 :],
        lambda xml: xml[: xml.index("<experimental")] + xml[xml.index("</experimentalConditions>") + 25 :],
        lambda xml: xml.replace("<trajectory>cartesian</trajectory>", "<trajectory>Cartesian</trajectory>"),
        lambda xml: xml.replace("<encoding>", "<!-- made by hand --><encoding>"),
    ],
)
def test_headers_as_found_are_read(lib, tmp_path, change):
    k = lib.cartesian(32)[0]
    header = lib.header("cartesian", (32, 32, 1), (200, 200, 5), limits={"kspace_encoding_step_1": (0, 31, 16)})
    xml = change(ismrmrd.xsd.ToXML(header))
    lines = [lib.acquisition(k[i][None], kspace_encode_step_1=i) for i in range(32)]
    lib.write(tmp_path / "scan.h5", None, lines, xml=xml.encode())
    image, _ = reconstructed("scan.h5", tmp_path)
    assert error_of(lib, image, 32) <= 0.002


# --- Remedies that are followed


def arrays(lib):
    k = lib.cartesian(32)
    y, x = np.meshgrid(np.arange(32) - 16, np.arange(32) - 16, indexing="ij")
    return k.reshape(1, -1).astype(np.complex64), np.stack([x.ravel(), y.ravel()], -1).astype(np.float64)


def written_as_told(folder, kspace, trajectory):
    with h5py.File(folder / "scan.h5", "w") as file:
        file["kspace"], file["trajectory"] = kspace, trajectory
        file["trajectory"].attrs["unit"] = "cycles/FOV"
        file.attrs["matrix_size"] = [32, 32, 1]
        file.attrs["fov_mm"] = [200.0, 200.0, 5.0]


@pytest.mark.parametrize("kind", ["npy", "npz", "mat"])
def test_arrays_of_other_programs_are_written_with_h5py(lib, tmp_path, kind):
    import scipy.io

    kspace, trajectory = arrays(lib)
    path = tmp_path / ("data." + kind)
    if kind == "npy":
        np.save(path, kspace)
    elif kind == "npz":
        np.savez(path, kspace=kspace, trajectory=trajectory)
    else:
        scipy.io.savemat(path, {"kspace": kspace, "trajectory": trajectory})
    assert "h5py as /kspace and /trajectory" in refused(path, tmp_path)
    written_as_told(tmp_path, kspace, trajectory)
    image, _ = reconstructed("scan.h5", tmp_path)
    assert error_of(lib, image, 32) <= 0.002


def test_a_compressed_file_is_decompressed_as_told(files, tmp_path):
    path = tmp_path / "scan.h5.gz"
    path.write_bytes(gzip.compress((files / "header_ns0.h5").read_bytes()))
    line = refused(path, tmp_path)
    command = line[line.index("gunzip") :].strip()
    subprocess.run(command, shell=True, check=True, cwd=tmp_path)
    reconstructed("scan.h5", tmp_path)
    packed = tmp_path / "scan.ismrmrd.gz"
    packed.write_bytes(gzip.compress((files / "stream.ismrmrd").read_bytes()))
    reconstructed(packed, tmp_path)


# --- Noise in a file of its own


def noise_and_scans(lib, folder, dependency):
    folder.mkdir()
    xsd = ismrmrd.xsd
    k, sd = lib.samples(*np.meshgrid(np.arange(32) - 16.0, np.arange(32) - 16.0), 4), 2e-4

    def header(identity, noise=None):
        made = lib.header("cartesian", (32, 32, 1), (200, 200, 5), coils=4, limits={"kspace_encoding_step_1": (0, 31, 16)})
        made.measurementInformation = xsd.measurementInformationType(measurementID=identity, patientPosition="HFS")
        if noise:
            made.measurementInformation.measurementDependency = [
                xsd.measurementDependencyType(dependencyType="Noise", measurementID=noise)
            ]
        return made

    noise = [lib.acquisition(lib.noise((4, 64), sd, i), flags=[NOISE]) for i in range(16)]
    lib.write(folder / "noise.h5", header("17"), noise)
    for name in ("first", "second"):
        lines = [
            lib.acquisition(np.pad(k[:, i] + lib.noise((4, 32), sd, 100 + i), ((0, 0), (0, 0))), kspace_encode_step_1=i)
            for i in range(32)
        ]
        lines += [
            lib.acquisition(line.data, kspace_encode_step_1=line.idx.kspace_encode_step_1, average=a)
            for a in range(1, 4)
            for line in lines[:32]
        ]
        lib.write(folder / (name + ".h5"), header("18", dependency), lines)


@pytest.mark.parametrize("dependency, served", [("17", True), (None, True), ("99", False)])
def test_noise_alone_in_a_folder_serves_the_scans_that_name_it(lib, tmp_path, dependency, served):
    noise_and_scans(lib, tmp_path / "scans", dependency)
    done = run("batch", "scans", "-o", "results", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "noise.h5: holds noise alone" in done.stdout
    assert ("that of 2 scans" in done.stdout) == served
    assert ("which no scan names: skipped" in done.stdout) != served
    for name in ("first", "second"):
        assert ("noise.h5" in json.dumps(json.loads((tmp_path / "results" / (name + ".json")).read_text()))) == served
    assert "--noise" in refused("scans/noise.h5", tmp_path)
    reconstructed("scans/first.h5", tmp_path, "--noise", "scans/noise.h5")
    again = run("batch", "scans", "-o", "results", cwd=tmp_path)
    assert "2 unchanged" in again.stdout


# --- Words


def test_a_long_series_has_each_warning_once(files, tmp_path):
    image, done = reconstructed(files / ".." / "hostile" / "400_slices.h5", tmp_path)
    assert len(image) == 400
    assert done.stderr.count("fhd: warning: ") == 3  # voxels, undersampling, centre
    assert "density: so in 400 of 400 images" in done.stdout


def test_commands_are_listed_without_arguments(tmp_path):
    alone, helped = run(cwd=tmp_path), run("help", cwd=tmp_path)
    assert alone.returncode == 2 and helped.returncode == 0
    assert all("reconstruct an image from a scan file" in shown.stdout for shown in (alone, helped))
    assert run("help", "recon", cwd=tmp_path).stdout == run("recon", "--help", cwd=tmp_path).stdout


def test_names_behind_two_dashes_may_look_like_options(files, tmp_path):
    shutil.copy(files / "header_ns0.h5", tmp_path / "--matrix")
    assert run("info", "--", "--matrix", cwd=tmp_path).returncode == 0
    assert "unknown option" not in run("compare", "--", "--matrix", "--matrix", cwd=tmp_path).stderr
