"""Exact non-Cartesian MRI reconstruction: the program `fhd` for Python.

>>> import fhd
>>> result = fhd.recon(fhd.read("scan.h5"), regularizer="wavelet")
>>> result.image.shape            # [repetition][slice][z][y][x]
>>> result.save("out/scan")       # what `fhd recon` writes

Own arrays: `fhd.reconstruct(kspace, trajectory, shape)`. Operators for reconstructions of your own: `fhd.NDFT` (exact
sums), `fhd.NUFFT` (gridded), `fhd.Sense`, `fhd.Toeplitz`, `fhd.Encoding` (phases of any form, decay), on arrays of numpy,
CuPy and torch. Conventions everywhere:
images [z][y][x]; trajectories [sample][axis] with columns x, y, z in cycles per field of view, or in `trajectory_unit=`;
voxel n of N lies at (n - N // 2) / N.
"""

from fhd._native import DeviceError, Error, built_with_cuda
from fhd._native import version as __version__
from fhd.checks import Certificate, Verdict
from fhd.operators import NDFT, NUFFT, Encoding, Operator, Sense, Toeplitz
from fhd.reconstruction import Result, load, load_image, options, recon, reconstruct
from fhd.scan import Scan, Volume, read

__all__ = [
    "NDFT",
    "NUFFT",
    "Certificate",
    "DeviceError",
    "Encoding",
    "Error",
    "Operator",
    "Result",
    "Scan",
    "Sense",
    "Toeplitz",
    "Verdict",
    "Volume",
    "__version__",
    "built_with_cuda",
    "load",
    "load_image",
    "options",
    "read",
    "recon",
    "reconstruct",
]
