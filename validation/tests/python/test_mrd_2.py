"""MRD version 2 files of the package mrd-python: the same images as from ISMRMRD."""

import os
import subprocess

import numpy as np
import pytest

mrd = pytest.importorskip("mrd")
h5py = pytest.importorskip("h5py")
ismrmrd = pytest.importorskip("ismrmrd")
pytest.importorskip("scipy")
from mrd_phantom import GOLDEN, line, spoke, write


def run(*arguments, cwd):
    done = subprocess.run(
        [os.environ["FHD_PROGRAM"], *map(str, arguments)], check=False, cwd=cwd, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def image_of(path, folder, *options):
    run("recon", path, "-o", "image", "--force", *options, cwd=folder)
    with h5py.File(folder / "image.h5") as file:
        return file["image"][...]


def header_of(xml):
    """The header of a scan by mrd_phantom.write in version 2."""
    old = ismrmrd.xsd.CreateFromDocument(xml)
    encoding = old.encoding[0]

    def space(of):
        size, fov = of.matrixSize, of.fieldOfView_mm
        return mrd.EncodingSpaceType(
            matrix_size=mrd.MatrixSizeType(x=size.x, y=size.y, z=size.z),
            field_of_view_mm=mrd.FieldOfViewMm(x=fov.x, y=fov.y, z=fov.z),
        )

    limits, step = mrd.EncodingLimitsType(), encoding.encodingLimits.kspace_encoding_step_1
    if step:
        limits.kspace_encoding_step_1 = mrd.LimitType(minimum=step.minimum, maximum=step.maximum, center=step.center)
    return mrd.Header(
        experimental_conditions=mrd.ExperimentalConditionsType(
            h1resonance_frequency_hz=old.experimentalConditions.H1resonanceFrequency_Hz
        ),
        encoding=[
            mrd.EncodingType(
                encoded_space=space(encoding.encodedSpace),
                recon_space=space(encoding.reconSpace),
                encoding_limits=limits,
                trajectory=mrd.Trajectory[encoding.trajectory.name],
            )
        ],
        sequence_parameters=mrd.SequenceParametersType(t_e=[4.5], t_r=[12.5], flip_angle_deg=[30]),
        subject_information=mrd.SubjectInformationType(patient_weight_kg=70, patient_gender=mrd.PatientGender.F),
        user_parameters=mrd.UserParametersType(user_parameter_double=[mrd.UserParameterDoubleType(name="a", value=0.1)]),
    )


def item_of(old):
    idx = {name: getattr(old.idx, name) for name in ("kspace_encode_step_1", "slice", "repetition", "contrast")}
    made = mrd.Acquisition(
        head=mrd.AcquisitionHeader(
            flags=mrd.AcquisitionFlags(old.flags),
            idx=mrd.EncodingCounters(**idx),
            scan_counter=old.scan_counter,
            channel_order=list(range(old.active_channels)),
            center_sample=old.center_sample,
            sample_time_us=old.sample_time_us,
        ),
        data=np.array(old.data),
        trajectory=np.ascontiguousarray(np.array(old.traj).T),
    )
    for name in ("position", "read_dir", "phase_dir", "slice_dir"):
        getattr(made.head, name)[:] = getattr(old, name)[:]
    return mrd.StreamItem.Acquisition(made)


def waveform():
    return mrd.StreamItem.WaveformUint32(mrd.Waveform(data=np.arange(12, dtype=np.uint32).reshape(2, 6)))


def rewritten(path, to):
    """The file `path` as version 2, with a waveform and an image between its readouts."""
    with ismrmrd.Dataset(str(path), "dataset", create_if_needed=False) as old, mrd.BinaryMrdWriter(str(to)) as new:
        items = [item_of(old.read_acquisition(i)) for i in range(old.number_of_acquisitions())]
        items.insert(1, waveform())
        image = mrd.Image(
            head=mrd.ImageHeader(image_type=mrd.ImageType.MAGNITUDE),
            data=np.ones((1, 1, 4, 4), np.float32),
            meta={"a": [mrd.ImageMetaValue.Int64(3)]},
        )
        items.insert(3, mrd.StreamItem.ImageFloat(image))
        new.write_header(header_of(old.read_xml_header()))
        new.write_data(items)
    return to


@pytest.mark.parametrize("kind", ["cartesian", "radial", "slices"])
def test_images_are_those_of_the_same_data_in_ismrmrd(tmp_path, kind):
    n, coils = 32, 4
    if kind == "radial":
        readouts = [spoke(n, i * GOLDEN, i, coils) for i in range(60)]
    else:
        readouts = [line(n, step, coils) | {"slice": s} for s in range(2 if kind == "slices" else 1) for step in range(n)]
    write(tmp_path / "one.h5", n, readouts, trajectory="radial" if kind == "radial" else "cartesian")
    rewritten(tmp_path / "one.h5", tmp_path / "two.mrd")
    options = ["--trajectory-unit", "cycles/fov"] if kind == "radial" else []
    expected = image_of("one.h5", tmp_path, *options)
    np.testing.assert_array_equal(image_of("two.mrd", tmp_path, *options), expected)
    said = run("info", "two.mrd", *options, cwd=tmp_path)
    assert "MRD version 2" in said and "passed over: 1 ImageFloat" in said
    # As ISMRMRD, with a header that its package knows.
    run("convert", "two.mrd", "copy.mrd", *options, cwd=tmp_path)
    with ismrmrd.Dataset(str(tmp_path / "copy.mrd"), "dataset", create_if_needed=False) as file:
        header = ismrmrd.xsd.CreateFromDocument(file.read_xml_header())
        assert file.number_of_acquisitions() == len(readouts)
    assert header.subjectInformation.patientWeight_kg == 70 and header.subjectInformation.patientGender == "F"
    assert header.sequenceParameters.TE == [4.5] and header.sequenceParameters.flipAngle_deg == [30]
    assert header.userParameters.userParameterDouble[0].value == 0.1
    np.testing.assert_array_equal(image_of("copy.mrd", tmp_path), expected)


def test_the_phantom_of_the_package_is_an_image(tmp_path):
    from mrd.tools import phantom

    phantom.generate(str(tmp_path / "phantom.mrd"), 32, 4, 2, 2, 0.01)
    image = np.squeeze(image_of("phantom.mrd", tmp_path))
    assert image.shape == (2, 32, 32) and np.isfinite(image).all()
    true = abs(phantom.simulation.generate_shepp_logan_phantom(32)[0])
    found = abs(image[0])
    found *= (found * true).sum() / (found**2).sum()
    assert np.linalg.norm(found - true) < 0.3 * np.linalg.norm(true)


def test_its_text_format_is_named_with_a_remedy_that_works(tmp_path):
    from mrd.tools import phantom

    phantom.generate(str(tmp_path / "phantom.mrd"), 16, 2, 1, 1, 0.01)
    with (
        mrd.BinaryMrdReader(str(tmp_path / "phantom.mrd")) as reader,
        mrd.NDJsonMrdWriter(str(tmp_path / "text.mrd")) as writer,
    ):
        reader.copy_to(writer)
    done = subprocess.run(
        [os.environ["FHD_PROGRAM"], "info", "text.mrd"], check=False, cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode != 0 and "reader.copy_to(mrd.BinaryMrdWriter" in done.stderr
    with mrd.NDJsonMrdReader(str(tmp_path / "text.mrd")) as reader, mrd.BinaryMrdWriter(str(tmp_path / "new.mrd")) as writer:
        reader.copy_to(writer)
    np.testing.assert_array_equal(image_of("new.mrd", tmp_path), image_of("phantom.mrd", tmp_path))
