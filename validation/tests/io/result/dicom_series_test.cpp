// A DICOM series, read back by DCMTK: where its voxels lie, what its numbers are, what it says of its origin.
#include <gtest/gtest.h>

#if FHD_HAS_DICOM
#include <dcmtk/config/osconfig.h>
// after osconfig.h
#include <dcmtk/dcmdata/dctk.h>

#include <cstdlib>
#include <set>

#include "io/result/dicom.hpp"
#include "io/result/nifti.hpp"
#include "validation/tests/io/io_scans.hpp"

namespace fhd::io {
namespace {

namespace fs = std::filesystem;

/// A file of a series.
class DicomFile {
 public:
  explicit DicomFile(const std::string& path) { EXPECT_TRUE(file_.loadFile(path.c_str()).good()) << path; }
  std::string text(const DcmTagKey& tag) {
    OFString value;
    file_.getDataset()->findAndGetOFStringArray(tag, value);
    return value.c_str();
  }
  bool has(const DcmTagKey& tag) { return file_.getDataset()->tagExists(tag); }
  double number(const DcmTagKey& tag, unsigned long index = 0) {
    OFString value;
    EXPECT_TRUE(file_.getDataset()->findAndGetOFString(tag, value, index).good()) << tag;
    return value.empty() ? NAN : std::strtod(value.c_str(), nullptr);
  }
  std::vector<Uint16> pixels() {
    const Uint16* values = nullptr;
    unsigned long count = 0;
    EXPECT_TRUE(file_.getDataset()->findAndGetUint16Array(DCM_PixelData, values, &count).good());
    return {values, values + count};
  }
  /// LPS, mm, of the voxel in this column and row (DICOM PS3.3, C.7.6.2.1.1).
  std::array<double, 3> place(double column, double row) {
    std::array<double, 3> at{};
    for (unsigned long i = 0; i < 3; ++i)
      at[i] = number(DCM_ImagePositionPatient, i) +
              number(DCM_ImageOrientationPatient, i) * number(DCM_PixelSpacing, 1) * column +
              number(DCM_ImageOrientationPatient, 3 + i) * number(DCM_PixelSpacing, 0) * row;
    return at;
  }
  DcmDataset& dataset() { return *file_.getDataset(); }

 private:
  DcmFileFormat file_;
};

Geometry oblique(std::array<int, 3> matrix_size) {
  const double c = std::cos(0.4), s = std::sin(0.4), e = std::cos(0.7), f = std::sin(0.7);
  Geometry geometry;
  geometry.matrix_size = matrix_size;
  geometry.fov_mm = {90, 120, 15};
  geometry.position_mm = {17, -23, 51};
  geometry.read_direction = {c, s, 0};
  geometry.phase_direction = {-s * e, c * e, f};
  geometry.slice_direction = {s * f, -c * f, e};
  return geometry;
}

/// Slices 7 mm apart along the slice direction.
ImageSeries random_series(const Geometry& geometry, std::int64_t repetitions, std::int64_t slices) {
  std::mt19937 generator(5);
  std::normal_distribution<float> normal;
  ImageSeries series{repetitions, slices, {}};
  for (std::int64_t i = 0; i < repetitions * slices; ++i) {
    Image image{Array<Complex<float>>(geometry.image_shape()), geometry};
    for (std::size_t row = 0; row < 3; ++row)
      image.geometry.position_mm[row] +=
          7.0 * static_cast<double>(i % slices) * geometry.slice_direction[row];
    for (auto& value : image.values) value = {normal(generator), normal(generator)};
    series.images.push_back(std::move(image));
  }
  return series;
}

Provenance provenance_of(std::size_t images) {
  Provenance provenance{"1.2.3",
                        "fhd recon scan.h5",
                        "scan.h5",
                        "sha256-4MiB-blocks:" + std::string(64, 'a'),
                        "2024-01-01T00:00:00Z",
                        {},
                        std::vector<Report>(images)};
  return provenance;
}

class DicomSeries : public FolderTest {
 protected:
  std::vector<DicomFile> written(const ImageSeries& series, const Provenance& provenance,
                                 const CompanionResults& companions = {}) const {
    write_results({path("out"), {{"dicom", path("series")}}}, series, provenance, companions);
    return files();
  }
  std::vector<DicomFile> written(const ImageSeries& series) const {
    return written(series, provenance_of(series.images.size()));
  }
  std::vector<std::string> names() const {
    std::set<std::string> sorted;
    for (const auto& entry : fs::directory_iterator(path("series"))) sorted.insert(entry.path());
    return {sorted.begin(), sorted.end()};
  }
  std::vector<DicomFile> files() const {
    std::vector<DicomFile> all;
    for (const auto& name : names()) all.emplace_back(name);
    return all;
  }
  /// Every voxel of every file against the affine of the NIfTI file.
  static void expect_places(const ImageSeries& series, std::vector<DicomFile>& all) {
    const auto affine = affine_of(stacks_of(series).front());
    const auto [nx, ny, nz] = series.images.front().geometry.matrix_size;
    const auto planes = static_cast<std::size_t>(nz * series.slice_count);
    ASSERT_EQ(all.size(), planes * static_cast<std::size_t>(series.repetition_count));
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(all[i].number(DCM_InstanceNumber), static_cast<double>(i + 1));
      EXPECT_EQ(all[i].number(DCM_Rows), ny);
      EXPECT_EQ(all[i].number(DCM_Columns), nx);
      for (const auto& [x, y] : {std::pair{0, 0}, {nx - 1, 0}, {0, ny - 1}, {nx - 1, ny - 1}}) {
        const auto found = all[i].place(x, y);
        for (std::size_t row = 0; row < 3; ++row) {
          const double ras = affine[row][0] * x + affine[row][1] * y +
                             affine[row][2] * static_cast<double>(i % planes) + affine[row][3];
          // Numbers of 16 characters: positions of 100 mm to 1e-11, cosines to 1e-13 and spacings of 15 mm to
          // 1e-13 relative, over 120 mm.
          EXPECT_NEAR(found[row], row < 2 ? -ras : ras, 1e-9) << i << ' ' << x << ' ' << y;
        }
      }
    }
  }
  static void expect_values(const ImageSeries& series, std::vector<DicomFile>& all) {
    const auto& shape = series.images.front().geometry.image_shape();
    const auto per_plane = shape[1] * shape[2];
    const double slope = all.front().number(DCM_RescaleSlope);
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(all[i].number(DCM_RescaleSlope), slope) << "one for the series";
      EXPECT_EQ(all[i].number(DCM_RescaleIntercept), 0);
      const auto pixels = all[i].pixels();
      ASSERT_EQ(static_cast<std::int64_t>(pixels.size()), per_plane);
      const auto& image = series.images[i / static_cast<std::size_t>(shape[0])];
      const auto first = static_cast<std::int64_t>(i) % shape[0] * per_plane;
      for (std::int64_t v = 0; v < per_plane; ++v) {
        const double magnitude = abs(image.values[first + v]);
        // Half a step, and roundings in double precision.
        EXPECT_LE(std::abs(slope * pixels[static_cast<std::size_t>(v)] - magnitude),
                  slope / 2 + 1e-15 * magnitude);
      }
    }
  }
};

TEST_F(DicomSeries, voxels_lie_where_the_nifti_file_says) {
  const auto volume = random_series(oblique({9, 6, 5}), 1, 1),
             slices = random_series(oblique({8, 7, 1}), 2, 3),
             slice = random_series(oblique({5, 4, 1}), 1, 1),
             volumes = random_series(oblique({4, 3, 2}), 3, 1);
  for (const auto* series : {&volume, &slices, &slice, &volumes}) {
    auto all = written(*series);
    expect_places(*series, all);
    expect_values(*series, all);
  }
}

TEST_F(DicomSeries, slices_without_positions_of_their_own_are_stacked_as_in_the_nifti_file) {
  auto series = random_series(oblique({8, 7, 1}), 2, 3);
  for (auto& image : series.images) image.geometry.position_mm = {1, 2, 3};
  auto all = written(series);
  expect_places(series, all);
  EXPECT_NEAR(all.front().number(DCM_SpacingBetweenSlices), 15, 1e-9);
}

TEST_F(DicomSeries, slices_at_uneven_distances_keep_their_own_places) {
  auto series = random_series(oblique({8, 7, 1}), 1, 3);
  for (std::size_t row = 0; row < 3; ++row)
    series.images[1].geometry.position_mm[row] += 3 * series.images[1].geometry.slice_direction[row];
  auto all = written(series);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto middle = all[i].place(8 / 2, 7 / 2);
    for (std::size_t row = 0; row < 3; ++row)
      EXPECT_NEAR(middle[row], series.images[i].geometry.position_mm[row], 1e-9);
  }
  EXPECT_FALSE(all.front().has(DCM_SpacingBetweenSlices)) << "there is no one number";
  EXPECT_NEAR(all[1].number(DCM_SliceLocation) - all[0].number(DCM_SliceLocation), 10, 1e-9);
}

TEST_F(DicomSeries, directions_that_files_round_are_made_unit_vectors_at_right_angles) {
  auto geometry = oblique({8, 7, 1});
  for (auto* direction : {&geometry.read_direction, &geometry.phase_direction, &geometry.slice_direction})
    for (double& value : *direction) value = std::round(value * 1e4) * 1e-4;
  auto all = written(random_series(geometry, 1, 1));
  double product = 0, read = 0, phase = 0;
  for (unsigned long i = 0; i < 3; ++i) {
    const double r = all[0].number(DCM_ImageOrientationPatient, i),
                 p = all[0].number(DCM_ImageOrientationPatient, 3 + i);
    product += r * p, read += r * r, phase += p * p;
  }
  // 13 digits of each of six numbers.
  EXPECT_NEAR(product, 0, 1e-12);
  EXPECT_NEAR(read, 1, 1e-12);
  EXPECT_NEAR(phase, 1, 1e-12);
}

TEST_F(DicomSeries, repetitions_and_contrasts_are_told_apart) {
  const auto series = random_series(oblique({4, 4, 1}), 6, 2);
  auto provenance = provenance_of(12);
  for (int i = 0; i < 6; ++i) provenance.repetition_counters.push_back({i / 2, i % 2, 0, 0});
  provenance.repetitions = {2, 3, 4, 5, 6, 7};
  CompanionResults request;
  request.echo_times_s = {0.0023, 0.0069};
  auto all = written(series, provenance, request);
  for (std::size_t i = 0; i < 12; ++i) {
    const auto repetition = i / 2;
    EXPECT_EQ(all[i].number(DCM_TemporalPositionIdentifier), static_cast<double>(repetition / 2 + 1));
    EXPECT_EQ(all[i].number(DCM_NumberOfTemporalPositions), 3);
    EXPECT_EQ(all[i].number(DCM_EchoNumbers), static_cast<double>(repetition % 2 + 1));
    EXPECT_DOUBLE_EQ(all[i].number(DCM_EchoTime), repetition % 2 == 0 ? 2.3 : 6.9);
    EXPECT_EQ(all[i].number(DCM_AcquisitionNumber), static_cast<double>(repetition + 3))
        << "as the scan counts";
    EXPECT_FALSE(all[i].has(DCM_TemporalResolution)) << "not known";
  }
}

TEST_F(DicomSeries, says_when_a_repetition_was_measured_where_that_is_known) {
  const auto series = random_series(oblique({4, 4, 1}), 3, 1);
  auto provenance = provenance_of(3);
  provenance.repetitions = {2, 4, 6};
  provenance.repetition_time_s = 3;
  CompanionResults request;
  request.acquisition.series_date = "2024-12-31", request.acquisition.series_time = "23:59:53.5";
  auto all = written(series, provenance, request);
  EXPECT_EQ(all[0].text(DCM_AcquisitionDate) + all[0].text(DCM_AcquisitionTime), "20241231235956.500000");
  EXPECT_EQ(all[1].text(DCM_AcquisitionDate) + all[1].text(DCM_AcquisitionTime), "20241231235959.500000");
  EXPECT_EQ(all[2].text(DCM_AcquisitionDate) + all[2].text(DCM_AcquisitionTime), "20250101000002.500000");
  EXPECT_EQ(all[0].number(DCM_TemporalResolution), 3000);
  provenance.repetition_time_s = 0;
  for (auto& file : written(series, provenance, request)) EXPECT_FALSE(file.has(DCM_AcquisitionTime));
  provenance.repetitions.clear();
  EXPECT_EQ(written(series, provenance, request).front().text(DCM_AcquisitionTime), "235953.500000");
  provenance.frames.emplace().gating.push_back({"breath", {0}, {0}});
  provenance.frames->first_readouts = {0, 1, 2};
  for (auto& file : written(series, provenance, request))
    EXPECT_FALSE(file.has(DCM_AcquisitionTime)) << "bins";
}

AcquisitionInfo full_header() {
  AcquisitionInfo info;
  info.patient_name =
      "M\xc3\xbcller\\Stra\xc3\x9f"
      "e^J\xc3\xb6rg=\x1b[0m",
  info.patient_id = "id\\17\n";
  info.patient_birth_date = "1970-01-31", info.patient_sex = "m", info.patient_weight_kg = 71.5;
  info.study_uid = "1.2.3.4", info.frame_of_reference_uid = "1.2.3.5",
  info.study_id = "a very long study identifier";
  info.study_date = "2024-05-06", info.study_time = "07:08:09", info.study_description = "\xe8\x84\xb3";
  info.accession_number = "12", info.referring_physician = "Who^Doctor", info.body_part = "brain";
  info.series_description = "spiral", info.patient_position = "hfs", info.protocol = "my protocol";
  info.vendor = "SIEMENS", info.model = "Prisma", info.institution = "H\xc3\xb4pital",
  info.station = "A STATION WITH A LONG NAME";
  info.field_strength_t = 2.89, info.resonance_frequency_hz = 123.2e6, info.sequence = "Flash";
  info.excitation_time_s = 0.004, info.flip_angle_deg = 12;
  info.first_series_number = 7;
  return info;
}

TEST_F(DicomSeries, says_what_the_scan_says) {
  CompanionResults request;
  request.acquisition = full_header();
  const auto series = random_series(oblique({4, 4, 1}), 1, 1);
  auto file = std::move(written(series, provenance_of(1), request).front());
  const std::pair<DcmTagKey, std::string> expected[]{
      {DCM_SpecificCharacterSet, "ISO_IR 192"},
      {DCM_PatientName,
       "M\xc3\xbcller/Stra\xc3\x9f"
       "e^J\xc3\xb6rg  [0m"},
      {DCM_PatientID, "id/17"},
      {DCM_PatientBirthDate, "19700131"},
      {DCM_PatientSex, "M"},
      {DCM_PatientWeight, "71.5"},
      {DCM_StudyInstanceUID, "1.2.3.4"},
      {DCM_FrameOfReferenceUID, "1.2.3.5"},
      {DCM_StudyID, "a very long stud"},
      {DCM_StudyDate, "20240506"},
      {DCM_StudyTime, "070809"},
      {DCM_StudyDescription, "\xe8\x84\xb3"},
      {DCM_AccessionNumber, "12"},
      {DCM_ReferringPhysicianName, "Who^Doctor"},
      {DCM_BodyPartExamined, "BRAIN"},
      {DCM_SeriesDescription, "spiral, fhd 1.2.3"},
      {DCM_SeriesNumber, "701"},
      {DCM_ProtocolName, "my protocol"},
      {DCM_PatientPosition, "HFS"},
      {DCM_MagneticFieldStrength, "2.89"},
      {DCM_ImagingFrequency, "123.2"},
      {DCM_SequenceName, "Flash"},
      {DCM_RepetitionTime, "4"},
      {DCM_FlipAngle, "12"},
      {DCM_Manufacturer, "fhd"},
      {DCM_SoftwareVersions, "1.2.3"},
      {DCM_ImageType, "DERIVED\\PRIMARY\\M"},
      {DCM_DerivationDescription,
       "Reconstructed from raw data by fhd 1.2.3; scan sha256-4MiB-blocks:" + std::string(64, 'a') + "; {}"},
      {DCM_VOILUTFunction, "LINEAR_EXACT"}};
  for (const auto& [tag, value] : expected) EXPECT_EQ(file.text(tag), value) << tag;
  EXPECT_FALSE(file.has(DCM_PatientComments));
  OFString vendor;
  EXPECT_TRUE(file.dataset().findAndGetOFString(DCM_Manufacturer, vendor, 0, OFTrue).good());
  DcmItem* scanner = nullptr;
  ASSERT_TRUE(file.dataset().findAndGetSequenceItem(DCM_ContributingEquipmentSequence, scanner).good());
  ASSERT_TRUE(scanner->findAndGetOFString(DCM_Manufacturer, vendor).good());
  EXPECT_EQ(std::string(vendor.c_str()), "SIEMENS");
}

TEST_F(DicomSeries, stands_in_for_what_the_scan_does_not_say) {
  auto file = std::move(written(random_series(oblique({4, 4, 1}), 1, 1)).front());
  EXPECT_EQ(file.text(DCM_PatientName), "ANON^fhd");
  EXPECT_EQ(file.text(DCM_PatientID), "fhd-aaaaaaaaaaaa");
  EXPECT_EQ(file.text(DCM_PatientComments),
            "the scan states no name and ID of the patient: ANON^fhd, fhd-aaaaaaaaaaaa stands for it");
  for (const auto& tag :
       {DCM_StudyInstanceUID, DCM_FrameOfReferenceUID, DCM_SeriesInstanceUID, DCM_SOPInstanceUID})
    EXPECT_TRUE(file.text(tag).starts_with("2.25.")) << tag;
  for (const auto& tag : {DCM_EchoTime, DCM_RepetitionTime, DCM_StudyDate, DCM_PatientPosition}) {
    EXPECT_TRUE(file.has(tag)) << tag;
    EXPECT_EQ(file.text(tag), "") << tag;
  }
  for (const auto& tag : {DCM_MagneticFieldStrength, DCM_ContributingEquipmentSequence, DCM_FlipAngle})
    EXPECT_FALSE(file.has(tag)) << tag;
  AcquisitionInfo hostile;
  hostile.study_uid = "1.2.3\\4", hostile.patient_position = "standing", hostile.patient_sex = "?";
  hostile.study_date = "yesterday", hostile.body_part = "head & neck";
  CompanionResults of_hostile;
  of_hostile.acquisition = hostile;
  auto other =
      std::move(written(random_series(oblique({4, 4, 1}), 1, 1), provenance_of(1), of_hostile).front());
  EXPECT_EQ(other.text(DCM_StudyInstanceUID), file.text(DCM_StudyInstanceUID));
  for (const auto& tag : {DCM_PatientSex, DCM_StudyDate, DCM_PatientPosition})
    EXPECT_EQ(other.text(tag), "") << tag;
}

TEST_F(DicomSeries, the_same_result_has_the_same_uids_and_another_has_others) {
  auto series = random_series(oblique({4, 4, 2}), 2, 1);
  const auto uids = [&](const Provenance& provenance) {
    std::vector<std::string> found;
    for (auto& file : written(series, provenance)) {
      found.push_back(file.text(DCM_SOPInstanceUID));
      EXPECT_EQ(file.text(DCM_StudyInstanceUID), files().front().text(DCM_StudyInstanceUID));
    }
    EXPECT_EQ(std::set<std::string>(found.begin(), found.end()).size(), 4u) << "one each";
    return found;
  };
  const auto provenance = provenance_of(2);
  const auto first = uids(provenance);
  EXPECT_EQ(first, uids(provenance));
  auto other = provenance;
  other.command_line += " -o another", other.input_path = "there/scan.h5";
  EXPECT_EQ(first, uids(other)) << "names do not matter";
  other.reports[0].settings = {{"lambda", "1"}};
  EXPECT_NE(first, uids(other));
  series.images[1].values[5] = {7, 0};
  EXPECT_NE(first, uids(provenance)) << "other values";
}

TEST_F(DicomSeries, is_free_of_errors_to_dciodvfy) {
  if (std::system("command -v dciodvfy > /dev/null 2>&1") != 0) GTEST_SKIP() << "no dciodvfy (dicom3tools)";
  const auto volume = random_series(oblique({9, 6, 5}), 1, 1),
             slices = random_series(oblique({8, 7, 1}), 2, 3);
  CompanionResults bare, full;
  full.acquisition = full_header(), full.echo_times_s = {0.002};
  auto paired = full;
  paired.acquisition.body_part = "knee";
  full.acquisition.series_date = "2024-05-06", full.acquisition.series_time = "07:08:09";
  for (const auto* request : {&bare, &full, &paired})
    for (const auto* series : {&volume, &slices}) {
      auto provenance = provenance_of(series->images.size());
      provenance.repetition_time_s = 2;
      written(*series, provenance, *request);
      for (const auto& name : names()) {
        const auto command = "dciodvfy '" + name + "' > '" + path("said") + "' 2>&1";
        EXPECT_EQ(std::system(command.c_str()), 0) << name;
        const auto said = bytes_of(path("said"));
        EXPECT_CONTAINS(said, "MRImage");
        EXPECT_FALSE(contains(said, "Error")) << said;
      }
    }
}

TEST_F(DicomSeries, replaces_an_earlier_one_as_a_whole_and_stays_where_a_new_one_fails) {
  const auto longer = random_series(oblique({4, 4, 3}), 1, 1);
  written(longer);
  EXPECT_EQ(names().size(), 3u);
  EXPECT_EQ(written(random_series(oblique({4, 4, 2}), 1, 1)).size(), 2u)
      << "nothing of the longer series is left";
  auto broken = longer;
  broken.images[0].values[3] = {NAN, 0};
  EXPECT_CONTAINS(error_of([&] { written(broken); }), "NaN or infinity in image 1");
  EXPECT_EQ(names().size(), 2u);
  for (const auto& entry : fs::directory_iterator(folder()))
    EXPECT_FALSE(entry.path().filename().string().starts_with(".fhd")) << entry;
}

TEST_F(DicomSeries, what_came_into_the_folder_meanwhile_is_not_lost) {
  written(random_series(oblique({4, 4, 2}), 1, 1));
  write_text(path("series/notes.txt"), "mine");
  EXPECT_CONTAINS(error_of([&] {
                    written(random_series(oblique({4, 4, 3}), 1, 1));
                  }),
                  "'notes.txt', which fhd did not make");
  EXPECT_EQ(bytes_of(path("series/notes.txt")), "mine");
}

TEST_F(DicomSeries, refuses_geometries_that_dicom_cannot_say) {
  const auto refusal = [](std::int64_t slices, void (*change)(Geometry&)) {
    auto geometry = oblique({4, 4, 1});
    change(geometry);
    return error_of([&] { require_dicom_geometry(geometry, slices, "scan.h5"); });
  };
  EXPECT_EQ(
      refusal(1, [](Geometry& g) { g.fov_mm[1] = 0; }),
      "scan.h5: expected a FOV in mm, for a DICOM series, found none along y; give it with --fov-mm X,Y,Z");
  EXPECT_EQ(refusal(1, [](Geometry& g) { g.fov_mm[2] = 0; }), "") << "a slice of unknown thickness";
  EXPECT_CONTAINS(refusal(2, [](Geometry& g) { g.fov_mm[2] = 0; }), "none along z");
  EXPECT_CONTAINS(refusal(1, [](Geometry& g) { g.phase_direction[0] += 0.01; }), "at right angles");
  EXPECT_CONTAINS(refusal(1, [](Geometry& g) { g.position_mm[0] = NAN; }), "NaN");
}

}  // namespace
}  // namespace fhd::io
#else
TEST(DicomSeries, is_tested_where_fhd_is_built_with_dcmtk) {
  GTEST_SKIP() << "libdcmtk-dev is not installed";
}
#endif
