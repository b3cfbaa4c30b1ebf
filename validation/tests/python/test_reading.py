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
    with pytest.raises(fhd.Error, match="input_memory=GIB"):
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


@pytest.mark.parametrize(
    "work",
    [lambda scan: fhd.recon(scan, progress=False), lambda _: fhd.NDFT(np.zeros((9, 2)), (4, 4))(np.ones((4, 4), complex))],
)
def test_a_copy_of_the_process_says_that_it_cannot_compute(radial, work):
    scan = fhd.read(radial)
    work(scan)
    copy = os.fork()
    if copy == 0:
        try:
            work(scan)
        except fhd.Error as error:
            os._exit(0 if "spawn" in str(error) else 2)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1]) == 0
    work(scan)


@pytest.mark.parametrize("fov_mm", ["200", "ab", (1, "x")])
def test_a_field_of_view_that_is_no_list_is_an_error_in_a_line(fov_mm):
    line = r"fov_mm: expected numbers along x, y \(and z\), found .*; give fov_mm=\(X, Y, Z\)"
    with pytest.raises(fhd.Error, match=line):
        fhd.Scan(np.ones((1, 9), complex), np.zeros((9, 2)), (4, 4), fov_mm=fov_mm)
