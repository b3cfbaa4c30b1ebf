// ISMRMRD HDF5 files: records.hpp tells the layout, volume_assembler.hpp what readouts mean. Optional root
// datasets /sensitivity_maps, /field_map, /sample_time_s: see io/scan/hdf5_maps.hpp.
#include <algorithm>

#include "io/scan/hdf5_maps.hpp"
#include "io/scan/mrd/measurement.hpp"
#include "io/scan/scan_parts.hpp"
#include "recon/error.hpp"

namespace fhd::io {
namespace {

/// Delivers the readouts of a file one at a time.
class RecordSource {
 public:
  RecordSource(const mrd::RecordDataset& records, bool with_values)
      : records_(records), with_values_(with_values) {}
  mrd::Readout operator()(std::int64_t number) {
    return block_.emplace(records_, number, 1, with_values_)[0];
  }

 private:
  const mrd::RecordDataset& records_;
  bool with_values_;
  std::optional<mrd::RecordBlock> block_;
};

class IsmrmrdFile final : public ScanFile {
 public:
  IsmrmrdFile(mrd::Measurement measurement, const ReadOptions& options)
      : file_(std::move(measurement.file)),
        records_(std::move(measurement.records)),
        volumes_(std::move(measurement.volumes)),
        summary_(volumes_.summary()),
        precision_(options.precision) {
    find_maps(file_, summary_);
    summary_.has_sample_time = summary_.has_sample_time || volumes_.summary().has_sample_time;
  }

  const ScanSummary& summary() const override { return summary_; }

  Scan read(std::int64_t slice, std::int64_t repetition) override {
    RecordSource source(records_, true);
    auto scan = volumes_.volume(slice, repetition, std::ref(source));
    read_maps(file_, volumes_.map_matrix_size(), slice, repetition, precision_, scan);
    if (auto noise = volumes_.noise(std::ref(source))) scan.noise = std::move(noise);
    scan.validate(summary_.path);
    return scan;
  }

 private:
  hdf5::File file_;
  mrd::RecordDataset records_;
  mrd::VolumeAssembler volumes_;
  ScanSummary summary_;
  Precision precision_;
};

}  // namespace

mrd::Measurement mrd::open_measurement(const std::string& path, const ReadOptions& options) {
  auto file = hdf5::File::open(path);
  for (const char* name : {mrd::header_name, mrd::records_name})
    if (!file.has(name))
      throw Error(file.subject(name), "a dataset", "none", "the file is no complete ISMRMRD file");
  const mrd::Subjects subjects{path, file.subject(mrd::header_name), file.subject(mrd::records_name)};
  auto header = mrd::parse_header(file.read_text(mrd::header_name), subjects.header);
  mrd::RecordDataset records(file);
  mrd::VolumeAssembler volumes(std::move(header), options, subjects);
  constexpr std::int64_t most = 256;
  for (std::int64_t first = 0; first < records.count(); first += most) {
    const auto count = std::min(most, records.count() - first);
    const mrd::RecordBlock block(records, first, count, false);
    for (std::int64_t i = 0; i < count; ++i) volumes.add(block[i]);
  }
  RecordSource trajectories(records, false), whole(records, true);
  volumes.finish(std::ref(trajectories), std::ref(whole));
  return {std::move(file), std::move(records), std::move(volumes)};
}

std::unique_ptr<ScanFile> open_ismrmrd(const std::string& path, const ReadOptions& options) {
  return std::make_unique<IsmrmrdFile>(mrd::open_measurement(path, options), options);
}

}  // namespace fhd::io
