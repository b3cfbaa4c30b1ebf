"""Siemens raw data beside twixtools, and beside ISMRMRD made from it by hand; skipped where one is absent."""

import os
import pathlib
import subprocess

import numpy as np
import pytest

twixtools = pytest.importorskip("twixtools")
h5py = pytest.importorskip("h5py")
nibabel = pytest.importorskip("nibabel")
pytest.importorskip("ismrmrd")
pytest.importorskip("scipy")
import siemens_by_hand

SCANS = pathlib.Path(os.environ.get("FHD_SCANS", "")) / "siemens_twix"
pytestmark = pytest.mark.skipif(not SCANS.is_dir(), reason=f"no {SCANS}")


def run(*arguments, cwd):
    return subprocess.run(
        [os.environ["FHD_PROGRAM"], *map(str, arguments)], check=True, cwd=cwd, capture_output=True, text=True
    ).stdout


def complex_of(values):
    return values[values.dtype.names[0]] + 1j * values[values.dtype.names[1]] if values.dtype.names else values


def reconstructed(scan, name, folder, *options):
    """The image, where it lies, and what was printed."""
    said = run("recon", scan, "-o", name, "--force", *options, cwd=folder)
    with h5py.File(folder / f"{name}.h5") as file:
        image = complex_of(np.squeeze(file["image"][...]))
    return image, nibabel.load(folder / f"{name}.nii.gz").affine, said


def test_samples_are_those_of_twixtools_to_the_bit(tmp_path):
    run("convert", SCANS / "gre.dat", "gre.mrd", cwd=tmp_path)
    blocks = siemens_by_hand.blocks_of(SCANS / "gre.dat")[1]
    with h5py.File(tmp_path / "gre.mrd") as file:
        readouts = file["dataset/data"][()]
    assert len(readouts) == len(blocks) == 160
    for readout, block in zip(readouts, blocks):
        assert np.array_equal(readout["data"].view(np.complex64), np.asarray(block.data).ravel())
        assert readout["head"]["idx"]["kspace_encode_step_1"] == block.cLin
        assert readout["head"]["center_sample"] == block.mdh.CenterCol


def test_ramp_samples_beside_a_trajectory_are_those_of_twixtools_to_the_bit(tmp_path):
    """Nothing is regridded or aligned then, lines read backwards included, which keep their order in time."""
    with h5py.File(tmp_path / "k.h5", "w") as file:
        k = np.stack([np.tile(np.arange(160) - 80, 80) / 2, np.repeat(np.arange(80) - 40, 160)], -1)
        file["trajectory"] = k.astype(np.float32)
        file["trajectory"].attrs["unit"] = "cycles/FOV"
    said = run("convert", SCANS / "epi.dat", "epi.h5", "--to", "fhd", "--trajectory", "k.h5", cwd=tmp_path)
    assert "phase-correction readouts are not used" in said
    lines = [block for block in siemens_by_hand.blocks_of(SCANS / "epi.dat")[1] if "PHASCOR" not in block.get_active_flags()]
    assert len(lines) == 80 and sum("REFLECT" in block.get_active_flags() for block in lines) == 40
    with h5py.File(tmp_path / "epi.h5") as file:
        values = complex_of(file["kspace"][...]).astype(np.complex64)
    assert np.array_equal(values, np.concatenate([np.asarray(block.data) for block in lines], 1))


@pytest.mark.parametrize("ramps", ["regridded", "described"])
@pytest.mark.parametrize("name", ["gre", "epi"])
def test_images_are_those_of_ismrmrd_made_by_hand(tmp_path, name, ramps):
    siemens_by_hand.write(SCANS / f"{name}.dat", tmp_path / "made.h5", ramps)
    # Sums of squares and adaptive maps follow the samples voxel by voxel; ESPIRiT's phase is unsteady where nothing is.
    for coils, largest in (("none", 1e-5), ("adaptive", 1e-5), ("espirit", 3e-4)):
        own, place, _ = reconstructed(SCANS / f"{name}.dat", "own", tmp_path, "--coils", coils)
        hand, place_by_hand, said = reconstructed("made.h5", "hand", tmp_path, "--coils", coils)
        assert ("trajectoryDescription" in said) == (name == "epi" and ramps == "described")
        assert np.linalg.norm(own - hand) <= 1e-5 * np.linalg.norm(own)
        assert abs(own - hand).max() <= largest * abs(own).max()
        assert np.allclose(place, place_by_hand, rtol=0, atol=1e-6)


def test_ramp_samples_as_a_trajectory_are_the_image_of_regridded_ones(tmp_path):
    siemens_by_hand.write(SCANS / "epi.dat", tmp_path / "made.h5", "trajectory")
    options = ("--coils", "adaptive", "--lambda", "1e-4")
    own, _, _ = reconstructed(SCANS / "epi.dat", "own", tmp_path, *options)
    hand, _, _ = reconstructed("made.h5", "hand", tmp_path, "--trajectory-unit", "cycles/FOV", *options)
    scale = np.vdot(hand, own) / np.vdot(hand, hand)
    assert np.linalg.norm(own - scale * hand) <= 0.02 * np.linalg.norm(own)
