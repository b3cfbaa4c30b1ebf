"""Results, scans and operators in other processes, copies of them, and work that Ctrl-C ends."""

import copy
import multiprocessing
import os
import pickle
import signal
import sys
import threading

import numpy as np
import pytest

import fhd


@pytest.fixture(scope="module")
def scan(radial):
    return fhd.read(radial)


@pytest.fixture(scope="module")
def arrays(scan):
    """A series of arrays, in readouts, with all pieces."""
    v = scan.volume()
    readouts = v.kspace.reshape(4, -1, scan.summary["readout_length"])
    return fhd.Scan(
        np.stack([readouts, 2 * readouts]),
        v.trajectory.reshape(*readouts.shape[1:], 2),
        v.shape,
        fov_mm=v.fov_mm,
        maps=v.maps,
        noise=np.random.default_rng(2).normal(size=(4, 512)).view(complex),
        field_map=np.zeros(v.shape),
        sample_time_s=v.sample_time_s.reshape(readouts.shape[1:]),
        directions=((0, 1, 0), (1, 0, 0), (0, 0, 1)),
    )


def in_a_fork(work):
    """Return what work() says in a forked copy of this process."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # ends a child that hangs
        try:
            work()
            said = "done"
        except fhd.Error as error:
            said = str(error)
        os.write(theirs, said.encode())
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours) as told:
        said = told.read()
    os.waitpid(child, 0)
    return said


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of os.fork, since Python 3.12
@pytest.mark.parametrize("what", ["recon", "volume", "load", "product", "normal", "weights", "save"])
def test_a_fork_says_that_it_cannot_compute(what, scan, radial, tmp_path):
    a = fhd.NDFT(np.zeros((5, 2)), (8, 8))
    image = np.ones((8, 8), complex)
    result = fhd.recon(scan, iterations=1)
    result.save(tmp_path / "made")
    work = {
        "recon": lambda: fhd.recon(scan),
        "volume": lambda: scan.volume(),
        "load": lambda: fhd.load(tmp_path / "made.h5"),
        "product": lambda: a @ image,
        "normal": lambda: a.normal @ image,
        "weights": lambda: a.density_weights(),
        "save": lambda: result.save(tmp_path / "of_the_fork"),
    }[what]
    work()
    said = in_a_fork(work)
    assert "copy (fork)" in said and "spawn" in said, said


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_worker_of_a_forking_loader_says_it_too(scan):
    DataLoader = pytest.importorskip("torch.utils.data").DataLoader
    fhd.recon(scan, iterations=1)
    with pytest.raises(Exception, match="copy .fork. of one in which fhd had worked"):
        list(DataLoader([0], num_workers=1, collate_fn=lambda _: fhd.recon(scan), multiprocessing_context="fork"))


def reconstructed(scan):
    return fhd.recon(scan, iterations=2)


def test_scans_go_to_spawned_processes_and_results_come_back(scan, arrays):
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        for made, of in zip(pool.map(reconstructed, [scan, arrays]), [scan, arrays]):
            assert np.array_equal(made.image, reconstructed(of).image)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_of_scans_are_the_scan(scan, arrays, copied):
    for one in (scan, arrays):
        again = copied(one)
        assert again.summary == one.summary and repr(again) == repr(one)
        for name, value in one.volume()._asdict().items():
            assert np.array_equal(getattr(again.volume(), name), value), name
        assert reconstructed(again).report["input"] == reconstructed(one).report["input"]


def test_copies_of_results_are_the_result(scan, tmp_path):
    result = fhd.recon(scan)
    for copied in (copy.copy(result), copy.deepcopy(result), pickle.loads(pickle.dumps(result))):
        assert np.array_equal(copied.image, result.image) and np.array_equal(copied.gridded, result.gridded)
        assert copied.report == result.report and copied.verdict == result.verdict
        assert np.array_equal(copied.affine, result.affine)
    apart = copy.deepcopy(result)
    apart.image[:] = 0
    assert np.abs(result.image).max() > 0
    apart.save(tmp_path / "out")
    with pytest.raises(fhd.Error, match="save it in the process that made it"):
        copied.save(tmp_path / "other")


def test_texts_of_objects_say_what_they_are(scan, arrays, radial, tmp_path):
    shape = (48, 48)
    a = fhd.NDFT(np.zeros((7, 5, 2)), shape)
    e = fhd.Sense(fhd.NUFFT(a.trajectory, shape, 1e-4), np.ones((3, *shape), complex))
    for operator, words in [
        (a, ["fhd.NDFT", "[48, 48]", "[7, 5]", "exact sums", "complex64 or complex128", "CPU"]),
        (e, ["fhd.Sense", "[48, 48]", "[3, 7, 5]", "3 coils", "gridded to 0.0001"]),
        (a.H, ["adjoint of", "fhd.NDFT"]),
        (e.normal, ["fhd.Toeplitz", "[48, 48]", "3 coils", "35 samples"]),
        (scan, ["fhd.Scan", "ISMRMRD", str(radial), "4 coils", "[1, 48, 48]", "with maps"]),
        (arrays, ["fhd.Scan", "arrays", "4 coils", "2 repetitions", "maps and field map"]),
        (reconstructed(scan), ["[1, 1, 1, 48, 48] complex64", str(radial), "certificate passed", "verdict "]),
        (reconstructed(arrays), ["[2, 1, 1, 48, 48]", "certificate passed", "verdict "]),
    ]:
        text = repr(operator)
        assert all(word in text for word in words) and "\n" not in text, text


def interrupted_in(work):
    """Calls work(), which takes minutes, and sends SIGINT from another thread once it lets other threads run."""
    begun = threading.Event()

    def interrupt():
        begun.wait()
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    interval = sys.getswitchinterval()
    thread.start()
    sys.setswitchinterval(1000)  # the thread goes on when the work releases the interpreter, not before
    try:
        begun.set()
        with pytest.raises(KeyboardInterrupt):
            work()
    finally:
        sys.setswitchinterval(interval)
        thread.join()


# 1e12 pairs of voxels and samples.
LARGE = (128, 128, 128)


def large_trajectory(count):
    return np.random.default_rng(1).uniform(-64, 64, (count, 3))


@pytest.mark.parametrize("what", ["forward", "adjoint", "normal", "sense", "solver"])
def test_ctrl_c_ends_products(what):
    a = fhd.NDFT(large_trajectory(1_000_000), LARGE)
    image = np.ones(LARGE, np.complex64)
    samples = np.ones(a.sample_shape, np.complex64)
    if what == "sense":
        e = fhd.Sense(a, np.ones((1, *LARGE), np.complex64))
        interrupted_in(lambda: e @ image)
    elif what == "solver":
        lsmr = pytest.importorskip("scipy.sparse.linalg").lsmr
        interrupted_in(lambda: lsmr(a.as_scipy(np.complex64), samples))
    else:
        work = {"forward": lambda: a @ image, "adjoint": lambda: a.H @ samples, "normal": lambda: a.normal @ image}
        interrupted_in(work[what])


def test_an_operator_works_after_ctrl_c(relative_error):
    k = large_trajectory(1_000_000)
    a = fhd.NDFT(k, LARGE)
    interrupted_in(lambda: a @ np.ones(LARGE, np.complex64))
    small = fhd.NDFT(k[:50], LARGE)
    image = np.zeros(LARGE, np.complex64)
    image[64, 64, 64] = 1
    assert relative_error(small @ image, np.ones(50)) <= 3e-5


def test_ctrl_c_ends_one_sum_of_a_reconstruction():
    k = large_trajectory(1_000_000)
    scan = fhd.Scan(np.ones((1, len(k)), np.complex64), k, LARGE, maps=np.ones((1, *LARGE), np.complex64))

    def interrupt(stage, done, total, residual):
        if stage == "FhD":
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        fhd.recon(scan, transform="direct", normal="explicit", no_gridded_image=True, progress=interrupt)
