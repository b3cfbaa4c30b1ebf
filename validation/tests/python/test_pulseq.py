"""Pulseq sequences beside pypulseq, which computes k-space of its own."""

import numpy as np
import pytest

h5py = pytest.importorskip("h5py")
pp = pytest.importorskip("pypulseq")


def spin_echoes():
    """Two slices of two echoes each, refocused, with rotated readouts."""
    system = pp.Opts(max_grad=32, grad_unit="mT/m", max_slew=130, slew_unit="T/m/s")
    sequence = pp.Sequence(system)
    pulses = [pp.make_sinc_pulse(angle, duration=3e-3, slice_thickness=5e-3, return_gz=True, system=system, use=use)
              for angle, use in ((np.pi / 2, "excitation"), (np.pi, "refocusing"))]
    readout = pp.make_trapezoid("x", flat_area=32 / 0.24, flat_time=1.6e-3, system=system)
    adc = pp.make_adc(32, duration=1.6e-3, delay=readout.rise_time, system=system)
    ahead = pp.make_trapezoid("x", area=readout.area / 2, duration=1e-3, system=system)
    for slice_number in range(2):
        (pulse, select, rephase), (refocus, select_again, _) = pulses
        sequence.add_block(pulse, select, pp.make_label("SLC", "SET", slice_number))
        sequence.add_block(*pp.rotate(ahead, rephase, angle=0.3 + slice_number, axis="z"))
        for echo in range(2):
            sequence.add_block(refocus, select_again)
            sequence.add_block(*pp.rotate(readout, adc, angle=0.3 + slice_number, axis="z"), pp.make_label("ECO", "SET", echo))
    sequence.set_definition("FOV", [0.24, 0.24, 0.005])
    return sequence


def test_positions_are_those_of_pypulseq(program, tmp_path):
    sequence = spin_echoes()
    sequence.write(str(tmp_path / "x.seq"))
    again = pp.Sequence()
    again.read(str(tmp_path / "x.seq"))
    expected = again.calculate_kspace()[0].reshape(3, 2, 2, 32)  # axis, slice, echo, sample
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.attrs["matrix_size"], file.attrs["fov_mm"] = [32, 32, 1], [240.0, 240.0, 5.0]
        file["/kspace"] = np.ones((2, 2, 1, 32), np.complex64)  # repetition, slice, coil, sample
        file["/trajectory"] = np.zeros((32, 2))
        file["/trajectory"].attrs["unit"] = "cycles/FOV"
    program("convert", "x.h5", "played.h5", "--to", "fhd", "--trajectory", "x.seq", cwd=tmp_path)
    with h5py.File(tmp_path / "played.h5") as file:
        found, times = file["/trajectory"][...], file["/sample_time_s"][...]
    largest = np.abs(expected).max()
    for echo in range(2):
        for slice_number in range(2):
            np.testing.assert_allclose(found[echo, slice_number, :, :2] / 0.24, expected[:2, slice_number, echo].T,
                                       atol=1e-6 * largest)
    # Both slices alike; the first spin echo comes where the pulses are as far apart as the refocusing pulse and the echo.
    np.testing.assert_allclose(np.broadcast_to(times, (2, 2, 32))[:, 0], np.broadcast_to(times, (2, 2, 32))[:, 1], atol=1e-9)
