"""ISMRMRD scans of ellipses, whose k-space is known in closed form, as scanners' converters write them."""

import numpy as np
import pytest

ismrmrd = pytest.importorskip("ismrmrd")
special = pytest.importorskip("scipy.special")
xsd = ismrmrd.xsd

# amplitude, centre x, y, half axes a, b in fractions of the field of view, angle; without symmetry of any kind
HEAD = [(1.0, 0.03, -0.02, 0.33, 0.41, 0.15), (-0.45, -0.12, -0.14, 0.08, 0.12, 0.5), (0.6, 0.14, 0.12, 0.08, 0.05, -0.4),
        (0.7, -0.17, 0.2, 0.04, 0.03, 0.0), (0.9, 0.22, -0.16, 0.03, 0.05, 0.2)]


def ellipse(kx, ky, amplitude, x, y, a, b, angle):
    """The Fourier integral over an ellipse at k in cycles/FOV."""
    along = np.hypot(a * (kx * np.cos(angle) + ky * np.sin(angle)), b * (ky * np.cos(angle) - kx * np.sin(angle)))
    along = np.maximum(along, 1e-9)
    return amplitude * a * b * special.j1(2 * np.pi * along) / along * np.exp(-2j * np.pi * (kx * x + ky * y))


def waves(coil, coils):
    """A sensitivity as a sum of plane waves: (amplitude, qx, qy); of one coil, 1."""
    if coils == 1:
        return [(1, 0, 0)]
    angle = 2 * np.pi * coil / coils
    return [(0.6, 0, 0), (0.4 * np.exp(-1.5j * np.cos(angle)), 0.5 * np.cos(angle), 0.5 * np.sin(angle)),
            (0.25 * np.exp(2j * angle), 0.3 * np.cos(angle + 1), 0.3 * np.sin(angle + 1))]


def signal(kx, ky, coils=1, ellipses=HEAD):
    """k-space, [coil] and the shape of kx."""
    return np.stack([sum(a * ellipse(kx - qx, ky - qy, *one) for a, qx, qy in waves(c, coils) for one in ellipses)
                     for c in range(coils)])


def sensitivities(n, coils):
    """[coil][y][x] of n x n voxels."""
    y, x = np.meshgrid((np.arange(n) - n // 2) / n, (np.arange(n) - n // 2) / n, indexing="ij")
    return np.stack([sum(a * np.exp(2j * np.pi * (qx * x + qy * y)) for a, qx, qy in waves(c, coils)) for c in range(coils)])


def truth(n, coils=1, ellipses=HEAD):
    """The image [y][x] of n x n voxels that full Cartesian k-space gives, times the root of the sum of squares of the coils."""
    kx, ky = np.meshgrid(np.arange(n) - n // 2, np.arange(n) - n // 2)
    image = np.fft.fftshift(np.fft.ifft2(np.fft.ifftshift(signal(kx, ky, 1, ellipses)[0])))
    return image * np.sqrt((abs(sensitivities(n, coils)) ** 2).sum(0))


def line(n, step, coils=1, ellipses=HEAD, backwards=False):
    """A Cartesian readout."""
    kx = np.arange(n) - n // 2
    values = signal(kx, np.full(n, step - n // 2), coils, ellipses)
    return {"values": values[:, ::-1] if backwards else values, "step": step, "flags": [ismrmrd.ACQ_IS_REVERSE] * backwards}


def spoke(n, angle, step, coils=1):
    """A radial readout through the centre, oversampled twice."""
    r = (np.arange(2 * n) - n) / 2
    k = np.stack([r * np.cos(angle), r * np.sin(angle)], -1)
    return {"values": signal(k[:, 0], k[:, 1], coils), "k": k, "step": step, "flags": []}


GOLDEN = np.pi * (np.sqrt(5) - 1) / 2


def write(path, n, readouts, trajectory="cartesian", limits=True, times_ms=(), edit=lambda header: None, first_stamp=0):
    """Writes readouts: dictionaries of `line` or `spoke` with the counters `repetition`, `slice`, ... that are not 0."""
    size = xsd.matrixSizeType(x=n, y=n, z=1)
    fov = xsd.fieldOfViewMm(x=200, y=200, z=5)
    space = xsd.encodingSpaceType(matrixSize=size, fieldOfView_mm=fov)
    encoding = xsd.encodingType(encodedSpace=space, reconSpace=space, trajectory=xsd.trajectoryType(trajectory),
                                encodingLimits=xsd.encodingLimitsType())
    if limits:
        encoding.encodingLimits.kspace_encoding_step_1 = xsd.limitType(minimum=0, maximum=n - 1, center=n // 2)
    header = xsd.ismrmrdHeader(encoding=[encoding], experimentalConditions=xsd.experimentalConditionsType(
        H1resonanceFrequency_Hz=123_000_000))
    if times_ms:
        header.sequenceParameters = xsd.sequenceParametersType(TE=list(times_ms))
    edit(header)
    with ismrmrd.Dataset(str(path), "dataset", create_if_needed=True) as file:
        file.write_xml_header(xsd.ToXML(header).encode())
        for number, one in enumerate(readouts):
            values = np.ascontiguousarray(one["values"], np.complex64)
            k = one.get("k")
            made = ismrmrd.Acquisition.from_array(values, None if k is None else np.ascontiguousarray(k, np.float32))
            made.scan_counter = number
            made.center_sample = values.shape[1] // 2
            made.sample_time_us = one.get("dwell_us", 4)
            made.acquisition_time_stamp = first_stamp + number if first_stamp else 0
            made.measurement_uid = 17
            made.idx.kspace_encode_step_1 = one["step"]
            made.encoding_space_ref = one.get("space", 0)
            for counter in ("repetition", "slice", "contrast", "phase", "set", "average", "segment"):
                setattr(made.idx, counter, one.get(counter, 0))
            made.read_dir[:], made.phase_dir[:], made.slice_dir[:] = (1, 0, 0), (0, 1, 0), (0, 0, 1)
            made.position[:] = (0, 0, 6 * one.get("slice", 0))
            for flag in one["flags"]:
                made.setFlag(flag)
            file.append_acquisition(made)
    return path


def error(found, true):
    """The relative l2 distance of magnitudes after the best scale; NaN where there is one."""
    found, true = np.abs(np.ravel(found)), np.abs(np.ravel(true))
    scaled = found * (found @ true) / (found @ found)
    return np.linalg.norm(scaled - true) / np.linalg.norm(true)
