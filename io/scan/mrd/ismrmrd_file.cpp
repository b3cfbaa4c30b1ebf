// ISMRMRD HDF5 files: records.hpp describes the layout, volume_assembler.hpp what readouts mean. Optional root
// datasets /sensitivity_maps, /field_map, /sample_time_s: see io/scan/hdf5_maps.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

#include "io/scan/hdf5_maps.hpp"
#include "io/scan/mrd/measurement.hpp"
#include "io/scan/scan_parts.hpp"
#include "recon/array/thread_limit.hpp"
#include "recon/error.hpp"

namespace fhd::io {
namespace {

class IsmrmrdFile {
 public:
  IsmrmrdFile(mrd::Measurement measurement, const ReadOptions& options)
      : file_(std::move(measurement.file)),
        records_(std::move(measurement.records)),
        volumes_(std::move(measurement.volumes)),
        summary_(volumes_.summary()),
        precision_(options.precision) {
    find_maps(file_, summary_);
    if (summary_.has_sample_time || !volumes_.summary().has_sample_time) return;
    summary_.has_sample_time = true;
    summary_.time_origin = TimeOrigin::readout_start;
  }

  const ScanSummary& summary() const { return summary_; }

  Scan read(std::int64_t slice, std::int64_t repetition) {
    hdf5::be_silent();
    const auto reader = take_reader();
    auto scan = volumes_.volume(slice, repetition, std::ref(*reader));
    read_maps(file_, volumes_.map_matrix_size(), slice, repetition, precision_, scan);
    if (auto noise = volumes_.noise(std::ref(*reader))) scan.noise = std::move(noise);
    give_back(reader);
    constexpr std::int64_t values_per_thread = 1 << 21;  // fewer are checked before another thread wakes
    const ThreadLimit limit(static_cast<int>(1 + scan.kspace.values.size() / values_per_thread));
    scan.validate(summary_.path);
    if (scan.field_map) note_time_origin(summary_, scan);
    return scan;
  }

 private:
  using Reader = std::shared_ptr<mrd::RecordReader>;

  Reader take_reader() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return std::make_shared<mrd::RecordReader>(records_, true);
    auto reader = std::move(idle_.back());
    idle_.pop_back();
    return reader;
  }
  void give_back(Reader reader) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(reader));
  }

  hdf5::File file_;
  mrd::RecordDataset records_;
  std::mutex mutex_;
  std::vector<Reader> idle_;  ///< the next volume often follows in the file
  mrd::VolumeAssembler volumes_;
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
    inferred.push_back(
        fmt::format("The measurement is the group '{}', the only one in the file.", groups[0]));
  return "/" + groups[0];
}

}  // namespace

std::vector<std::string> ismrmrd_groups(const hdf5::File& file) {
  auto groups = file.groups();
  std::erase_if(groups, [&](const std::string& name) {
    return !file.has(mrd::header_name("/" + name)) || !file.has(mrd::records_name("/" + name));
  });
  return groups;
}

mrd::Measurement mrd::open_measurement(const std::string& path, const ReadOptions& options) {
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

ScanSource open_ismrmrd(const std::string& path, const ReadOptions& options) {
  return source_of(std::make_shared<IsmrmrdFile>(mrd::open_measurement(path, options), options),
                   hdf5::allows_threads());
}

}  // namespace fhd::io
