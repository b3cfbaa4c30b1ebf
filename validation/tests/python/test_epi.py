"""Echo-planar scans as sequences vary them, as ISMRMRD and as Siemens raw data: errors and ghosts against the truth."""

import dataclasses
import os
import subprocess

import numpy as np
import pytest

pytest.importorskip("ismrmrd")
pytest.importorskip("scipy")
h5py = pytest.importorskip("h5py")
import epi_phantom
from epi_phantom import Epi
from mrd_phantom import error

WRITERS = {"ismrmrd": epi_phantom.write_ismrmrd, "twix": epi_phantom.write_twix}


def recon(folder, scan, form, *options):
    """The images [slice or echo][y][x], and what was printed."""
    path = folder / ("scan.dat" if form == "twix" else "scan.h5")
    path.unlink(missing_ok=True)
    WRITERS[form](path, scan)
    done = subprocess.run(
        [os.environ["FHD_PROGRAM"], "recon", path, "-o", "out", "--force", "--lambda", "1e-4", *options],
        check=False,
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    with h5py.File(folder / "out.h5") as file:
        image = file["image"][...]
    image = image["r"] + 1j * image["i"] if image.dtype.fields else image
    assert np.isfinite(image).all()
    return image.reshape(-1, *image.shape[-2:]), done.stdout + done.stderr


def ghost(image, truth):
    """The root mean square half a FOV away from the object, where no object is, as a part of that of the object."""
    size = abs(truth)
    inside = size > 0.15 * size.max()
    there = np.roll(inside, len(truth) // 2, 0) & (size < 0.04 * size.max())
    return np.sqrt(np.mean(abs(image[there]) ** 2) / np.mean(abs(image[inside]) ** 2))


# name, scan, largest error
CASES = [
    ("three navigators", Epi(), 0.01),
    ("two navigators", Epi(navigators=2), 0.01),
    ("large delay", Epi(delay=1.3, phase=1.2), 0.02),
    ("backwards first", Epi(begins_backwards=True), 0.01),
    ("two shots", Epi(shots=2), 0.01),
    ("three shots, navigators of each", Epi(shots=3, each_shot=True), 0.01),
    ("slices in turns", Epi(slices=3), 0.01),
    ("two echoes, navigators of the first", Epi(echoes=2), 0.01),
    ("averages", Epi(averages=2), 0.01),
    ("odd lines", Epi(lines=45), 0.01),
    ("odd lines and samples", Epi(n=47, lines=45), 0.01),
    ("partial Fourier", Epi(first_line=12), 0.05),
    ("every second line, with reference lines", Epi(coils=8, reduction=2, references=24), 0.03),
    ("reference lines of another phase", Epi(coils=8, reduction=2, references=24, reference_phase=-0.5), 0.03),
    ("reference lines without a train", Epi(coils=8, reduction=2, references=24, flash_references=True), 0.03),
    ("shots that begin in turns", Epi(shots=2, each_shot=True, alternate=True), 0.01),
    ("repetitions, navigators of the first", Epi(repetitions=3, slices=2), 0.01),
    ("on ramps", Epi(ramps=True), 0.01),
    (
        "on ramps, reference lines without a train",
        Epi(ramps=True, coils=8, reduction=2, references=24, flash_references=True),
        0.03,
    ),
    ("on ramps, late", Epi(ramps=True, delay_us=60, delay=0.8), 0.02),
    ("on ramps, slices, coils, backwards first", Epi(ramps=True, coils=4, slices=2, begins_backwards=True), 0.02),
    ("on ramps, every second line", Epi(ramps=True, coils=8, reduction=2, references=24), 0.03),
    ("on ramps, shots, partial Fourier", Epi(ramps=True, shots=2, each_shot=True, first_line=10), 0.05),
]


@pytest.mark.parametrize("form", WRITERS)
@pytest.mark.parametrize("scan, bound", [pytest.param(scan, bound, id=name) for name, scan, bound in CASES])
def test_echo_trains_are_images_without_a_ghost(tmp_path, scan, bound, form):
    images, said = recon(tmp_path, scan, form)
    assert len(images) == scan.slices * scan.echoes * scan.repetitions
    found = []
    for i, image in enumerate(images):
        truth = scan.truth(i % scan.slices)
        found.append((error(image, truth), ghost(image, truth), ghost(truth, truth)))
        print(f"error {found[-1][0]:.4f}, ghost {found[-1][1]:.4f}, of the truth {found[-1][2]:.4f}")
    assert max(one[0] for one in found) < bound
    assert all(one[1] < one[2] + bound for one in found)
    assert "are aligned" in said
    assert ("brought to equal distances" in said) == scan.ramps


@pytest.mark.parametrize("form", WRITERS)
@pytest.mark.parametrize("navigators", [0, 1])
def test_a_ghost_that_nothing_tells_of_is_said(tmp_path, navigators, form):
    images, said = recon(tmp_path, Epi(navigators=navigators), form)
    truth = Epi().truth()
    assert error(images[0], truth) > 0.1
    assert "may have a ghost at half the FOV" in said
    # What is advised: both directions.
    images, said = recon(tmp_path, Epi(navigators=2), form)
    assert error(images[0], truth) < 0.01


@pytest.mark.parametrize("form", WRITERS)
@pytest.mark.parametrize("scan", [Epi(), Epi(navigators=0, coils=4), Epi(shots=2), Epi(lines=45, begins_backwards=True)])
def test_lines_read_backwards_without_a_flag_are_suspected_and_the_remedy_works(tmp_path, scan, form):
    images, said = recon(tmp_path, dataclasses.replace(scan, flagged=False), form)
    assert error(images[0], scan.truth()) > 0.3
    suspected = "consecutive echoes mirror each other" in said
    # Raw data without navigators or backward lines say nowhere that they are echo trains.
    assert suspected or (form == "twix" and scan.navigators == 0)
    assert ("ACQ_IS_REVERSE" in said) == suspected
    if scan.navigators:
        images, said = recon(tmp_path, scan, form)
        assert error(images[0], scan.truth()) < 0.01 and "mirror" not in said


@pytest.mark.parametrize("form", WRITERS)
def test_lines_that_were_turned_around_are_no_mirror_images(tmp_path, form):
    """As converters write them that turn the lines, and drop their flags: only a ghost is left, and said."""

    class Turned(Epi):
        def readout(self, ky, backwards, shape, flags=(), **counters):
            one = super().readout(ky, backwards, shape, flags, **counters)
            return one | {"values": one["values"][:, ::-1] if backwards else one["values"]}

    _, said = recon(tmp_path, Turned(flagged=False), form)
    assert "mirror" not in said and "may have a ghost at half the FOV" in said
