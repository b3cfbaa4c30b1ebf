"""Mistakes in the trajectory, in the order of samples and readouts, and motion."""
import numpy as np

from planted.kinds import LINE, PLANES, SIGN, always, exact, found, lines, mistake, percent, planes, readouts, rough, square
from planted.scans import by_readout, count_of, flat, length_of


# --- The trajectory ---

def k_times(*factors):
    return lambda s: dict(s, trajectory=s["trajectory"] * np.array(factors))


def k_by(matrix):
    return lambda s: dict(s, trajectory=s["trajectory"] @ np.array(matrix, float).T)


def k_of_readouts(which, matrix):
    """The trajectory of some readouts, which(number, count), multiplied by a matrix."""
    def plant(s):
        k = s["trajectory"].reshape(-1, length_of(s), 3).copy()
        some = which(np.arange(len(k)), len(k))
        k[some] = k[some] @ np.array(matrix, float).T
        return dict(s, trajectory=k.reshape(-1, 3))
    return plant


def turn(degrees):
    c, sine = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return [[c, -sine, 0], [sine, c, 0], [0, 0, 1]]


def scale(x=1.0, y=1.0, z=1.0):
    return [[x, 0, 0], [0, y, 0], [0, 0, z]]


def told_as(s, k):
    """Returns the scan with these positions, those beyond the matrix at its edge."""
    half = np.maximum(np.array(s["@matrix_size"], float) / 2, 1e-9)
    return dict(s, trajectory=np.clip(k, -half, half).reshape(-1, 3))


def delayed(samples, axes=(0, 1, 2), which=None, stretch=1.0):
    """The trajectory told is that of `samples` later than the data, along these axes (and runs `stretch` times as fast)."""
    def plant(s):
        length = length_of(s)
        k = s["trajectory"].reshape(-1, length, 3).copy()
        at = np.clip(stretch * np.arange(length) + samples, -1, length)  # beyond the ends: straight on
        low = np.clip(np.floor(at).astype(int), 0, length - 2)
        moved = k[:, low] + (k[:, low + 1] - k[:, low]) * (at - low)[:, None]
        some = slice(None) if which is None else which(np.arange(len(k)), len(k))
        for axis in axes:
            k[some, :, axis] = moved[some, :, axis]
        return told_as(s, k)
    return plant


def smoothed(samples):
    """The gradients told lack what a filter of this time constant did to the ones played."""
    def plant(s):
        k = s["trajectory"].reshape(-1, length_of(s), 3).copy()
        told = k.copy()
        told[:, 1:] = k[:, 1:] + samples * np.diff(k, axis=1)
        return told_as(s, told)
    return plant


def angles_of(step):
    """Readouts through or from the centre, told as if each were turned by `step(count)` degrees against the one before."""
    def plant(s):
        k = s["trajectory"].reshape(-1, length_of(s), 3).copy()
        last = np.arctan2(k[:, -1, 1], k[:, -1, 0])
        for j in range(len(k)):
            k[j] = k[j] @ np.array(turn(step(len(k)) * j - np.degrees(last[j] - last[0]))).T
        return dict(s, trajectory=k.reshape(-1, 3))
    return plant


mistake("k half as long (unit, FOV)", k_times(.5, .5, .5), "scale|unit|fov|field of view", sizes=percent(.5), hidden=found)
mistake("k / pi (unit)", k_times(*[1 / np.pi] * 3), "scale|unit|fov|field of view", sizes=percent(1 / np.pi), hidden=found)
mistake("k x 0.8 (FOV)", k_times(.8, .8, .8), "scale|unit|fov|field of view", sizes=percent(.8), hidden=found)
mistake("k x 0.98 (gradient calibration)", k_times(.98, .98, .98), "scale|unit", sizes=percent(.98), hidden=rough)
mistake("k_x half as long (FOV of one axis)", k_times(.5, 1, 1), "scale|unit|fov", sizes=percent(.5), hidden=found)
mistake("k_x x 0.97 (gradient calibration)", k_times(.97, 1, 1), "scale", sizes=percent(.97), hidden=rough)
mistake("k_y x 0.95 (gradient calibration)", k_times(1, .95, 1), "scale", sizes=percent(.95), hidden=rough)
mistake("k_z x 0.95 (gradient calibration)", k_times(1, 1, .95), "scale", "3D", percent(.95), found)
mistake("k_x x 0.97 in every second readout", k_of_readouts(lambda j, n: j % 2 == 1, scale(.97)), "scale",
        "radial|spiral", percent(.97), planes)
mistake("k_x x 0.95 in the second half", k_of_readouts(lambda j, n: j >= n / 2, scale(.95)), "scale", "radial|spiral",
        percent(.95), planes)
mistake("shear: 0.04 k_y in k_x", k_by([[1, .04, 0], [0, 1, 0], [0, 0, 1]]), "shear|skew|scale|turn: ", "radial|spiral",
        [(4, "%"), (np.degrees(.04), "degrees"), (np.degrees(.02), "degrees")], rough)
mistake("trajectory turned by 5 degrees", k_by(turn(5)), "turn|rotat|maps", sizes=[(5, "degrees")], hidden=rough)
mistake("k_x and k_y swapped", k_by([[0, 1, 0], [1, 0, 0], [0, 0, 1]]), "swapped|transpos|maps", hidden=found)
mistake("k_x of the other sign", k_times(-1, 1, 1), SIGN + "|maps", hidden=found)
mistake("all k of the other sign", k_times(-1, -1, -1), SIGN + "|conjugat|revers", hidden=found)
mistake("spirals turn the other way", angles_of(lambda n: -360 / n), "angle|order|" + SIGN, "2D spiral time many", hidden=exact)
mistake("k_x off by half a cycle/FOV", lambda s: dict(s, trajectory=s["trajectory"] + [.5, 0, 0]), "centre|offset", "radial",
        hidden=always("a phase over the object explains these data"))
mistake("delay of 0.5 samples", delayed(.5), "delay", "radial", [(.5, "samples")])
mistake("delay of 1 sample", delayed(1), "delay", "radial", [(1, "samples")])
mistake("delay of 2 samples", delayed(2), "delay", "radial", [(2, "samples")])
mistake("delay of 1 sample along x", delayed(1, (0,)), "delay", "radial", [(1, "samples")])
mistake("delays of 1 and -1 samples along x and y", lambda s: delayed(-1, (1,))(delayed(1, (0,))(s)), "delay", "2D radial", [(1, "samples"), (-1, "samples")])
mistake("delay of 1 sample in every second readout", delayed(1, which=lambda j, n: j % 2 == 1), "delay|every (second|other)|even and odd", "radial",
        [(1, "samples"), (.5, "samples")])
mistake("delay of 2 samples (spiral)", delayed(2), "delay", "spiral", [(2, "samples")], planes)
mistake("delay of 4 samples (spiral)", delayed(4), "delay", "spiral", [(4, "samples")], planes)
mistake("delay of 3 samples along y (spiral)", delayed(3, (1,)), "delay", "spiral", [(3, "samples")], planes)
mistake("dwell time told 2 % too long", delayed(0, stretch=1.02), "dwell|scale|delay", "2D spiral", percent(1.02), found)
mistake("gradients low-pass filtered, 3 samples", smoothed(3), "delay|girf|eddy", "radial|spiral", [(3, "samples")], planes)
mistake("angles evenly spaced, not golden", angles_of(lambda n: 180 / n), "angle|order", "2D golden radial")
mistake("angles of the tiny golden angle", angles_of(lambda n: 23.6281), "angle|order", "2D radial")

# --- The order of samples and readouts ---


def ordered(order):
    return readouts(lambda v: v[..., np.asarray(order(v.shape[-2])), :])


def moved_up(part, repeated=False):
    """One readout is lost (or stored twice), and the rest follows at once; the last place holds the last readout again."""
    def order(n):
        at = int(part * n)
        some = [j for j in range(n) if j != at] + [n - 1] if not repeated else list(range(at + 1)) + list(range(at, n - 1))
        return some
    return ordered(order)


def every_other(change):
    def plant(v):
        v = v.copy()
        v[..., 1::2, :] = change(v[..., 1::2, :])
        return v
    return readouts(plant)


def every_second_sample(s):
    """The readout was sampled at half the rate that the file tells: only its first half is in the file, stretched."""
    v = by_readout(s)
    at = np.arange(v.shape[-1]) // 2
    return dict(s, kspace=flat(v[..., at]))


mistake("readouts shifted by 8 samples", readouts(lambda v: np.roll(v, 8, -1)), "delay", "radial|spiral", [(8, "samples")], planes)
mistake("readouts reversed in time", readouts(lambda v: v[..., ::-1]), "revers|conjugat|" + SIGN, hidden=lambda t: found(t) if t & {"radial", "cartesian"} else exact(t))
mistake("every other readout reversed", every_other(lambda v: v[..., ::-1]), "revers|every (second|other)|even and odd", "radial|cartesian", hidden=exact)
mistake("readouts off by one", readouts(lambda v: np.roll(v, 1, -2)), LINE, "radial|spiral",
        [(1, "readouts")], hidden=lambda t: found(t) if "2D" in t else always(PLANES)(t) if "stack" in t else "")
mistake("lines off by one", readouts(lambda v: np.roll(v, 1, -2)), LINE, "cartesian", [(1, "readouts")], hidden=always("a phase over the object explains these data"))
mistake("readouts off by a tenth", readouts(lambda v: np.roll(v, v.shape[-2] // 10 + 1, -2)), LINE, "many radial|spiral|cartesian",
        hidden=lambda t: found(t) if "2D" in t and "cartesian" not in t else PLANES if "stack" in t else lines(t))
mistake("readouts in reversed order", readouts(lambda v: v[..., ::-1, :]), LINE + "|revers", hidden=lambda t: found(t) if t & {"2D", "stack"} else "")
mistake("neighbouring readouts swapped", ordered(lambda n: [min(j ^ 1, n - 1) for j in range(n)]), LINE, hidden=planes)
mistake("even readouts first, then odd", ordered(lambda n: list(range(0, n, 2)) + list(range(1, n, 2))), LINE, hidden=planes)
mistake("odd readouts at the places of the even (interleaved order told)", ordered(lambda n: np.argsort(list(range(0, n, 2)) + list(range(1, n, 2)))), LINE, hidden=planes)
mistake("readouts in random order", ordered(lambda n: np.random.default_rng(3).permutation(n)), LINE, hidden=planes)
mistake("readouts and samples transposed", readouts(lambda v: np.swapaxes(v, -1, -2).reshape(v.shape)), LINE, hidden=square)
mistake("a readout lost at a third, the rest moved up", moved_up(1 / 3), LINE, sizes=lambda s: [(1, "readouts"), (count_of(s) / 3, "readouts")], hidden=planes)
mistake("the first readout lost, the rest moved up", moved_up(0), LINE, sizes=[(1, "readouts")], hidden=lambda t: planes(t) or lines(t) or (found(t) if "2D" in t else ""))
mistake("a readout stored twice, the rest moved down", moved_up(.4, True), LINE, sizes=lambda s: [(1, "readouts"), (.4 * count_of(s) + 1, "readouts")], hidden=planes)
mistake("sampled at half the rate that is told", every_second_sample, "dwell|scale|unit|fov", "many radial|spiral|cartesian", percent(.5))
mistake("samples of all readouts interleaved by twos", readouts(lambda v: np.concatenate([v[..., ::2], v[..., 1::2]], -1)), LINE)
mistake("planes in reversed order", k_times(1, 1, -1), "order|" + SIGN, "3D stack", hidden=found)
mistake("planes off by one", lambda s: dict(s, trajectory=s["trajectory"] + [0, 0, 1] * (np.abs(s["trajectory"]) < s["@matrix_size"][2] / 2 - 1)),
        LINE, "3D stack", hidden=always("a phase over the object explains these data"))

# --- Motion ---


def moved(voxels, when):
    """The object moves by `voxels` (x, y, z) times when(share of the scan that is over)."""
    def plant(s):
        k = by_readout(s, s["trajectory"].T)
        share = np.arange(k.shape[1]) / k.shape[1]
        turns = np.tensordot(np.array(voxels) / s["@matrix_size"], k, 1) * when(share)[:, None]
        return dict(s, kspace=flat(by_readout(s) * np.exp(-2j * np.pi * turns)))
    return plant


def turned(degrees, since):
    return k_of_readouts(lambda j, n: j >= since * n, turn(degrees))


def after(part):
    return lambda share: (share >= part) * 1.0


MOTION = "motion|the object (moved|turn|drift|lies)"
mistake("motion of 3 voxels after a third", moved((3, 0, 0), after(1 / 3)), MOTION, sizes=[(3, "voxels")], hidden=planes)
mistake("motion of 5 % of the FOV after half", lambda s: moved((.05 * s["@matrix_size"][0], .025 * s["@matrix_size"][1], 0), after(.5))(s), MOTION, hidden=planes)
mistake("motion of 1.5 voxels along y after half", moved((0, 1.5, 0), after(.5)), MOTION, sizes=[(1.5, "voxels")], hidden=planes)
mistake("motion of 2 voxels along z after half", moved((0, 0, 2), after(.5)), MOTION, "3D", [(2, "voxels")], planes)
mistake("turn by 5 degrees after half", turned(5, .5), MOTION, "radial|spiral", [(5, "degrees")], planes)
mistake("turn by 3 degrees after two thirds", turned(3, 2 / 3), MOTION, "radial|spiral", [(3, "degrees")], planes)
mistake("steady motion of 5 voxels", moved((5, 0, 0), lambda share: share), MOTION + "|drift", sizes=[(5, "voxels"), (2.5, "voxels")], hidden=lambda t: planes(t) or lines(t))
mistake("breathing of 2 voxels along y", moved((0, 2, 0), lambda share: np.sin(2 * np.pi * 7 * share)), MOTION, sizes=[(2, "voxels"), (4, "voxels")], hidden=planes)
mistake("a cough: 8 voxels in a tenth of the readouts", moved((8, 4, 0), lambda share: ((share > .6) & (share < .7)) * 1.0), MOTION, sizes=[(8, "voxels"), (8.94, "voxels")], hidden=planes)
