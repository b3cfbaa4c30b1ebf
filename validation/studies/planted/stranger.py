"""Mistakes that somebody invented who had not seen the tests, as they happen at scanners and in converters. Words, sizes and the
reasons for where data cannot tell were written before any verdict was seen, but for `side`."""
import numpy as np

from planted.kinds import FIELD_OBJECT, LINE, PLANES, exact, mistake, never, one_coil, planes
from planted.receiver import GAIN, PHASE, contrast
from planted.scans import by_readout, flat, length_of


# --- Where data cannot tell ---


def shots(tags):
    """What differs from shot to shot: hidden only where a plane of k_z, or the scan, is a single shot."""
    return exact(tags) or (PLANES if "stack" in tags and "spiral" in tags else "") or ("one readout" if "shot" in tags else "")


def side(tags):
    """Lines, or planes of k_z, in their order, of which the last 40 % are zero, are byte for byte a partial Fourier scan of 60 %, whose
    file is zero-filled: fhd notes both, and is not alarmed."""
    in_order = "cartesian" in tags and "random" not in tags or {"stack", "spiral"} <= tags
    return "a partial Fourier scan is zero in the same lines" if in_order else ""


def shim(tags):
    return exact(tags) or (FIELD_OBJECT if "spiral" in tags else "")


# --- Tools ---


def k_of(s):
    """The trajectory [readout][sample][3], a copy."""
    return s["trajectory"].reshape(-1, length_of(s), 3).copy()


def with_k(s, k):
    half = np.maximum(np.array(s["@matrix_size"], float) / 2, 1e-9)
    return dict(s, trajectory=np.clip(k, -half, half).reshape(-1, 3))


def data(change):
    """Changes samples [coil][readout][sample]."""
    return lambda s: dict(s, kspace=flat(change(by_readout(s).copy())))


def resample(values, at):
    """Evenly sampled values [..., sample] at other places `at`, in samples: of what the readout would be in an endless field of view of one period."""
    n = values.shape[-1]
    x = np.arange(n) - n // 2
    lines = np.einsum("xm,...m->...x", np.exp(2j * np.pi * np.outer(x, np.arange(n)) / n) / n, values)
    return np.einsum("sx,...x->...s", np.exp(-2j * np.pi * np.outer(at, x) / n), lines)


# --- Gradients ---


def y_gradient_trips(part):
    """From this part of the scan on the y amplifier gives nothing: readouts lie on the k_x axis."""
    def plant(s):
        v, k = by_readout(s).copy(), k_of(s)
        axis = int(np.argmin(np.abs(k[..., 1]).max(1)))  # the readout along k_x
        step = k[axis, 1, 0] - k[axis, 0, 0]
        for j in range(int(part * len(k)), len(k)):
            v[:, j] = resample(v[:, axis], (k[j, :, 0] - k[axis, 0, 0]) / step)
        return dict(s, kspace=flat(v))
    return plant


def amplifier_bends(part):
    """The gain of the x amplifier depends on its current: the file's k_x, right at full current, is too short by up to `part` below it."""
    def plant(s):
        k = k_of(s)
        g = np.diff(k[..., 0], axis=1)
        factor = 1 - part * (1 - np.minimum(np.abs(g) / np.quantile(np.abs(g), .998), 1))
        first = k[:, :1, 0] * factor[:, :1]
        k[..., 0] = np.concatenate([first, first + np.cumsum(g * factor, axis=1)], axis=1)
        return with_k(s, k)
    return plant


def shim_along_x(cycles):
    """The shim of x is of the patient before: k_x drifts through every readout by so many cycles/FOV, about its centre (radial) or its begin."""
    def plant(s):
        k = k_of(s)
        centre = np.argmin((k**2).sum(-1), axis=1)[:, None]
        k[..., 0] -= cycles * (np.arange(k.shape[1]) - centre) / k.shape[1]
        return with_k(s, k)
    return plant


def ramps_sampled(part):
    """The receiver is open while the gradient rises and falls, `part` of the readout each; the file tells even steps."""
    def plant(s):
        n = length_of(s)
        u = (np.arange(n) - n // 2) / (n / 2)
        a = np.abs(u)
        k = np.where(a < 1 - 2 * part, a, a - (a - 1 + 2 * part) ** 2 / (4 * part)) / (1 - part) * np.sign(u)
        return dict(s, kspace=flat(resample(by_readout(s), n // 2 + n / 2 * k)))
    return plant


def phase_ramps(cycles):
    """Diffusion gradients: the head turns and moves a little in each shot, which leaves a phase ramp and a phase of its own on the object."""
    def plant(s):
        k, rng = k_of(s), np.random.default_rng(41)
        flat_axis = np.array(s["@matrix_size"]) < 5
        off = cycles * rng.standard_normal((len(k), 1, 3)) * ~flat_axis
        phase = np.exp(2j * np.pi * .1 * rng.standard_normal(len(k)))[:, None]
        return with_k(dict(s, kspace=flat(by_readout(s) * phase)), k + off)
    return plant


# --- Sequence and RF ---


def echo_train(echoes, decay):
    """Echo number j % echoes is stored as readout j: T2 decays in the train, and every train begins anew."""
    return data(lambda v: v * np.exp(-(np.arange(v.shape[-2]) % echoes) / decay)[:, None])


def unencoded_echo(share):
    """The FID of an imperfect refocusing pulse: every line holds, too, a signal that saw no phase encoding."""
    def plant(s):
        v = by_readout(s)
        centre = int(np.argmin(np.abs(k_of(s)[..., 1]).mean(1)))
        return dict(s, kspace=flat(v + share * v[:, centre:centre + 1]))
    return plant


# --- Receiver ---


def narrow_filter(samples):
    """The receiver's low pass of first order, of this time constant: what came before still rings."""
    def change(v):
        a = np.exp(-1 / samples)
        for i in range(1, v.shape[-1]):
            v[..., i] = a * v[..., i - 1] + (1 - a) * v[..., i]
        return v
    return data(change)


def jitter(most):
    """The trigger of the receiver jitters: readouts begin up to `most` samples early or late."""
    def change(v):
        n, rng = v.shape[-1], np.random.default_rng(42)
        for j in range(v.shape[-2]):
            v[..., j, :] = v[..., j, np.clip(np.arange(n) + rng.integers(-most, most + 1), 0, n - 1)]
        return v
    return data(change)


def second_board(v):
    """The synthesizer of the second receiver board is not locked to the first: its half of the coils has another phase in each readout."""
    v[len(v) // 2:] *= np.exp(2j * np.pi * np.random.default_rng(43).random(v.shape[-2]))[:, None]
    return v


def stream_lost(part, samples):
    """An overflow of the receiver's buffer: some samples are lost from the stream, the rest moves up, readouts are cut as if nothing were."""
    def plant(s):
        v = s["kspace"]
        at = int(part * v.shape[1]) + 7
        return dict(s, kspace=np.concatenate([v[:, :at], v[:, at + samples:], v[:, -samples:]], axis=1))
    return plant


def phase_from_start(share):
    """Off-centre, the receiver is detuned by readout; its phase begins at the first sample and not at the centre of k-space."""
    def plant(s):
        turns = k_of(s)[:, 0] @ (np.array(share) * (np.array(s["@matrix_size"]) > 4))
        return dict(s, kspace=flat(by_readout(s) * np.exp(2j * np.pi * turns)[:, None]))
    return plant


# --- Converters, users, patients ---


def cast_to_integers(s):
    """Samples cast to integers without a scale, so small that the error is 15 % of their norm."""
    v = s["kspace"]
    most = np.abs(v).max()

    def cast(step):
        return step * (np.round(v.real / step) + 1j * np.round(v.imag / step))
    low, high = most / 1e5, most
    for _ in range(40):
        step = np.sqrt(low * high)
        low, high = (step, high) if np.linalg.norm(cast(step) - v) < .15 * np.linalg.norm(v) else (low, step)
    return dict(s, kspace=cast(low))


def one_float_off(s):
    """The stream of floats re, im, re, im ... is read from the second float on."""
    v = s["kspace"]
    return dict(s, kspace=v.imag + 1j * np.concatenate([v.real[:, 1:], v.real[:, -1:]], axis=1))


def projections(v):
    return np.fft.fftshift(np.fft.ifft(np.fft.ifftshift(v, axes=-1), axis=-1, norm="ortho"), axes=-1)


def navigators(s):
    """Each tenth readout is a navigator (always the same: the centre line, or the first), stored as if it were one of the image."""
    v, k = by_readout(s).copy(), k_of(s)
    lines = np.ptp(k[..., 1], axis=1).max() < 1e-3
    at = int(np.argmin(np.abs(k[..., 1]).mean(1))) if lines else 0
    v[:, 5::10] = v[:, at:at + 1]
    return dict(s, kspace=flat(v))


def virtual_coils(s):
    """The samples are of virtual coils (a turn of all coils into each other), the maps or the calibration of the real ones."""
    n, rng = len(s["kspace"]), np.random.default_rng(44)
    turn, _ = np.linalg.qr(rng.standard_normal((n, n)) + 1j * rng.standard_normal((n, n)))
    return dict(s, kspace=turn @ s["kspace"])


def stopped(part):
    """The user stops the scan; the rest of the file, laid out beforehand, stays zero."""
    def change(v):
        v[..., int(part * v.shape[-2]):, :] = 0
        return v
    return data(change)


def vessel(beats, strength):
    """A vessel, a spot of 1.5 voxels, is bright with each beat: inflow. Its coils' weights are those of the scan at its place."""
    def plant(s):
        n, k, v = np.array(s["@matrix_size"], float), s["trajectory"], s["kspace"]
        place = np.array([.06, -.09, 0])
        spot = np.exp(-2 * (np.pi * 1.5) ** 2 * ((k / n)[:, n > 4] ** 2).sum(1) - 2j * np.pi * k @ place)
        weight = 1.0
        if np.linalg.norm(k[length_of(s) // 2]) < .02 * n[0] and np.linalg.norm(k[0]) > .3 * n[0]:  # readouts through the centre
            weight = np.linalg.norm(k, axis=1) ** (2 if n[2] > 4 and len(np.unique(k[:, 2].round(2))) > 2 * n[2] else 1)
        coils = (v * weight) @ spot.conj()
        share = np.repeat(np.arange(by_readout(s).shape[-2]), length_of(s)) / by_readout(s).shape[-2]
        beat = (.5 + .5 * np.cos(2 * np.pi * beats * share)) ** 3
        added = coils[:, None] * (spot * (beat - beat.mean()))
        return dict(s, kspace=v + added * (strength * np.linalg.norm(v) / np.linalg.norm(added)))
    return plant


mistake("the y gradient trips at four fifths of the scan: readouts along k_x", y_gradient_trips(.8), LINE + "|y gradient|gradient (of y|along y|lost|off|fail|tripp)|copies|scale of k_y|k_y", "2D radial|cartesian", hidden=shots)
mistake("gain of the x gradient depends on its current (6 %)", amplifier_bends(.06), "scale|gradient (gain|of x|along x|calibrat)|x gradient|amplifier|nonlinear|girf|shear", "radial|spiral", hidden=one_coil)
mistake("shim of x wrong: k drifts by 4 cycles/FOV through each readout", shim_along_x(4), r"off-resonan|shim|x gradient|gradient (of x|along x|offset|error)|girf|eddy|\bb0\b|field map|linear field|frequency",
        "radial|spiral", hidden=shim)
mistake("ramps sampled, readouts told as even", ramps_sampled(.2), r"\bramp|gradient (shape|wave|ramp)|girf|eddy|scale|uneven|dwell|stretch", "cartesian|radial", hidden=one_coil)
mistake("diffusion: phase ramp of 0.5 cycles/FOV by shot", phase_ramps(.5), PHASE + "|motion|the object (moved|turn)|ramp|centre of k|off centre", "radial|spiral", hidden=planes)
mistake("echo train: T2 decay in every eight readouts", echo_train(8, 4), GAIN + r"|\bt2\b|decay|echo train|every (eighth|8)", hidden=lambda t: shots(t) or contrast(t))
mistake("FID of the refocusing pulse: an unencoded echo in every readout", unencoded_echo(.1), r"same (signal |values )?in (all|each|every)|in (all|each|every) (line|readout)|unencoded|\becho|\bfid\b|interference",
        "2D cartesian", hidden=exact)
mistake("filter of the receiver too narrow (2 samples)", narrow_filter(2), "filter|delay|bandwidth|window", "radial|spiral", [(2, "samples"), (1.54, "samples")], shots)
mistake("trigger jitters: readouts begin 1 sample early or late", jitter(1), r"delay|jitter|trigger|shifted|\bearl|\blate\b", sizes=[(1, "samples"), (.82, "samples")], hidden=planes)
mistake("second receiver board unlocked: half the coils of random phase by readout", data(second_board), "coil|phase|board", "many", hidden=shots)
mistake("5 samples lost in the stream at two fifths, the rest moved up", stream_lost(.4, 5), "delay|lost|shifted|order|moved up|missing", sizes=[(5, "samples")], hidden=shots)
mistake("off-centre: the receiver's phase starts with the readout", phase_from_start((.06, .04, 0)), PHASE + "|off-cent", "radial", hidden=exact)
mistake("samples cast to integers", cast_to_integers, r"\bround(ed|ing)?\b|integer|quanti|whole number|discrete|\bcast\b|\bbits\b", hidden=never)
mistake("trajectory rounded to whole cycles/FOV", lambda s: dict(s, trajectory=np.round(s["trajectory"])), r"\bround(ed|ing)?\b|integer|quanti|whole (number|cycle|position)|discrete", "radial|spiral", hidden=never)
mistake("readouts already Fourier transformed (projections, hybrid space)", data(projections), r"fourier transformed|already (fourier|transformed)|projections|hybrid|\bfft\b|image (space|domain)", "radial|cartesian", hidden=exact)
mistake("each tenth readout is a navigator", navigators, LINE + "|navigat|same (readout|line|signal|values)|copies|every (tenth|10)", hidden=shots)
mistake("floats read from the second on: (im, next re)", one_float_off, r"\breal\b|imaginary|conjugat|quadrature|interleav|float|swapped", hidden=one_coil)
mistake("samples of virtual coils, maps or calibration of the real ones", virtual_coils, "maps|calibration|coil", "maps|reference many", hidden=exact)
mistake("stopped at 60 %, the other readouts zero", stopped(.6), "lost|empty|zero|without signal|missing|stopp|incomplete|" + GAIN, hidden=side)
mistake("a vessel pulsates (9 beats of the readouts)", vessel(9.3, .25), r"motion|puls|\b(in)?flow|varies|heart|cardiac|gating|" + GAIN, hidden=lambda t: shots(t) or contrast(t))
