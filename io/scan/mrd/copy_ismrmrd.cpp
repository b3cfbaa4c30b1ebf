// ISMRMRD -> ISMRMRD. Readouts keep their flags, counters and time stamps, and the header stays, except for what the
// user says of matrix, FOV and unit. Trajectories whose unit the header does not state, or that the user states, are
// written in cycles/FOV.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <pugixml.hpp>
#include <sstream>
#include <string_view>

#include "io/files/in_reader.hpp"
#include "io/scan/hdf5_maps.hpp"
#include "io/scan/mrd/measurement.hpp"
#include "io/scan/scan_parts.hpp"
#include "io/scan/trajectory_unit.hpp"
#include "recon/error.hpp"

namespace fhd::io {
namespace {

constexpr std::array axis_names{"x", "y", "z"};

/// Returns the child of that name; makes one behind its predecessors in the schema, `before`, where there is none.
pugi::xml_node child_of(pugi::xml_node parent, const char* name,
                        std::initializer_list<std::string_view> before = {}) {
  if (const auto found = parent.child(name)) return found;
  pugi::xml_node last;
  for (const auto node : parent.children())
    if (std::find(before.begin(), before.end(), node.name()) != before.end()) last = node;
  return last ? parent.insert_child_after(name, last) : parent.prepend_child(name);
}

void set(pugi::xml_node parent, const char* name, const std::string& text) {
  child_of(parent, name, {"minimum", "maximum", "x", "y"}).text().set(text.c_str());
}

void state_unit(pugi::xml_node root) {
  auto parameters = root.child("userParameters");
  if (!parameters) {
    const auto waveforms = root.child("waveformInformation");
    parameters = waveforms ? root.insert_child_before("userParameters", waveforms)
                           : root.append_child("userParameters");
  }
  const std::string unit(name_of(TrajectoryUnit::cycles_per_fov));
  for (auto parameter : parameters.children("userParameterString"))
    if (std::string_view(parameter.child_value("name")) == mrd::unit_parameter)
      return set(parameter, "value", unit);
  const auto base64 = parameters.child("userParameterBase64");
  auto parameter = base64 ? parameters.insert_child_before("userParameterString", base64)
                          : parameters.append_child("userParameterString");
  parameter.append_child("name").text().set(mrd::unit_parameter);
  parameter.append_child("value").text().set(unit.c_str());
}

/// States the user's matrix: what is shown is what is encoded, and the centres of k-space stay where they were found.
void state_matrix(pugi::xml_node encoding, const mrd::Measurement& measurement) {
  const auto& n = measurement.volumes.summary().geometry.matrix_size;
  for (const char* space : {"encodedSpace", "reconSpace"})
    for (int axis = 0; axis < 3; ++axis)
      set(child_of(child_of(encoding, space, {"encodedSpace"}), "matrixSize"), axis_names[axis],
          std::to_string(n[axis]));
  const auto& positions = measurement.volumes.positions();
  const auto limits = child_of(encoding, "encodingLimits", {"trajectory", "encodedSpace", "reconSpace"});
  const auto state_center = [&](const char* name, int steps, int center) {
    const auto limit = child_of(limits, name, {"kspace_encoding_step_0", "kspace_encoding_step_1"});
    if (!limit.child("maximum")) {
      set(limit, "minimum", "0");
      set(limit, "maximum", std::to_string(std::max(0, steps - 1)));
    }
    set(limit, "center", std::to_string(center));
  };
  const auto& encoded = measurement.volumes.map_matrix_size();
  state_center("kspace_encoding_step_1", encoded[1], positions.center_step_1);
  if (n[2] > 1) state_center("kspace_encoding_step_2", encoded[2], positions.center_step_2);
}

/// States the user's FOV; where the matrix is not the user's too, what is shown keeps its share of what is encoded.
void state_fov(pugi::xml_node encoding, const Geometry& geometry, bool shows_all) {
  const auto encoded = child_of(child_of(encoding, "encodedSpace"), "fieldOfView_mm", {"matrixSize"}),
             shown = child_of(child_of(encoding, "reconSpace", {"encodedSpace"}), "fieldOfView_mm",
                              {"matrixSize"});
  for (int axis = 0; axis < 3; ++axis) {
    const char* name = axis_names[axis];
    const double stated = encoded.child(name).text().as_double(),
                 of_shown = shown.child(name).text().as_double(),
                 share = shows_all || !(stated > 0) || !(of_shown > 0) ? 1 : of_shown / stated;
    set(encoded, name, fmt::format("{}", geometry.fov_mm[axis]));
    set(shown, name, fmt::format("{}", geometry.fov_mm[axis] * share));
  }
}

std::string header_of(const std::string& xml, const mrd::Measurement& measurement, const ReadOptions& options,
                      bool states_unit) {
  const bool states_fov = options.matrix_size || options.fov_mm;
  if (!states_unit && !states_fov) return xml;
  pugi::xml_document document;
  document.load_buffer(xml.data(), xml.size(), pugi::parse_full);  // has been parsed before
  const auto root = document.child("ismrmrdHeader"), encoding = root.child("encoding");
  if (options.matrix_size) state_matrix(encoding, measurement);
  if (states_fov)
    state_fov(encoding, measurement.volumes.summary().geometry, options.matrix_size.has_value());
  if (states_unit) state_unit(root);
  std::ostringstream text;
  document.save(text, "  ");
  return text.str();
}

bool states_unit(const std::string& xml, const std::string& subject) {
  const auto unit = mrd::parse_header(xml, subject).trajectory_unit;
  return !unit.empty() && parse_trajectory_unit(unit, subject) != TrajectoryUnit::automatic;
}

/// Converts trajectories to cycles/FOV. Readouts of other encoding spaces refer to another matrix: they are left out.
class Conversion {
 public:
  Conversion(const mrd::SamplePositions& positions, bool converts)
      : positions_(positions), converts_(converts && positions.axis_count > 0) {}
  bool converts() const { return converts_; }
  bool leaves_out(const mrd::ReadoutHead& head) const {
    return converts_ && head.trajectory_dimensions > 0 &&
           (head.encoding_space_ref != 0 || head.trajectory_dimensions != positions_.axis_count);
  }
  /// Returns the readout with its converted trajectory; valid until the next call.
  mrd::Readout operator()(mrd::Readout readout) {
    const auto axes = readout.head.trajectory_dimensions;
    if (!converts_ || axes == 0) return readout;
    k_.assign(readout.trajectory.begin(), readout.trajectory.end());
    // A third axis that is no position (density weights) stays.
    const std::size_t converted = axes > 2 && positions_.matrix_size[2] > 1 && !positions_.stacked ? 3 : 2;
    for (std::size_t i = 0; i < k_.size(); ++i)
      if (const auto axis = i % axes; axis < converted)
        k_[i] = static_cast<float>(k_[i] * positions_.scale[axis]);
    readout.trajectory = k_;
    return readout;
  }

 private:
  const mrd::SamplePositions& positions_;
  bool converts_;
  std::vector<float> k_;
};

template <class Visit>
void for_each_readout(const mrd::RecordDataset& records, bool with_values, Visit visit) {
  mrd::RecordReader reader(records, with_values);
  for (std::int64_t number = 0; number < records.count(); ++number) visit(reader(number));
}

void copy_waveforms(const hdf5::File& from, const std::string& group, hdf5::File& to) {
  const auto name = group + "/waveforms", copy = mrd::usual_group + std::string("/waveforms");
  if (!from.has(name)) return;
  const auto waveforms = from.open_dataset(name);
  // Attributes may be lists, too, and waveforms have none.
  const hdf5::Handle bare(H5Pcreate(H5P_OBJECT_COPY), H5Pclose, copy, "memory");
  hdf5::check(H5Pset_copy_object(bare.get(), H5O_COPY_WITHOUT_ATTR_FLAG), copy, "memory");
  hdf5::check(H5Ocopy(waveforms.get(), ".", to.id(), copy.c_str(), bare.get(), H5P_DEFAULT),
              from.subject(name), "a dataset that can be copied");
}

}  // namespace

Sentences copy_ismrmrd_here(const std::string& from, const ReadOptions& options, const std::string& temporary,
                            const std::string& path) {
  const auto measurement = mrd::open_measurement(from, options);
  const auto header_name = mrd::header_name(measurement.group);
  const auto subject = measurement.file.subject(header_name);
  const auto xml = measurement.file.read_text(header_name);
  const bool user_states =
      options.matrix_size || options.fov_mm || options.trajectory_unit != TrajectoryUnit::automatic;
  Conversion converted(measurement.volumes.positions(), user_states || !states_unit(xml, subject));
  std::int64_t left_out = 0;
  if (converted.converts())
    for_each_readout(measurement.records, false,
                     [&](const mrd::Readout& readout) { left_out += converted.leaves_out(readout.head); });

  auto file = hdf5::File::create(temporary, path);
  mrd::RecordWriter writer(file, header_of(xml, measurement, options, converted.converts()),
                           measurement.records.count() - left_out);
  for_each_readout(measurement.records, true, [&](const mrd::Readout& readout) {
    if (!converted.leaves_out(readout.head)) writer.write(converted(readout));
  });
  writer.close();
  copy_waveforms(measurement.file, measurement.group, file);
  copy_maps(measurement.file, file);
  file.close();
  if (left_out == 0) return {};
  return {
      fmt::format("{} readouts of other encoding spaces are not written: the unit of their trajectories is "
                  "not known.",
                  left_out)};
}

Sentences copy_ismrmrd(FileSet& files, const std::string& from, const ReadOptions& options,
                       const std::string& path) {
  files.add(path);
  return in_reader<&copy_ismrmrd_here>(from, options, files.back().temporary(), path);
}

}  // namespace fhd::io
