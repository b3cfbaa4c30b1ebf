// ISMRMRD HDF5 files: records.hpp describes the layout, volume_assembler.hpp what readouts mean. Optional root
// datasets /sensitivity_maps, /field_map, /sample_time_s: see io/scan/hdf5_maps.hpp.
//
// ISMRMRD -> ISMRMRD: readouts keep their flags, counters and time stamps, and the header stays. Trajectories whose unit
// the header does not state, or that the user states, are written in cycles/FOV.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <pugixml.hpp>
#include <sstream>
#include <vector>

#include "io/files/in_reader.hpp"
#include "io/scan/hdf5_maps.hpp"
#include "io/scan/mrd/records.hpp"
#include "io/scan/mrd/volume_assembler.hpp"
#include "io/scan/scan_parts.hpp"
#include "io/scan/trajectory_unit.hpp"
#include "recon/error.hpp"

namespace fhd::io {
namespace {

/// An open file, with everything that its readouts tell.
struct Measurement {
  hdf5::File file;
  mrd::RecordDataset records;
  mrd::VolumeAssembler volumes;  ///< has seen every readout
  std::string group;             ///< "/name"
};

class IsmrmrdFile {
 public:
  IsmrmrdFile(Measurement measurement, const ReadOptions& options)
      : measurement_(std::move(measurement)),
        summary_(measurement_.volumes.summary()),
        precision_(options.precision) {
    find_maps(measurement_.file, summary_);
  }

  const ScanSummary& summary() const { return summary_; }

  Scan read(std::int64_t slice, std::int64_t repetition) {
    hdf5::be_silent();
    const auto& volumes = measurement_.volumes;
    auto reader = take_reader();
    auto scan = volumes.volume(slice, repetition, std::ref(*reader));
    {
      const std::lock_guard lock(mutex_);
      idle_.push_back(std::move(reader));
    }
    read_maps(measurement_.file, volumes.map_matrix_size(), slice, repetition, precision_, scan);
    return scan;
  }

 private:
  std::unique_ptr<mrd::RecordReader> take_reader() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return std::make_unique<mrd::RecordReader>(measurement_.records, true);
    auto reader = std::move(idle_.back());
    idle_.pop_back();
    return reader;
  }

  Measurement measurement_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<mrd::RecordReader>> idle_;  ///< the next volume often follows in the file
  ScanSummary summary_;
  Precision precision_;
};

/// Returns "/name" of the measurement to read; says so in `inferred` where it is not the usual one.
std::string group_of(const hdf5::File& file, const ReadOptions& options, Sentences& inferred) {
  const auto groups = ismrmrd_groups(file);
  std::string all;
  for (const auto& group : groups) all += (all.empty() ? "'" : ", '") + group + "'";
  if (!options.group.empty()) {
    auto name = options.group;
    if (name.starts_with('/')) name.erase(0, 1);
    if (std::find(groups.begin(), groups.end(), name) == groups.end())
      throw Error(file.path(), "a group '" + options.group + "' with an ISMRMRD measurement, as --group says",
                  groups.empty() ? "none" : all);
    return "/" + name;
  }
  if (groups.size() > 1)
    throw Error(file.path(), "one ISMRMRD measurement", fmt::format("{}: {}", groups.size(), all),
                "choose one with --group NAME");
  if (groups.empty()) return mrd::usual_group;  // errors name what is missing
  if ("/" + groups[0] != mrd::usual_group)
    say(inferred, "The measurement is the group '{}', the only one in the file.", groups[0]);
  return "/" + groups[0];
}

/// Opens a file and reads every head. Throws Error.
Measurement open_measurement(const std::string& path, const ReadOptions& options) {
  auto file = hdf5::File::open(path);
  Sentences inferred;
  const auto group = group_of(file, options, inferred), header_name = mrd::header_name(group),
             records_name = mrd::records_name(group);
  for (const auto& name : {header_name, records_name})
    if (!file.has(name))
      throw Error(file.subject(name), "a dataset", "none", "the file is no complete ISMRMRD file");
  const mrd::Subjects subjects{path, file.subject(header_name), file.subject(records_name)};
  auto header = mrd::parse_header(file.read_text(header_name), subjects.header);
  mrd::RecordDataset records(file, group);
  mrd::VolumeAssembler volumes(std::move(header), options, subjects, std::move(inferred));
  mrd::RecordReader trajectories(records, false), whole(records, true);
  for (std::int64_t number = 0; number < records.count(); ++number) volumes.add(trajectories(number));
  volumes.finish(std::ref(trajectories), std::ref(whole));
  return {std::move(file), std::move(records), std::move(volumes), group};
}

/// Returns the header with the unit cycles/FOV.
std::string with_unit(const std::string& xml) {
  pugi::xml_document document;
  document.load_buffer(xml.data(), xml.size(), pugi::parse_full);  // has been parsed before
  auto root = document.child("ismrmrdHeader");
  auto parameters = root.child("userParameters");
  if (!parameters) {
    const auto waveforms = root.child("waveformInformation");
    parameters = waveforms ? root.insert_child_before("userParameters", waveforms)
                           : root.append_child("userParameters");
  }
  auto parameter = parameters.find_child([](const pugi::xml_node& each) {
    return std::string_view(each.child_value("name")) == mrd::unit_parameter;
  });
  if (!parameter) {
    const auto base64 = parameters.child("userParameterBase64");
    parameter = base64 ? parameters.insert_child_before("userParameterString", base64)
                       : parameters.append_child("userParameterString");
    parameter.append_child("name").text().set(mrd::unit_parameter);
    parameter.append_child("value");
  }
  parameter.child("value").text().set(std::string(name_of(TrajectoryUnit::cycles_per_fov)).c_str());
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

std::vector<std::string> ismrmrd_groups(const hdf5::File& file) {
  auto groups = file.groups();
  std::erase_if(groups, [&](const std::string& name) {
    return !file.has(mrd::header_name("/" + name)) || !file.has(mrd::records_name("/" + name));
  });
  return groups;
}

ScanSource open_ismrmrd(const std::string& path, const ReadOptions& options) {
  return source_of(std::make_shared<IsmrmrdFile>(open_measurement(path, options), options),
                   hdf5::allows_threads());
}

Sentences copy_ismrmrd_here(const std::string& from, const ReadOptions& options, const std::string& temporary,
                            const std::string& path) {
  if (is_twix(from)) return copy_twix(from, options, temporary, path);
  const auto measurement = open_measurement(from, options);
  const auto header_name = mrd::header_name(measurement.group);
  const auto subject = measurement.file.subject(header_name);
  const auto xml = measurement.file.read_text(header_name);
  Conversion converted(measurement.volumes.positions(),
                       options.trajectory_unit != TrajectoryUnit::automatic || !states_unit(xml, subject));
  std::int64_t left_out = 0;
  if (converted.converts())
    for_each_readout(measurement.records, false,
                     [&](const mrd::Readout& readout) { left_out += converted.leaves_out(readout.head); });

  auto file = hdf5::File::create(temporary, path);
  mrd::RecordWriter writer(file, converted.converts() ? with_unit(xml) : xml,
                           measurement.records.count() - left_out);
  for_each_readout(measurement.records, true, [&](const mrd::Readout& readout) {
    if (!converted.leaves_out(readout.head)) writer.write(converted(readout));
  });
  writer.close();
  copy_waveforms(measurement.file, measurement.group, file);
  copy_maps(measurement.file, file);
  file.close();
  if (left_out == 0) return {};
  return {fmt::format(
      "{} readouts of other encoding spaces are not written: the unit of their trajectories is not known.",
      left_out)};
}

Sentences copy_ismrmrd(FileSet& files, const std::string& from, const ReadOptions& options,
                       const std::string& path) {
  files.add(path);
  return in_reader<&copy_ismrmrd_here>(from, options, files.back().temporary(), path);
}

}  // namespace fhd::io
