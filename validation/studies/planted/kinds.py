"""Mistakes: what is done to a scan, which words in the cause are right, how large it is, and where the data cannot tell it.

A mistake changes what the file tells of a scan, or its samples. `hidden` gives the reasons, stated before anything was run, why data
that carry the mistake are as consistent as right ones; such cases are listed and not counted."""
import collections

import numpy as np

from planted.scans import by_readout, flat

# name; tags that a scan needs, "a|b": one of them; scan -> scan; what the cause must match (a regular expression); sizes that
# are right, (value, unit), or scan -> these; tags -> reason, or ""
Mistake = collections.namedtuple("Mistake", "name needs plant words sizes hidden")
MISTAKES = []

OBJECT, COILS = "another object explains these data", "other coils and another object explain these data"
FIELD_OBJECT = "k tells the time: a blurred object explains these data"
UNKNOWNS = "as many unknowns as data"
SIGN = r"\bsigns?\b|mirror"
LINE = "order|lost|stored twice|repeat|transpos"  # the cause of readouts in wrong places
ROUGH = "the maps of the file leave over more than this mistake does"
PLANES = "each plane of k_z is measured at one time: another object explains these data"


def never(tags):
    return ""


def exact(tags):
    return UNKNOWNS if "exact" in tags else ""


def found(tags):
    """Mirrors, turns, scales of object and coils together: hidden where the maps are found in the scan."""
    return exact(tags) or (COILS if "found" in tags else "")


def rough(tags):
    """Small changes of k beside maps that are not exact. Those of IMPATIENT's brain 64x64x16 leave |F rho - d| / |d| = 0.067 over;
    with k x 0.98, k_x x 0.97, k_y x 0.95, 5 degrees it is 0.068, 0.067, 0.068, 0.064. (32x32x4: 0.081; 0.080, 0.080, 0.080, 0.078.)"""
    return found(tags) or (ROUGH if "rough" in tags else "")


def square(tags):
    """As many lines as samples, transposed, are those of the transposed object with transposed maps: hidden where maps are found in the scan."""
    return exact(tags) or (COILS if {"square", "found"} <= tags else "")


def always(reason):
    return lambda tags: reason


def one_coil(tags):
    """A sum of the object and its conjugate mirror image is another object to one coil, and not to several."""
    return exact(tags) or (OBJECT if "one" in tags else "")


def planes(tags):
    return exact(tags) or (PLANES if "stack" in tags else "") or ("one readout" if "shot" in tags else "")


def mistake(name, plant, words, needs="", sizes=(), hidden=exact):
    MISTAKES.append(Mistake(name, tuple(needs.split()), plant, words, sizes, hidden))


def percent(factor):
    """k is told `factor` times as long as it is: by the factor, or by the one that undoes it."""
    return [(100 * (factor - 1), "%"), (100 * (1 / factor - 1), "%"), (factor, "times"), (1 / factor, "times")]


def lines(tags):
    """What changes smoothly from line to line is a filter or a shift of the object."""
    return exact(tags) or (OBJECT if "cartesian" in tags else "")


def readouts(change):
    """Changes samples [coil][readout][sample]."""
    return lambda s: dict(s, kspace=flat(change(by_readout(s))))


def noise_coil(values):
    """Noise of the energy of these values."""
    rng = np.random.default_rng(9)
    size = np.sqrt(np.mean(np.abs(values) ** 2))
    return size * (rng.standard_normal(values.shape) + 1j * rng.standard_normal(values.shape))


def applies(mistake_, tags):
    """Whether a scan with these tags can have the mistake."""
    return all(any(one in tags for one in need.split("|")) for need in mistake_.needs) and not (
        "shot" in tags and ("readout" in mistake_.name or mistake_.hidden is planes))
