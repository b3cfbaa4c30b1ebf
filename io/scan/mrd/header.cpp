#include "io/scan/mrd/header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <pugixml.hpp>
#include <sstream>
#include <type_traits>

#include "io/scan/mrd/readout.hpp"
#include "io/scan/scan_parts.hpp"
#include "io/scan/trajectory_axes.hpp"
#include "recon/domain/option_words.hpp"
#include "recon/error.hpp"

namespace fhd::io::mrd {
namespace {

template <class T>
std::array<T, 3> three_of(const pugi::xml_node& node, const std::string& subject) {
  std::array<T, 3> values{};
  for (int axis = 0; axis < 3; ++axis) {
    const double value = node.child(std::array{"x", "y", "z"}[axis]).text().as_double(0);
    constexpr bool counts = std::is_integral_v<T>;
    // Lengths may be in metres: 1e-6 m are the least of open_scan.
    const bool may_be = counts ? value >= 0 && value <= largest_count && value == std::floor(value)
                               : value == 0 || (value >= 1e-3 * least_fov_mm && value <= largest_fov_mm);
    if (!may_be)
      throw Error(fmt::format("{}, {}", subject, node.name()),
                  counts ? fmt::format("whole numbers from 0 to {}", largest_count)
                         : "lengths in mm from 0.001 to 100000, or 0",
                  fmt::format("{}", value), "correct the header");
    values[axis] = static_cast<T>(value);
  }
  return values;
}

std::optional<Limit> limit_of(const pugi::xml_node& limits, const char* name) {
  const auto limit = limits.child(name);
  if (!limit) return {};
  const auto number = [&](const char* member) { return limit.child(member).text().as_int(); };
  return Limit{number("maximum"), number("center"), number("minimum")};
}

/// Returns whether the FOV is in metres, as some programs write it: nobody images 1 mm in-plane, or 1000 mm.
bool in_metres(const std::array<double, 3>& fov) {
  return fov[0] > 0 && fov[0] < 1 && fov[1] > 0 && fov[1] < 1;
}
/// An untouched 1 along z is the millimetre that writers put where they know nothing.
void metres_to_mm(std::array<double, 3>& fov) {
  for (double& length : fov) length *= length < 1 ? 1000 : 1;
}

/// Returns the matrix to crop to where the encoded FOV is larger than the one to show (readout oversampling); 0 along
/// other axes.
std::array<int, 3> cropped_matrix_size(const EncodingHeader& header, std::vector<std::string>& inferred) {
  std::array<int, 3> cropped{};
  for (int axis = 0; axis < 3; ++axis) {
    const char name = "xyz"[axis];
    const int encoded = header.encoded_matrix[axis], recon = header.recon_matrix[axis];
    const double encoded_fov = header.encoded_fov_mm[axis], recon_fov = header.recon_fov_mm[axis];
    if (recon == 0 || (recon == encoded && recon_fov == encoded_fov)) continue;
    if (recon_fov > 0 && recon_fov < encoded_fov * 0.999) {
      const int shown = std::max(1, static_cast<int>(std::lround(encoded * recon_fov / encoded_fov)));
      if (shown < encoded) cropped[axis] = shown;
      say(inferred, "The image is cropped along {} from {} to {} voxels: the header shows {} of {} mm.", name,
          encoded, shown, recon_fov, encoded_fov);
    } else if (recon < encoded && encoded_fov == 0) {
      cropped[axis] = recon;
      say(inferred, "The image is cropped along {} from {} to {} voxels, the header's reconstructed matrix.",
          name, encoded, recon);
    } else if (recon != encoded) {
      say(inferred,
          "Along {} the header states {} encoded and {} reconstructed voxels: the encoded matrix is used.",
          name, encoded, recon);
    }
  }
  return cropped;
}

std::string lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// Returns the number that a parameter of this name, in any case, states: of `parent`, which describes a trajectory or the
/// sequence; 0 where it states none.
double parameter_of(const pugi::xml_node& parent, std::string_view name) {
  for (const auto parameter : parent)
    if (std::string_view(parameter.name()).starts_with("userParameter") &&
        lower_case(parameter.child_value("name")) == name)
      if (const double value = parameter.child("value").text().as_double(0); std::isfinite(value))
        return value;
  return 0;
}

/// Returns the gradient that the description of an echo-planar readout states, as siemens_to_ismrmrd and Gadgetron do, where
/// samples reach into its ramps; the samples that it counts, too.
std::pair<RampShape, int> described_ramp(const pugi::xml_node& description, int encoded_samples) {
  RampShape ramp;
  ramp.ramp_up_us = parameter_of(description, "rampuptime");
  ramp.flat_us = parameter_of(description, "flattoptime");
  ramp.ramp_down_us = parameter_of(description, "rampdowntime");
  ramp.delay_us = parameter_of(description, "acqdelaytime");
  const double samples = parameter_of(description, "numsamples");
  ramp.adc_us = samples * parameter_of(description, "dwelltime");
  ramp.samples = encoded_samples;
  if (!(ramp.ramp_up_us > 0 && ramp.adc_us > 1.01 * ramp.flat_us)) return {};
  ramp.mode = 2;
  return {ramp, samples >= 0 && samples <= largest_count ? static_cast<int>(samples) : 0};
}

/// Returns what is stated of the time between echoes: in ms by the sequence (ISMRMRD's schema); in microseconds by
/// siemens_to_ismrmrd and ge_to_ismrmrd as parameters of the trajectory, where it is the time of a trapezoid too.
std::vector<double> echo_spacings_of(const pugi::xml_node& root, const pugi::xml_node& description) {
  std::vector<double> spacings;
  const auto add = [&](double seconds) {
    if (seconds > 0 && seconds < 10) spacings.push_back(seconds);
  };
  const auto stated = root.child("sequenceParameters").child("echo_spacing");
  if (!stated.next_sibling("echo_spacing")) add(stated.text().as_double(0) * 1e-3);
  for (const auto& parent : {description, root.child("userParameters")})
    for (const auto& [name, unit_s] : {std::pair("echospacing", 1e-6),
                                       {"echo_spacing", 1e-3},
                                       {"echospacing_us", 1e-6},
                                       {"echo_spacing_us", 1e-6},
                                       {"echospacing_ms", 1e-3},
                                       {"echo_spacing_ms", 1e-3},
                                       {"lechospacing", 1e-6},
                                       {"esp", 1e-6}})
      add(parameter_of(parent, name) * unit_s);
  const double fall_us = parameter_of(description, "rampdowntime");
  if (fall_us > 0)
    add((parameter_of(description, "rampuptime") + parameter_of(description, "flattoptime") + fall_us) *
        1e-6);
  return spacings;
}

int echo_train_length_of(const pugi::xml_node& encoding) {
  const double stated = encoding.child("echoTrainLength").text().as_double(0),
               described = parameter_of(encoding.child("trajectoryDescription"), "etl");
  const double length = described > 1 ? described : stated;
  return length > 1 && length <= largest_count ? static_cast<int>(length) : 0;
}

/// Takes the namespace prefixes, which differ from writer to writer, off the names of all elements.
struct WithoutPrefixes : pugi::xml_tree_walker {
  bool for_each(pugi::xml_node& node) override {
    const std::string_view name = node.name();
    const auto colon = name.find(':');
    if (colon == name.npos) return true;
    const auto declared = "xmlns:" + std::string(name.substr(0, colon));
    node.set_name(std::string(name.substr(colon + 1)).c_str());
    if (auto space = node.attribute(declared.c_str())) space.set_name("xmlns");
    return true;
  }
};

pugi::xml_document document_of(const std::string& xml, unsigned options, const std::string& subject) {
  pugi::xml_document document;
  const auto status = document.load_buffer(xml.data(), xml.size(), options);
  if (!status)
    throw Error(subject, "an XML header", fmt::format("{} at byte {}", status.description(), status.offset));
  WithoutPrefixes walker;
  document.traverse(walker);
  return document;
}

/// Texts of the header, each a member of AcquisitionInfo.
struct TextField {
  const char *section, *name;
  std::string AcquisitionInfo::*member;
};
constexpr TextField texts[]{
    {"subjectInformation", "patientName", &AcquisitionInfo::patient_name},
    {"subjectInformation", "patientID", &AcquisitionInfo::patient_id},
    {"subjectInformation", "patientBirthdate", &AcquisitionInfo::patient_birth_date},
    {"subjectInformation", "patientGender", &AcquisitionInfo::patient_sex},
    {"studyInformation", "studyInstanceUID", &AcquisitionInfo::study_uid},
    {"studyInformation", "studyID", &AcquisitionInfo::study_id},
    {"studyInformation", "studyDescription", &AcquisitionInfo::study_description},
    {"studyInformation", "studyDate", &AcquisitionInfo::study_date},
    {"studyInformation", "studyTime", &AcquisitionInfo::study_time},
    {"studyInformation", "accessionNumber", &AcquisitionInfo::accession_number},
    {"studyInformation", "referringPhysicianName", &AcquisitionInfo::referring_physician},
    {"studyInformation", "bodyPartExamined", &AcquisitionInfo::body_part},
    {"measurementInformation", "seriesDescription", &AcquisitionInfo::series_description},
    {"measurementInformation", "seriesDate", &AcquisitionInfo::series_date},
    {"measurementInformation", "seriesTime", &AcquisitionInfo::series_time},
    {"measurementInformation", "frameOfReferenceUID", &AcquisitionInfo::frame_of_reference_uid},
    {"measurementInformation", "patientPosition", &AcquisitionInfo::patient_position},
    {"measurementInformation", "protocolName", &AcquisitionInfo::protocol},
    {"acquisitionSystemInformation", "systemVendor", &AcquisitionInfo::vendor},
    {"acquisitionSystemInformation", "systemModel", &AcquisitionInfo::model},
    {"acquisitionSystemInformation", "institutionName", &AcquisitionInfo::institution},
    {"acquisitionSystemInformation", "stationName", &AcquisitionInfo::station},
    {"sequenceParameters", "sequence_type", &AcquisitionInfo::sequence}};

/// Returns what the header tells of the patient, the study and the scanner. Numbers that make no sense count as not
/// stated.
AcquisitionInfo acquisition_info(const pugi::xml_node& root) {
  AcquisitionInfo info;
  for (const auto& [section, name, member] : texts) info.*member = root.child(section).child_value(name);
  // The one number of that name, if it is above 0 and below `limit`; else 0.
  const auto number = [&](const char* section, const char* name, double limit) {
    const auto child = root.child(section).child(name);
    const double value = child.text().as_double(0);
    return value > 0 && value < limit && !child.next_sibling(name) ? value : 0;
  };
  info.patient_weight_kg = number("subjectInformation", "patientWeight_kg", 1e4);
  info.first_series_number = static_cast<int>(number("measurementInformation", "initialSeriesNumber", 1e6));
  info.field_strength_t = number("acquisitionSystemInformation", "systemFieldStrength_T", 1e3);
  info.resonance_frequency_hz = number("experimentalConditions", "H1resonanceFrequency_Hz", 1e12);
  info.excitation_time_s = number("sequenceParameters", "TR", 1e7) * 1e-3;
  info.flip_angle_deg = number("sequenceParameters", "flipAngle_deg", 360);
  return info;
}

EncodingHeader encoding_of(const pugi::xml_node& root, const pugi::xml_node& encoding,
                           const std::string& subject) {
  EncodingHeader header;
  const auto encoded = encoding.child("encodedSpace"), recon = encoding.child("reconSpace");
  header.encoded_matrix = three_of<int>(encoded.child("matrixSize"), subject);
  header.encoded_fov_mm = three_of<double>(encoded.child("fieldOfView_mm"), subject);
  header.recon_matrix = three_of<int>(recon.child("matrixSize"), subject);
  header.recon_fov_mm = three_of<double>(recon.child("fieldOfView_mm"), subject);
  const auto limits = encoding.child("encodingLimits");
  header.step_1 = limit_of(limits, "kspace_encoding_step_1");
  header.step_2 = limit_of(limits, "kspace_encoding_step_2");
  header.slice = limit_of(limits, "slice");
  header.average = limit_of(limits, "average");
  header.trajectory = lower_case(encoding.child_value("trajectory"));
  header.calibration_mode = lower_case(encoding.child("parallelImaging").child_value("calibrationMode"));
  const auto description = encoding.child("trajectoryDescription");
  std::tie(header.ramp, header.ramp_samples) = described_ramp(description, header.encoded_matrix[0]);
  header.echo_spacings_s = echo_spacings_of(root, description);
  header.echo_train_length = echo_train_length_of(encoding);
  return header;
}

}  // namespace

Header parse_header(const std::string& xml, const std::string& subject) {
  const auto document = document_of(xml, pugi::parse_default, subject);
  const auto root = document.child("ismrmrdHeader");
  const auto encoding = root.child("encoding");
  if (!encoding) throw Error(subject, "an ismrmrdHeader with an encoding", "none");
  Header header{encoding_of(root, encoding, subject), {}, {}, acquisition_info(root)};
  const auto system = root.child("acquisitionSystemInformation");
  for (auto other = encoding.next_sibling("encoding"); other; other = other.next_sibling("encoding"))
    header.others.push_back(encoding_of(root, other, subject));
  for (const auto parameter : root.child("userParameters").children("userParameterString"))
    if (std::string_view(parameter.child_value("name")) == unit_parameter)
      header.trajectory_unit = parameter.child_value("value");
  const double bandwidth = system.child("relativeReceiverNoiseBandwidth").text().as_double(1);
  if (bandwidth > 0 && bandwidth <= 1) header.relative_noise_bandwidth = bandwidth;
  const auto measurement = root.child("measurementInformation");
  header.measurement_id = measurement.child_value("measurementID");
  for (const auto dependency : measurement.children("measurementDependency"))
    if (lower_case(dependency.child_value("dependencyType")).find("noise") != std::string::npos)
      header.noise_measurements.emplace_back(dependency.child_value("measurementID"));
  const auto sequence = root.child("sequenceParameters");
  for (const auto te : sequence.children("TE")) {
    const double ms = te.text().as_double(0);
    if (!(ms > 0 && ms < 1e5) || header.echo_times_s.size() > largest_count) {
      header.echo_times_s.clear();
      break;
    }
    header.echo_times_s.push_back(ms * 1e-3);
  }
  return header;
}

std::string with_unit(const std::string& xml) {
  const auto document = document_of(xml, pugi::parse_full, "the header");
  auto root = document.child("ismrmrdHeader");
  auto parameters = root.child("userParameters");
  if (!parameters) {
    const auto waveforms = root.child("waveformInformation");
    parameters = waveforms ? root.insert_child_before("userParameters", waveforms)
                           : root.append_child("userParameters");
  }
  auto parameter = parameters.find_child([](const pugi::xml_node& each) {
    return std::string_view(each.child_value("name")) == unit_parameter;
  });
  if (!parameter) {
    const auto base64 = parameters.child("userParameterBase64");
    parameter = base64 ? parameters.insert_child_before("userParameterString", base64)
                       : parameters.append_child("userParameterString");
    parameter.append_child("name").text().set(unit_parameter);
    parameter.append_child("value");
  }
  parameter.child("value").text().set(std::string(name_of(TrajectoryUnit::cycles_per_fov)).c_str());
  std::ostringstream text;
  document.save(text, "  ");
  return text.str();
}

EncodedSpace encoded_space(EncodingHeader header, const ReadOptions& options, const std::string& subject,
                           std::vector<std::string>& inferred) {
  EncodedSpace space;
  space.geometry.matrix_size = header.encoded_matrix;
  for (int axis = 0; axis < 3; ++axis)
    if (space.geometry.matrix_size[axis] == 0) {
      if (!options.matrix_size)
        throw Error(subject, "an encodedSpace with matrixSize",
                    "0 voxels along " + std::string(1, "xyz"[axis]),
                    "give it with " + option_words("matrix", "X,Y,Z"));
      space.geometry.matrix_size[axis] = (*options.matrix_size)[axis];
    }
  auto& fov = header.encoded_fov_mm;
  if (in_metres(fov)) {
    say(inferred, "The FOV {} x {} of the header is taken to be in metres: no image is that small in mm.",
        fov[0], fov[1]);
    metres_to_mm(fov);
    metres_to_mm(header.recon_fov_mm);
  }
  space.geometry.fov_mm = fov;
  space.map_matrix_size = space.geometry.matrix_size;
  if (!options.matrix_size) space.cropped_matrix_size = cropped_matrix_size(header, inferred);
  space.unit_reference.encoded = apply_options(space.geometry, options);
  if (!options.fov_mm) space.unit_reference.recon_fov_mm = header.recon_fov_mm;
  return space;
}

namespace {

/// Returns the ticks from one stamp to the next; 0 where they are not even, to a tick each.
double even_step(const std::vector<std::uint32_t>& stamps) {
  if (stamps.size() < 2 || stamps.back() <= stamps.front()) return 0;
  const double step = (stamps.back() - stamps.front()) / static_cast<double>(stamps.size() - 1);
  for (std::size_t i = 0; i < stamps.size(); ++i)
    if (std::abs(stamps.front() + static_cast<double>(i) * step - stamps[i]) > 1) return 0;
  return step < 1 ? 0 : step;
}

}  // namespace

std::pair<double, const char*> repetition_time(const Header& header, const std::vector<std::uint32_t>& stamps,
                                               std::size_t readouts_per_image) {
  if (is_siemens(header.acquisition))
    if (const double step = even_step(stamps); step > 0)
      return {step * siemens_tick_s, "time stamps of 2.5 ms"};
  if (readouts_per_image == 1) return {header.acquisition.excitation_time_s, "TR, one readout an image"};
  return {0, ""};
}

}  // namespace fhd::io::mrd
