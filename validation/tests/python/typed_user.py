"""A user's script: checked by mypy --strict, and run by test_types.py. Arguments: a scan, and a prefix of results."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fhd


Complex = NDArray[np.complexfloating[Any, Any]]


def say(stage: str, done: int, total: int, residual: float) -> None:
    print(f"{stage}: {done} of {total}, {residual:.1e}")


def steepest_descent(a: fhd.Operator, data: Complex, steps: int) -> Complex:
    image: Complex = np.zeros(a.shape, np.complex64)
    for _ in range(steps):
        gradient = a.H @ (a @ image - data)
        image = image - gradient * (np.linalg.norm(gradient) / np.linalg.norm(a.normal @ gradient))
    return image


def main(path: str, prefix: str) -> None:
    scan = fhd.read(path, trajectory_unit="auto")
    result = fhd.recon(scan, regularizer={"wavelet": 0.01}, coils="auto", iterations=20, progress=say, device="cpu")
    result.save(prefix, force=True)
    volume = scan.volume()
    again = fhd.reconstruct(volume.kspace, volume.trajectory, volume.shape, maps=volume.maps, lambda_=1e-3)
    verdict, certificate = fhd.load(f"{prefix}.h5").verdict, again.certificate
    if verdict is not None and certificate is not None and certificate["passed"]:
        print(verdict["judgement"], verdict["sentence"], again.image.shape, *again.warnings)
    encoding = fhd.Sense(fhd.NDFT(volume.trajectory, volume.shape), volume.maps)
    print(encoding, steepest_descent(encoding, volume.kspace, 3).shape, again.affine.tolist())


if __name__ == "__main__":
    try:
        main(sys.argv[1], sys.argv[2])
    except fhd.Error as error:
        sys.exit(str(error))
