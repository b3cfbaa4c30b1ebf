"""Echo-planar scans of the phantom, whose k-space is known in closed form, as ISMRMRD and as Siemens raw data.

Readouts of the two directions are late by `delay` samples and off by `phase` radians each, so that an image has a ghost at
half the FOV unless they are aligned."""

import copy
import dataclasses
import itertools
import struct

import ismrmrd
import mrd_phantom as phantom
import numpy as np

BITS = {"PHASCOR": 21, "RTFEEDBACK": 1, "PATREF": 22, "PATREF_IMA": 23, "REFLECT": 24}
FLAGS = {
    "PHASCOR": [ismrmrd.ACQ_IS_PHASECORR_DATA],
    "RTFEEDBACK": [ismrmrd.ACQ_IS_NAVIGATION_DATA, ismrmrd.ACQ_IS_RTFEEDBACK_DATA],
    "PATREF": [ismrmrd.ACQ_IS_PARALLEL_CALIBRATION],
    "PATREF_IMA": [ismrmrd.ACQ_IS_PARALLEL_CALIBRATION_AND_IMAGING],
    "REFLECT": [ismrmrd.ACQ_IS_REVERSE],
}


@dataclasses.dataclass
class Epi:
    n: int = 48
    lines: int = 0  # along y; 0: n
    coils: int = 1
    delay: float = 0.3  # of each direction, samples
    phase: float = 0.25  # of each direction, radians
    navigators: int = 3  # of each train, or of the first of a slice
    each_shot: bool = False  # whether every shot has navigators
    shots: int = 1
    slices: int = 1
    echoes: int = 1
    averages: int = 1
    first_line: int = 0  # partial Fourier
    reduction: int = 1
    references: int = 0  # lines about the centre, a train of their own with its own navigators
    reference_phase: float = 0.25  # radians of each direction in it
    flash_references: bool = False  # each an excitation of its own, read forwards, without ramps
    repetitions: int = 1  # navigators in the first
    begins_backwards: bool = False
    alternate: bool = False  # whether every second shot begins the other way
    flagged: bool = True  # whether backward readouts say so
    ramps: bool = False  # sampled while the gradient rises and falls, too
    up_us: float = 100.0
    flat_us: float = 200.0
    delay_us: float = 20.0  # from the start of the gradient to the first sample

    @property
    def height(self):
        return self.lines or self.n

    @property
    def samples(self):
        return 2 * self.n if self.ramps else self.n

    @property
    def adc_us(self):
        return 2 * self.up_us + self.flat_us - 2 * self.delay_us

    def k(self):
        """Positions of the samples of a forward readout, cycles/FOV."""
        if not self.ramps:
            return np.arange(self.n) - self.n // 2
        t = np.linspace(0, 2 * self.up_us + self.flat_us, 200001)
        gradient = np.interp(t, [0, self.up_us, self.up_us + self.flat_us, t[-1]], [0, 1, 1, 0])
        area = np.concatenate([[0], np.cumsum((gradient[1:] + gradient[:-1]) / 2 * (t[1] - t[0]))])
        at = lambda time: np.interp(time, t, area)
        whole = at(self.delay_us + self.adc_us) - at(self.delay_us)
        middle = self.delay_us + (np.arange(self.samples) + 0.5) * self.adc_us / self.samples
        # Twice oversampled: 2 n samples afterwards, half a cycle/FOV apart, whose middle lies between two of them.
        return (at(middle) - at(t[-1] / 2)) * self.n / whole

    def readout(self, ky, backwards, shape, flags=(), k=None, **counters):
        k, d = self.k() if k is None else k, self.delay
        along = (k - d) if not backwards else (-k + d if self.ramps else k[::-1] + d)
        values = phantom.signal(along, np.full(len(k), float(ky)), self.coils, shape)
        phase = self.reference_phase if "PATREF" in flags else self.phase
        values = values * np.exp(1j * phase * (-1 if backwards else 1))
        names = [*flags, *["REFLECT"] * (backwards and self.flagged)]
        return {"values": values, "names": names, "step": int(ky) + self.height // 2} | counters

    def trains(self, steps, shape, flags=(), navigators=True, begins=None, **counters):
        """Lines `steps`, in turns forwards and backwards, after navigators without phase encoding."""
        begins = self.begins_backwards if begins is None else begins
        made, backwards = [], begins
        if navigators:
            for i in range(self.navigators):
                made.append(self.readout(0, begins == (i % 2 == 1), shape, [*flags, "PHASCOR", "RTFEEDBACK"], **counters))
        for step in steps:
            made.append(self.readout(step - self.height // 2, backwards, shape, flags, **counters))
            backwards = not backwards
        return made

    def readouts(self):
        made = []
        if self.references:
            first = self.height // 2 - self.references // 2
            for s in range(self.slices):
                steps = range(first, first + self.references)
                if self.flash_references:
                    even = (np.arange(self.samples) - self.samples // 2) * self.n / self.samples
                    made += [
                        self.readout(step - self.height // 2, False, self.shape(s), ["PATREF"], even, slice=s) | {"space": 1}
                        for step in steps
                    ]
                else:
                    made += self.trains(steps, self.shape(s), ["PATREF"], slice=s)
        order = [*range(0, self.slices, 2), *range(1, self.slices, 2)]
        for repetition, average, shot, s, echo in itertools.product(
            range(self.repetitions), range(self.averages), range(self.shots), order, range(self.echoes)
        ):
            steps = range(self.first_line + shot * self.reduction, self.height, self.shots * self.reduction)
            navigate = echo == 0 and repetition == 0 and (self.each_shot or shot == 0)
            begins = self.begins_backwards != (self.alternate and shot % 2 == 1)
            made += self.trains(
                steps,
                self.shape(s),
                navigators=navigate,
                begins=begins,
                slice=s,
                contrast=echo,
                average=average,
                segment=shot,
                repetition=repetition,
            )
        return made

    @staticmethod
    def shape(s):
        """The phantom, smaller from slice to slice."""
        return [(a, x, y, w * (1 - 0.1 * s), h * (1 - 0.1 * s), t) for a, x, y, w, h, t in phantom.HEAD]

    def truth(self, s=0):
        n, m = self.n, self.height
        kx, ky = np.meshgrid(np.arange(n) - n // 2, np.arange(m) - m // 2)
        image = np.fft.fftshift(np.fft.ifft2(np.fft.ifftshift(phantom.signal(kx, ky, 1, self.shape(s))[0])))
        y, x = np.meshgrid((np.arange(m) - m // 2) / m, (np.arange(n) - n // 2) / n, indexing="ij")
        maps = [
            sum(a * np.exp(2j * np.pi * (qx * x + qy * y)) for a, qx, qy in phantom.waves(c, self.coils))
            for c in range(self.coils)
        ]
        return image * np.sqrt((abs(np.stack(maps)) ** 2).sum(0))


def write_ismrmrd(path, scan, name="epi"):
    def edit(header):
        encoding = header.encoding[0]
        over = 2 if scan.ramps else 1
        encoding.encodedSpace = ismrmrd.xsd.encodingSpaceType(
            matrixSize=ismrmrd.xsd.matrixSizeType(x=over * scan.n, y=scan.height, z=1),
            fieldOfView_mm=ismrmrd.xsd.fieldOfViewMm(x=200.0 * over, y=200, z=5),
        )
        encoding.reconSpace = ismrmrd.xsd.encodingSpaceType(
            matrixSize=ismrmrd.xsd.matrixSizeType(x=scan.n, y=scan.height, z=1),
            fieldOfView_mm=ismrmrd.xsd.fieldOfViewMm(x=200, y=200, z=5),
        )
        encoding.encodingLimits.kspace_encoding_step_1 = ismrmrd.xsd.limitType(
            minimum=0, maximum=scan.height - 1, center=scan.height // 2
        )
        if scan.reduction > 1:
            encoding.parallelImaging = ismrmrd.xsd.parallelImagingType(
                accelerationFactor=ismrmrd.xsd.accelerationFactorType(
                    kspace_encoding_step_1=scan.reduction, kspace_encoding_step_2=1
                ),
                calibrationMode=ismrmrd.xsd.calibrationModeType("separate"),
            )
        if scan.ramps:  # as siemens_to_ismrmrd describes it
            long = lambda key, value: ismrmrd.xsd.userParameterLongType(name=key, value=int(value))
            encoding.trajectoryDescription = ismrmrd.xsd.trajectoryDescriptionType(
                identifier="ConventionalEPI",
                comment="Conventional 2D EPI sequence",
                userParameterLong=[
                    long("etl", scan.height),
                    long("numberOfNavigators", scan.navigators),
                    long("rampUpTime", scan.up_us),
                    long("rampDownTime", scan.up_us),
                    long("flatTopTime", scan.flat_us),
                    long("echoSpacing", 2 * scan.up_us + scan.flat_us),
                    long("acqDelayTime", scan.delay_us),
                    long("numSamples", scan.samples),
                ],
                userParameterDouble=[
                    ismrmrd.xsd.userParameterDoubleType(name="dwellTime", value=scan.adc_us / scan.samples)
                ],
            )

    readouts = [
        one | {"flags": [flag for name in one["names"] for flag in FLAGS[name]], "dwell_us": scan.adc_us / scan.samples}
        for one in scan.readouts()
    ]
    if scan.flash_references:

        def with_second_space(header):
            edit(header)
            header.encoding.append(copy.deepcopy(header.encoding[0]))
            header.encoding[1].trajectory = ismrmrd.xsd.trajectoryType("cartesian")
            header.encoding[1].trajectoryDescription = None

        return phantom.write(path, scan.n, readouts, name, edit=with_second_space)
    return phantom.write(path, scan.n, readouts, name, edit=edit)


def twix_block(one, scan):
    """A head of VD, and the values of each channel behind a head of their own."""
    values = np.ascontiguousarray(one["values"], np.complex64)
    mask = sum(1 << BITS[name] for name in one["names"])
    counters = [
        one["step"],
        one.get("average", 0),
        one.get("slice", 0),
        0,
        one.get("contrast", 0),
        0,
        one.get("repetition", 0),
        0,
        one.get("segment", 0),
    ]
    head = struct.pack(
        "<5I20xQ2H14H2H2HfI2H",
        0,
        7,
        1,
        0,
        0,
        mask,
        values.shape[1],
        values.shape[0],
        *counters,
        *[0] * 5,
        0,
        0,
        values.shape[1] // 2,
        0,
        0.0,
        0,
        scan.height // 2,
        0,
    )
    head += struct.pack("<3f4f", 0, 0, 6 * one.get("slice", 0), 0.5**0.5, 0, 0, 0.5**0.5)
    head = head.ljust(192, b"\0")
    return head + b"".join(bytes(24) + struct.pack("<H", c) + bytes(6) + values[c].tobytes() for c in range(len(values)))


def write_twix(path, scan):
    """One measurement of VD."""
    lines = {
        "sKSpace.lBaseResolution": scan.n,
        "sKSpace.lPhaseEncodingLines": scan.height,
        "sKSpace.ucTrajectory": "0x1",
        "sKSpace.ucDimension": "0x2",
        "sSliceArray.lSize": scan.slices,
        "sSliceArray.asSlice[0].dReadoutFOV": 200.0,
        "sSliceArray.asSlice[0].dPhaseFOV": 200.0,
        "sSliceArray.asSlice[0].dThickness": 5.0,
        "lContrasts": scan.echoes,
        "sFastImaging.lEPIFactor": scan.height,
        "sPat.lAccelFactPE": scan.reduction,
        "sPat.ucRefScanMode": "0x4" if scan.references else "0x1",
    }
    lines |= {f"sRXSPEC.alDwellTime[{e}]": round(1000 * scan.adc_us / scan.samples) for e in range(scan.echoes)}
    lines |= {f"alTE[{e}]": 20000 * (e + 1) for e in range(scan.echoes)}
    yaps = "### ASCCONV BEGIN object=x ###\n" + "".join(f"{key}\t = \t{value}\n" for key, value in lines.items())
    yaps += 'tProtocolName\t = \t""epi""\n### ASCCONV END ###\n'
    parameters = {"flReadoutOSFactor": 2.0 if scan.ramps else 1.0, "lEchoSpacing": 2 * scan.up_us + scan.flat_us}
    if scan.ramps:
        parameters |= {
            "alRegridMode": 2,
            "alRegridRampupTime": scan.up_us,
            "alRegridFlattopTime": scan.flat_us,
            "alRegridRampdownTime": scan.up_us,
            "alRegridDelaySamplesTime": scan.delay_us,
            "aflRegridADCDuration": scan.adc_us,
            "alRegridDestSamples": scan.samples,
        }
    meas = "<XProtocol>\n{\n" + "".join(f'<ParamDouble."{key}">\n{{\n  {value} \n}}\n' for key, value in parameters.items())
    texts = b"".join(
        name + b"\0" + struct.pack("<I", len(text)) + text
        for name, text in ((b"Meas", meas.encode()), (b"MeasYaps", yaps.encode()))
    )
    texts = texts.ljust(-(-(len(texts) + 8) // 32) * 32 - 8, b"\0")
    body = struct.pack("<2I", len(texts) + 8, 2) + texts + b"".join(twix_block(one, scan) for one in scan.readouts())
    body += struct.pack("<5I20xQ", 352, 7, 1, 0, 0, 1).ljust(352, b"\0")
    table = struct.pack("<2I2I2Q", 0, 1, 7, 8, 10240, len(body)) + bytes(64) + b"epi".ljust(64, b"\0")
    path.write_bytes(table.ljust(10240, b"\0") + body)
    return path
