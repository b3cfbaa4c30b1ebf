#include "io/result/dicom/content.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "io/files/sha256.hpp"
#include "io/result/dicom.hpp"
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
      "COCCYX "
      "COLON CORONARYARTERY CSPINE CTSPINE DUODENUM ESOPHAGUS FACE GALLBLADDER HEAD HEADNECK HEART ILEUM "
      "ILIUM JAW "
      "JEJUNUM LARYNX LIVER LSPINE LSSPINE MAXILLA MEDIASTINUM MOUTH NECK NECKCHEST NECKCHESTABDOMEN "
      "NECKCHESTABDPELV NOSE PANCREAS PELVIS PENIS PHARYNX PROSTATE RECTUM SCALP SKULL SPINE SPLEEN SSPINE "
      "STERNUM "
      "STOMACH THYMUS THYROID TLSPINE TONGUE TRACHEA TSPINE URETER URETHRA UTERUS VAGINA VULVA WHOLEBODY ";
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

/// Returns the distance from one plane to the next; 0 where there is no next, or distances differ.
double slice_distance_mm(const ImageSeries& series) {
  double distance_mm = 0;
  for (const auto& stack : stacks_of(series)) {
    const auto& n = series.images[stack.slices.front()].geometry.matrix_size;
    const auto& affine = stack.voxel_to_lps_mm;
    const double step = std::hypot(affine[0][2], affine[1][2], affine[2][2]);
    const bool has_next = n[2] > 1 || stack.slices.size() > 1;
    const bool differs = distance_mm > 0 && std::abs(step - distance_mm) > 0.01 * distance_mm;
    if (!has_next || !stack.is_even() || differs) return 0;
    distance_mm = step;
  }
  return distance_mm;
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
  const auto stacks = stacks_of(series);
  for (std::int64_t repetition = 0; repetition < series.repetition_count; ++repetition)
    for (const auto& stack : stacks)
      for (const auto slice : stack.slices) {
        const auto i = static_cast<std::size_t>(repetition * series.slice_count) + slice;
        const std::int64_t depth = series.images[i].geometry.matrix_size[2];
        for (std::int64_t z = 0; z < depth; ++z) planes.push_back({i, repetition, z});
      }
  return planes;
}

Pseudonym pseudonym_of(const std::string& checksum) {
  const auto digits = checksum.substr(std::min(checksum.size(), checksum.find(':') + 1));
  return {"ANON^fhd", "fhd-" + digits.substr(0, 12)};
}

namespace {

/// Returns a number; nothing where it is not known.
std::string positive(double value) { return value > 0 ? decimal(value) : ""; }

/// Adds attributes that are always there, and others where the scan states them.
void add(Elements& to, const Elements& always, const Elements& if_known) {
  to.insert(to.end(), always.begin(), always.end());
  std::copy_if(if_known.begin(), if_known.end(), std::back_inserter(to),
               [](const Element& element) { return !element.value.empty(); });
}

void add_patient(Elements& to, const AcquisitionInfo& of_scan, const std::string& checksum) {
  const auto pseudonym = pseudonym_of(checksum);
  const auto name = person_name(of_scan.patient_name), id = patient_id(of_scan.patient_id),
             sex = code(of_scan.patient_sex);
  add(to,
      {{"SpecificCharacterSet", "ISO_IR 192"},  // first, as the texts are checked by it
       {"PatientName", name.empty() ? pseudonym.name : name},
       {"PatientID", id.empty() ? pseudonym.id : id},
       {"PatientBirthDate", date(of_scan.patient_birth_date)},
       {"PatientSex", sex == "M" || sex == "F" || sex == "O" ? sex : ""}},
      {{"PatientWeight", positive(of_scan.patient_weight_kg)},
       {"PatientComments", note_of_pseudonym(of_scan, checksum)}});
}

void add_study(Elements& to, const AcquisitionInfo& of_scan, const std::string& checksum) {
  static const std::set<std::string> positions{"HFP", "HFS", "HFDR", "HFDL", "FFDR", "FFDL", "FFP",  "FFS",
                                               "LFP", "LFS", "RFP",  "RFS",  "AFDR", "AFDL", "PFDR", "PFDL"};
  const auto uid = [&](const std::string& stated, const std::string& what) {
    return is_uid(stated) ? stated : uid_of_name(what + " " + checksum);
  };
  const auto part = code(of_scan.body_part), position = code(of_scan.patient_position);
  add(to,
      {{"StudyInstanceUID", uid(of_scan.study_uid, "study")},
       {"StudyID", text(of_scan.study_id, short_text)},
       {"StudyDate", date(of_scan.study_date)},
       {"StudyTime", time_of_day(of_scan.study_time)},
       {"AccessionNumber", text(of_scan.accession_number, short_text)},
       {"ReferringPhysicianName", person_name(of_scan.referring_physician)},
       {"PatientPosition", positions.contains(position) ? position : ""},
       {"FrameOfReferenceUID", uid(of_scan.frame_of_reference_uid, "frame of reference")},
       {"PositionReferenceIndicator", ""}},
      {{"StudyDescription", text(of_scan.study_description, long_text)},
       {"BodyPartExamined", part},
       {"InstitutionName", text(of_scan.institution, long_text)}});
  if (!is_unpaired(part)) to.push_back({"Laterality", ""});  // left or right is not known
}

void add_origin(Elements& to, const ResultContent& results, const std::string& settings) {
  const auto& of_scan = results.companions.acquisition;
  const auto& [made_by, provenance] = std::tie(results.made_by, results.provenance);
  const auto made = now();
  // Does not collide with the scanner's own series of the study.
  const int number = of_scan.first_series_number > 0 ? 100 * of_scan.first_series_number + 1 : 1;
  const auto what = of_scan.series_description.empty() ? of_scan.protocol : of_scan.series_description;
  add(to,
      {{"InstanceCreationDate", made.date},
       {"InstanceCreationTime", made.time},
       {"ContentDate", made.date},
       {"ContentTime", made.time},
       {"SOPClassUID", mr_image_storage},
       {"Modality", "MR"},
       {"SeriesNumber", std::to_string(number)},
       {"SeriesDescription", text(what.empty() ? made_by : what + ", " + made_by, long_text)},
       {"ImageType", "DERIVED\\PRIMARY\\M"},
       {"DerivationDescription", text(fmt::format("Reconstructed from raw data by {}; scan {}; {}", made_by,
                                                  provenance.input_checksum, settings),
                                      description_text)},
       {"Manufacturer", "fhd"},
       {"ManufacturerModelName", "fhd"},
       {"SoftwareVersions", text(provenance.program_version, long_text)},
       {fmt::format("({:04x},0010)", private_group), "fhd", "LO"},
       {fmt::format("({:04x},{:04x})", private_group, checksum_element), provenance.input_checksum, "LT"}},
      {{"SeriesDate", date(of_scan.series_date)},
       {"SeriesTime", time_of_day(of_scan.series_time)},
       {"ProtocolName", text(of_scan.protocol, long_text)}});
}

void add_scanner(Elements& to, const AcquisitionInfo& of_scan) {
  if (of_scan.vendor.empty()) return;
  const std::string scanner = "ContributingEquipmentSequence[0].",
                    purpose = scanner + "PurposeOfReferenceCodeSequence[0].";
  add(to,
      {{purpose + "CodeValue", "109101"},
       {purpose + "CodingSchemeDesignator", "DCM"},
       {purpose + "CodeMeaning", "Acquisition Equipment"},
       {scanner + "Manufacturer", text(of_scan.vendor, long_text)}},
      {{scanner + "ManufacturerModelName", text(of_scan.model, long_text)},
       {scanner + "InstitutionName", text(of_scan.institution, long_text)},
       {scanner + "StationName", text(of_scan.station, short_text)}});
}

void add_values(Elements& to, const std::array<int, 3>& matrix_size, const Scaling& scaling) {
  add(to,
      {{"SamplesPerPixel", "1"},
       {"PhotometricInterpretation", "MONOCHROME2"},
       {"Rows", std::to_string(matrix_size[1])},
       {"Columns", std::to_string(matrix_size[0])},
       {"BitsAllocated", "16"},
       {"BitsStored", "16"},
       {"HighBit", "15"},
       {"PixelRepresentation", "0"},
       {"RescaleIntercept", "0"},
       {"RescaleSlope", scaling.slope_text},
       {"RescaleType", "US"},  // unspecified
       {"WindowCenter", decimal(scaling.white / 2.0)},
       {"WindowWidth", decimal(scaling.white)},
       {"VOILUTFunction", "LINEAR_EXACT"},
       {"BurnedInAnnotation", "NO"},
       {"LossyImageCompression", "00"}},
      {});
}

void add_sequence(Elements& to, const AcquisitionInfo& of_scan, const ImageSeries& series) {
  const bool is_volume = series.images.front().geometry.matrix_size[2] > 1;
  add(to,
      {{"ScanningSequence", "RM"},  // a research mode: headers do not say which of DICOM's
       {"SequenceVariant", "NONE"},
       {"ScanOptions", ""},
       {"MRAcquisitionType", is_volume ? "3D" : "2D"},
       {"RepetitionTime", positive(of_scan.excitation_time_s * 1e3)},
       {"EchoTrainLength", ""}},
      {{"SequenceName", text(of_scan.sequence, short_text)},
       {"FlipAngle", positive(of_scan.flip_angle_deg)},
       {"MagneticFieldStrength", positive(of_scan.field_strength_t)},
       {"ImagingFrequency", positive(of_scan.resonance_frequency_hz * 1e-6)},
       {"ImagedNucleus", of_scan.resonance_frequency_hz > 0 ? "1H" : ""},
       {"SpacingBetweenSlices", positive(slice_distance_mm(series))}});
}

}  // namespace

SeriesContent::SeriesContent(const ResultContent& results, const Scaling& scaling)
    : results_(results), voxel_maps_(voxel_maps_of(results.series)) {
  const auto& [series, provenance] = std::tie(results.series, results.provenance);
  const auto& of_scan = results.companions.acquisition;
  const auto& checksum = provenance.input_checksum;
  const auto settings =
      json_line(provenance.report(0).report.value("settings", nlohmann::ordered_json::object()));
  series_uid_ = uid_of_name("series " + checksum + " " + scaling.digest + " " + provenance.program_version +
                            " " + settings);
  common_ = {{"SeriesInstanceUID", series_uid_}};
  add_patient(common_, of_scan, checksum);
  add_study(common_, of_scan, checksum);
  add_origin(common_, results, settings);
  add_scanner(common_, of_scan);
  add_values(common_, series.images.front().geometry.matrix_size, scaling);
  add_sequence(common_, of_scan, series);
  add_course();
}

/// Adds the temporal positions; repetitions that differ in contrast or set alone have the same one.
void SeriesContent::add_course() {
  const auto& provenance = results_.provenance;
  std::map<std::pair<int, int>, std::int64_t> times;
  for (std::int64_t i = 0; i < results_.series.repetition_count; ++i) {
    const auto counted = provenance.counters_of_repetition(static_cast<std::size_t>(i));
    const auto [time, is_new] = times.try_emplace({counted.repetition, counted.phase}, times.size() + 1);
    temporal_positions_.push_back(time->second);
  }
  if (times.size() < 2) return temporal_positions_.clear();
  add(common_, {{"NumberOfTemporalPositions", std::to_string(times.size())}},
      {{"TemporalResolution", positive(provenance.repetition_time_s * 1e3)}});
}

/// Adds when a repetition was measured, if the scan states it.
void SeriesContent::add_time(std::size_t repetition, Elements& elements) const {
  const auto& [provenance, of_scan] = std::tie(results_.provenance, results_.companions.acquisition);
  const auto day = date(of_scan.series_date), time = time_of_day(of_scan.series_time);
  const bool are_bins = provenance.frames && !provenance.frames->gating.empty();
  if (day.empty() || time.empty() || are_bins) return;
  const auto& numbers = provenance.repetitions;
  const auto number = provenance.repetition_number(repetition);
  const std::int64_t step = numbers.size() < 2 ? 1 : numbers[1] - numbers[0];
  const double each_s = provenance.repetition_time_s / static_cast<double>(step);
  if (number > 0 && !(each_s > 0)) return;
  const auto found = later(day, time, static_cast<double>(number) * each_s);
  add(elements, {{"AcquisitionDate", found.date}, {"AcquisitionTime", found.time}}, {});
}

/// Returns how the scan counts the slice of a plane; nothing where it does not.
std::string SeriesContent::slice_comment(const Plane& plane) const {
  const auto& [series, provenance] = std::tie(results_.series, results_.provenance);
  if (provenance.slice_counters.empty()) return {};
  return fmt::format("slice {} of the scan",
                     provenance.counter_of_slice(plane.image % static_cast<std::size_t>(series.slice_count)));
}

Elements SeriesContent::of_plane(const Plane& plane, std::size_t number) const {
  const auto& [series, provenance] = std::tie(results_.series, results_.provenance);
  const auto& geometry = series.images[plane.image].geometry;
  const auto repetition = static_cast<std::size_t>(plane.repetition);
  const auto& voxel_map = voxel_maps_[plane.image];
  std::array<double, 3> position{};  // of the first voxel
  for (std::size_t row = 0; row < 3; ++row)
    position[row] = voxel_map[row][3] + voxel_map[row][2] * static_cast<double>(plane.z);
  const auto o = orientation_of(geometry);
  const std::array normal{o[1] * o[5] - o[2] * o[4], o[2] * o[3] - o[0] * o[5], o[0] * o[4] - o[1] * o[3]};
  const double along = normal[0] * position[0] + normal[1] * position[1] + normal[2] * position[2];
  const auto& echoes = results_.companions.echo_times_s;
  const auto contrast = static_cast<std::size_t>(provenance.counters_of_repetition(repetition).contrast);
  const bool is_counted = !provenance.repetition_counters.empty();
  const bool is_known = contrast < echoes.size() && (is_counted || echoes.size() == 1);
  const auto if_timed = [&] { return std::to_string(temporal_positions_[repetition]); };
  Elements elements;
  add(elements,
      {{"SOPInstanceUID", uid_of_name(series_uid_ + " " + std::to_string(number))},
       {"InstanceNumber", std::to_string(number)},
       {"ImagePositionPatient", decimals(position)},
       {"ImageOrientationPatient", decimals(o)},
       {"PixelSpacing", decimals(std::array{spacing_mm(geometry, 1), spacing_mm(geometry, 0)})},
       {"SliceThickness", positive(spacing_mm(geometry, 2))},
       {"SliceLocation", decimal(along)},
       {"AcquisitionNumber", std::to_string(provenance.repetition_number(repetition) + 1)},
       {"EchoTime", is_known ? decimal(echoes[contrast] * 1e3) : ""}},
      {{"TemporalPositionIdentifier", temporal_positions_.empty() ? "" : if_timed()},
       {"EchoNumbers", is_known ? std::to_string(contrast + 1) : ""},
       {"ImageComments", slice_comment(plane)}});
  add_time(repetition, elements);
  return elements;
}

}  // namespace fhd::io::dicom
