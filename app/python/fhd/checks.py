"""What a result says of itself, as types: the fields of the report, OUT.json, which are dictionaries."""

from __future__ import annotations

from typing import Literal, Optional, TypedDict

Judgement = Literal["explained", "explained but for an ordinary rest", "untested", "not converged", "varies", "unexplained"]


class Certificate(TypedDict):
    """How exact an image is: its operators against double-precision direct sums, at random voxels and samples. Errors
    are relative l2 errors; None where a quantity does not occur in the method."""

    passed: bool
    requested: float
    """what the largest of the three errors may be"""
    forward_error: Optional[float]
    """of F rho"""
    adjoint_error: Optional[float]
    """of F^H d"""
    normal_error: Optional[float]
    """of F^H F rho as the solver applied it"""
    worst_error: Optional[float]
    """of a single voxel or sample, also where phases beside k . r are largest"""
    adjointness: Optional[float]
    """|<F rho, d> - <rho, F^H d>| / (|F rho| |d|)"""
    true_residual: Optional[float]
    """|F^H(d - F rho) - lambda W^H W rho| / |F^H d|, by direct sums"""
    solver_residual: Optional[float]
    """the same as the solver believes"""
    voxels: int
    """how many were checked"""
    samples: int
    """how many were checked"""


class Misfit(TypedDict):
    """The misfit of an image in one part of the data."""

    where: float
    """of a shell of k-space: its outer radius, 1 at a face; of a coil: its number"""
    share_of_energy: float
    """of sum |d|^2"""
    samples: int
    """values there, of all coils"""
    unexplained: float
    """|E rho - d| / |d|, noise included"""
    beyond_noise: Optional[float]
    """what of it is more than noise; None where that is not known, and of coils"""
    chi_squared: Optional[float]
    """|E rho - d|^2 over what the noise leaves there; None unless noise readouts tell the noise"""


class Finding(TypedDict):
    """A change of the model that the data ask for, or a mistake that explains what an image leaves over of them."""

    code: str
    """"delays", "scale", "motion", "axes", ..."""
    text: str
    """one sentence: what, how much and how uncertain"""
    amount: Optional[float]
    """in `unit`; None where the finding has no size"""
    uncertainty: Optional[float]
    """standard deviation of `amount`; None where not known"""
    unit: str
    share_of_rest: float
    """what it explains of |d - E rho|^2, noise taken off"""
    image_change: Optional[float]
    """|change of rho| / |rho| when it is undone; None where not known"""
    correction: list[float]
    """what the option that undoes it takes: numbers of readouts or coils, delays in samples or factors of k along x, y, z,
    or a frequency in cycles/sample; empty where not known"""


class _WhereKnown(TypedDict, total=False):
    cause: Finding
    """absent where the data are explained, or no cause is known"""
    by_readout: list[float]
    """|E rho - d| of groups of successive readouts over |d|, root mean squares both: of the group, and of all samples;
    absent where the trajectory has one readout"""
    readouts_per_group: int
    """absent likewise"""


class Verdict(_WhereKnown):
    """Whether the model (trajectory, maps, field map) explains the samples to within their noise. The certificate judges
    the arithmetic alone."""

    judgement: Judgement
    """explained; explained but for an ordinary rest: more is left over than of simulated scans that are right, and no more
    than scans in vivo leave (`ordinary`);
    untested: no more values than unknowns; not converged: nothing is said of the data; varies: explained but for a
    signal that changes from readout to readout; unexplained: data not explained"""
    sentence: str
    """why, for a reader"""
    unexplained: float
    """share of the signal that is left beyond noise, where there are more values than unknowns"""
    tested: float
    """share of sum |d|^2 there"""
    chi_squared: Optional[float]
    """of the same samples, 1: noise; None unless noise readouts tell the noise"""
    noise_variance: float
    """E |n|^2 of a sample, in the unit of the scan; 0 where not known"""
    noise_is_measured: bool
    """by noise readouts; else from the part of k-space with the smallest rest"""
    noise_share: Optional[float]
    """|noise| / |d| with this variance; None where not known"""
    by_radius: list[Misfit]
    by_coil: list[Misfit]
    changes: list[Finding]
    ordinary: list[Finding]
    """sources of what scans in vivo always leave over, most first; empty where little is left over"""
    ordinary_limit: Optional[float]
    """`unexplained` up to this is ordinary; None where it was not estimated"""
    border: float
    """root mean square of |rho| along the border of the field of view over that of all voxels"""
    air: float
    """the same of the tenth of the voxels with the least |rho|"""
    offset: float
    """mean of the outer samples of the coils over |d|"""
