"""Common mistakes: each is one sentence, which names the keyword and the way out; none is an image without a word."""

import numpy as np
import pytest

import fhd

QUICK = dict(no_gridded_image=True, progress=False, cache="off", iterations=5)


@pytest.fixture(scope="module")
def arrays(radial):
    """k-space [4][sample], trajectory [sample][2], shape (48, 48), maps and nothing else."""
    v = fhd.read(radial).volume()
    return dict(kspace=v.kspace, trajectory=v.trajectory, shape=v.shape, maps=v.maps)


def nan_at(array, place):
    array = array.copy()
    array.flat[place] = np.nan
    return array


def change(name, made):
    """Arguments in which `name` is made(what it was)."""
    return lambda a: {name: made(a[name])}


def square_exchanged(a):
    """As many samples of each readout as there are readouts, about its middle, and both axes exchanged."""
    kspace, trajectory = a["kspace"].reshape(4, -1, 96), a["trajectory"].reshape(-1, 96, 2)
    n = min(kspace.shape[1], 96)
    middle = slice(48 - n // 2, 48 - n // 2 + n)
    return dict(kspace=kspace[:, :n, middle].swapaxes(1, 2), trajectory=trajectory[:n, middle])


MISTAKES = {
    # units
    "cycles per voxel": (
        change("trajectory", lambda k: k / 48),
        r"^trajectory: expected k-space positions in cycles/FOV, found \|k\| up to 0.5 .* 100 % in cycles/voxel; give the unit "
        r'with trajectory_unit="cycles/voxel" or trajectory_unit="cycles/FOV"$',
    ),
    "radians per voxel": (
        change("trajectory", lambda k: k / 48 * 2 * np.pi),
        r'^trajectory: .* 100 % in radians/voxel; give the unit with trajectory_unit="radians/voxel" or',
    ),
    "kmax": (change("trajectory", lambda k: k / 24), r'^trajectory: .*trajectory_unit="kmax" or'),
    "radians per voxel, short of the edge": (
        change("trajectory", lambda k: k / 48 * 2 * np.pi * 0.92),
        r'^trajectory: .*trajectory_unit="radians/voxel" or',
    ),
    "1/m, the field of view known": (
        lambda a: dict(trajectory=a["trajectory"] / 0.22, fov_mm=220),
        r'^trajectory: .* 100 % in 1/m; give the unit with trajectory_unit="1/m" or the true matrix size$',
    ),
    "1/m": (
        change("trajectory", lambda k: k / 0.22),
        r"^trajectory along x: expected \|k\| <= 24 cycles/FOV .* found 109.091; give the true shape, or the unit as "
        r'trajectory_unit="radians/voxel", or as trajectory_unit="1/m" with fov_mm=\(X, Y, Z\)$',
    ),
    "positions from 0 to N": (
        change("trajectory", lambda k: k + 24),
        r"^trajectory: expected positions about 0, \|k\| <= N / 2, found 0 ... 47.\d+; give trajectory - \[24, 24\]$",
    ),
    "rad/m without the field of view": (
        lambda a: dict(trajectory=a["trajectory"] / 0.22 * 2 * np.pi, trajectory_unit="rad/m"),
        r"^trajectory: expected a known FOV .* found none along x; give it with fov_mm=\(X, Y, Z\)$",
    ),
    "a unit that is none": (
        lambda a: dict(trajectory_unit="furlongs"),
        r"^trajectory_unit: expected cycles/FOV, .* found 'furlongs'$",
    ),
    # shapes
    "trajectory transposed": (
        change("trajectory", np.transpose),
        r"^trajectory: expected \[sample\]\[axis\] with 2 axes, .* found \[2\]\[\d+\]; give trajectory.T$",
    ),
    "trajectory transposed, the shape a number": (
        lambda a: dict(trajectory=a["trajectory"].T, shape=48),
        r"^trajectory: .*give trajectory.T$",
    ),
    "trajectory of three columns for a slice": (
        change("trajectory", lambda k: np.column_stack([k, 0 * k[:, 0]])),
        r"^trajectory: .*give trajectory\[..., :2\] for a slice",
    ),
    "trajectory complex": (
        change("trajectory", lambda k: k[:, 0] + 1j * k[:, 1]),
        r"^trajectory: expected real numbers, found complex128; .*np.stack\(\[trajectory.real, trajectory.imag\], -1\)$",
    ),
    "k-space [sample][coil]": (
        change("kspace", np.transpose),
        r"^kspace: expected \[coil\]\[\d+\], .* found \[\d+\]\[4\]; give kspace.T$",
    ),
    "k-space [coil][sample][readout]": (
        lambda a: {"kspace": a["kspace"].reshape(4, -1, 96).swapaxes(1, 2), "trajectory": a["trajectory"].reshape(-1, 96, 2)},
        r"^kspace: .*give np.swapaxes\(kspace, -1, -2\)$",
    ),
    "k-space [sample][readout][coil]": (
        lambda a: {"kspace": a["kspace"].reshape(4, -1, 96).T, "trajectory": a["trajectory"].reshape(-1, 96, 2)},
        r"^kspace: .*give np.swapaxes\(np.moveaxis\(kspace, -1, 0\), -1, -2\)$",
    ),
    "k-space [coil][sample][readout], both of one length": (
        square_exchanged,
        r"^kspace: expected most of the signal about the centre of k-space, .*give np.swapaxes\(kspace, -1, -2\)",
    ),
    "k-space [sample][coil], both of one number": (
        lambda a: dict(kspace=a["kspace"][:, 0:96:24].T, trajectory=a["trajectory"][0:96:24], maps=None),
        r"^kspace: .*give kspace.T",
    ),
    "k-space with readouts, the trajectory flat": (
        change("kspace", lambda d: d.reshape(4, -1, 64)),
        r"^kspace: .*give kspace.reshape\(4, \d+\)$",
    ),
    "k-space shorter than the trajectory": (
        change("kspace", lambda d: d[:, :-1]),
        r"^kspace: .*each sample of k-space has one position$",
    ),
    "an image for k-space": (
        change("kspace", lambda d: np.ones((48, 48), complex)),
        r"^kspace: .*the shape of the image: k-space of an image is fhd.NDFT\(trajectory, shape\) @ image$",
    ),
    "maps of other coils": (
        change("maps", lambda s: s[:2]),
        r"^maps: expected \[4\]\[48\]\[48\], found \[2\]\[48\]\[48\]; they are those of all coils",
    ),
    "maps [y][x][coil]": (change("maps", lambda s: np.moveaxis(s, 0, -1)), r"^maps: .*give np.moveaxis\(maps, -1, 0\)$"),
    "maps of another matrix": (change("maps", lambda s: s[:, ::2, ::2]), r"^maps: expected \[4\]\[48\]\[48\]"),
    "noise [sample][coil]": (lambda a: dict(noise=np.ones((99, 4), complex)), r"^noise: .*give noise.T$"),
    "field map without times": (
        lambda a: dict(field_map=np.zeros((48, 48))),
        r"^field_map: expected sample_time_s beside it, found none; give the times",
    ),
    "times of too few samples": (
        lambda a: dict(field_map=np.zeros((48, 48)), sample_time_s=np.zeros(7)),
        r"^sample_time_s: expected \[\d+\], a time for each sample, found \[7\]$",
    ),
    "matrix of one number more": (
        change("shape", lambda n: (*n, 1, 1)),
        r"^shape: expected .* found \[48, 48, 1, 1\]; slices and",
    ),
    "matrix of floats": (
        change("shape", lambda n: (48.0, 48.0)),
        r"^shape: expected whole numbers .* found \(48.0, 48.0\); give shape=\(128, 128\) or shape=128$",
    ),
    "matrix a float": (
        change("shape", lambda n: 48.5),
        r"^shape: expected whole numbers of voxels, .* found 48.5; give shape=",
    ),
    "matrix of nothing": (change("shape", lambda n: (48, 0)), r"^shape: expected sizes >= 1"),
    # values
    "k-space real": (
        change("kspace", np.abs),
        r"^kspace: expected complex64 or complex128, found float32; .*kspace\[..., 0\] \+ 1j \* kspace\[..., 1\], and",
    ),
    "k-space of whole numbers": (change("kspace", lambda d: d.real.astype(int)), r"^kspace: expected complex64"),
    "k-space with NaN": (
        change("kspace", lambda d: nan_at(d, [3, 7])),
        r"^kspace: expected finite numbers, found NaN or infinity in 2 of \d+ values; leave out these samples",
    ),
    "trajectory with NaN": (
        change("trajectory", lambda k: nan_at(k, 5)),
        r"^trajectory: expected finite numbers, found NaN",
    ),
    "trajectory of texts": (
        change("trajectory", lambda k: k.astype(str)),
        r"^trajectory: expected an array of numbers, found str_$",
    ),
    "a file for k-space": (change("kspace", lambda d: "scan.h5"), r"^kspace: .*'scan.h5'; fhd.recon\(path\)"),
    "device a number": (lambda a: dict(device=0), r"^device: expected 'auto', 'cpu', 'cuda' or 'cuda:0', found 0$"),
    "field of view a text": (lambda a: dict(fov_mm="220"), r"^fov_mm: .* found '220'; give fov_mm=\(X, Y, Z\)$"),
    "field of view negative": (lambda a: dict(fov_mm=-220), r"^fov_mm: expected lengths in mm, found .*give fov_mm="),
    # options
    "keyword misspelt": (lambda a: dict(lamda=1e-3), r"^lamda: no such option; did you mean lambda_\?$"),
    "keyword of SigPy": (lambda a: dict(max_iter=30), r"^max_iter: no such option; did you mean iterations\?$"),
    "keyword of others": (lambda a: dict(n_iter=30), r"^n_iter: no such option; did you mean iterations\?$"),
    "keyword of SciPy": (lambda a: dict(maxiter=30), r"^maxiter: no such option; did you mean iterations\?$"),
    "strength of others": (lambda a: dict(l2_reg=0.1), r"^l2_reg: no such option; did you mean lambda_\?$"),
    "maps of others": (lambda a: dict(smaps=a["maps"]), r"^smaps: no such option; did you mean maps\?$"),
    "keyword that is none": (lambda a: dict(density=1), r"^density: no such option; fhd.options\(\) lists them$"),
    "keyword of the scan misspelt": (
        lambda a: dict(trajectory_units="kmax"),
        r"^trajectory_units: no such option; did you mean trajectory_unit\?$",
    ),
    "choice misspelt": (lambda a: dict(regularizer="wavlet"), r"^regularizer: expected .* found 'wavlet'.*did you mean"),
    "strength negative": (lambda a: dict(regularizer={"tv": -1}), r"^regularizer"),
    "wrong type": (lambda a: dict(lambda_=object()), r"^lambda_: expected a number, a text, .* found object$"),
    "not a number": (lambda a: dict(lambda_="much"), r"^lambda_: expected auto, or a number >= 0 .* found 'much'$"),
    "iterations not whole": (lambda a: dict(iterations=5.5), r"^iterations: expected .* found '5.5'$"),
    "an option of files": (
        lambda a: dict(matrix=(48, 48)),
        r"^matrix: is for files alone; shape, the third argument, is the matrix",
    ),
    "an option of series": (
        lambda a: dict(regularizer={"temporal-tv": 0.01}),
        r'^.*regularizer="temporal-tv".*; leave it out, or reconstruct frames \(frames, spokes_per_frame, gate\)$',
    ),
    "no GPU in this build": (
        lambda a: dict(device="cuda:99"),
        r'^device.*(; (.* )?use device="cpu"|found)',
    ),
    "options that contradict": (
        lambda a: dict(regularizer="wavelet", lambda_=0.1),
        r'^lambda_ with regularizer="wavelet": these options contradict each other; leave out lambda_$',
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_sentence_that_names_the_keyword(arrays, mistake):
    changed, sentence = MISTAKES[mistake]
    with pytest.raises(fhd.Error, match=sentence) as caught:
        fhd.reconstruct(**{**arrays, **QUICK, **changed(arrays)})
    line = str(caught.value)
    print(f"{mistake}: {line}")
    assert "\n" not in line and "--" not in line and len(line) < 400


@pytest.mark.parametrize(
    "what, sentence",
    [
        (lambda a, path: fhd.recon("absent.h5"), r"^absent.h5: expected .* found none"),
        (
            lambda a, path: fhd.recon(a["kspace"]),
            r"^scan: expected an fhd.Scan or the path of a file, found ndarray; fhd.reconstruct\(",
        ),
        (
            lambda a, path: fhd.recon(a["kspace"], a["trajectory"], a["shape"]),
            r"^scan: .* found ndarray; fhd.reconstruct\(kspace, trajectory, shape\) takes arrays$",
        ),
        (lambda a, path: fhd.recon(path, 1e-3), r"^recon: expected one scan and keywords, .*lambda_=... and others by name$"),
        (
            lambda a, path: fhd.reconstruct(a["kspace"], a["trajectory"], a["shape"], a["maps"]),
            r"^reconstruct: expected kspace, trajectory, shape and keywords, found more; give maps=...",
        ),
        (lambda a, path: fhd.recon(path, trajectory_unit="parsec"), r"^trajectory_unit: expected cycles/FOV"),
        (lambda a, path: fhd.recon(path, fov_mm="wide"), r"^fov_mm: expected one to three lengths in mm"),
        (
            lambda a, path: fhd.recon(fhd.read(path), trajectory_unit="kmax"),
            r"^trajectory_unit: .* or fhd.Scan\(..., trajectory_unit=...\)",
        ),
        (
            lambda a, path: fhd.recon(fhd.read(path), matrix=64),
            r"^matrix: says what a file leaves out; give it to fhd.read\(",
        ),
        (
            lambda a, path: fhd.Toeplitz(fhd.NDFT(a["trajectory"], 48), weights=np.ones(5)) @ np.ones((48, 48), complex),
            r"^weights: expected \[\d+\], a weight for each sample, found \[5\]$",
        ),
        (
            lambda a, path: [fhd.reconstruct(**{**a, "kspace": a["kspace"] * f}, **QUICK).save("out") for f in (1, 2)],
            r"^out.h5: expected .*force=True overwrites it, another prefix writes beside it$",
        ),
        (
            lambda a, path: fhd.Sense(a["maps"], fhd.NDFT(a["trajectory"], 48)),
            r"^transform: expected an fhd.NDFT or fhd.NUFFT, found ndarray; maps come behind it$",
        ),
        (lambda a, path: fhd.load(path.removesuffix(".h5")), r"^.*radial: expected .*; did you mean .*radial.h5\?$"),
        (lambda a, path: fhd.NDFT(a["trajectory"].T, 48), r"^trajectory: .*give trajectory.T$"),
        (
            lambda a, path: fhd.NDFT(a["trajectory"] / 0.22, 48, trajectory_unit="1/m"),
            r"^trajectory: .*give it with fov_mm=",
        ),
    ],
)
def test_mistakes_of_other_functions(arrays, radial, tmp_path, monkeypatch, what, sentence):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(fhd.Error, match=sentence) as caught:
        what(arrays, str(radial))
    print(caught.value)
    assert "--" not in str(caught.value)


@pytest.mark.parametrize(
    "unit, factor, fov_mm",
    [
        ("cycles/FOV", 1, ()),
        ("cycles/voxel", 1 / 48, ()),
        ("rad/pixel", 2 * np.pi / 48, ()),
        ("kmax", 1 / 24, ()),
        ("1/m", 1 / 0.22, 220),
        ("radians/m", 2 * np.pi / 0.22, (220, 220, 5)),
        ("auto", 1, ()),
        ("auto", 1 / 48, ()),
        ("auto", 2 * np.pi / 48, ()),
    ],
)
def test_every_unit_gives_the_image(arrays, relative_error, unit, factor, fov_mm):
    expected = fhd.reconstruct(**arrays, **QUICK)
    given = {**arrays, "trajectory": arrays["trajectory"] * factor}
    result = fhd.reconstruct(**given, **QUICK, trajectory_unit=unit, fov_mm=fov_mm)
    # Positions differ by the rounding of a product in double; the solver works in single precision.
    assert relative_error(result.image, expected.image) <= 1e-5
    scan = fhd.Scan(**given, trajectory_unit=unit, fov_mm=fov_mm)
    assert relative_error(scan.volume().trajectory, arrays["trajectory"]) <= 1e-15
    assert "The trajectory is taken to be in" in " ".join(scan.summary["inferred"])
    operator = fhd.NDFT(given["trajectory"], 48, trajectory_unit=unit, fov_mm=fov_mm)
    image = arrays["maps"][0].astype(complex)
    assert relative_error(operator @ image, fhd.NDFT(arrays["trajectory"], 48) @ image) <= 1e-12


def test_a_unit_that_is_stated_is_not_doubted_but_named_as_the_cause(arrays):
    given = {**arrays, "trajectory": arrays["trajectory"] / 48}
    with pytest.warns(UserWarning) as heard:
        result = fhd.reconstruct(**given, trajectory_unit="cycles/FOV", no_gridded_image=True, cache="off")
    words = " ".join(str(warning.message) for warning in heard)
    assert 'trajectory_unit="cycles/voxel"' in words and "--" not in words
    assert "likeliest cause: the unit of the trajectory: |k| of at most 0.5 fills k-space if it is in cycles/voxel" in words
    assert any("cycles/voxel" in line for line in result.warnings)


def test_an_operator_doubts_a_unit_in_words(arrays):
    with pytest.warns(UserWarning, match='trajectory_unit="radians/voxel"'):
        fhd.NUFFT(arrays["trajectory"] * 2 * np.pi / 48, 48)


def test_a_gradient_is_that_of_the_positions_as_given(arrays):
    torch = pytest.importorskip("torch")
    image = torch.as_tensor(arrays["maps"][0].astype(complex))
    gradients = []
    for factor, unit in [(1, None), (2 * np.pi / 48, "radians/voxel")]:
        k = torch.as_tensor(arrays["trajectory"] * factor).requires_grad_()
        (fhd.NDFT(k, 48, trajectory_unit=unit) @ image).abs().square().sum().backward()
        gradients.append(k.grad * factor)
    assert torch.linalg.norm(gradients[1] - gradients[0]) <= 1e-9 * torch.linalg.norm(gradients[0])


def test_a_whole_number_is_the_shape_along_every_axis(arrays, relative_error):
    square = fhd.reconstruct(**{**arrays, **QUICK, "shape": np.int64(48)})
    assert np.array_equal(square.image, fhd.reconstruct(**arrays, **QUICK).image)
    assert fhd.Scan(np.ones((1, 9), complex), np.zeros((9, 3)) + np.arange(3), 6).summary["shape"] == (6, 6, 6)
    assert fhd.Scan(**arrays, fov_mm=200).volume().fov_mm == (200, 200, 0)


def test_positions_that_are_whole_numbers_are_taken_as_they_are(relative_error):
    y, x = np.mgrid[-4:4, -4:4].reshape(2, -1)
    whole = np.stack([x, y], -1)
    image = np.arange(64.0).reshape(8, 8) + 0j
    assert np.array_equal(fhd.NDFT(whole, 8) @ image, fhd.NDFT(whole.astype(float), 8) @ image)


def test_kspace_without_an_axis_of_coils_is_that_of_one(arrays):
    of_one = {**arrays, "maps": arrays["maps"][:1]}
    images = [fhd.reconstruct(**{**of_one, "kspace": k}, **QUICK).image for k in (arrays["kspace"][0], arrays["kspace"][:1])]
    assert np.array_equal(*images)
