#include "io/result/dicom/content.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "io/files/sha256.hpp"
#include "io/result/dicom.hpp"
#include "io/result/dicom/values.hpp"
#include "io/result/nifti.hpp"
#include "io/result/picture.hpp"
#include "recon/error.hpp"

namespace fhd::io::dicom {
namespace {

constexpr auto mr_image_storage = "1.2.840.10008.5.1.4.1.1.4";
constexpr std::size_t short_text = 16, long_text = 64, description_text = 1024;  // characters of SH, LO, ST

/// Returns whether a term of BodyPartExamined (PS3.16, annex L) is of a part that a body has once: Laterality must be absent
/// for it, and present for all others. The list is that of dciodvfy (dicom3tools 1.00).
bool is_unpaired(const std::string& body_part) {
  constexpr std::string_view parts =
      " ABDOMEN ABDOMENPELVIS AORTA BACK BLADDER BRAIN CEREBELLUM CERVIX CHEST CHESTABDPELVIS CIRCLEOFWILLIS "
      "COCCYX COLON "
      "CORONARYARTERY CSPINE CTSPINE DUODENUM ESOPHAGUS FACE GALLBLADDER HEAD HEADNECK HEART ILEUM ILIUM JAW "
      "JEJUNUM "
      "LARYNX LIVER LSPINE LSSPINE MAXILLA MEDIASTINUM MOUTH NECK NECKCHEST NECKCHESTABDOMEN "
      "NECKCHESTABDPELV NOSE "
      "PANCREAS PELVIS PENIS PHARYNX PROSTATE RECTUM SCALP SKULL SPINE SPLEEN SSPINE STERNUM STOMACH THYMUS "
      "THYROID "
      "TLSPINE TONGUE TRACHEA TSPINE URETER URETHRA UTERUS VAGINA VULVA WHOLEBODY ";
  return !body_part.empty() && parts.find(" " + body_part + " ") != std::string_view::npos;
}

/// Joins the values of an attribute.
template <class Values>
std::string decimals(const Values& values) {
  std::string joined;
  for (const double value : values) joined += (joined.empty() ? "" : "\\") + decimal(value);
  return joined;
}

/// Returns unit vectors; `phase` is turned to be at right angles to `read`, from which it differs by rounding.
std::array<double, 6> orientation_of(const Geometry& geometry) {
  const auto& [rx, ry, rz] = geometry.read_direction;
  auto phase = geometry.phase_direction;
  const double read_length = std::hypot(rx, ry, rz);
  std::array<double, 6> made{rx / read_length, ry / read_length, rz / read_length, 0, 0, 0};
  const double along = made[0] * phase[0] + made[1] * phase[1] + made[2] * phase[2];
  for (std::size_t row = 0; row < 3; ++row) phase[row] -= along * made[row];
  const double length = std::hypot(phase[0], phase[1], phase[2]);
  for (std::size_t row = 0; row < 3; ++row) made[3 + row] = phase[row] / length;
  return made;
}

/// Returns 0 where it is not known.
double spacing_mm(const Geometry& geometry, int axis) {
  return geometry.fov_mm[axis] > 0 ? geometry.fov_mm[axis] / geometry.matrix_size[axis] : 0;
}

/// Returns the distance from one slice to the next; 0 where there is no next, or they differ.
double slice_distance_mm(const ImageSeries& series) {
  const auto planes = planes_of(series);
  if (planes.size() < 2 || planes[1].repetition > 0 || !lie_on_affine(series)) return 0;
  const auto first = position_of(series, planes[0]), second = position_of(series, planes[1]);
  return std::hypot(second[0] - first[0], second[1] - first[1], second[2] - first[2]);
}

}  // namespace

std::uint16_t Scaling::stored(float magnitude) const {
  const double nearest = std::nearbyint(double{magnitude} / slope);
  return static_cast<std::uint16_t>(std::min(nearest, double{largest_stored}));
}

Scaling scaling_of(const ImageSeries& series, const std::string& subject) {
  Scaling scaling;
  Sha256 sha(subject);
  float largest = 0;
  for (std::size_t i = 0; i < series.images.size(); ++i) {
    const auto image = series.image(i);
    std::vector<float> magnitudes;
    magnitudes.reserve(static_cast<std::size_t>(image->values.size()));
    for (const auto value : image->values) {
      magnitudes.push_back(abs(value));
      if (!std::isfinite(magnitudes.back()))
        throw Error(subject, "an image of finite numbers", fmt::format("NaN or infinity in image {}", i + 1));
      largest = std::max(largest, magnitudes.back());
    }
    sha.add(magnitudes.data(), magnitudes.size() * sizeof(float));
    scaling.white = std::max(scaling.white, quantile(std::move(magnitudes), white_quantile));
  }
  scaling.digest = sha.hex();
  if (!(largest > 0)) {  // an image of zeros is one as well
    scaling.slope_text = "1", scaling.slope = 1, scaling.white = 1;
    return scaling;
  }
  if (!(scaling.white > 0)) scaling.white = largest;
  // The text is rounded: upwards, so that the largest magnitude has a number.
  for (double upwards = 1; scaling.slope * Scaling::largest_stored < largest; upwards += 1e-10) {
    scaling.slope_text = decimal(upwards * largest / Scaling::largest_stored);
    scaling.slope = std::stod(scaling.slope_text);
  }
  return scaling;
}

std::vector<Plane> planes_of(const ImageSeries& series) {
  std::vector<Plane> planes;
  for (std::size_t i = 0; i < series.images.size(); ++i) {
    const auto index = static_cast<std::int64_t>(i), repetition = index / series.slice_count,
               slice = index % series.slice_count;
    const std::int64_t depth = series.images[i].geometry.matrix_size[2];
    for (std::int64_t z = 0; z < depth; ++z) planes.push_back({i, repetition, z, slice * depth + z});
  }
  return planes;
}

std::array<double, 3> position_of(const ImageSeries& series, const Plane& plane) {
  const auto& first = series.images.front().geometry;
  const bool is_stacked = are_stacked(series);
  const auto affine = voxel_to_lps_mm(is_stacked ? first : series.images[plane.image].geometry);
  std::array<double, 3> position{};
  for (std::size_t row = 0; row < 3; ++row)
    position[row] = affine[row][3] + affine[row][2] * static_cast<double>(is_stacked ? plane.place : plane.z);
  return position;
}

Pseudonym pseudonym_of(const std::string& checksum) {
  const auto digits = checksum.substr(std::min(checksum.size(), checksum.find(':') + 1));
  return {"ANON^fhd", "fhd-" + digits.substr(0, 12)};
}

SeriesContent::SeriesContent(const ResultContent& results, const Scaling& scaling)
    : results_(results),
      series_(results.series),
      provenance_(results.provenance),
      acquisition_(results.companions.acquisition),
      settings_(json_line(provenance_.report(0).report.value("settings", nlohmann::ordered_json::object()))),
      series_uid_(uid_of_name("series " + provenance_.input_checksum + " " + scaling.digest + " " +
                              provenance_.program_version + " " + settings_)) {
  add("SpecificCharacterSet", "ISO_IR 192");
  add_patient();
  add_study();
  add_origin();
  add_scanner();
  add_values(scaling);
  add_sequence();
  add_course();
}

void SeriesContent::add_known(const std::string& path, const std::string& value) {
  if (!value.empty()) add(path, value);
}

void SeriesContent::add_known(const std::string& path, double value) {
  if (value > 0) add(path, decimal(value));
}

void SeriesContent::add_patient() {
  const auto& of_scan = acquisition_;
  const auto pseudonym = pseudonym_of(provenance_.input_checksum);
  const auto name = person_name(of_scan.patient_name), id = patient_id(of_scan.patient_id),
             sex = code(of_scan.patient_sex);
  add("PatientName", name.empty() ? pseudonym.name : name);
  add("PatientID", id.empty() ? pseudonym.id : id);
  add("PatientBirthDate", date(of_scan.patient_birth_date));
  add("PatientSex", sex == "M" || sex == "F" || sex == "O" ? sex : "");
  add_known("PatientWeight", of_scan.patient_weight_kg);
  add_known("PatientComments", note_of_pseudonym(of_scan, provenance_.input_checksum));
}

void SeriesContent::add_study() {
  static const std::set<std::string> positions{"HFP", "HFS", "HFDR", "HFDL", "FFDR", "FFDL", "FFP",  "FFS",
                                               "LFP", "LFS", "RFP",  "RFS",  "AFDR", "AFDL", "PFDR", "PFDL"};
  const auto& of_scan = acquisition_;
  const auto uid = [&](const std::string& stated, const char* what) {
    return is_uid(stated) ? stated : uid_of_name(std::string(what) + " " + provenance_.input_checksum);
  };
  add("StudyInstanceUID", uid(of_scan.study_uid, "study"));
  add("StudyID", text(of_scan.study_id, short_text));
  add("StudyDate", date(of_scan.study_date));
  add("StudyTime", time_of_day(of_scan.study_time));
  add_known("StudyDescription", text(of_scan.study_description, long_text));
  add("AccessionNumber", text(of_scan.accession_number, short_text));
  add("ReferringPhysicianName", person_name(of_scan.referring_physician));
  const auto part = code(of_scan.body_part);
  add_known("BodyPartExamined", part);
  if (!is_unpaired(part)) add("Laterality", "");  // left or right is not known
  add_known("InstitutionName", text(of_scan.institution, long_text));
  const auto position = code(of_scan.patient_position);
  add("PatientPosition", positions.contains(position) ? position : "");
  add("FrameOfReferenceUID", uid(of_scan.frame_of_reference_uid, "frame of reference"));
  add("PositionReferenceIndicator", "");
}

void SeriesContent::add_origin() {
  const auto& made_by = results_.made_by;
  const auto& of_scan = acquisition_;
  const auto made = now();
  for (const char* what : {"InstanceCreation", "Content"}) {
    add(std::string(what) + "Date", made.date);
    add(std::string(what) + "Time", made.time);
  }
  add("SOPClassUID", mr_image_storage);
  add("Modality", "MR");
  add("SeriesInstanceUID", series_uid_);
  // Does not collide with the scanner's own series of the study.
  add("SeriesNumber",
      std::to_string(of_scan.first_series_number > 0 ? 100 * of_scan.first_series_number + 1 : 1));
  add_known("SeriesDate", date(of_scan.series_date));
  add_known("SeriesTime", time_of_day(of_scan.series_time));
  const auto what = of_scan.series_description.empty() ? of_scan.protocol : of_scan.series_description;
  add("SeriesDescription", text(what.empty() ? made_by : what + ", " + made_by, long_text));
  add_known("ProtocolName", text(of_scan.protocol, long_text));
  add("ImageType", "DERIVED\\PRIMARY\\M");
  add("DerivationDescription", text(fmt::format("Reconstructed from raw data by {}; scan {}; {}", made_by,
                                                provenance_.input_checksum, settings_),
                                    description_text));
  add("Manufacturer", "fhd");
  add("ManufacturerModelName", "fhd");
  add("SoftwareVersions", text(provenance_.program_version, long_text));
  common_.push_back({fmt::format("({:04x},0010)", private_group), "fhd", "LO"});
  common_.push_back(
      {fmt::format("({:04x},{:04x})", private_group, checksum_element), provenance_.input_checksum, "LT"});
}

void SeriesContent::add_scanner() {
  const auto& of_scan = acquisition_;
  if (of_scan.vendor.empty()) return;
  const std::string scanner = "ContributingEquipmentSequence[0].",
                    purpose = scanner + "PurposeOfReferenceCodeSequence[0].";
  add(purpose + "CodeValue", "109101");
  add(purpose + "CodingSchemeDesignator", "DCM");
  add(purpose + "CodeMeaning", "Acquisition Equipment");
  add(scanner + "Manufacturer", text(of_scan.vendor, long_text));
  add_known(scanner + "ManufacturerModelName", text(of_scan.model, long_text));
  add_known(scanner + "InstitutionName", text(of_scan.institution, long_text));
  add_known(scanner + "StationName", text(of_scan.station, short_text));
}

void SeriesContent::add_values(const Scaling& scaling) {
  const auto& n = series_.images.front().geometry.matrix_size;
  add("SamplesPerPixel", "1");
  add("PhotometricInterpretation", "MONOCHROME2");
  add("Rows", std::to_string(n[1]));
  add("Columns", std::to_string(n[0]));
  add("BitsAllocated", "16");
  add("BitsStored", "16");
  add("HighBit", "15");
  add("PixelRepresentation", "0");
  add("RescaleIntercept", "0");
  add("RescaleSlope", scaling.slope_text);
  add("RescaleType", "US");  // unspecified
  add("WindowCenter", decimal(scaling.white / 2.0));
  add("WindowWidth", decimal(scaling.white));
  add("VOILUTFunction", "LINEAR_EXACT");
  add("BurnedInAnnotation", "NO");
  add("LossyImageCompression", "00");
}

void SeriesContent::add_sequence() {
  const auto& of_scan = acquisition_;
  const bool is_volume = series_.images.front().geometry.matrix_size[2] > 1;
  add("ScanningSequence", "RM");  // a research mode: headers do not say which of DICOM's
  add("SequenceVariant", "NONE");
  add("ScanOptions", "");
  add("MRAcquisitionType", is_volume ? "3D" : "2D");
  add_known("SequenceName", text(of_scan.sequence, short_text));
  add("RepetitionTime", of_scan.excitation_time_s > 0 ? decimal(of_scan.excitation_time_s * 1e3) : "");
  add("EchoTrainLength", "");
  add_known("FlipAngle", of_scan.flip_angle_deg);
  add_known("MagneticFieldStrength", of_scan.field_strength_t);
  if (of_scan.resonance_frequency_hz > 0) {
    add("ImagingFrequency", decimal(of_scan.resonance_frequency_hz * 1e-6));
    add("ImagedNucleus", "1H");
  }
  const double distance = slice_distance_mm(series_);
  add_known("SpacingBetweenSlices", distance);
}

/// Adds the temporal positions; repetitions that differ in contrast or set alone have the same one.
void SeriesContent::add_course() {
  std::map<std::pair<int, int>, std::int64_t> times;
  for (std::int64_t i = 0; i < series_.repetition_count; ++i) {
    const auto counted = provenance_.counters_of_repetition(static_cast<std::size_t>(i));
    const auto [time, is_new] = times.try_emplace({counted.repetition, counted.phase}, times.size() + 1);
    temporal_positions_.push_back(time->second);
  }
  if (times.size() < 2) return temporal_positions_.clear();
  add("NumberOfTemporalPositions", std::to_string(times.size()));
  add_known("TemporalResolution", provenance_.repetition_time_s * 1e3);
}

/// Adds when a repetition was measured, if the scan states it.
void SeriesContent::add_time(std::int64_t repetition, Elements& elements) const {
  const auto day = date(acquisition_.series_date), time = time_of_day(acquisition_.series_time);
  const bool are_bins = provenance_.frames && !provenance_.frames->gating.empty();
  if (day.empty() || time.empty() || are_bins) return;
  const auto& numbers = provenance_.repetitions;
  const auto number = provenance_.repetition_number(static_cast<std::size_t>(repetition));
  const std::int64_t step = numbers.size() < 2 ? 1 : numbers[1] - numbers[0];
  const double each_s = provenance_.repetition_time_s / static_cast<double>(step);
  if (number > 0 && !(each_s > 0)) return;
  const auto found = later(day, time, static_cast<double>(number) * each_s);
  elements.push_back({"AcquisitionDate", found.date});
  elements.push_back({"AcquisitionTime", found.time});
}

Elements SeriesContent::of_plane(const Plane& plane, std::size_t number) const {
  const auto& geometry = series_.images[plane.image].geometry;
  const auto repetition = static_cast<std::size_t>(plane.repetition);
  const auto position = position_of(series_, plane);
  const auto orientation = orientation_of(geometry);
  Elements elements{{"SOPInstanceUID", uid_of_name(series_uid_ + " " + std::to_string(number))},
                    {"InstanceNumber", std::to_string(number)},
                    {"ImagePositionPatient", decimals(position)},
                    {"ImageOrientationPatient", decimals(orientation)},
                    {"PixelSpacing", decimals(std::array{spacing_mm(geometry, 1), spacing_mm(geometry, 0)})}};
  const double thickness = spacing_mm(geometry, 2);
  elements.push_back({"SliceThickness", thickness > 0 ? decimal(thickness) : ""});
  const auto& o = orientation;
  const std::array normal{o[1] * o[5] - o[2] * o[4], o[2] * o[3] - o[0] * o[5], o[0] * o[4] - o[1] * o[3]};
  elements.push_back({"SliceLocation",
                      decimal(normal[0] * position[0] + normal[1] * position[1] + normal[2] * position[2])});
  elements.push_back({"AcquisitionNumber", std::to_string(provenance_.repetition_number(repetition) + 1)});
  if (!temporal_positions_.empty())
    elements.push_back({"TemporalPositionIdentifier", std::to_string(temporal_positions_[repetition])});
  const auto& echoes = results_.companions.echo_times_s;
  const auto contrast = static_cast<std::size_t>(provenance_.counters_of_repetition(repetition).contrast);
  const bool is_counted = !provenance_.repetition_counters.empty();
  const bool is_known = contrast < echoes.size() && (is_counted || echoes.size() == 1);
  elements.push_back({"EchoTime", is_known ? decimal(echoes[contrast] * 1e3) : ""});
  if (is_known) elements.push_back({"EchoNumbers", std::to_string(contrast + 1)});
  add_time(plane.repetition, elements);
  return elements;
}

}  // namespace fhd::io::dicom
