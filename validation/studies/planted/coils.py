"""Mistakes of coils, of their maps, and of a separate calibration."""
import numpy as np

from planted.kinds import SIGN, found, mistake, never, noise_coil, planes
from planted.scans import by_readout, flat, simulated


# --- Coils ---


def of_coil(coil, change):
    def plant(s):
        values = s["kspace"].copy()
        values[coil % len(values)] = change(values[coil % len(values)])
        return dict(s, kspace=values)
    return plant


def maps(change):
    return lambda s: dict(s, sensitivity_maps=np.ascontiguousarray(change(s["sensitivity_maps"])))


def zoomed(v):
    """Maps of another head: 1.3 times as large, and the coils turned by two."""
    at = [np.clip(np.round((np.arange(n) - n // 2) / 1.3).astype(int) + n // 2, 0, n - 1) for n in v.shape[-2:]]
    return np.roll(v[..., at[0], :][..., at[1]], 2, 0)


def by_time(change):
    """changes coil 1 by change(share of the scan)."""
    def plant(s):
        v = by_readout(s).copy()
        v[1 % len(v)] *= change(np.arange(v.shape[-2]) / v.shape[-2])[:, None]
        return dict(s, kspace=flat(v))
    return plant


def repeated_coil(s):
    values = s["kspace"].copy()
    values[2 % len(values)] = values[0]
    return dict(s, kspace=values)


def mixed(s):
    values = s["kspace"].copy()
    values[0], values[1] = values[0] + .6 * values[1], values[1] + .6 * values[0]
    return dict(s, kspace=values)


def coil_delay(samples):
    def plant(s):
        v = by_readout(s).copy()
        v[0] = np.roll(v[0], samples, -1)
        return dict(s, kspace=flat(v))
    return plant


MAP = "maps|calibration|coil"
mistake("one coil conjugated", of_coil(1, np.conj), "coil|maps", "many")
mistake("one coil of three times the gain", of_coil(2, lambda v: 3 * v), "coil|gain|maps", "many", [(200, "%"), (3, "times"), (-67, "%")], found)
mistake("one coil of the other sign", of_coil(2, lambda v: -v), "coil|gain|maps", "many", hidden=found)
mistake("coils permuted", lambda s: dict(s, kspace=np.roll(s["kspace"], 1, 0)), MAP, "many", hidden=found)
mistake("two coils swapped", lambda s: dict(s, kspace=s["kspace"][[1, 0, *range(2, len(s["kspace"]))]]), MAP, "many", hidden=found)
mistake("coils and samples transposed", lambda s: dict(s, kspace=s["kspace"].reshape(-1).reshape(s["kspace"].shape[::-1]).T.copy()), "transpos", "many")
mistake("broken preamplifier: one coil of noise", of_coil(0, noise_coil), "coil", "many", hidden=never)
mistake("broken preamplifier: noise above the signal in one coil", of_coil(1, lambda v: 3 * noise_coil(v)), "coil", "many", hidden=never)
mistake("one coil empty", of_coil(1, lambda v: 0 * v), "coil|empty|zero|signal", "maps|reference many")
mistake("one coil stored twice", repeated_coil, "coil|twice|same", "maps|reference many")
mistake("two coils coupled by 0.6", mixed, "coil|coupl|maps", "many", hidden=found)
mistake("one coil delayed by 2 samples", coil_delay(2), "coil", "many radial|spiral", [(2, "samples")], hidden=planes)
mistake("one coil lost after half (cable)", by_time(lambda share: (share < .5) * 1.0), "coil", "many", hidden=planes)
mistake("one coil of the other sign after half", by_time(lambda share: 1 - 2.0 * (share >= .5)), "coil", "many", hidden=planes)
mistake("maps mirrored", maps(lambda v: v[..., ::-1]), "maps|" + SIGN, "maps many")
mistake("maps transposed", maps(lambda v: np.swapaxes(v, -1, -2) if v.shape[-1] == v.shape[-2] else v[..., ::-1, ::-1]), "maps|swapped|" + SIGN, "maps many")
mistake("maps conjugated", maps(np.conj), "maps|conjugat", "maps many")
mistake("maps permuted", maps(lambda v: np.roll(v, 1, 0)), MAP, "maps many")
mistake("maps of another head", maps(zoomed), MAP, "maps many")
mistake("maps of a shifted table (10 % of the FOV)", maps(lambda v: np.roll(v, v.shape[-2] // 10, -2)), MAP + "|shift", "maps many",
        lambda s: [(10, "%"), (float(s["@matrix_size"][1] // 10), "voxels")])

# --- A separate calibration ---


def calibration(change):
    return lambda s: dict(s, calibration=np.ascontiguousarray(change(s["calibration"])))


def shifted_table(share):
    return lambda s: dict(s, calibration=s["calibration"] * np.exp(-2j * np.pi * share * s["calibration_trajectory"][1]))


def other_head(s):
    """The calibration of another object, with its coils in another order."""
    values = by_readout(simulated("other_head", "cartesian", 96, len(s["calibration"]), 30, "--phantom", "resolution", "--object-scale", 0.8))
    n = int(round(np.sqrt(s["calibration"].shape[1])))
    y, x = values.shape[1] // 2 - n // 2, values.shape[2] // 2 - n // 2
    other = values[:, y:y + n, x:x + n].reshape(len(values), -1)[::-1]
    return dict(s, calibration=other * (np.linalg.norm(s["calibration"]) / np.linalg.norm(other)))


CALIBRATION = "calibration|maps|reference"
mistake("calibration of another head", other_head, CALIBRATION, "reference")
mistake("calibration with permuted coils", calibration(lambda v: np.roll(v, 1, 0)), CALIBRATION + "|coil", "reference")
mistake("calibration conjugated", calibration(np.conj), CALIBRATION + "|conjugat", "reference")
mistake("calibration of a shifted table (a tenth)", shifted_table(.1), CALIBRATION + "|shift", "reference", lambda s: [(10, "%"), (.1 * float(s["@matrix_size"][1]), "voxels")])
mistake("calibration mirrored", lambda s: dict(s, calibration_trajectory=s["calibration_trajectory"] * np.array([[-1], [1], [1]])), CALIBRATION + "|" + SIGN, "reference")
mistake("calibration of half the FOV", lambda s: dict(s, calibration_trajectory=s["calibration_trajectory"] * .5), CALIBRATION + "|scale", "reference")
mistake("one coil of the calibration conjugated", lambda s: dict(s, calibration=np.concatenate([s["calibration"][:1].conj(), s["calibration"][1:]])), CALIBRATION + "|coil", "reference")
