#include "io/scan/mrd/readout_scan.hpp"

#include <utility>

#include "io/scan/scan_parts.hpp"

namespace fhd::io::mrd {

ReadoutScan::ReadoutScan(Header header, const ReadOptions& options, Subjects subjects,
                         std::vector<SharedReadout> readouts)
    : readouts_(std::move(readouts)), volumes_(std::move(header), options, std::move(subjects)) {
  for (const auto& one : readouts_) volumes_.add(one->view());
  const auto source = [this](std::int64_t number) { return readout(number); };
  volumes_.finish(source, source);
  summary_ = volumes_.summary();
  if (summary_.has_sample_time) summary_.time_origin = TimeOrigin::readout_start;
}

Scan ReadoutScan::read(std::int64_t slice, std::int64_t repetition) {
  const auto source = [this](std::int64_t number) { return readout(number); };
  Scan scan = volumes_.volume(slice, repetition, source);
  if (auto noise = volumes_.noise(source)) scan.noise = std::move(noise);
  scan.validate(summary_.path);
  if (scan.field_map) note_time_origin(summary_, scan);
  return scan;
}

}  // namespace fhd::io::mrd
