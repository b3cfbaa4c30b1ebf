// ISMRMRD HDF5 files: records.hpp describes the layout, volume_assembler.hpp what readouts mean. Optional root
// datasets /sensitivity_maps, /field_map, /sample_time_s: see io/scan/hdf5_maps.hpp.
//
// ISMRMRD -> ISMRMRD: see mrd/copy_readouts.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

#include "io/files/in_reader.hpp"
#include "io/scan/hdf5_maps.hpp"
#include "io/scan/mrd/copy_readouts.hpp"
#include "io/scan/mrd/records.hpp"
#include "io/scan/mrd/stream_file.hpp"
#include "io/scan/mrd/volume_assembler.hpp"
#include "io/scan/scan_parts.hpp"
#include "recon/domain/option_words.hpp"
#include "recon/error.hpp"

namespace fhd::io {

Sentences copy_stream(const std::string& from, const ReadOptions& options, hdf5::File& to);
Sentences copy_twix(const std::string& from, const ReadOptions& options, hdf5::File& to);

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
        maps_(measurement_.file, summary_),
        precision_(options.precision) {}

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
    maps_.read(measurement_.file, volumes.map_matrix_size(), slice_by_counter(summary_, slice), repetition,
               precision_, scan);
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
  MapReader maps_;
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
      throw Error(file.path(),
                  "a group '" + options.group + "' with an ISMRMRD measurement, as " + option_words("group") +
                      " says",
                  groups.empty() ? "none" : all);
    return "/" + name;
  }
  if (groups.size() > 1)
    throw Error(file.path(), "one ISMRMRD measurement", fmt::format("{}: {}", groups.size(), all),
                "choose one with " + option_words("group", "NAME"));
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
  volumes.follow_sequence(records.count(), std::ref(trajectories));
  for (std::int64_t number = 0; number < records.count(); ++number) volumes.add(trajectories(number));
  volumes.finish(std::ref(trajectories), std::ref(whole));
  return {std::move(file), std::move(records), std::move(volumes), group};
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
  if (const bool is_raw = is_twix(from); is_raw || mrd::is_stream(from)) {
    auto file = hdf5::File::create(temporary, path);
    auto lost = is_raw ? copy_twix(from, options, file) : copy_stream(from, options, file);
    file.close();
    return lost;
  }
  const auto measurement = open_measurement(from, options);
  const auto header_name = mrd::header_name(measurement.group);
  const bool has_waveforms = measurement.file.has(measurement.group + "/waveforms");
  auto file = hdf5::File::create(temporary, path);
  const auto reader_of = [&](bool with_values) -> mrd::Source {
    return [reader = std::make_shared<mrd::RecordReader>(measurement.records, with_values)](
               std::int64_t number) { return (*reader)(number); };
  };
  auto lost =
      mrd::copy_readouts({measurement.file.read_text(header_name), measurement.file.subject(header_name),
                          measurement.records.count(), reader_of, has_waveforms},
                         measurement.volumes.positions(), options, file);
  if (!options.anonymous) copy_waveforms(measurement.file, measurement.group, file);
  copy_maps(measurement.file, file);
  file.close();
  return lost;
}

Sentences copy_ismrmrd(FileSet& files, const std::string& from, const ReadOptions& options,
                       const std::string& path) {
  files.add(path);
  return in_reader<&copy_ismrmrd_here>(from, options, files.back().temporary(), path);
}

}  // namespace fhd::io
