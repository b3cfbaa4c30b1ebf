"""More scans without a mistake: physics that `fhd simulate` does not have. Objects of random ellipses on a grid of twice the matrix, coils with the
field of a small loop, direct sums; the scan tells k, and maps where the name says so."""
import os

import numpy as np

from planted.scans import GOOD, by_readout, flat, key_of, length_of, read, readouts_kept, write

DWELL_S = 5e-6


def positions(n, over=1):
    """[y][x] and [x] in fields of view, of a matrix of n = (x, y)."""
    x, y = ((np.arange(over * m) - over * m // 2) / (over * m) for m in n)
    return np.meshgrid(x, y)


def ellipses(n, seed, scale=1.0, centre=(0.0, 0.0), block=False):
    """An object with ten inserts and texture; `block`: a square with sharp edges that fills the field of view."""
    rng = np.random.default_rng(seed)
    x, y = (a / scale for a in (positions(n, 2)[0] - centre[0], positions(n, 2)[1] - centre[1]))
    inside = np.maximum(np.abs(x), np.abs(y)) < .47 if block else (x / .40) ** 2 + (y / .44) ** 2 < 1
    image = inside * (0.6 + 0.05 * rng.standard_normal(x.shape))
    for _ in range(10):
        cx, cy, a, b = rng.uniform(-.22, .22), rng.uniform(-.25, .25), rng.uniform(.02, .14), rng.uniform(.02, .14)
        image += inside * ((x - cx) ** 2 / a**2 + (y - cy) ** 2 / b**2 < 1) * rng.uniform(-.4, .6)
    return np.maximum(image, 0).astype(complex)


def loops(n, coils, over=1, distance=.65):
    """Fields of small loops around the object, [coil][y][x]."""
    x, y = positions(n, over)
    angle = 2 * np.pi * (np.arange(coils) + .25)[:, None, None] / coils
    dx, dy = x - distance * np.cos(angle), y - distance * np.sin(angle)
    far = (dx**2 + dy**2 + .1) ** 1.5
    return .3 * (-dx * np.cos(angle) - dy * np.sin(angle) + 1j * (dy * np.cos(angle) - dx * np.sin(angle)) + .3) / far * (distance / .65) ** 2


def angles(count, golden, whole=np.pi):
    return np.arange(count) * np.pi * (np.sqrt(5) - 1) / 2 if golden else np.arange(count) * whole / count


def trajectory(kind, n, count):
    """k [readout][sample][x, y] in cycles/FOV, along the longer side n / 2."""
    half = np.array(n) / 2
    if kind == "cartesian":
        x, y = np.meshgrid(np.arange(n[0]) - n[0] // 2, np.arange(n[1]) - n[1] // 2)
        return np.stack([x, y], -1).astype(float)
    if "radial" in kind:
        from_centre = kind.startswith("half")
        r = (np.arange(max(n)) + .5) / max(n) if from_centre else np.linspace(-1, 1, 2 * max(n))
        at = angles(count, "golden" in kind, 2 * np.pi if from_centre else np.pi)
        return np.stack([r * np.cos(at)[:, None], r * np.sin(at)[:, None]], -1) * half
    turns, density = max(n) / 2 / count, 1.6 if kind == "dense-spiral" else 1
    turns *= density
    length = int(4 * max(n) * turns)
    s = np.linspace(0, 1, length) ** .6
    at = 2 * np.pi * (turns * s + np.arange(count)[:, None] / count)
    return np.stack([s**density * np.cos(at), s**density * np.sin(at)], -1) * half


def sums(image, maps, k, rate=None, t=None):
    """sum over r of maps image exp(-2 pi i k r + rate t), [coil][sample]; rate [y][x] in 1/s, by time segments."""
    n = image.shape[::-1]
    ex, ey = (np.exp(-2j * np.pi * np.outer(k[:, axis], (np.arange(n[axis]) - n[axis] // 2) / n[axis])) for axis in (0, 1))
    segments = 1 if rate is None else 10
    data = np.zeros((len(maps), len(k)), complex)
    for segment in range(segments):
        weight = 1.0
        if rate is not None:
            at = t.min() + np.ptp(t) * segment / (segments - 1)
            weight = np.maximum(0, 1 - np.abs(t - at) * (segments - 1) / np.ptp(t))
        seen = image if rate is None else image * np.exp(rate * at)
        for c, one in enumerate(maps):
            data[c] += weight * np.einsum("my,my->m", ey, ex @ (one * seen).T)
    return data


def physical(kind, n=(64, 64), count=0, coils=8, snr=30, seed=1, maps=False, scale=1.0, centre=(0.0, 0.0), block=False, distance=.65, phase=0.0, flow=0.0,
             field_hz=0.0, t2_ms=0.0, concomitant=0.0, jitter=0.0, loud=1.0, correlated=0.0, signal=None, times=True):
    """phase, flow: radians; field_hz: the largest off-resonance; concomitant: cycles at the edge of the field of view, at the end of a readout;
    jitter: of the sampling clock, in samples; loud: noise of coil 1 over that of the others; correlated: noise of the next coil; signal(share of the scan): of each readout, or of
    each tissue and readout, for tissues that lie side by side."""
    count = count or {"cartesian": n[1], "spiral": 8, "dense-spiral": 8}.get(kind, int(1.6 * max(n)))
    rng = np.random.default_rng(seed)
    image, (x, y) = ellipses(n, seed, scale, centre, block), positions(n, 2)
    image *= np.exp(1j * phase * (4 * x * x + 2 * x * y - y)) * np.exp(1j * flow * (np.hypot(x - .1, y) < .08))
    k = trajectory(kind, n, count)
    readouts, length = k.shape[:2]
    t = np.tile(np.arange(length) * DWELL_S * (2 if kind == "cartesian" else 1), readouts)
    rate = 0
    if field_hz:
        rate = rate + 2j * np.pi * field_hz * (np.exp(-((x - .2) ** 2 + (y + .1) ** 2) / .03) - 1.5 * x * y)
    if t2_ms:
        rate = rate - 1e3 / t2_ms * (1 + .5 * np.sin(7 * x))
    if concomitant:
        rate = rate + 2j * np.pi * concomitant / t.max() * 4 * (x * x + y * y)
    true = k + jitter * rng.standard_normal((*k.shape[:2], 1)) * np.gradient(k, axis=1) if jitter else k  # of the clock: along the readout
    courses = np.atleast_2d(signal((np.arange(readouts) + .5) / readouts) if signal else np.ones(readouts))
    tissue = np.clip((x + .5) * len(courses), 0, len(courses) - 1).astype(int)
    data = sum(np.repeat(course, length) * sums(image * (tissue == i), loops(n, coils, 2, distance), true.reshape(-1, 2), rate if np.ndim(rate) else None, t)
               for i, course in enumerate(courses))
    sigma = np.sqrt(np.mean(np.abs(data) ** 2) / 2) / snr
    noise = sigma * (rng.standard_normal(data.shape) + 1j * rng.standard_normal(data.shape))
    noise[1 % coils] *= loud
    data = data + noise + correlated * np.roll(noise, 1, 0)
    scan = {"trajectory": np.concatenate([k.reshape(-1, 2), np.zeros((k.size // 2, 1))], 1), "unit": "cycles/FOV", "kspace": data,
            "@matrix_size": np.array([*n, 1], np.int32), "@fov_mm": np.array([3.0 * n[0], 3.0 * n[1], 5.0]), "@readout_length": np.array([length], np.int32)}
    if times and kind != "cartesian":
        scan["sample_time_s"] = t
    if maps:
        scan["sensitivity_maps"] = loops(n, coils, 1, distance)[:, None]
    return scan


def gated(share):
    """Readouts left out at random."""
    return lambda s: readouts_kept(s, np.flatnonzero(np.random.default_rng(3).random(s["kspace"].shape[1] // length_of(s)) < share))


def partial_fourier(share):
    """The first lines are not measured."""
    return lambda s: readouts_kept(s, slice(int((1 - share) * s["kspace"].shape[1] // length_of(s)), None))


def zero_filled(share):
    """The last readouts hold zeros: nothing was measured."""
    def change(s):
        v = by_readout(s).copy()
        v[:, int((1 - share) * v.shape[1]):] = 0
        return dict(s, kspace=flat(v))
    return change


def recovering(share):
    return 1 - .6 * np.exp(-6 * share)


def inverted(share):
    """Four tissues after an inversion, as a slow train of flips shows them."""
    return (1 - 2 * np.exp(-share / np.array([.06, .15, .3, .7])[:, None])) * (.3 + np.abs(np.sin(9 * share)))


def alternating(share):
    """Three tissues with another signal in every second readout, and flips at random."""
    flips = np.random.default_rng(6).uniform(.3, 1, len(share))
    odd = np.where(np.arange(len(share)) % 2, -1, 1) * np.array([.2, .5, .8])[:, None]
    return flips * (1 - 1.6 * np.exp(-share / np.array([.1, .25, .6])[:, None])) + odd * np.sin(4 * share)


RADIAL, SPIRAL, CARTESIAN, GOLDEN = "radial", "spiral", "cartesian", "golden-radial"
WAYS = [  # what, kinds, options, afterwards
    ("phase of the object", (GOLDEN, SPIRAL, CARTESIAN, RADIAL), dict(phase=2.5), None),
    ("flow", (GOLDEN, SPIRAL, CARTESIAN), dict(flow=2.0, phase=1.0), None),
    ("correlated noise", (RADIAL, SPIRAL, CARTESIAN), dict(correlated=.7, snr=15), None),
    ("a noisy coil", (GOLDEN, SPIRAL, CARTESIAN, "dense-spiral"), dict(loud=5.0), None),
    ("SNR 5", (GOLDEN, SPIRAL, CARTESIAN, "dense-spiral"), dict(snr=5), None),
    ("SNR 500", (GOLDEN, SPIRAL, CARTESIAN, RADIAL), dict(snr=500), None),
    ("a small object off the centre", (GOLDEN, SPIRAL, CARTESIAN, RADIAL), dict(scale=.4, centre=(.22, -.18)), None),
    ("a block that fills the field", (GOLDEN, SPIRAL, CARTESIAN, RADIAL), dict(block=True), None),
    ("96x60", (GOLDEN, SPIRAL, CARTESIAN, "dense-spiral"), dict(n=(96, 60)), None),
    ("63x75", (RADIAL, SPIRAL, CARTESIAN), dict(n=(63, 75)), None),
    ("2 coils", (GOLDEN, SPIRAL, CARTESIAN), dict(coils=2), None),
    ("3 coils", (RADIAL, "dense-spiral", CARTESIAN), dict(coils=3), None),
    ("coils far away", (GOLDEN, SPIRAL, CARTESIAN), dict(distance=2.0), None),
    ("T2* of 15 ms", (SPIRAL, RADIAL, "dense-spiral"), dict(t2_ms=15), None),
    ("off-resonance 30 Hz", (SPIRAL, GOLDEN, "dense-spiral"), dict(field_hz=30), None),
    ("off-resonance 80 Hz", (SPIRAL, GOLDEN, "dense-spiral"), dict(field_hz=80), None),
    ("off-resonance 50 Hz, T2* 30 ms, no times", (SPIRAL, RADIAL), dict(field_hz=50, t2_ms=30, times=False), None),
    ("contrast", (GOLDEN, SPIRAL, RADIAL), dict(signal=recovering), None),
    ("gated", (GOLDEN, RADIAL), {}, gated(.6)),
    ("partial Fourier", (CARTESIAN,), {}, partial_fourier(.65)),
    ("zero-filled", (CARTESIAN,), {}, zero_filled(.1)),
    ("spokes from the centre", ("half-radial", "half-golden-radial"), dict(count=160), None),
    ("one shot", (SPIRAL,), dict(count=1, field_hz=20), None),
    ("20 spokes", (GOLDEN,), dict(count=20, n=(48, 48)), None),
    ("jitter of the clock", (GOLDEN, SPIRAL), dict(jitter=.1), None),
    ("concomitant phase", (SPIRAL, GOLDEN), dict(concomitant=.2), None),
    ("four tissues after an inversion", (GOLDEN, RADIAL), dict(signal=inverted, count=200), None),
    ("three tissues that alternate", (GOLDEN, RADIAL), dict(signal=alternating, count=200), None),
    ("three tissues that alternate, 2 coils, SNR 10", (GOLDEN, RADIAL), dict(signal=alternating, count=300, coils=2, snr=10), None),
    ("four tissues after an inversion, off-resonance 30 Hz", (GOLDEN, SPIRAL), dict(signal=inverted, count=24 * 8, field_hz=30), None),
]


def physics():
    number = 0
    for what, kinds, options, change in WAYS:
        for kind in kinds:
            for maps in ([False, True] if options.get("coils", 8) > 1 and number % 2 else [number % 4 == 0]):
                name = f"{kind}: {what}{', maps' if maps else ''}"

                def make(path=key_of(name) + "_made.h5", kind=kind, options=options, change=change, maps=maps, seed=number):
                    if not os.path.exists(path):
                        scan = physical(kind, seed=seed, maps=maps, **options)
                        write(path, change(scan) if change else scan)
                    return read(path)
                GOOD[name] = make, False
            number += 1


physics()
