"""Mistakes in phase, gain, receiver and frequency."""
import numpy as np

from planted.kinds import FIELD_OBJECT, LINE, SIGN, always, exact, found, lines, mistake, never, noise_coil, one_coil, planes, readouts
from planted.scans import by_readout, flat


# --- Phase, gain, receiver ---


def factors(of):
    """Multiplies readout j of n by of(j, n)."""
    return readouts(lambda v: v * np.asarray(of(np.arange(v.shape[-2]), v.shape[-2]))[:, None])


def random_of(seed, make):
    return lambda j, n: make(np.random.default_rng(seed), n)


def contrast(tags):
    return "the signal changes from readout to readout anyway" if "contrast" in tags else ""


PHASE, GAIN = "phase|frequency", "gain|signal (of the|changes|drifts)|signal: |contrast"
mistake("random phase of each readout", factors(random_of(5, lambda r, n: np.exp(2j * np.pi * r.random(n)))), PHASE, hidden=planes)
mistake("phase of 60 degrees, random sign, by readout", factors(random_of(6, lambda r, n: np.exp(1j * np.pi / 3 * r.choice([-1, 1], n)))), PHASE, sizes=[(60, "degrees")], hidden=planes)
mistake("phase drift of 180 degrees over the scan", factors(lambda j, n: np.exp(1j * np.pi * j / n)), PHASE + "|drift", sizes=[(180, "degrees"), (90, "degrees")], hidden=lambda t: planes(t) or lines(t))
mistake("phase cycling of 180 degrees", factors(lambda j, n: (-1.0) ** j), PHASE + "|even and odd|every (second|other)|cycl", "radial|spiral", [(180, "degrees")],
        lambda t: planes(t) or ("the samples at k = 0 alternate by 180 degrees in the scan itself, which this undoes" if "contrast" in t else ""))
mistake("phase of 40 degrees in every second readout", factors(lambda j, n: np.exp(1j * np.radians(40) * (j % 2))), PHASE + "|even and odd|every (second|other)|ghost", sizes=[(40, "degrees"), (20, "degrees")], hidden=planes)
mistake("RF spoiling phase left in the data", factors(lambda j, n: np.exp(1j * np.radians(117) * j * (j + 1) / 2)), PHASE, hidden=planes)
mistake("gain falls to a half over the scan", factors(lambda j, n: .5 ** (j / n)), GAIN + "|drift", sizes=[(50, "%"), (100, "%"), (2, "times")], hidden=lambda t: planes(t) or lines(t) or contrast(t))
mistake("gain of two after half", factors(lambda j, n: 1.0 + (j >= n / 2)), GAIN + "|half", sizes=[(100, "%"), (50, "%"), (2, "times")], hidden=lambda t: planes(t) or contrast(t))
mistake("gain random by 30 %", factors(random_of(8, lambda r, n: 1 + .3 * r.standard_normal(n))), GAIN, sizes=[(30, "%")], hidden=lambda t: planes(t) or contrast(t))
mistake("one readout of ten times the gain", factors(lambda j, n: 1 + 9.0 * (j == n // 3)), GAIN, sizes=[(900, "%"), (10, "times"), (90, "%")], hidden=planes)
mistake("a twelfth of the readouts without signal", factors(lambda j, n: 1e-3 * (j % 12 == 5) + (j % 12 != 5)), GAIN + "|lost|empty|zero|without signal", hidden=planes)


def tone(turns_per_sample, strength, running):
    """A constant tone of so much energy per energy of the samples; its clock runs through the scan, or starts with each readout."""
    def plant(s):
        v = by_readout(s)
        n, length = v.shape[-2:]
        t = np.arange(length)[None] + (running * np.arange(n) * (length + 37.3))[:, None]
        return dict(s, kspace=flat(v + np.sqrt(strength * np.mean(np.abs(v) ** 2)) * np.exp(2j * np.pi * turns_per_sample * t)))
    return plant


def tone_sizes(turns):
    return [(turns, "cycles/sample"), (turns, "Hz of the dwell"), (20, "%")]


def noise_readout(s):
    rng = np.random.default_rng(2)
    v = by_readout(s).copy()
    at = v.shape[-2] // 4
    shape = v[..., at, :].shape
    v[..., at, :] = np.abs(v).max() / 3 * (rng.standard_normal(shape) + 1j * rng.standard_normal(shape))
    return dict(s, kspace=flat(v))


def spikes(count, strength):
    def plant(s):
        rng = np.random.default_rng(7)
        values = s["kspace"].copy()
        at = rng.choice(values.shape[1], count(values.shape[1]), replace=False)
        values[:, at] += strength * np.abs(values).max() * np.exp(2j * np.pi * rng.random(len(at)))
        return dict(s, kspace=values)
    return plant


def clipped(s):
    values = s["kspace"]
    most = np.quantile(np.abs(values), 0.995) * 0.3
    return dict(s, kspace=values * np.minimum(1, most / np.maximum(np.abs(values), 1e-30)))


def wrapped(s):
    """Real and imaginary parts beyond a third of the largest begin again at the other end of the range."""
    v = s["kspace"]
    most = np.abs(v).max() / 3
    return dict(s, kspace=(v.real + most) % (2 * most) - most + 1j * ((v.imag + most) % (2 * most) - most))


def windowed(shape):
    def plant(s):
        n = np.array(s["@matrix_size"], float)
        radius = np.sqrt(((2 * s["trajectory"] / n)[:, n > 1] ** 2).sum(1))
        return dict(s, kspace=s["kspace"] * shape(np.minimum(radius, 1)))
    return plant


def offset(s):
    return dict(s, kspace=s["kspace"] + 0.1 * np.abs(s["kspace"]).max())


def first_samples(s):
    v = by_readout(s).copy()
    v[..., :6] *= np.linspace(0, 1, 6)
    return dict(s, kspace=flat(v))


mistake("a tone in all readouts, its clock runs", tone(.137, .04, 1), "tone|interference|zipper", sizes=tone_sizes(.137))
mistake("a tone in all readouts, the same in each", tone(.21, .04, 0), "tone|interference|zipper", sizes=tone_sizes(.21))
mistake("one readout of noise (interference)", noise_readout, "interference|of noise|spike|" + GAIN)
mistake("spikes", spikes(lambda n: max(4, n // 2000), 1.0), "spike", hidden=never)
mistake("one spike of ten times the largest sample", spikes(lambda n: 1, 10.0), "spike", hidden=never)
mistake("clipped by the receiver", clipped, "clip", hidden=never)
mistake("wrapped by the receiver's integers", wrapped, "wrap|overflow|clip|range", hidden=exact)
mistake("constant offset of the receiver", offset, "constant", hidden=exact)
mistake("a window already applied (Hann)", windowed(lambda r: .5 + .5 * np.cos(np.pi * r)), "window|filter|apodi|weigh",
        hidden=lambda t: "without noise a smooth object explains these data" if "noiseless" in t else "")
mistake("density compensation already applied", windowed(lambda r: r), "window|weigh|compensat", "radial|spiral", hidden=never)
mistake("the first samples ramp up (filter of the receiver)", first_samples, r"first( \d+)? samples|filter|ramp|window", "spiral")
mistake("the first four samples are noise", readouts(lambda v: np.concatenate([np.abs(v).max() / 5 * np.random.default_rng(4).standard_normal(
    v[..., :4].shape), v[..., 4:]], -1)), r"first( \d+)? samples|spike|noise in", "spiral")
mistake("conjugated data", lambda s: dict(s, kspace=s["kspace"].conj()), "conjugat|" + SIGN, hidden=found)
mistake("real and imaginary part swapped", lambda s: dict(s, kspace=s["kspace"].imag + 1j * s["kspace"].real), "conjugat|imaginary|" + SIGN, hidden=found)
mistake("the imaginary part lost", lambda s: dict(s, kspace=s["kspace"].real + 0j), r"\breal\b|imaginary", hidden=never)
mistake("the imaginary part of half the gain", lambda s: dict(s, kspace=s["kspace"].real + .5j * s["kspace"].imag), r"\breal\b|imaginary|quadrature|conjugat",
        sizes=[(50, "%"), (100, "%"), (.5, "times"), (2, "times")], hidden=one_coil)

# --- Off-resonance ---


def frequency(hertz):
    return lambda s: dict(s, kspace=s["kspace"] * np.exp(-2j * np.pi * hertz * s["sample_time_s"].ravel()))


mistake("frequency offset of 150 Hz", frequency(150), "frequency", "spiral time", [(150, "Hz")],
        always(FIELD_OBJECT))
mistake("field map of the other sign", lambda s: dict(s, field_map=-s["field_map"]), "field map", "field", [(200, "%"), (-200, "%"), (100, "%")])
mistake("field map in Hz told as rad/s", lambda s: dict(s, field_map=s["field_map"] / (2 * np.pi)), "field map", "field")
mistake("field map missing", lambda s: {k: v for k, v in s.items() if k != "field_map"}, "field|off-resonance", "field", hidden=always(FIELD_OBJECT))
mistake("field map mirrored", lambda s: dict(s, field_map=s["field_map"][..., ::-1].copy()), "field map", "field")


# --- Cartesian lines ---


def line(change):
    """Changes the line nearest to the centre of k-space."""
    def plant(s):
        k = by_readout(s, s["trajectory"].T)
        at = int(np.argmin(np.abs(k[1].mean(-1))))
        v = by_readout(s).copy()
        v[:, at] = change(v[:, at], v)
        return dict(s, kspace=flat(v))
    return plant


def swapped_lines(v):
    v = v.copy()
    n = v.shape[-2]
    a, b = n // 2 - 3, n // 2 + 2
    v[..., [a, b], :] = v[..., [b, a], :]
    return v


mistake("the centre line lost (zero)", line(lambda v, all_: 1e-6 * v), r"\blines?\b|lost|missing|empty|zero|centre|strongest", "cartesian", hidden=exact)
mistake("the centre line is that of noise", line(lambda v, all_: .02 * noise_coil(v)), r"\blines?\b|lost|missing|empty|zero|centre|strongest|of noise", "cartesian", hidden=exact)
mistake("two lines near the centre swapped", readouts(swapped_lines), LINE, "cartesian")
mistake("ghost: every other line shifted by half a sample", lambda s: dict(s, kspace=flat(every_other_shifted(by_readout(s)))), "ghost|even and odd|every (second|other)|delay|echo", "cartesian",
        [(.5, "samples"), (1, "samples")])


def every_other_shifted(v):
    v = v.copy()
    n = v.shape[-1]
    ramp = np.exp(2j * np.pi * .5 * (np.arange(n) - n // 2) / n)
    odd = np.fft.fftshift(np.fft.ifft(np.fft.ifftshift(v[..., 1::2, :], axes=-1)), axes=-1)
    v[..., 1::2, :] = np.fft.fftshift(np.fft.fft(np.fft.ifftshift(odd * ramp, axes=-1)), axes=-1)
    return v
