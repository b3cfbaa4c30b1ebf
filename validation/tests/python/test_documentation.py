"""The documentation holds: links lead somewhere, commands and code on the pages run and print what the pages show, the
reference has every option, the site builds without a warning."""

import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import pytest

import documentation
from documentation import ROOT, pages

DOCS = sorted((ROOT / "app" / "docs").glob("*.md"))


@pytest.fixture(scope="module")
def texts():
    """All Markdown of the project and the generated pages: {path relative to the root: text}."""
    found = {path: (ROOT / path).read_text() for path in pages.markdown_files()}
    return {**found, **pages.generated_pages(os.environ["FHD_PROGRAM"])}


@pytest.fixture
def environment(tmp_path):
    """A folder with the program, in front of the PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "fhd").symlink_to(os.environ["FHD_PROGRAM"])
    return {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


def test_links_and_anchors_lead_somewhere(texts):
    assert pathlib.Path("README.md") in texts and len(texts) > 40
    assert sum(len(pages.links(text)) for text in texts.values()) > 150
    broken = [sentence for path in texts for sentence in documentation.broken_links(path, texts)]
    assert not broken, "\n".join(broken)


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.stem)
@pytest.mark.filterwarnings("ignore")
def test_what_a_page_says_runs(page, tmp_path, monkeypatch, environment):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    for language, code, note in documentation.blocks(page.read_text()):
        if note.startswith("needs ") and importlib.util.find_spec(note.split()[1]) is None:
            continue
        if language == "console":
            documentation.run_console(code, tmp_path, environment)
        elif language == "python":
            exec(compile(code, str(page), "exec"), names)


ANSWERS = {
    "choose λ": "strength.md",
    "off-resonance": "off_resonance.md",
    "verdict meaning": "certificate.md#the-verdict",
    "PACS": "pacs.md#from-the-scan-to-the-archive",
    "Slurm": "cluster.md#slurm",
    "compare GPU CPU": "compare.md",
    "unit radians": "own_data.md#units-of-the-trajectory",
    "file HDF5 language": "own_data.md#as-a-file-from-any-language",
    "frames": "dynamic.md#frames-in-time",
    "noise map": "coils.md#noise-of-the-image",
}


@pytest.mark.parametrize("query", ANSWERS)
def test_an_answer_is_a_click_away_short_and_found_by_search(query, texts):
    page, _, anchor = ANSWERS[query].partition("#")
    path = pathlib.Path("app/docs") / page
    anchor = anchor or documentation.anchors(texts[path])[0]
    linked = {link.partition("#")[0] for link in pages.links((ROOT / "app/docs/index.md").read_text())}
    assert page in linked
    assert len(documentation.sections(texts[path])[anchor].split()) <= 300
    assert (str(path), anchor) in documentation.best_sections(query, {p: texts[p] for p in texts if p.parts[:2] == ("app", "docs")})


def test_the_reference_has_every_option(texts):
    program = os.environ["FHD_PROGRAM"]
    reference = texts[pathlib.Path("app/docs/reference/commands.md")]
    commands = pages.command_reference.commands_of(pages.command_reference.help_of(program))
    assert {"recon", "batch", "simulate", "check"} <= {name for name, _ in commands}
    for name, _ in commands:
        part = reference.split(f"\n## fhd {name}\n", 1)[1].split("\n## ")[0]
        told = pages.command_reference.help_of(program, name)
        assert "--help" in told and told in part, name


def test_the_reference_has_every_name_of_the_package(texts):
    import fhd

    reference = texts[pathlib.Path("app/docs/reference/python.md")]
    for name in set(fhd.__all__):
        assert f"\n## `fhd.{name}`\n" in reference
    assert "maps: sensitivities, [coil] and shape" in reference


def test_what_is_there_already_is_not_lost(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(SystemExit, match="expected an empty folder"):
        pages.make_pages(os.environ["FHD_PROGRAM"], tmp_path)
    build = ROOT / "app" / "docs" / "build"
    done = subprocess.run([build, os.environ["FHD_PROGRAM"], tmp_path], capture_output=True, text=True)
    assert done.returncode == 1 and "expected an empty folder" in done.stderr
    done = subprocess.run([build, tmp_path / "absent"], capture_output=True, text=True)
    assert done.returncode == 1 and "expected the program fhd" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.fixture
def python_with_mkdocs():
    """This Python, or that of app/docs/build, where one has mkdocs and its theme."""
    for python in (sys.executable, str(ROOT / "build/docs/venv/bin/python")):
        asked = [python, "-c", "import mkdocs, material"]
        if os.path.exists(python) and subprocess.run(asked, capture_output=True).returncode == 0:
            return python
    pytest.skip("there is no mkdocs with its theme; app/docs/build installs them")


def test_the_site_builds_without_a_warning(tmp_path, python_with_mkdocs):
    pages.make_pages(os.environ["FHD_PROGRAM"], tmp_path / "pages")
    site = tmp_path / "site"
    done = subprocess.run(
        [python_with_mkdocs, "-m", "mkdocs", "build", "-q", "--strict", "-f", ROOT / "app/docs/mkdocs.yml", "-d", site],
        env={**os.environ, "FHD_DOCS_PAGES": str(tmp_path / "pages"), "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for page in site.rglob("*.html"):  # nothing is fetched when a page is read
        text = page.read_text()
        assert "iframe-worker.js" in text and not re.search(r"<(script|img)[^>]* src=.?https?:", text), page
        assert not re.search(r'<link rel=.?(stylesheet|preconnect)[^>]*https?:', text), page
    index = (site / "search/search_index.js").read_text()
    assert index.startswith("var __index = ") and "fhd recon radial.h5" in index and "--spokes-per-frame" in index
