"""OUT.json is a BIDS sidecar of OUT.nii.gz; nothing that identifies a patient is in any output but DICOM, and nothing in an anonymous copy."""

import base64
import gzip
import json
import os
import subprocess

import pytest

import mrd_phantom as phantom
from mrd_phantom import line, write

datatype = pytest.importorskip("xsdata.models.datatype")
ismrmrd, xsd = phantom.ismrmrd, phantom.xsd
NAME = "Zaphod-Quine"  # planted wherever a header has room for a text that people type
DATE, TIME, STAMP = "1913-04-05", "03:14:15", 4_711_000


def fhd(folder, *arguments):
    done = subprocess.run([os.environ["FHD_PROGRAM"], *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def plant(header):
    """Fills every field of a patient, a study, a site, and texts that people type."""
    date, time = datatype.XmlDate.from_string(DATE), datatype.XmlTime.from_string(TIME)
    header.subjectInformation = xsd.subjectInformationType(
        patientName=NAME, patientID=NAME + "1", patientBirthdate=date, patientGender="F", patientWeight_kg=61)
    header.studyInformation = xsd.studyInformationType(
        studyDate=date, studyTime=time, studyID=NAME + "2", accessionNumber=471_147, referringPhysicianName=NAME + "3",
        studyDescription=NAME + "4", studyInstanceUID="1.2." + NAME, bodyPartExamined="HEAD")
    header.measurementInformation = xsd.measurementInformationType(
        measurementID=NAME + "5", seriesDate=date, seriesTime=time, patientPosition=xsd.patientPositionType.HFS,
        seriesDescription=NAME + "6", seriesInstanceUIDRoot="1.3." + NAME, frameOfReferenceUID="1.4." + NAME)
    header.acquisitionSystemInformation = xsd.acquisitionSystemInformationType(
        systemVendor="SIEMENS", systemModel="Prisma", systemFieldStrength_T=2.89, receiverChannels=1,
        institutionName=NAME + "7", stationName=NAME + "8", deviceID=NAME + "9", deviceSerialNumber=NAME + "11")
    header.sequenceParameters = xsd.sequenceParametersType(TE=[3.0], TR=[250.0], flipAngle_deg=[15.0], sequence_type="Flash")
    header.userParameters = xsd.userParametersType(
        userParameterString=[xsd.userParameterStringType(name="tester", value=NAME + "10")],
        userParameterLong=[xsd.userParameterLongType(name="echoes", value=3)],
        userParameterBase64=[xsd.userParameterBase64Type(name="protocol", value=base64.b64encode(NAME.encode()))])


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sidecar")
    readouts = [line(24, step) | {"repetition": r} for r in range(2) for step in range(24)]
    write(folder / "scan.h5", 24, readouts, edit=plant, first_stamp=STAMP)
    return folder


def test_the_report_is_a_sidecar_of_the_image_by_the_schema_of_bids(scan):
    jsonschema, schema = pytest.importorskip("jsonschema"), pytest.importorskip("bidsschematools.schema")
    fhd(scan, "recon", "scan.h5", "-o", "sub-01_bold", "--force")
    sidecar = json.loads((scan / "sub-01_bold.json").read_text())
    expected = {"Manufacturer": "SIEMENS", "ManufacturersModelName": "Prisma", "MagneticFieldStrength": 2.89, "EchoTime": 0.003,
                "RepetitionTimeExcitation": 0.25, "FlipAngle": 15, "PulseSequenceType": "Flash", "MatrixSize": [24, 24, 1],
                "Units": "arbitrary", "ConversionSoftware": "fhd", "ReconMethodName": "least squares, identity"}
    assert {name: sidecar.get(name) for name in expected} == expected
    metadata = schema.load_schema().objects.metadata
    fields = [name for name in sidecar if name[0].isupper()]
    unknown = {name for name in fields if name not in metadata}
    assert unknown == {"ConversionSoftware", "ConversionSoftwareVersion"}  # of dcm2niix, which most sidecars come from
    for name in set(fields) - unknown:
        rule = metadata[name].to_dict() if hasattr(metadata[name], "to_dict") else dict(metadata[name])
        jsonschema.validate(sidecar[name], {key: value for key, value in rule.items() if key not in ("name", "display_name")})


def test_echo_times_of_contrasts_are_a_list_and_unknown_fields_are_absent(tmp_path):
    readouts = [line(24, step) | {"contrast": c} for c in range(3) for step in range(24)]
    write(tmp_path / "scan.h5", 24, readouts, times_ms=[2, 4.5, 7])
    fhd(tmp_path, "recon", "scan.h5", "-o", "out", "--method", "fft")
    sidecar = json.loads((tmp_path / "out.json").read_text())
    assert sidecar["EchoTime"] == pytest.approx([0.002, 0.0045, 0.007]) and sidecar["ReconMethodName"] == "FFT"
    assert not {"Manufacturer", "RepetitionTime", "FlipAngle", "MagneticFieldStrength"} & set(sidecar)


def test_equal_work_gives_equal_sidecars(scan):
    texts = []
    for name in ("one", "two"):
        fhd(scan, "recon", "scan.h5", "-o", name, "--force")
        text = (scan / f"{name}.json").read_text()
        texts.append(text[:text.index('"environment": {')])
    assert texts[0] == texts[1]


SECRETS = [secret.encode() for secret in (NAME, NAME.upper(), DATE, DATE.replace("-", ""), TIME, "471147")]


def secrets_in(folder):
    """The files with a secret, as they are and unpacked."""
    found = []
    for path in folder.rglob("*"):
        if path.is_file() and path.name != "scan.h5":
            data = path.read_bytes()
            data += gzip.decompress(data) if path.suffix == ".gz" else b""
            found += [(path.name, secret) for secret in SECRETS if secret in data]
    return found


def test_no_output_names_the_patient(scan, tmp_path):
    (tmp_path / "scan.h5").symlink_to(scan / "scan.h5")
    said = fhd(tmp_path, "recon", "scan.h5", "-o", "out", "--phase", "--ismrmrd-images", "images.h5", "--trace", "trace.json", "--verbose")
    said += fhd(tmp_path, "report", "out.h5", "-o", "page.html")
    said += fhd(tmp_path, "recon", "scan.h5", "-o", "again", "--json-lines", "--repetitions", "0", "--noise-map", "4")
    said += fhd(tmp_path, "info", "scan.h5") + fhd(tmp_path, "check", "scan.h5")
    said += fhd(tmp_path, "batch", "scan.h5", "-o", "batch")
    (tmp_path / "said.txt").write_text(said)
    assert secrets_in(tmp_path) == []


def test_an_anonymous_copy_is_the_same_scan_and_names_nobody(scan, tmp_path):
    (tmp_path / "scan.h5").symlink_to(scan / "scan.h5")
    said = fhd(tmp_path, "convert", "scan.h5", "copy.mrd", "--anonymous")
    left_out = said.split("--anonymous): ")[1]
    for field in ("patientName", "patientID", "patientBirthdate", "studyDate", "studyInstanceUID", "accessionNumber", "institutionName",
                  "seriesDescription", "userParameterString tester", "userParameterBase64 protocol"):
        assert field in left_out
    assert secrets_in(tmp_path) == []
    with ismrmrd.Dataset(str(tmp_path / "copy.mrd"), create_if_needed=False) as copy, \
            ismrmrd.Dataset(str(scan / "scan.h5"), create_if_needed=False) as original:
        header = xsd.CreateFromDocument(copy.read_xml_header())
        assert header.subjectInformation.patientWeight_kg == 61 and header.acquisitionSystemInformation.systemModel == "Prisma"
        assert header.userParameters.userParameterLong[0].value == 3 and header.sequenceParameters.TR == [250.0]
        assert copy.number_of_acquisitions() == original.number_of_acquisitions()
        for number in range(copy.number_of_acquisitions()):
            mine, theirs = copy.read_acquisition(number), original.read_acquisition(number)
            assert (mine.data == theirs.data).all() and mine.idx.repetition == theirs.idx.repetition
            assert mine.acquisition_time_stamp == theirs.acquisition_time_stamp - STAMP
            assert mine.measurement_uid == 0
