"""Scans of one marker, a Gaussian at a known place in the patient, in many geometries; and what an image of it must show.

Everything is in LPS, mm. A marker of width `WIDTH` mm at `MARKER` makes the signal
    exp(-2 pi i k.(MARKER - centre)) exp(-2 pi^2 WIDTH^2 |k|^2)
in k (1/mm) along read and phase; of a 2D slice also exp(-d^2 / (2 WIDTH^2)), d from the marker to the slice. So every plane of
every image tells two things of its stated place: where the marker lies in it, and by its brightness how far it is off.
"""

import dataclasses

import ismrmrd
import numpy as np
from ismrmrd import xsd

MARKER, WIDTH = np.array([11.3, -7.9, 23.6]), 9.0


def rotation(seed):
    """Read, phase and slice direction of a double oblique slice."""
    q, r = np.linalg.qr(np.random.default_rng(seed).standard_normal((3, 3)))
    q *= np.sign(np.diag(r))
    q[:, 2] *= np.linalg.det(q)
    return q.T


def tilted(about, degrees):
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return {"x": np.array([[1, 0, 0], [0, c, s], [0, -s, c]]), "y": np.array([[c, 0, -s], [0, 1, 0], [s, 0, c]]),
            "z": np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]])}[about]


AXIAL = np.eye(3)
SAGITTAL = np.array([[0, 1, 0], [0, 0, -1], [-1, 0, 0]], float)
CORONAL = np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]], float)
MIRROR = np.diag([1, 1, -1])


@dataclasses.dataclass
class Slice:
    """A slice or slab: its axes (rows read, phase, slice), its centre, and the counter that the file gives it."""

    axes: np.ndarray
    centre: np.ndarray
    counter: int


def stack(axes, places, order=None, first=0, offset=(2.3, -1.7)):
    """Slices at places (mm along the normal, from near the marker); order: the counter of each."""
    order = range(len(places)) if order is None else order
    base = MARKER + axes[0] * offset[0] + axes[1] * offset[1]
    return [Slice(axes, base + axes[2] * place, first + counter) for place, counter in zip(places, order)]


@dataclasses.dataclass
class Geometry:
    slices: list
    stacks: int = 1  # that are right
    matrix: tuple = (32, 32, 1)
    fov: tuple = (190.0, 200.0, 6.0)
    trajectory: str = "cartesian"  # or "radial", "stars": of three axes
    axes: str = "image"  # of the trajectory
    even: bool = True
    note: str = ""


def even(count, step=6.0):
    return [step * (i - (count - 1) / 2) + 1.3 for i in range(count)]


def interleaved(count):
    order = list(range(0, count, 2)) + list(range(1, count, 2))
    return [order.index(i) for i in range(count)]


def _geometries():
    g = {}
    for name, axes in {"axial": AXIAL, "sagittal": SAGITTAL, "coronal": CORONAL}.items():
        g[f"one {name} slice"] = Geometry(stack(axes, [1.3]))
        g[f"{name}"] = Geometry(stack(axes, even(5)))
    for about, degrees in (("x", 25), ("y", -40), ("z", 12)):
        g[f"oblique about {about}"] = Geometry(stack(tilted(about, degrees), even(5)))
    for seed in (1, 2):
        g[f"double oblique {seed}"] = Geometry(stack(rotation(seed), even(5)), matrix=(32, 30, 1))
    g["odd matrix"] = Geometry(stack(rotation(3), even(4)), matrix=(33, 31, 1), fov=(198.0, 186.0, 6.0))
    g["left-handed axial"] = Geometry(stack(MIRROR @ AXIAL, even(5)))
    g["left-handed double oblique"] = Geometry(stack(MIRROR @ rotation(4), even(5)))
    g["left-handed, one slice"] = Geometry(stack(MIRROR @ rotation(5), [1.3]))
    g["interleaved axial"] = Geometry(stack(AXIAL, even(6), interleaved(6)))
    g["interleaved double oblique"] = Geometry(stack(rotation(6), even(7), interleaved(7)))
    g["descending"] = Geometry(stack(rotation(7), even(5), [4, 3, 2, 1, 0]))
    g["interleaved, left-handed"] = Geometry(stack(MIRROR @ rotation(8), even(6), interleaved(6)))
    g["localizer"] = Geometry(stack(AXIAL, [1.3]) + stack(SAGITTAL, [2.1], first=1) + stack(CORONAL, [-1.2], first=2), stacks=3)
    g["localizer of 3 x 3"] = Geometry(
        stack(AXIAL, even(3)) + stack(SAGITTAL, even(3), first=3) + stack(CORONAL, even(3), first=6), stacks=3)
    g["localizer, interleaved"] = Geometry(
        stack(rotation(9), even(3), [0, 6, 3]) + stack(rotation(10), even(3), [1, 4, 7]) + stack(rotation(11), even(3), [8, 5, 2]),
        stacks=3)
    g["uneven"] = Geometry(stack(AXIAL, [-12, -6, 1, 8, 10]), even=False, note="not equally spaced")
    g["uneven, interleaved, oblique"] = Geometry(
        stack(rotation(12), [-14, -6, 1, 4, 13], interleaved(5)), even=False, note="not equally spaced")
    g["each place twice"] = Geometry(stack(AXIAL, even(4)) + stack(AXIAL, even(4), first=4), stacks=2)
    g["slab"] = Geometry(stack(AXIAL, [1.3]), matrix=(24, 24, 16), fov=(150.0, 150.0, 96.0))
    g["slab, double oblique"] = Geometry(stack(rotation(13), [1.3]), matrix=(24, 24, 16), fov=(150.0, 150.0, 96.0))
    g["two slabs, left-handed"] = Geometry(
        stack(MIRROR @ rotation(14), [10, -10]), stacks=2, matrix=(24, 24, 16), fov=(150.0, 150.0, 96.0))
    g["magnet axes, oblique"] = Geometry(stack(tilted("x", 25), even(3)), trajectory="radial", axes="magnet")
    g["magnet axes, double oblique, interleaved"] = Geometry(
        stack(rotation(15), even(4), interleaved(4)), trajectory="radial", axes="magnet")
    g["magnet axes, localizer"] = Geometry(
        stack(rotation(16), even(2)) + stack(rotation(17), even(2), first=2), stacks=2, trajectory="radial", axes="magnet")
    g["magnet axes, slab"] = Geometry(
        stack(rotation(18), [1.3]), matrix=(24, 24, 16), fov=(150.0, 150.0, 96.0), trajectory="stars", axes="magnet")
    return g


GEOMETRIES = _geometries()


def header(g, unit=None):
    def three(kind, values):
        return kind(**dict(zip("xyz", values)))

    def limit(n):
        return xsd.limitType(minimum=0, maximum=n - 1, center=n // 2)

    def space():
        return xsd.encodingSpaceType(matrixSize=three(xsd.matrixSizeType, g.matrix), fieldOfView_mm=three(xsd.fieldOfViewMm, g.fov))

    limits = xsd.encodingLimitsType(kspace_encoding_step_1=limit(g.matrix[1]), kspace_encoding_step_2=limit(g.matrix[2]))
    kind = "cartesian" if g.trajectory == "cartesian" else "radial"
    encoding = xsd.encodingType(encodedSpace=space(), reconSpace=space(), encodingLimits=limits, trajectory=xsd.trajectoryType(kind))
    made = xsd.ismrmrdHeader(
        experimentalConditions=xsd.experimentalConditionsType(H1resonanceFrequency_Hz=63870000), encoding=[encoding])
    if unit:
        stated = xsd.userParameterStringType(name="trajectory_unit", value=unit)
        made.userParameters = xsd.userParametersType(userParameterString=[stated])
    return made


def signal(k, where, g):
    """Of k (cycles/FOV along read, phase, slice), [sample][axis]."""
    shift = where.axes @ (MARKER - where.centre)
    q = k / np.array(g.fov)
    faded = 1.0
    if g.matrix[2] == 1:
        q = q * [1, 1, 0]
        faded = np.exp(-shift[2] ** 2 / (2 * WIDTH**2))
    return faded * np.exp(-2j * np.pi * (q @ shift) - 2 * np.pi**2 * WIDTH**2 * (q**2).sum(1))


def readouts_of(g):
    """k of every readout of a slice, cycles/FOV [sample][axis], with its encoding steps."""
    nx, ny, nz = g.matrix
    x = np.arange(nx) - nx // 2
    for z in range(nz):
        for y in range(ny if g.trajectory == "cartesian" else 51):
            if g.trajectory == "cartesian":
                k = np.stack([x, np.full(nx, y - ny // 2), np.full(nx, z - nz // 2)], 1).astype(float)
            else:
                angle = np.pi * y / 51
                r = (np.arange(2 * nx) - nx) / 2
                k = np.stack([np.cos(angle) * r, np.sin(angle) * r, np.full(2 * nx, z - nz // 2)], 1)
            yield k, y, z


def write(path, g, unit="cycles/FOV", stored=None, directions=True):
    """Writes the scan; stored(k, slice): the trajectory of k (cycles/FOV) in the file."""
    if path.exists():
        path.unlink()
    if stored is None:
        stored = (lambda k, where: k @ where.axes) if g.axes == "magnet" else (lambda k, where: k)
    with ismrmrd.Dataset(str(path), "dataset", create_if_needed=True) as file:
        file.write_xml_header(xsd.ToXML(header(g, unit)).encode())
        for where in sorted(g.slices, key=lambda each: each.counter):
            for k, y, z in readouts_of(g):
                data = signal(k, where, g)[None].astype(np.complex64)
                if g.trajectory == "cartesian":
                    readout = ismrmrd.Acquisition.from_array(data)
                else:
                    readout = ismrmrd.Acquisition.from_array(data, np.ascontiguousarray(stored(k, where), np.float32))
                readout.center_sample = data.shape[1] // 2
                readout.idx.slice, readout.idx.kspace_encode_step_1, readout.idx.kspace_encode_step_2 = where.counter, y, z
                readout.position[:] = where.centre
                if directions:
                    readout.read_dir[:], readout.phase_dir[:], readout.slice_dir[:] = where.axes
                file.append_acquisition(readout)


@dataclasses.dataclass
class Plane:
    """An image [y][x] and its map from (x, y) to LPS."""

    values: np.ndarray
    origin: np.ndarray
    per_x: np.ndarray
    per_y: np.ndarray


def expect_marker(planes, g, exact_places=True):
    """Asserts that every plane shows the marker where it is: to 1e-3 voxels; and as bright as its distance says."""
    voxels = np.array(g.fov) / np.array(g.matrix)
    sums, expected = [], []
    for plane in planes:
        power = np.abs(plane.values.astype(float)) ** 2
        y, x = np.indices(power.shape)
        normal = np.cross(plane.per_x, plane.per_y)
        normal /= np.linalg.norm(normal)
        distance = normal @ (MARKER - plane.origin)
        sums.append(np.sqrt(power.sum()))
        expected.append(np.exp(-(distance**2) / (2 * WIDTH**2)))
        if expected[-1] < 0.2:
            continue  # hardly seen
        found = plane.origin + plane.per_x * (x * power).sum() / power.sum() + plane.per_y * (y * power).sum() / power.sum()
        off = found + distance * normal - MARKER
        assert np.linalg.norm(off) <= 1e-3 * voxels[:2].min(), off
    assert max(expected) > 0.5
    sums, expected = np.array(sums) / max(sums), np.array(expected) / max(expected)
    if exact_places:
        # 1e-3 voxels along the normal change the brightness by less than 1e-3 * step * 1 / WIDTH.
        assert np.allclose(sums, expected, atol=2e-3 * voxels[2] / WIDTH), (sums, expected)
