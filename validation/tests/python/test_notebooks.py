"""The notebooks of app/python run from beginning to end; their own assertions hold."""

import json
import os
import pathlib
import shlex
import sys

import pytest

pytest.importorskip("matplotlib").use("Agg")

FOLDER = pathlib.Path(__file__).parents[3] / "app" / "python" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def test_there_are_notebooks():
    assert len(NOTEBOOKS) >= 5


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore")
def test_runs(path, tmp_path, monkeypatch, program):
    cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    text = "".join("".join(cell["source"]) for cell in cells)
    if "import torch" in text:
        pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(os.environ, "MPLCONFIGDIR", str(tmp_path))
    names = {"__name__": "__main__"}
    for cell in cells:
        assert not cell["outputs"], "notebooks are kept without outputs"
        source = "".join(cell["source"])
        if source.startswith("!fhd "):
            program(*shlex.split(source)[1:], cwd=tmp_path)
        else:
            exec(compile(source, path.name, "exec"), names)
    sys.modules["matplotlib.pyplot"].close("all")
