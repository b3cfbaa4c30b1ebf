"""Scans that the program makes, for the tests of the package `fhd`. FHD_PROGRAM: the program; FHD_SCANS: real scans."""

import os
import pathlib
import subprocess

import numpy as np
import pytest


def run_program(*arguments, cwd):
    """`fhd ARGUMENTS`, which must succeed: what it prints."""
    done = subprocess.run([os.environ["FHD_PROGRAM"], *map(str, arguments)], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def program():
    return run_program


@pytest.fixture(scope="session")
def radial(tmp_path_factory):
    """A radial scan of 48 x 48 with four coils, and noise."""
    folder = tmp_path_factory.mktemp("radial")
    run_program("simulate", "-o", "radial", "--matrix", "48", "--coils", "4", "--snr", "50", cwd=folder)
    return folder / "radial.h5"


@pytest.fixture(scope="session")
def real_scans():
    folder = pathlib.Path(os.environ.get("FHD_SCANS", "/absent"))
    if not folder.is_dir():
        pytest.skip("the real scans are not here")
    return folder


def relative(a, b):
    """|a - b| / |b|; NaN where there is one."""
    return np.linalg.norm(np.ravel(a) - np.ravel(b)) / np.linalg.norm(np.ravel(b))


@pytest.fixture(scope="session")
def relative_error():
    return relative
