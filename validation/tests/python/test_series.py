"""Series that were stopped, lack a volume, take turns, are averaged, or read echoes back and forth: errors against the truth."""

import json
import os
import subprocess

import numpy as np
import pytest

import mrd_phantom as phantom
from mrd_phantom import error, line, spoke, truth, write

h5py = pytest.importorskip("h5py")
SHARP = ("--lambda", "1e-4")  # the truth has no penalty


def recon(folder, *options, scan="scan.h5"):
    """The images [repetition][slice][y][x], what was printed, and the report."""
    done = subprocess.run([os.environ["FHD_PROGRAM"], "recon", scan, "-o", "out", "--force", *options], cwd=folder,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with h5py.File(folder / "out.h5") as file:
        image = file["image"][...]
    image = image["r"] + 1j * image["i"] if image.dtype.fields else image
    assert np.isfinite(image).all()
    return image[:, :, 0], done.stdout + done.stderr, json.loads((folder / "out.json").read_text())


def volume(kind, n, **counters):
    """All readouts of a volume."""
    count = n if kind == "cartesian" else n * 3 // 2
    make = (lambda i: line(n, i)) if kind == "cartesian" else (lambda i: spoke(n, i * phantom.GOLDEN, i))
    return [make(i) | counters for i in range(count)]


# kind, matrix, repetitions, slices, whether slices take turns line by line, readouts of the last repetition
STOPPED = [("cartesian", 24, 2, 1, False, 5), ("cartesian", 25, 4, 3, True, 20), ("cartesian", 32, 3, 2, False, 40),
           ("cartesian", 24, 5, 1, False, 11), ("cartesian", 24, 3, 4, True, 4), ("radial", 24, 2, 3, False, 72),
           ("radial", 32, 3, 1, False, 7), ("radial", 24, 4, 2, True, 30), ("radial", 25, 2, 2, False, 20),
           ("radial", 24, 6, 1, False, 17)]


@pytest.mark.parametrize("kind, n, repetitions, slices, turns, left", STOPPED)
def test_a_stopped_scan_gives_what_is_there(tmp_path, kind, n, repetitions, slices, turns, left):
    readouts = []
    for repetition in range(repetitions):
        volumes = [volume(kind, n, repetition=repetition, slice=s) for s in range(slices)]
        own = [one for group in zip(*volumes) for one in group] if turns else sum(volumes, [])
        readouts += own[:left] if repetition == repetitions - 1 else own
    write(tmp_path / "scan.h5", n, readouts, "radial" if kind == "radial" else "cartesian")
    images, said, _ = recon(tmp_path, *SHARP)
    whole = len(volume(kind, n))
    per_slice = [len(range(s, left, slices)) if turns else min(max(left - s * whole, 0), whole) for s in range(slices)]
    kept = [2 * count >= whole for count in per_slice]
    assert images.shape == (repetitions - 1 + any(kept), slices, n, n)
    assert "The scan was stopped in repetition" in said or any(count in (0, whole) for count in per_slice)
    full = [images[r, s] for r in range(repetitions - 1) for s in range(slices)]
    assert max(error(one, truth(n)) for one in full) < (1e-3 if kind == "cartesian" else 0.09)
    for s in range(slices):
        if any(kept) and per_slice[s] == whole:
            assert np.allclose(images[-1, s], images[0, s], rtol=0, atol=1e-5 * abs(images[0, s]).max())
        elif any(kept) and not kept[s]:
            assert not images[-1, s].any()
            assert "zero" in said


@pytest.mark.parametrize("kind, n, repetitions, slices, absent", [
    ("cartesian", 24, 3, 2, {(1, 0)}), ("cartesian", 24, 3, 1, {(1, 0)}), ("cartesian", 25, 4, 3, {(0, 0)}),
    ("cartesian", 24, 2, 3, {(0, 1), (1, 2)}), ("cartesian", 24, 5, 2, {(2, 0), (2, 1)}), ("radial", 24, 3, 2, {(0, 0)}),
    ("radial", 24, 4, 1, {(2, 0)}), ("radial", 25, 2, 2, {(0, 1)}), ("radial", 24, 3, 3, {(1, 2), (2, 0)}),
    ("radial", 32, 3, 2, {(1, 1)})])
def test_a_missing_volume_is_zero_and_a_missing_repetition_is_told(tmp_path, kind, n, repetitions, slices, absent):
    readouts = [one for r in range(repetitions) for s in range(slices) if (r, s) not in absent
                for one in volume(kind, n, repetition=r, slice=s)]
    write(tmp_path / "scan.h5", n, readouts, kind)
    images, said, report = recon(tmp_path, *SHARP)
    present = [r for r in range(repetitions) if any((r, s) not in absent for s in range(slices))]
    assert images.shape[:2] == (len(present), slices)
    for i, repetition in enumerate(present):
        for s in range(slices):
            if (repetition, s) in absent:
                assert not images[i, s].any()
                messages = report["images"][i * slices + s]["messages"]
                assert [one["severity"] for one in messages if one["code"] == "missing"] == ["warning"]
                assert not any(one["severity"] == "problem" for one in messages)
            else:
                assert error(images[i, s], truth(n)) < (1e-3 if kind == "cartesian" else 0.09)
                assert not any(one["code"] == "missing" for one in report["images"][i * slices + s]["messages"])
    assert ("no readout" in said) and ("in the middle" in said) == (len(present) < repetitions)


def test_formats_hold_zeros_for_a_missing_slice(tmp_path):
    nibabel, pydicom = pytest.importorskip("nibabel"), pytest.importorskip("pydicom")
    readouts = [one for r in range(2) for s in range(3) if (r, s) != (1, 2) for one in volume("cartesian", 24, repetition=r, slice=s)]
    write(tmp_path / "scan.h5", 24, readouts)
    recon(tmp_path, "--dicom", "series")
    nifti = nibabel.load(tmp_path / "out.nii.gz")
    values = np.asanyarray(nifti.dataobj)
    assert values.shape[2:] == (3, 2) and not values[:, :, 2, 1].any() and values[:, :, 2, 0].any()
    pictures = [pydicom.dcmread(file) for file in sorted((tmp_path / "series").iterdir())]
    assert len(pictures) == 6 and sum(not one.pixel_array.any() for one in pictures) == 1


def random_lines(n, count, seed):
    """Lines of a k-t scan: dense near the centre, without a block that is measured in every frame."""
    chance = 1 / (1 + (abs(np.arange(n) - n // 2) / (n / 6)) ** 2)
    return sorted(np.random.default_rng(seed).choice(n, count, replace=False, p=chance / chance.sum()))


# what, matrix, coils, undersampling, frames, counter of the frames
TURNS = [("lattice", 32, 4, 2, 4, "repetition"), ("lattice", 33, 6, 2, 6, "repetition"), ("lattice", 48, 8, 3, 6, "repetition"),
         ("lattice", 64, 8, 2, 4, "repetition"), ("lattice", 40, 6, 2, 4, "phase"), ("random", 48, 8, 2, 12, "repetition"),
         ("random", 40, 6, 2.5, 10, "phase"), ("radial", 32, 6, 3, 9, "repetition"), ("radial", 48, 8, 4, 12, "repetition"),
         ("radial", 32, 4, 2, 6, "phase")]


@pytest.mark.parametrize("what, n, coils, reduction, frames, counter", TURNS)
def test_frames_that_take_turns_are_unfolded_with_maps_of_all(tmp_path, what, n, coils, reduction, frames, counter):
    readouts = []
    for frame in range(frames):
        if what == "radial":
            count = round(np.pi / 2 * n / reduction)
            made = [spoke(n, (frame * count + i) * phantom.GOLDEN, i, coils) for i in range(count)]
        else:
            steps = range(frame % reduction, n, reduction) if what == "lattice" else random_lines(n, round(n / reduction), frame)
            made = [line(n, step, coils) for step in steps]
        readouts += [one | {counter: frame} for one in made]
    write(tmp_path / "scan.h5", n, readouts, "radial" if what == "radial" else "cartesian")
    images, said, report = recon(tmp_path, *SHARP)
    assert images.shape[:2] == (frames, 1)
    assert "sensitivity maps are found from the readouts of" in said
    worst = max(error(images[f, 0], truth(n, coils)) for f in range(frames))
    maps = phantom.sensitivities(n, coils)
    with h5py.File(tmp_path / "maps.h5", "w") as file:
        file["sensitivity_maps"] = (maps / np.sqrt((abs(maps) ** 2).sum(0)))[:, None].astype(np.complex64)
    known, _, _ = recon(tmp_path, *SHARP, "--maps", "maps.h5")
    with_true_maps = max(error(known[f, 0], truth(n, coils)) for f in range(frames))
    print(f"{what} {n} {coils} coils R {reduction}: {worst:.4f}, with true maps {with_true_maps:.4f}")
    assert worst < 1.1 * with_true_maps + (0.03 if reduction < 3 else 0.08), "ESPIRiT's own error, times the g-factor"
    if what == "lattice":
        with pytest.raises(AssertionError, match="expected sensitivity maps or a reference"):
            recon(tmp_path, "--maps-from", "volume")
    one, _, _ = recon(tmp_path, *SHARP, "--repetitions", str(frames - 1))
    assert error(one[0, 0], images[-1, 0]) < 0.02


@pytest.mark.parametrize("n, coils, averages, limits", [
    (24, 1, [2] * 24, False), (25, 1, [3] * 25, True), (24, 4, [2] * 24, False), (24, 1, [1 + (i % 3) for i in range(24)], False),
    (32, 4, [1 + (8 <= i < 24) for i in range(32)], False), (24, 1, [4 if abs(i - 12) < 3 else 1 for i in range(24)], True),
    (24, 1, [1 + (i < 12) for i in range(24)], False), (33, 2, [2 + (i % 2) for i in range(33)], False),
    (24, 1, [5] + [1] * 23, False), (28, 4, [1 + (i * 7 % 4) for i in range(28)], True)])
def test_averages_are_samples_of_one_image_however_many_a_line_has(tmp_path, n, coils, averages, limits):
    readouts = [line(n, step, coils) | {"average": average} for average in range(max(averages)) for step in range(n)
                if average < averages[step]]
    random = np.random.default_rng(1)
    for one in readouts:
        noise = random.standard_normal((2, *one["values"].shape)) * 1e-5
        one["values"] = one["values"] + noise[0] + 1j * noise[1]
    write(tmp_path / "scan.h5", n, readouts, limits=limits)
    images, said, _ = recon(tmp_path, *SHARP)
    assert images.shape[:2] == (1, 1)
    assert f"The {max(averages)} averages are further samples of the same image." in said
    assert error(images[0, 0], truth(n, coils)) < 0.02


# matrix, coils, echoes, first echo backwards
BIPOLAR = [(32, 1, 2, False), (33, 1, 2, False), (32, 1, 3, False), (24, 4, 2, False), (32, 4, 4, False), (25, 4, 3, True),
           (24, 1, 2, True), (40, 2, 2, False), (24, 6, 5, False), (48, 1, 2, False)]


@pytest.mark.parametrize("n, coils, echoes, first", BIPOLAR)
def test_bipolar_echoes_are_images_of_one_place_without_a_ghost(tmp_path, n, coils, echoes, first):
    times_ms = [2 + 1.5 * e for e in range(echoes)]
    frequencies_hz = [40, -60]  # of two objects beside each other
    objects = [(1, -0.2, 0.05, 0.15, 0.3, 0.2), (0.8, 0.22, -0.05, 0.14, 0.28, -0.1)]
    readouts, seen = [], []
    for echo, time_ms in enumerate(times_ms):
        at_echo = [(one[0] * np.exp(-2j * np.pi * hz * time_ms * 1e-3), *one[1:]) for one, hz in zip(objects, frequencies_hz)]
        seen.append(at_echo)
        backwards = (echo % 2 == 1) != first
        readouts += [line(n, step, coils, at_echo, backwards) | {"contrast": echo} for step in range(n)]
    write(tmp_path / "scan.h5", n, readouts, times_ms=times_ms)
    images, said, _ = recon(tmp_path, *SHARP)
    assert images.shape[:2] == (echoes, 1) and "ghost" not in said
    assert max(error(images[e, 0], truth(n, coils, seen[e])) for e in range(echoes)) < (1e-3 if coils == 1 else 0.06)
    done = subprocess.run([os.environ["FHD_PROGRAM"], "fieldmap", "scan.h5", "-o", "map.h5", "--smoothing", "0"], cwd=tmp_path,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "ghost" not in done.stdout and "opposite directions" in done.stdout
    with h5py.File(tmp_path / "map.h5") as file:
        found_hz = np.squeeze(file["field_map"][...]) / (2 * np.pi)
    at = lambda one: found_hz[round((one[2] + 0.5) * n), round((one[1] + 0.5) * n)]
    for one, hz in zip(objects, frequencies_hz):
        assert abs(at(one) - hz) < 0.04 / (2 * np.pi * 1.5e-3), "Hz; 0.04 rad are the ringing of the other object"
