"""Siemens raw data beside twixtools; skipped where it, or the scans, are absent."""
import os
import pathlib
import subprocess

import numpy as np
import pytest

twixtools = pytest.importorskip("twixtools")
h5py = pytest.importorskip("h5py")
scan = pathlib.Path(os.environ.get("FHD_SCANS", "")) / "siemens_twix" / "gre.dat"


@pytest.mark.skipif(not scan.is_file(), reason=f"no {scan}")
def test_samples_are_those_of_twixtools_to_the_bit(tmp_path):
    copy = tmp_path / "gre.mrd"
    subprocess.run([os.environ["FHD_PROGRAM"], "convert", scan, copy], check=True, capture_output=True)
    blocks = twixtools.read_twix(str(scan), keep_syncdata=False, parse_pmu=False, verbose=False)[-1]["mdb"]
    with h5py.File(copy) as file:
        readouts = file["dataset/data"][()]
    assert len(readouts) == len(blocks) == 160
    for readout, block in zip(readouts, blocks):
        assert np.array_equal(readout["data"].view(np.complex64), np.asarray(block.data).ravel())
        assert readout["head"]["idx"]["kspace_encode_step_1"] == block.cLin
        assert readout["head"]["center_sample"] == block.mdh.CenterCol
