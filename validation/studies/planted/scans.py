"""Scans without a mistake, as dictionaries of what the layout of fhd holds: simulated ones, those of others, and a head from a
public multi-coil scan. Each is made once, in the folder of the study."""
import os
import re
import subprocess
import threading

import h5py
import numpy as np

fhd, shared, public = "fhd", "", ""  # the program, the folder of scans of others, a public k-space .npy: set by the study
_lock, _kept = threading.RLock(), {}


def run(*command):
    return subprocess.run([fhd, *map(str, command)], capture_output=True, text=True, timeout=300)


def must(*command):
    done = run(*command)
    if done.returncode:
        raise RuntimeError(" ".join(map(str, command)) + ": " + done.stderr)


def complex_of(values):
    names = values.dtype.names
    return values[names[0]] + 1j * values[names[1]] if names else values


def read(path):
    with h5py.File(path) as file:
        scan = {key: complex_of(file[key][()]) for key in file if isinstance(file[key], h5py.Dataset) and key != "environment"}
        scan |= {"@" + key: value for key, value in file.attrs.items()}
        scan["unit"] = file["trajectory"].attrs["unit"]
    scan["kspace"] = scan["kspace"].reshape(-1, scan["kspace"].shape[-1])
    scan["trajectory"] = scan["trajectory"].reshape(-1, scan["trajectory"].shape[-1])
    if "@readout_length" not in scan:
        scan["@readout_length"] = np.array([scan["kspace"].shape[1]], np.int32)
    return scan


def write(path, scan):
    with h5py.File(path, "w") as file:
        for key, value in scan.items():
            if key.startswith("@"):
                file.attrs[key[1:]] = value
            elif key != "unit":
                file[key] = value.astype(np.complex64) if np.iscomplexobj(value) else value
        file["trajectory"].attrs["unit"] = scan["unit"]


def length_of(scan):
    return int(np.ravel(scan["@readout_length"])[0])


def count_of(scan):
    """The number of readouts."""
    return scan["kspace"].shape[1] // length_of(scan)


def by_readout(scan, values=None):
    """[...][readout][sample] of values [...][samples]; by default of k-space."""
    values = scan["kspace"] if values is None else values
    return values.reshape(*values.shape[:-1], -1, length_of(scan))


def flat(values):
    return values.reshape(*values.shape[:-2], -1)


def with_samples(scan, kept, length):
    """Only the samples of these indices [readout][sample], in readouts of this length."""
    kept = np.ravel(kept)
    part = dict(scan, kspace=scan["kspace"][:, kept], trajectory=scan["trajectory"][kept])
    if "sample_time_s" in scan:
        part["sample_time_s"] = scan["sample_time_s"].ravel()[kept]
    part["@readout_length"] = np.array([length], np.int32)
    return part


def readouts_kept(scan, keep):
    """Only some readouts; keep: slice or indices."""
    return with_samples(scan, by_readout(scan, np.arange(scan["kspace"].shape[1]))[keep], length_of(scan))


def within(scan, matrix):
    """A spiral from the centre out, or a full Cartesian scan, cut to a smaller matrix with the same field of view."""
    length = length_of(scan)
    inside = np.all((scan["trajectory"] >= -np.array(matrix) / 2) & (scan["trajectory"] < np.array(matrix) / 2 + 1e-9), axis=1)
    at = by_readout(scan, np.arange(len(inside)))
    if np.array_equal(np.abs(scan["trajectory"]).round(3), np.abs(scan["trajectory"].round()).round(3)):  # Cartesian
        some = at[by_readout(scan, inside).any(1)]
        columns = inside[some].all(0)
        kept = some[:, columns]
    else:
        kept = at[:, : int(np.argmin(by_readout(scan, inside).all(0)) or length)]
    scan = {key: value for key, value in scan.items() if key not in ("sensitivity_maps", "field_map")}
    return dict(with_samples(scan, kept, kept.shape[1]), **{"@matrix_size": np.array(matrix, np.int32)})


def smaller_matrix(scan):
    """The samples that a matrix of two thirds needs, of any trajectory."""
    n = np.array([m if m < 5 else m * 2 // 3 for m in scan["@matrix_size"]])
    inside = np.flatnonzero(np.all((scan["trajectory"] >= -n / 2) & (scan["trajectory"] <= (n - 1) / 2), axis=1))
    scan = {key: value for key, value in scan.items() if key not in ("sensitivity_maps", "field_map")}
    return dict(with_samples(scan, inside, len(inside)), **{"@matrix_size": n.astype(np.int32)})


def inner_field(scan):
    """The inner three quarters of the field of view: the object goes on beyond it."""
    n = np.array([m if m < 5 else m * 3 // 4 for m in scan["@matrix_size"]])
    part = n / scan["@matrix_size"]
    scan = {key: value for key, value in scan.items() if key not in ("sensitivity_maps", "field_map")}
    return dict(scan, trajectory=scan["trajectory"] * part, **{"@matrix_size": n.astype(np.int32), "@fov_mm": scan["@fov_mm"] * part})


def noisy(values, snr, seed=1):
    rng = np.random.default_rng(seed)
    sigma = np.sqrt(np.mean(np.abs(values) ** 2) / 2) / snr
    return values + sigma * (rng.standard_normal(values.shape) + 1j * rng.standard_normal(values.shape))


def simulated(name, trajectory, matrix, coils, snr, *more):
    if not os.path.exists(name + "_plain.h5"):
        must("simulate", "-o", name, "--trajectory", trajectory, "--matrix", matrix, "--coils", coils, "--snr", snr, "--force", *more)
        must("convert", name + ".h5", name + "_plain.h5", "--to", "fhd", "--force")
    return read(name + "_plain.h5")


def with_field(name, trajectory, matrix, coils, snr, *more):
    """A simulated scan of an object off resonance, with its field map (the largest of which --field-hz of `more` tells)."""
    scan = simulated(name, trajectory, matrix, coils, snr, *more)
    with h5py.File(name + ".field.h5") as file:
        field = file["field_map"][()]
    return dict(scan, field_map=field.reshape(tuple(int(n) for n in scan["@matrix_size"][::-1])).astype(np.float32))


def converted(name, *where, **more):
    source = os.path.join(shared, *where)
    if not shared or not os.path.exists(source):
        return None
    if not os.path.exists(name + "_plain.h5"):
        must("convert", source, name + "_plain.h5", "--to", "fhd", "--force")
    scan = read(name + "_plain.h5") | more
    return scan if np.all(np.asarray(scan["@fov_mm"]) > 0) else dict(scan, **{"@fov_mm": 4.0 * scan["@matrix_size"]})


def numbers_of(path):
    """The matrices of a MATLAB 5 file; None without scipy, or without the file."""
    try:
        import scipy.io
    except ImportError:
        return None
    return scipy.io.loadmat(path) if os.path.exists(path) else None


def brain_32():
    mat = numbers_of(os.path.join(shared, "impatient_brain_spiral/32x32x4-4coils/recon_data_32x32x4.mat")) if shared else None
    if mat is None:
        return None
    maps = (mat["sensi_r"] + 1j * mat["sensi_i"]).reshape(4, 4, 32, 32).transpose(0, 1, 3, 2)
    return {"trajectory": np.stack([mat[k].ravel().astype(float) for k in ("kx", "ky", "kz")], axis=1), "unit": "cycles/FOV",
            "kspace": (mat["kdata_r"] + 1j * mat["kdata_i"]).reshape(4, -1), "sensitivity_maps": maps.copy(),
            "sample_time_s": mat["t"].ravel().astype(float), "@matrix_size": np.array([32, 32, 4], np.int32),
            "@fov_mm": np.array([240.0, 240.0, 20.0]), "@readout_length": np.array([mat["kx"].size // 4], np.int32)}


def matmri(n=(62, 83), coils=6):
    """Samples of MatMRI's brain with its measured fields (second order, Maxwell terms, B0); the file tells k, B0 and maps."""
    mat = numbers_of(os.path.join(shared, "matmri/dataForDemonstrations.mat")) if shared else None
    if mat is None:
        return None
    first, maxwell, t = mat["phs_spha"].astype(float), mat["phs_conc"].astype(float), mat["datatime"].ravel() * 1e-6
    full, step = (124, 166), 1.5e-3
    centre = [mat[name].ravel()[0] - step * (full[i] // 2) * 1.0 for i, name in enumerate("XY")] + [mat["Z"].ravel()[0]]
    k = np.stack([first[:, 1] * full[0] * step, first[:, 2] * full[1] * step], axis=1) / (2 * np.pi)
    kept = np.flatnonzero(np.all(np.abs(k) < np.array(n) / 2, axis=1))
    kept = kept[: int(np.argmax(np.diff(kept, append=kept[-1] + 9) > 1)) + 1]
    x, y, z = (mat[name].ravel() for name in "XYZ")
    field, image = mat["b0map"].ravel() * 1e6, mat["im0"].ravel().astype(complex)
    field = np.where(np.abs(image) > 0.15 * np.abs(image).max(), np.clip(field, -700, 700), 0)
    maps = mat["Crcvr"].reshape(-1, 16)[:, ::3][:, :coils]
    basis = np.stack([1 + 0 * x, x, y, z, x * y, z * y, 3 * z**2 - (x**2 + y**2 + z**2), x * z, x**2 - y**2])
    terms = np.stack([z**2, x**2 + y**2, x * z, y * z])
    data = np.empty((coils, len(kept)), complex)
    for part in np.array_split(np.arange(len(kept)), 40):
        m = kept[part]
        phase = first[m] @ basis + maxwell[m] @ terms + np.outer(t[m], field)
        data[:, part] = ((np.exp(1j * phase) * image) @ maps).T
    data *= np.exp(-1j * (first[kept, 0] + first[kept, 1:4] @ np.array(centre)))
    coarse = (slice(0, 2 * n[0], 2), slice(1, 2 * n[1], 2))
    told = np.stack([maps[:, c].reshape(full)[coarse].T[None] for c in range(coils)])
    return {"trajectory": np.concatenate([k[kept], np.zeros((len(kept), 1))], axis=1), "unit": "cycles/FOV", "kspace": noisy(data, 40),
            "sensitivity_maps": told.copy(), "field_map": -field.reshape(full)[coarse].T[None].astype(np.float32),
            "sample_time_s": t[kept], "@matrix_size": np.array([*n, 1], np.int32), "@fov_mm": np.array([186.0, 249.0, 3.0]),
            "@readout_length": np.array([len(kept)], np.int32)}


def cartesian(kspace, fov_mm, kept=None):
    """kspace [coil][y][x], centre at N // 2; kept: numbers of the lines."""
    coils, height, width = kspace.shape
    kept = np.arange(height) if kept is None else kept
    y, x = np.meshgrid(kept - height // 2, np.arange(width) - width // 2, indexing="ij")
    k = np.stack([x.ravel(), y.ravel(), 0 * x.ravel()], axis=1).astype(float)
    return {"trajectory": k, "unit": "cycles/FOV", "kspace": kspace[:, kept].reshape(coils, -1), "@fov_mm": np.array([*fov_mm, 5.0]),
            "@matrix_size": np.array([width, height, 1], np.int32), "@readout_length": np.array([width], np.int32)}


def centred(transform, values):
    axes = (-2, -1)
    return np.fft.fftshift(transform(np.fft.ifftshift(values, axes=axes), axes=axes), axes=axes)


def public_samples():
    """The public scan as it is: the samples that were measured, at whole positions."""
    if not public or not os.path.exists(public):
        return None
    values = np.load(public).astype(complex)
    scan = cartesian(values, (values.shape[2], values.shape[1]))
    kept = np.flatnonzero(np.abs(scan["kspace"]).sum(0) > 0)
    scan["@readout_length"] = np.array([len(kept)], np.int32)
    return with_samples(scan, kept, len(kept))


def public_head(n=96):
    """A full Cartesian scan of the public head: its image by fhd times smooth maps of the same scan, n x n of k-space."""
    scan = public_samples()
    if scan is None:
        return None
    if not os.path.exists("public_image.h5"):
        write("public_scan.h5", scan)
        must("recon", "public_scan.h5", "-o", "public_image", "--no-gridded-image", "--quiet", "--device", "cpu", "--force")
    with h5py.File("public_image.h5") as file:
        image = np.squeeze(complex_of(file["image"][()]))
    values = np.load(public).astype(complex)
    height, width = values.shape[1:]
    window = np.outer(*(np.where(np.abs(np.arange(m) - m // 2) < 12, np.cos((np.arange(m) - m // 2) * np.pi / 24) ** 2, 0)
                        for m in (height, width)))
    low = centred(np.fft.ifft2, values * window)
    maps = low / np.maximum(np.sqrt((np.abs(low) ** 2).sum(0)), 1e-12)
    full = centred(np.fft.fft2, image * maps)
    y, x = height // 2 - n // 2, width // 2 - n // 2
    return cartesian(noisy(full[:, y:y + n, x:x + n], 30), (width, height))


def reference_lines(scan, every, lines):
    """A full Cartesian scan of which every n-th line and the inner ones are measured."""
    count = by_readout(scan).shape[-2]
    return readouts_kept(scan, [i for i in range(count) if i % every == 0 or abs(i - count // 2) < lines / 2])


def separate_reference(scan, every=2, n=24):
    """A full Cartesian scan of which every n-th line is measured, and a calibration: the inner n x n samples, noise of its own."""
    inside = np.all(np.abs(scan["trajectory"][:, :2] + 0.5) < n / 2, axis=1)
    sparse = readouts_kept(scan, slice(0, None, every))
    return dict(sparse, calibration=noisy(scan["kspace"][:, inside], 50, 9), calibration_trajectory=scan["trajectory"][inside].T.copy())


def with_reference_of(scan, other):
    """A scan with a calibration: the inner samples of another scan of the object, which is Cartesian and full."""
    reference = separate_reference(other)
    return dict(scan, calibration=reference["calibration"], calibration_trajectory=reference["calibration_trajectory"])


def without_maps(scan):
    return scan and {key: value for key, value in scan.items() if key != "sensitivity_maps"}


BASES = []  # (name, tags, how to make it)


def base(name, tags, make):
    BASES.append((name, set(tags.split()), make))


def both(name, tags, make):
    """With the maps in the file, and without."""
    base(name + ", maps", tags + " maps many", make)
    base(name, tags + " found many", lambda: without_maps(make()))


both("golden-radial 80, 8 coils", "2D radial golden time", lambda: simulated("a0", "golden-radial", 80, 8, 30, "--seed", 11))
both("radial 72, 6 coils", "2D radial uniform time", lambda: simulated("a1", "radial", 72, 6, 20, "--phantom", "anatomy", "--seed", 12))
base("golden-radial 80, x3, 8 coils", "2D radial golden time found many",
     lambda: without_maps(simulated("a2", "golden-radial", 80, 8, 30, "--undersampling", 3, "--seed", 13)))
both("spiral 80, 8 coils", "2D spiral uniform time", lambda: simulated("a3", "spiral", 80, 8, 30, "--seed", 14))
base("variable-density-spiral 96, x2, 8 coils", "2D spiral uniform time found many",
     lambda: without_maps(simulated("a4", "variable-density-spiral", 96, 8, 40, "--undersampling", 2, "--phantom", "anatomy", "--seed", 15)))
base("golden-radial 72, 1 coil", "2D radial golden time one found",
     lambda: without_maps(simulated("a5", "golden-radial", 72, 1, 30, "--seed", 16)))
base("stack-of-stars 24x24x12, 4 coils, maps", "3D radial golden stack time maps many",
     lambda: simulated("a6", "stack-of-stars", "24,24,12", 4, 30, "--seed", 17))
both("radial-3d 24, 4 coils", "3D radial time", lambda: simulated("a7", "radial-3d", 24, 4, 30, "--seed", 18))
base("spiral 72, field map 50 Hz, 6 coils, maps", "2D spiral uniform time maps many field",
     lambda: with_field("a8", "spiral", 72, 6, 30, "--field-hz", 50, "--seed", 19))
both("Cartesian 96, 8 coils", "2D cartesian square uniform time",
     lambda: simulated("a9", "cartesian", 96, 8, 30, "--phantom", "anatomy", "--seed", 20))
base("Cartesian 96, x2, 24 lines, 8 coils", "2D cartesian uniform found many", lambda: without_maps(reference_lines(
    simulated("a9", "cartesian", 96, 8, 30, "--phantom", "anatomy", "--seed", 20), 2, 24)))
base("Cartesian 96, x2, separate calibration, 8 coils", "2D cartesian uniform reference many", lambda: without_maps(separate_reference(
    simulated("a9", "cartesian", 96, 8, 30, "--phantom", "anatomy", "--seed", 20))))
base("golden-radial 80, x3, separate calibration, 8 coils", "2D radial golden time reference many", lambda: without_maps(with_reference_of(
    simulated("a2", "golden-radial", 80, 8, 30, "--undersampling", 3, "--seed", 13), simulated("a11", "cartesian", 80, 8, 30, "--seed", 22))))
base("Cartesian 64, 1 coil", "2D cartesian uniform one found exact", lambda: without_maps(simulated("a10", "cartesian", 64, 1, 30, "--seed", 21)))
JEMRIS = "jemris_ismrmrd_spiral/raw/signals_spiralout_%s_slc30.h5"
for kind in ("clean", "CS", "Susc70Mhz"):
    base(f"JEMRIS spiral {kind}, cut to 110", "real noiseless 2D spiral uniform one found", lambda kind=kind: (
        lambda scan: scan and within(scan, (110, 110, 1)))(converted("jemris_" + kind, JEMRIS % kind)))
base("Koma MRF radial 99", "real noiseless 2D radial golden one found contrast time",
     lambda: without_maps(converted("koma_mrf", "koma_mrireco_ismrmrd/koma_MRF_radial_500TR.mrd")))
base("MRIReco brain, Cartesian 256, 1 coil", "real 2D cartesian uniform one found exact",
     lambda: without_maps(converted("mrireco", "koma_mrireco_ismrmrd/mrireco_acqDataBrainSim100.h5")))
both("IMPATIENT brain 32x32x4, 4 coils", "real 3D spiral uniform stack time rough", brain_32)
both("IMPATIENT brain 64x64x16, 4 coils", "real 3D spiral uniform stack time rough",
     lambda: converted("brain_64", "impatient_brain_spiral/64x64x16-4coils"))
base("IMPATIENT brain 64x64, 1 coil", "real 2D spiral shot time one found exact",
     lambda: without_maps(converted("brain_2d", "impatient_brain_spiral/64x64x1")))
base("Siemens gre 320x160, 2 coils", "real 2D cartesian uniform found many", lambda: converted("gre", "siemens_twix/gre.dat"))
base("Siemens epi 160x80, 2 coils", "real 2D cartesian uniform found many", lambda: converted("epi", "siemens_twix/epi.dat"))
base("MatMRI spiral 62x83, 6 coils, maps, B0", "real 2D spiral shot time maps many field", matmri)
base("public head, Cartesian 96, 8 coils", "real 2D cartesian square uniform found many", public_head)
base("public head, Cartesian 96, x2, 24 lines, 8 coils", "real 2D cartesian uniform found many",
     lambda: (lambda scan: scan and reference_lines(scan, 2, 24))(public_head()))
base("public head, Cartesian 96, x2, separate calibration, 8 coils", "real 2D cartesian uniform reference many",
     lambda: (lambda scan: scan and separate_reference(scan))(public_head()))
base("public head as it is, 12 % of 230x180, 8 coils", "real 2D cartesian random shot found many", public_samples)


def key_of(name):
    return re.sub(r"\W+", "_", name).strip("_").lower()


def scan_of(name):
    """The scan of this name; None where its source is absent. Those that mistakes are planted in stay in memory."""
    with _lock:
        if name in GOOD:
            return GOOD[name][0]()
        if name not in _kept:
            try:
                _kept[name] = next(make for n, _, make in BASES if n == name)()
            except Exception as problem:
                _kept[name] = problem
        if isinstance(_kept[name], Exception):
            raise _kept[name]
        return _kept[name]


# --- More scans without a mistake: name -> (how to make it, whether it is of others) ---
GOOD = {}


def half_contrast(scan):
    """The signal of the readouts falls to a half, as contrast does."""
    values = by_readout(scan)
    return dict(scan, kspace=flat(values * np.exp(-0.7 * np.arange(values.shape[-2]) / values.shape[-2])[:, None]))


def twice(scan):
    values = by_readout(scan, np.arange(scan["kspace"].shape[1]))
    part = readouts_kept(scan, np.concatenate([np.arange(len(values))] * 2))
    return dict(part, kspace=noisy(part["kspace"], 60, 3))


def good_simulated():
    kinds = ["golden-radial", "radial", "spiral", "variable-density-spiral", "cartesian", "stack-of-stars", "radial-3d",
             "phyllotaxis-3d", "stack-of-spirals"]
    # what is done to the scan: in words, by options of simulate, afterwards
    ways = [("", (), None), ("low SNR", (), None), ("two of three readouts", (), lambda s: readouts_kept(s, [i for i in range(count_of(s)) if i % 3])),
            ("a smaller matrix", (), smaller_matrix), ("the inner field", (), inner_field), ("a wrapped object", ("--object-scale", 1.3), None),
            ("off-resonance 30 Hz", ("--field-hz", 30), None), ("contrast between readouts", (), half_contrast), ("two averages", (), twice),
            ("stopped after 60 %", (), lambda s: readouts_kept(s, slice(0, int(0.6 * count_of(s))))), ("high SNR", (), None), ("16 coils", (), None),
            ("1 coil", (), None)]
    for i, kind in enumerate(kinds):
        two = i < 5
        for j, (way, more, change) in enumerate(ways):
            if kind == "cartesian" and way in ("two of three readouts", "stopped after 60 %", "the inner field"):
                continue
            matrix = [64, 75, 96, 90][(i + j) % 4] if two else ["24,24,10", "22,22,22"][(i + j) % 2] if "stack" not in kind else "24,24,10"
            coils = 16 if way == "16 coils" else 1 if way == "1 coil" else [4, 8, 6][(i + j) % 3]
            snr = 5 if way == "low SNR" else 100 if way == "high SNR" else [15, 30, 60][(i + 2 * j) % 3]
            over = 2 if coils >= 6 and kind != "cartesian" and not change and way != "off-resonance 30 Hz" and j % 2 else 1
            phantom = () if way == "off-resonance 30 Hz" else ("--phantom", ["shepp-logan", "resolution", "anatomy"][(i + j) % 3 if two else j % 2])
            own_maps = (i + j) % 2 and way not in ("a wrapped object", "the inner field", "a smaller matrix")
            name = f"{kind} {matrix}, {coils} coils, SNR {snr}{f', x{over}' if over > 1 else ''}{', maps' if own_maps else ''}{': ' if way else ''}{way}"

            def make(i=i, j=j, kind=kind, matrix=matrix, coils=coils, snr=snr, over=over, phantom=phantom, more=more, change=change, own=own_maps):
                scan = simulated(f"g{i}_{j}", kind, matrix, coils, snr, "--undersampling", over, *phantom, *more, "--seed", 50 + j)
                scan = scan if own else without_maps(scan)
                return change(scan) if change else scan
            GOOD[name] = make, False


def good_of_others():
    for name, tags, _ in [b for b in BASES if "real" in b[1]]:
        def part(change, name=name):
            return lambda: (lambda scan: scan and change(scan))(scan_of(name))
        if not tags & {"random", "shot", "exact"}:
            GOOD[name + ": three of four readouts"] = part(lambda s: readouts_kept(s, [
                i for i in range(count_of(s)) if i % 4 != 1])), True
        if "maps" not in tags and "field" not in tags:
            GOOD[name + ": a smaller matrix"] = part(smaller_matrix), True
        if not tags & {"maps", "field", "cartesian"}:
            GOOD[name + ": the inner field"] = part(inner_field), True
    for kind in ("clean", "CS", "Susc70Mhz"):
        GOOD[f"JEMRIS spiral {kind}, as it is"] = (lambda kind=kind: converted("jemris_" + kind, JEMRIS % kind)), True


good_simulated()
good_of_others()
