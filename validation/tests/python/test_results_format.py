"""Results are as app/docs/results.md says: other programs read them in three lines, and every field has its row."""

import importlib.util
import json
import pathlib
import re
import subprocess

import numpy as np
import pytest

import documentation
import fhd

NAMES = ("scan_recon", "sparse", "frames")
PAGE = (documentation.ROOT / "app" / "docs" / "results.md").read_text()


@pytest.fixture(scope="module")
def results(program, radial, tmp_path_factory):
    """A folder with results in which nearly all is that a result may hold."""
    folder = tmp_path_factory.mktemp("results")
    program("recon", radial, "-o", "scan_recon", "--noise-map", "2", "--lambda", "auto", cwd=folder)
    program("recon", radial, "-o", "sparse", "--regularizer", "tv", cwd=folder)
    program("simulate", "-o", "chest", "--dynamic", "13", "--readouts", "104", "--matrix", "32", "--coils", "2", cwd=folder)
    program("recon", "chest.h5", "-o", "frames", "--gate", "self", "--basis", "2", "--regularizer", "llr:0.01", cwd=folder)
    return folder


def rows(heading):
    """The names in the first column of the tables below a heading."""
    part = PAGE.split(f"\n## {heading}\n", 1)[1].split("\n## ")[0]
    cells = re.findall(r"^\| (.*?) \|", part, re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def test_versions_are_those_of_the_page(results):
    report = json.loads((results / "scan_recon.json").read_text())
    assert f"`schema_version` is {report['schema_version']}." in PAGE
    assert re.search(rf"^\| {report['schema_version']} \|", PAGE, re.MULTILINE)


@pytest.mark.parametrize("name", NAMES)
def test_every_field_of_the_report_is_told(results, name):
    report = json.loads((results / f"{name}.json").read_text())
    fields = set(report) | {field for image in report["images"] for field in image}
    assert fields - rows("OUT.json") == set()
    told = set(re.findall(r"`(\w+)`", PAGE + (documentation.ROOT / "app/docs/certificate.md").read_text()))
    for group in ("certificate", "verdict", "noise", "counters"):
        inner = set().union(*(image.get(group, {}) for image in report["images"]))
        assert (inner or group == "noise") and inner - told == set(), group


@pytest.mark.parametrize("name", NAMES)
def test_every_dataset_is_told_with_its_axes(results, name):
    h5py = pytest.importorskip("h5py")
    with h5py.File(results / f"{name}.h5") as file:
        datasets = {}
        file.visititems(lambda path, item: datasets.update({f"/{path}": item}) if hasattr(item, "shape") else None)
        assert len(datasets) >= 6 and set(datasets) - rows("OUT.h5") == set()
        for path, item in datasets.items():
            row = next(line for line in PAGE.splitlines() if line.startswith("| ") and f"`{path}`" in line)
            axes = re.findall(r"\[\w+\]", row.split(" | ")[1])
            assert item.ndim == (5 if path == "/gridded" else len(axes)), row
        told = rows("OUT.h5")
        assert set(file["image"].attrs) | set(file["report"].attrs) <= told | set(re.findall(r"`(\w+)`", PAGE))
        report = {**json.loads(file["report/json"][()]), "environment": json.loads(file["environment"][()])}
    assert report == json.loads((results / f"{name}.json").read_text())


def test_nothing_is_told_that_is_not_there(results):
    h5py = pytest.importorskip("h5py")
    found = set()
    for name in NAMES:
        with h5py.File(results / f"{name}.h5") as file:
            file.visit(lambda path: found.add(f"/{path}"))
    told = {name for name in rows("OUT.h5") if name.startswith("/")}
    assert told - found == {"/diagnostics/0_0/set_images"}  # of --map-sets 2: map_sets_test


def test_three_lines_of_python_read_a_result(results, monkeypatch):
    monkeypatch.chdir(results)
    read = []
    for language, code, note in documentation.blocks(PAGE):
        if language != "python":
            continue
        if note.startswith("needs ") and importlib.util.find_spec(note.split()[1]) is None:
            continue
        assert len(code.splitlines()) <= 3
        names = {}
        exec(code, names)
        read.append((np.array(names["image"]), names["report"]))
    assert 1 <= len(read) <= 2
    for image, report in read:
        assert image.shape == (1, 1, 1, 48, 48) and np.iscomplexobj(image)
        assert np.isfinite(image).all() and np.abs(image).max() > 0
        assert report["images"][0]["certificate"]["passed"] is True
        assert np.array_equal(image, read[-1][0]) and report["images"] == read[-1][1]["images"]


def test_frames_and_bins_are_as_the_page_says(results):
    image = fhd.load(results / "frames.h5").image
    assert image.shape == (4, 1, 1, 32, 32)
    h5py = pytest.importorskip("h5py")
    with h5py.File(results / "frames.h5") as file:
        basis, components = file["subspace/basis"][()], file["subspace/components"][()]
        assert file["gating/bin"].shape == (1, 104) and set(np.unique(file["gating/bin"])) <= {-1, 0, 1, 2, 3}
    frames = np.einsum("kt,k...->t...", basis, components)
    # Sums of two values of single precision, 6e-8 each, and their product with the basis.
    assert np.linalg.norm(frames - image[:, 0]) <= 1e-6 * np.linalg.norm(image)


def test_the_checksum_is_what_the_shell_says(results, radial):
    command = re.search(r"^    (cat scan\.h5 .*)$", PAGE, re.MULTILINE)[1].replace("scan.h5", str(pathlib.Path(radial)))
    told = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True).stdout.split()[0]
    report = json.loads((results / "scan_recon.json").read_text())
    assert report["input"]["checksum"].endswith(f":{told}")
