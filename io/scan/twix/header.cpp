#include "io/scan/twix/header.hpp"

#include <array>
#include <cmath>
#include <pugixml.hpp>
#include <sstream>

namespace fhd::io::twix {
namespace {

constexpr double relative_noise_bandwidth = 0.793;  // siemens_to_ismrmrd's

/// Returns a text in the letters that every reader of XML takes.
std::string plain(std::string text) {
  for (char& c : text)
    if (c < ' ' || c > '~') c = '?';
  return text;
}

template <class T>
pugi::xml_node append(pugi::xml_node parent, const char* name, const T& value) {
  auto node = parent.append_child(name);
  node.text().set(value);
  return node;
}
void append_text(pugi::xml_node parent, const char* name, const std::string& text) {
  if (!text.empty()) append(parent, name, plain(text).c_str());
}

/// Matrix and FOV of the encoded and the shown space.
struct Spaces {
  std::array<int, 3> encoded{}, shown{};
  std::array<double, 3> encoded_mm{}, shown_mm{};
};

/// Returns the least matrix that holds the steps from 0 to `last` about `center`.
int extent_of(int center, int last) { return std::max(2 * center, 2 * (last - center) + 1); }

Spaces spaces_of(const Protocol& protocol, const HeaderFacts& facts) {
  const auto& image = facts.image;
  const auto times = [](int n, double factor) { return static_cast<int>(std::lround(n * factor)); };
  const auto in_bounds = [](double oversampling) {
    return oversampling > 0 && oversampling < 16 ? oversampling : 0;
  };
  const double phase = 1 + in_bounds(protocol.phase_oversampling),
               slice = 1 + in_bounds(protocol.slice_oversampling);
  double read = in_bounds(protocol.read_oversampling);
  if (read == 0) read = image.samples >= 2 * protocol.base_resolution ? 2 : 1;
  const int base = protocol.base_resolution;
  Spaces spaces;
  spaces.shown_mm = {protocol.read_fov_mm, protocol.phase_fov_mm, protocol.thickness_mm};
  if (facts.reads_positions) {  // which are in units of length, or of the FOV that is shown
    const double ratio = protocol.read_fov_mm > 0 ? protocol.phase_fov_mm / protocol.read_fov_mm : 1;
    spaces.encoded = {base, ratio > 0 && ratio < 16 ? times(base, ratio) : base,
                      protocol.is_3d ? protocol.partitions : 1};
    spaces.shown = spaces.encoded, spaces.encoded_mm = spaces.shown_mm;
    return spaces;
  }
  const int lines = std::max(protocol.lines, extent_of(image.center_line, image.last_line)),
            partitions =
                std::max(protocol.partitions, extent_of(image.center_partition, image.last_partition));
  spaces.encoded = {times(base, read), lines, protocol.is_3d ? partitions : 1};
  spaces.shown = {base, times(lines, 1 / phase), protocol.is_3d ? times(partitions, 1 / slice) : 1};
  spaces.encoded_mm = {protocol.read_fov_mm * read, protocol.phase_fov_mm * phase,
                       protocol.thickness_mm * (protocol.is_3d ? slice : 1)};
  return spaces;
}

void append_space(pugi::xml_node encoding, const char* name, const std::array<int, 3>& matrix,
                  const std::array<double, 3>& fov_mm) {
  auto space = encoding.append_child(name);
  auto size = space.append_child("matrixSize"), fov = space.append_child("fieldOfView_mm");
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const char name_of_axis[]{"xyz"[axis], '\0'};
    append(size, name_of_axis, std::clamp(matrix[axis], 0, mrd::largest_count));
    append(fov, name_of_axis, fov_mm[axis] >= 1e-3 && fov_mm[axis] <= 1e5 ? fov_mm[axis] : 0.0);
  }
}

void append_limits(pugi::xml_node encoding, const Protocol& protocol, const Survey& survey) {
  auto limits = encoding.append_child("encodingLimits");
  const auto add = [&](const char* name, int maximum, int center) {
    auto limit = limits.append_child(name);
    append(limit, "minimum", 0), append(limit, "maximum", maximum), append(limit, "center", center);
  };
  add("kspace_encoding_step_1", survey.last_line, survey.center_line);
  add("kspace_encoding_step_2", survey.last_partition, survey.center_partition);
  add("average", survey.last_average, 0);
  add("slice", std::max(protocol.slices - 1, survey.last_slice), 0);
  add("contrast", survey.last_contrast, 0);
  add("phase", survey.last_phase, 0);
  add("repetition", survey.last_repetition, 0);
  add("set", survey.last_set, 0);
  add("segment", survey.last_segment, 0);
}

const char* trajectory_of(const Protocol& protocol, const HeaderFacts& facts) {
  if (is_echo_planar(protocol, facts)) return "epi";
  return protocol.trajectory == 1   ? "cartesian"
         : protocol.trajectory == 2 ? "radial"
         : protocol.trajectory == 4 ? "spiral"
                                    : "other";
}

void append_encoding(pugi::xml_node root, const Protocol& protocol, const HeaderFacts& facts,
                     const Survey& survey) {
  auto encoding = root.append_child("encoding");
  const auto spaces = spaces_of(protocol, facts);
  append_space(encoding, "encodedSpace", spaces.encoded, spaces.encoded_mm);
  append_space(encoding, "reconSpace", spaces.shown, spaces.shown_mm);
  append_limits(encoding, protocol, survey);
  append(encoding, "trajectory", trajectory_of(protocol, facts));
  auto imaging = encoding.append_child("parallelImaging");
  auto factor = imaging.append_child("accelerationFactor");
  append(factor, "kspace_encoding_step_1", std::max(1, protocol.phase_acceleration));
  append(factor, "kspace_encoding_step_2", std::max(1, protocol.slice_acceleration));
  const int mode = protocol.reference_mode;
  append(imaging, "calibrationMode",
         mode == 2                ? "embedded"
         : mode == 4 || mode == 8 ? "separate"
         : mode >= 16             ? "interleaved"
                                  : "other");
  if (mode == 16 || mode == 32 || mode == 64)
    append(imaging, "interleavingDimension", mode == 16 ? "average" : mode == 32 ? "repetition" : "phase");
}

void append_system(pugi::xml_node root, const Protocol& protocol, const HeaderFacts& facts) {
  auto measurement = root.append_child("measurementInformation");
  append_text(measurement, "patientPosition",
              protocol.patient_position.empty() ? "HFS" : protocol.patient_position);
  append_text(measurement, "protocolName", protocol.name);
  append_text(measurement, "frameOfReferenceUID", protocol.frame_of_reference);
  auto system = root.append_child("acquisitionSystemInformation");
  append_text(system, "systemVendor", protocol.vendor);
  append_text(system, "systemModel", protocol.model);
  if (protocol.field_strength_t > 0) append(system, "systemFieldStrength_T", protocol.field_strength_t);
  append(system, "relativeReceiverNoiseBandwidth", relative_noise_bandwidth);
  append(system, "receiverChannels", facts.image.channels);
  for (std::size_t coil = 0; coil < protocol.coils.size(); ++coil) {
    auto label = system.append_child("coilLabel");
    append(label, "coilNumber", static_cast<int>(coil));
    append(label, "coilName", plain(protocol.coils[coil]).c_str());
  }
  append_text(system, "institutionName", protocol.institution);
  auto conditions = root.append_child("experimentalConditions");
  append(conditions, "H1resonanceFrequency_Hz",
         static_cast<long long>(std::clamp(protocol.frequency_hz, 0.0, 1e12)));
}

void append_sequence(pugi::xml_node root, const Protocol& protocol) {
  auto sequence = root.append_child("sequenceParameters");
  for (const double us : protocol.repetition_times_us) append(sequence, "TR", us * 1e-3);
  for (const double us : protocol.echo_times_us) append(sequence, "TE", us * 1e-3);
  for (const double us : protocol.inversion_times_us) append(sequence, "TI", us * 1e-3);
  for (const double degrees : protocol.flip_angles_deg) append(sequence, "flipAngle_deg", degrees);
  constexpr std::pair<int, const char*> kinds[]{
      {1, "Flash"}, {2, "SSFP"}, {4, "EPI"}, {8, "TurboSpinEcho"}, {16, "ChemicalShiftImaging"}, {32, "FID"}};
  for (const auto& [kind, name] : kinds)
    if (protocol.sequence_kind == kind) append(sequence, "sequence_type", name);
  if (protocol.echo_spacing_us > 0) append(sequence, "echo_spacing", protocol.echo_spacing_us * 1e-3);
}

void append_parameter(pugi::xml_node parameters, const char* name, const std::string& value) {
  if (value.empty()) return;
  auto parameter = parameters.append_child("userParameterString");
  append(parameter, "name", name);
  append(parameter, "value", plain(value).c_str());
}

}  // namespace

void Survey::add(const MeasurementHead& head) {
  if (readouts++ == 0) {
    channels = head.channels, center_column = head.center_column;
    center_line = head.center_line, center_partition = head.center_partition;
  }
  samples = std::max<int>(samples, head.samples);
  int* const last[]{&last_line,  &last_average,    &last_slice, &last_partition, &last_contrast,
                    &last_phase, &last_repetition, &last_set,   &last_segment};
  for (std::size_t i = 0; i < std::size(last); ++i) *last[i] = std::max<int>(*last[i], head.counters[i]);
  has_reversed = has_reversed || head.has(reflect);
  is_swapped = is_swapped || head.has(swapped);
}

bool has_reference_space(const HeaderFacts& facts) {
  return facts.reference.readouts > 0 && !facts.reference.is_like(facts.image);
}

bool is_echo_planar(const Protocol& protocol, const HeaderFacts& facts) {
  return protocol.trajectory == 1 && protocol.epi_factor > 1 && facts.image.has_reversed;
}

double encoded_read_fov_mm(const Protocol& protocol, const HeaderFacts& facts) {
  return spaces_of(protocol, facts).encoded_mm[0];
}

std::string header_xml(const Protocol& protocol, const HeaderFacts& facts) {
  pugi::xml_document document;
  auto declaration = document.append_child(pugi::node_declaration);
  declaration.append_attribute("version") = "1.0";
  auto root = document.append_child("ismrmrdHeader");
  root.append_attribute("xmlns") = "http://www.ismrm.org/ISMRMRD";
  append_system(root, protocol, facts);
  append_encoding(root, protocol, facts, facts.image);
  if (has_reference_space(facts)) append_encoding(root, protocol, facts, facts.reference);
  append_sequence(root, protocol);
  auto parameters = root.append_child("userParameters");
  append_parameter(parameters, "sequence", protocol.sequence);
  if (facts.is_regridded)
    append_parameter(parameters, "regridded", "readouts sampled on ramps are equally spaced");
  std::ostringstream text;
  document.save(text, "  ");
  return text.str();
}

}  // namespace fhd::io::twix
