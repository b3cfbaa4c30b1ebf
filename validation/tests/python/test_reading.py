"""Files are read in a process of their own, fhd-reader."""

import os

import numpy as np
import pytest

import fhd


def test_a_scan_is_the_same_read_here_and_apart(radial):
    apart, here = fhd.read(radial).volume(), fhd.read(radial, trust_input=True).volume()
    np.testing.assert_array_equal(apart.kspace, here.kspace)
    np.testing.assert_array_equal(apart.trajectory, here.trajectory)
    np.testing.assert_array_equal(apart.maps, here.maps)
    assert fhd.read(radial).summary == fhd.read(radial, trust_input=True).summary


def test_limits_are_those_of_one_file(program, tmp_path):
    program("simulate", "-o", "large", "--matrix", "128", cwd=tmp_path)  # 3 MB of k-space
    with pytest.raises(fhd.Error, match="input-memory"):
        fhd.read(tmp_path / "large.h5", input_memory=0.001).volume()
    fhd.read(tmp_path / "large.h5").volume()


def test_a_file_that_harms_its_reader_is_an_error(real_scans):
    hostile = real_scans.parent / "hostile" / "sp_vlen_all_len1.h5"
    if not hostile.exists():
        pytest.skip("no such file")
    with pytest.raises(fhd.Error, match="the file is damaged"):
        fhd.read(hostile)
    with pytest.raises(fhd.Error, match="report"):
        fhd.load(real_scans.parent / "hostile" / "report_deep_100000.h5")


def test_folders_may_change(radial, tmp_path, monkeypatch):
    fhd.read(radial)
    monkeypatch.chdir(radial.parent)
    fhd.read(radial.name).volume()


def test_no_child_of_python_is_left(radial):
    fhd.read(radial).volume()
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_a_copy_of_the_process_reads_for_itself(radial):
    summary = fhd.read(radial).summary
    copy = os.fork()
    if copy == 0:
        os._exit(0 if fhd.read(radial).summary == summary else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1]) == 0
    assert fhd.read(radial).summary == summary
