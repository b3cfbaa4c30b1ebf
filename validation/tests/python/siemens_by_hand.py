"""siemens_by_hand.py IN.dat OUT.h5 [regridded|described|trajectory]: Siemens raw data as ISMRMRD, read by twixtools and
written by the ismrmrd package. Shares nothing with the program: it knows one Cartesian or echo-planar scan of a few slices,
without acceleration.

Samples on the ramps are brought to equal distances by the formula that io/scan/mrd/ramp_regridding.hpp states; or stay as
they are, with the header's description of the gradient, as siemens_to_ismrmrd writes it; or beside a trajectory, whose
reversed lines are then aligned here, by the phase-correction readouts."""

import sys

import ismrmrd
import numpy as np
import twixtools
from scipy.spatial.transform import Rotation

xsd = ismrmrd.xsd
FLAGS = {
    "NOISEADJSCAN": ismrmrd.ACQ_IS_NOISE_MEASUREMENT,
    "PHASCOR": ismrmrd.ACQ_IS_PHASECORR_DATA,
    "REFLECT": ismrmrd.ACQ_IS_REVERSE,
}


def blocks_of(path):
    """The header and the readouts of the last measurement."""
    last = twixtools.read_twix(str(path), keep_syncdata=False, parse_pmu=False, verbose=False)[-1]
    return last["hdr"], last["mdb"]


class Ramps:
    """A trapezoid of the readout gradient, integrated in steps of 0.01 us."""

    def __init__(self, meas, samples):
        first = lambda name: np.ravel(meas[name])[0]
        self.is_sampled = first("alRegridMode") == 2
        if not self.is_sampled:
            return
        up, flat, down = (float(first(f"alRegrid{part}Time")) for part in ("Rampup", "Flattop", "Rampdown"))
        time = np.arange(0, up + flat + down + 0.005, 0.01)
        gradient = np.interp(time, [0, up, up + flat, up + flat + down], [0, 1, 1, 0])
        area = np.concatenate([[0], np.cumsum((gradient[1:] + gradient[:-1]) / 2 * 0.01)])
        delay, length = float(first("alRegridDelaySamplesTime")), float(first("aflRegridADCDuration"))
        at = lambda t: np.interp(t, time, area)
        self.after, dwell = int(first("alRegridDestSamples")), length / samples
        scale = self.after / (at(delay + length) - at(delay))
        self.k = (at(delay + (np.arange(samples) + 0.5) * dwell) - at(delay + length / 2)) * scale  # steps of 1/FOV
        self.flat_step = dwell * scale
        self.even = (np.arange(samples) - (samples - 1) / 2) * self.flat_step

    def demodulated(self, values, offset, reverse):
        """Takes the receiver's frequency back off the flat top. offset: parts of the encoded FOV."""
        return values * np.exp(2j * np.pi * (-offset if reverse else offset) * (self.even - self.k))

    def regridded(self, values):
        kernel = lambda a, b: np.sinc((a[:, None] - b[None, :]) / self.flat_step)
        places = np.arange(self.after) - (self.after - 1) / 2
        gram = kernel(self.k, self.k) + 1e-5 * np.eye(len(self.k))
        return values @ np.linalg.solve(gram, kernel(self.k, places))


def alignment(forward, backward):
    """Samples, and radians, by which lines read backwards are off; both sums over coils [coil][sample], by ascending k."""
    n = forward.shape[1]
    profile = lambda line: np.fft.fftshift(np.fft.ifft(np.fft.ifftshift(line, axes=1), axis=1), axes=1)
    product = (profile(forward) * profile(backward).conj()).sum(0)
    x = np.arange(n) - n // 2
    slope = np.angle((product[1:] * product[:-1].conj()).sum())
    offset = np.angle((product * np.exp(-1j * slope * x)).sum())
    rest = np.angle(product * np.exp(-1j * (offset + slope * x)))
    more, constant = np.polyfit(x, rest, 1, w=np.sqrt(abs(product)))
    return (slope + more) * n / (2 * np.pi), offset + constant


def header_of(hdr, mdb, samples):
    meas, yaps = hdr["Meas"], hdr["MeasYaps"]
    space, array = yaps["sKSpace"], yaps["sSliceArray"]
    plane, over = array["asSlice"][0], float(meas["flReadoutOSFactor"])
    base, lines = int(space["lBaseResolution"]), int(space["lPhaseEncodingLines"])
    fov = [plane["dReadoutFOV"], plane["dPhaseFOV"], plane["dThickness"]]

    def encoded(factor):
        return xsd.encodingSpaceType(
            matrixSize=xsd.matrixSizeType(x=round(base * factor), y=lines, z=1),
            fieldOfView_mm=xsd.fieldOfViewMm(x=fov[0] * factor, y=fov[1], z=fov[2]),
        )

    train = any("REFLECT" in one.get_active_flags() for one in mdb)
    limits = xsd.encodingLimitsType(
        kspace_encoding_step_1=xsd.limitType(minimum=0, maximum=max(one.cLin for one in mdb), center=mdb[-1].mdh.CenterLin)
    )
    encoding = xsd.encodingType(
        encodedSpace=encoded(over),
        reconSpace=encoded(1),
        encodingLimits=limits,
        trajectory=xsd.trajectoryType("epi" if train else "cartesian"),
    )
    return xsd.ismrmrdHeader(
        encoding=[encoding],
        acquisitionSystemInformation=xsd.acquisitionSystemInformationType(systemVendor="SIEMENS"),
        experimentalConditions=xsd.experimentalConditionsType(H1resonanceFrequency_Hz=123_000_000),
        measurementInformation=xsd.measurementInformationType(patientPosition="HFS"),
    )


def put_places(acquisition, head):
    place = head.SliceData
    acquisition.position[:] = (place.SlicePos.Sag, place.SlicePos.Cor, place.SlicePos.Tra)
    w, x, y, z = map(float, place.Quaternion)
    turn = Rotation.from_quat([x, y, z, w]).as_matrix()
    acquisition.phase_dir[:], acquisition.read_dir[:], acquisition.slice_dir[:] = turn.T


def described(header, hdr, lines):
    first = lambda name: np.ravel(hdr["Meas"][name])[0]
    numbers = {
        "etl": lines,
        "numberOfNavigators": 3,
        "rampUpTime": first("alRegridRampupTime"),
        "rampDownTime": first("alRegridRampdownTime"),
        "flatTopTime": first("alRegridFlattopTime"),
        "acqDelayTime": first("alRegridDelaySamplesTime"),
        "numSamples": first("alRegridDestSamples"),
    }
    header.encoding[0].trajectoryDescription = xsd.trajectoryDescriptionType(
        identifier="ConventionalEPI",
        comment="Conventional 2D EPI sequence",
        userParameterLong=[xsd.userParameterLongType(name=name, value=int(value)) for name, value in numbers.items()],
        userParameterDouble=[
            xsd.userParameterDoubleType(name="dwellTime", value=hdr["MeasYaps"]["sRXSPEC"]["alDwellTime"][0] * 1e-3)
        ],
    )


def write(raw, path, form="regridded"):
    hdr, mdb = blocks_of(raw)
    samples = mdb[-1].data.shape[1]
    ramps = Ramps(hdr["Meas"], samples)
    header = header_of(hdr, mdb, samples)
    encoded = header.encoding[0].encodedSpace
    if ramps.is_sampled and form == "described":
        described(header, hdr, encoded.matrixSize.y)
    lines = []
    for one in mdb:
        flags, values = one.get_active_flags(), np.asarray(one.data, np.complex128)
        if ramps.is_sampled and form != "described":
            values = ramps.demodulated(values, one.mdh.ReadOutOffcentre / encoded.fieldOfView_mm.x, "REFLECT" in flags)
        lines.append((one, flags, values))
    delay, phase = 0, 0
    if form == "trajectory":
        sums = [
            sum(
                ramps.regridded(v)[:, :: -1 if back else 1]
                for _, flags, v in lines
                if "PHASCOR" in flags and ("REFLECT" in flags) == back
            )
            for back in (False, True)
        ]
        delay, phase = alignment(*sums)
    with ismrmrd.Dataset(str(path), "dataset", create_if_needed=True) as file:
        file.write_xml_header(xsd.ToXML(header).encode())
        for one, flags, values in lines:
            reverse, k = "REFLECT" in flags, None
            if form == "trajectory":
                if "PHASCOR" in flags:
                    continue
                along = (-ramps.k + delay if reverse else ramps.k) - 0.5  # sample n / 2 of an even line is its centre
                inside = abs(along) <= samples // 2
                k = np.stack([along, np.full(samples, one.cLin - one.mdh.CenterLin)], -1).astype(np.float32)[inside]
                values = (values * np.exp(1j * phase) if reverse else values)[:, inside]
            elif ramps.is_sampled and form == "regridded":
                values = ramps.regridded(values)
            made = ismrmrd.Acquisition.from_array(np.ascontiguousarray(values, np.complex64), k)
            made.center_sample = one.mdh.CenterCol * values.shape[1] // samples
            made.sample_time_us = hdr["MeasYaps"]["sRXSPEC"]["alDwellTime"][0] * 1e-3
            made.idx.kspace_encode_step_1, made.idx.slice = one.cLin, one.cSlc
            put_places(made, one.mdh)
            for name in flags:
                if name in FLAGS:
                    made.setFlag(FLAGS[name])
            file.append_acquisition(made)
    return path


if __name__ == "__main__":
    write(*sys.argv[1:])
