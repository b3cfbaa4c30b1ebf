"""The options of `fhd.recon`, `fhd.reconstruct` and `fhd.read` as types.

Written by fhd.signatures.source() from the table of the program; not by hand.
"""

from __future__ import annotations

import os
from typing import Literal, Mapping, Sequence, TypedDict, Union

Path = Union[str, "os.PathLike[str]"]
Term = Literal["identity", "roughness", "wavelet", "tv", "tgv", "temporal-tv", "llr"]


class FileOptions(TypedDict, total=False):
    """What a file leaves out, and what reading it may take."""

    matrix: int | Sequence[int] | None
    """voxels of the image: N, X,Y or X,Y,Z [as the file says]"""
    fov_mm: float | Sequence[float] | None
    """field of view in mm: F, X,Y or X,Y,Z [as the file says]"""
    trajectory_unit: Literal["auto", "cycles/FOV", "cycles/reconFOV", "cycles/voxel", "radians/voxel", "1/m", "1/mm",
        "radians/m", "radians/mm", "kmax"] | None
    """unit of k-space positions; kmax: 1 at the edge [auto]"""
    trajectory_axes: Literal["auto", "image", "magnet"] | None
    """axes of k-space positions: those of the image, or of the magnet, the patient’s L, P, S as the directions are
    stated; auto: as the samples fit the directions [auto]"""
    zeros: Literal["auto", "measured"] | None
    """samples that are zero in every coil; auto: left out where they are a mask [auto]"""
    group: str | None
    """which measurement of an ISMRMRD file that holds several [the only one]"""
    trajectory: Path | None
    """trajectory in place of the scan’s: a Pulseq sequence (.seq), HDF5 (/trajectory), BART .cfl [3][samples], or
    another scan’s"""
    maps: Path | None
    """sensitivity maps of the scan’s coils and matrix: HDF5 (/sensitivity_maps), or BART .cfl"""
    noise: Path | None
    """noise for whitening: ISMRMRD (readouts flagged as noise, else all), HDF5 (/noise), or BART .cfl"""
    field_map_unit: Literal["rad/s", "hz"] | None
    """of `field_map` [rad/s]"""
    r2star: Path | None
    """decay, 1/T2* in 1/s: NIfTI or HDF5 (/r2star), as `field_map`; of two components HDF5 with /r2star_second and
    /r2star_fraction, too"""
    fields: Path | None
    """measured fields that are not linear in space: HDF5 (/field_coefficients [term][sample] in rad/m^n, /field_basis),
    of MatMRI, or text with a line for each sample; x, y, z among them replace the trajectory"""
    gradient_coefficients: Path | None
    """spherical harmonics of gradients that are not linear: Siemens .grad"""
    trust_input: bool | None
    """read files in this process, without limits of memory and time: for files of your own"""
    input_memory: float | None
    """GiB of memory that reading a file may take [192 MiB and 8 times its size, or 1 GiB where that can be compressed
    into it]"""
    input_seconds: float | None
    """s that opening a file or reading a volume may take [30, and 1 for 20 MB; of a processor 1.2, and 1 for 10 MB]"""


class ArrayOptions(TypedDict, total=False):
    """Options of a reconstruction, without those of files."""

    slices: int | Sequence[int] | str | Literal["all"] | None
    """which slices: all, or such as 0-3,7 [all]"""
    repetitions: int | Sequence[int] | str | Literal["all"] | None
    """which repetitions: all, or such as 0-3,7 [all]"""
    strict: bool | None
    """fail, and write nothing, where the image or the scan is suspicious"""
    phase: bool | None
    """also write the phase in rad, OUT_phase.nii.gz"""
    compression: int | None
    """level of the .nii.gz, 0 (none, fastest) to 9 (smallest); the .png is made smaller from 6 on [1]"""
    dicom: bool | None
    """also write NAME_dicom, the magnitudes as a DICOM series, in a folder that is new, empty or has an earlier series
    of this scan"""
    ismrmrd_images: bool | None
    """also write NAME_images.h5, the magnitudes as ISMRMRD images, /dataset/image_0 of an HDF5 file"""
    no_gridded_image: bool | None
    """leave out the gridded image that OUT.h5 holds beside the other, as /gridded"""
    noise_map: int | Literal["exact"] | None
    """also write the standard deviation, SNR and g-factor of every voxel, in OUT.h5 and as OUT_noise.nii.gz,
    OUT_snr.nii.gz, OUT_gfactor.nii.gz: from N pseudo-replicas of the scan, or exact for Cartesian scans with regular
    gaps; of one volume"""
    device: str | Literal["auto", "cpu", "cuda", "cuda:all"] | None
    """auto: a GPU where there is one, else the CPU, and the CPU for a small scan; cpu; cuda; cuda:N, the GPU of that
    number; or several GPUs, cuda:all or cuda:0,2 [auto]"""
    device_memory: str | None
    """memory of a GPU to use, at most; such as 8GiB, 500MiB or 50% [what is free]"""
    threads: int | None
    """processor threads [all, or as many as a container’s quota allots]"""
    cache: Path | Literal["auto", "off"] | None
    """folder that stores Q and density compensation of a trajectory for other scans; auto: the user’s; off [auto]"""
    frames: int | None
    """cut the readouts of a continuous acquisition, in their order, into so many frames of equal length, which are
    solved together; `regularizer` temporal-tv, llr"""
    spokes_per_frame: int | None
    """or so many readouts to a frame"""
    sliding: int | None
    """with `spokes_per_frame`: readouts by which a frame moves on [those of a frame]"""
    gate: Path | Literal["self", "physiology"] | None
    """frames are bins of a motion, `frames` of them [4]: self (breathing, from the centre of k-space), physiology[:K]
    (heartbeats, by time stamp K of the ISMRMRD file [0]), or a text or HDF5 file (/gating/signal) with one number for
    each readout"""
    basis: int | Path | None
    """frames are sums of a few courses in time: of K, found in frames of low resolution, or those of a text or HDF5
    file (/subspace/basis), a course a row or a column; `regularizer` llr, wavelet, tv"""
    method: Literal["cg", "gridded", "adjoint", "fft"] | None
    """cg: least squares; gridded: density-compensated; adjoint: F^H d; fft: Cartesian scans [cg]"""
    transform: Literal["auto", "direct", "gridded"] | None
    """direct: exact sums; auto: direct when affordable [auto]"""
    normal: Literal["toeplitz", "explicit"] | None
    """how F^H F is applied in an iteration [toeplitz]"""
    preconditioner: Literal["auto", "none"] | None
    """of conjugate gradient; auto: circulant, from the sampling density and the maps; fewer iterations [auto]"""
    regularizer: str | Mapping[Term, float | Literal["auto"]] | None
    """identity or roughness (finite differences), the W of `lambda_`; or a sum of terms with strengths, such as
    wavelet:0.01 or identity:0.01,tv:0.02; terms: identity, roughness, wavelet, tv, tgv, the last three also with auto:
    the strength that the noise asks for; and of `frames` temporal-tv, llr; identity:0 beside a term: without the floor
    that keeps images stable [identity]"""
    prior: Path | None
    """NIfTI image of the same anatomy: finite differences are penalised less across its edges"""
    prior_strength: float | None
    """larger: weaker edges of the prior count too [1]"""
    lambda_: float | Literal["auto"] | None
    """weight of |W rho|^2, relative to the largest eigenvalue of F^H F; auto: that of the least estimated error, or the
    default where the noise is not known [0.05 of the mean eigenvalue; of a single Cartesian image with gaps, from what
    a first image leaves of the samples]"""
    iterations: int | None
    """of the solver, at most; 100 with wavelet, tv, tgv [30]"""
    tolerance: float | None
    """stop at this relative residual of the normal equations; 0.005, of the conditions of optimality, with wavelet, tv,
    tgv [0.0001]"""
    accuracy: float | None
    """relative error accepted of the transform; direct sums are as a rule better [1e-05]"""
    precision: Literal["single", "double"] | None
    """floating-point precision [single]"""
    gpu_sums: Literal["auto", "tensor-cores", "fast", "accurate"] | None
    """direct sums of a GPU: matrices on tensor cores, or pair by pair with sin and cos by special-function units or to
    1 ulp [auto]"""
    coils: Literal["auto", "file", "none", "espirit", "adaptive", "joint"] | None
    """sensitivity maps: of the file, or found here (joint: with an image, where calibration is thin); auto: the file’s,
    else espirit for cg; none: root of the sum of squares [auto]"""
    maps_from: Literal["auto", "series", "volume"] | None
    """find the maps from one volume, or from all repetitions together, which take turns in what they sample; auto: from
    all where one does not tell them [auto]"""
    map_sets: Literal["1", 1, "2", 2, "auto"] | None
    """sets of ESPIRiT’s maps, each with an image; 2: of objects folded in the field of view; auto: where they are
    [1]"""
    whiten: Literal["auto", "edge", "off"] | None
    """coils by their noise; auto: noise readouts; edge: without these the edge of k-space [auto]"""
    compress: int | float | Literal["auto", "off"] | None
    """virtual coils: a number, a share of energy such as 0.99, off, or auto: above 12 coils [auto]"""
    allow_folding: bool | None
    """solve regularly undersampled Cartesian scans without maps or reference too: the image folds"""
    partial_fourier: Literal["off", "phase"] | None
    """Cartesian scans that leave out most of one side of k-space; phase: an image that is real but for the phase of the
    centre of k-space, where that is smooth [off]"""
    surroundings: Literal["auto", "off"] | None
    """tissue beyond the field of view; auto: where the samples tell it apart, cg reconstructs a larger matrix and crops
    it [auto]"""
    trajectory_correction: Sequence[float] | Literal["auto", "off"] | None
    """gradients that play later than the trajectory says: auto: by as much as the centre of k-space shows; or delays in
    samples along x, y and z; or off [off]"""
    trajectory_scale: float | Sequence[float] | None
    """factors of k-space positions, for gradients that play less or more than the trajectory says: N, X,Y or X,Y,Z
    [1]"""
    omit_readouts: int | Sequence[int] | str | None
    """readouts of each volume to leave out, from 0, as a run without this option counts them, such as 0-3,7"""
    omit_coils: int | Sequence[int] | str | None
    """coils to leave out, from 0, such as 0-3,7"""
    remove_tone: float | Literal["auto"] | None
    """take a tone of one frequency (zipper, interference) off the samples: auto: where they show one; or that at a
    frequency in Hz, or in cycles/sample where the scan states no sample times"""
    girf: Path | None
    """impulse responses of the gradients, which turn the trajectory into the one that was played: HDF5 with /girf
    [axis][frequency] and /frequency_hz"""
    concomitant: float | Literal["auto"] | None
    """phases of concomitant (Maxwell) fields, from the gradients that the trajectory tells and the field strength in T;
    auto: that of the header [not part of the model]"""


class ReadOptions(FileOptions, total=False):
    """Options of `fhd.read`."""

    field_map: Path | None
    """off-resonance: NIfTI, brought to the scan’s voxels by both affine maps, or HDF5 (/field_map)"""


class ReconOptions(FileOptions, ArrayOptions, total=False):
    """Options of `fhd.recon`."""

    field_map: Path | Literal["auto", "off"] | None
    """off-resonance: NIfTI, brought to the scan’s voxels by both affine maps, or HDF5 (/field_map); auto: found in the
    echoes of the scan; off: not corrected [that of the scan]"""
