#pragma once
// Readouts made by hand, and a stream of them, for tests of what they mean.
#include <initializer_list>
#include <string>
#include <vector>

#include "io/scan/mrd/volume_assembler.hpp"

namespace fhd::io::mrd {

inline constexpr int samples = 8, coils = 2;

/// A line of k-space along x at ky = `line`, values (number, sample + 100 coil).
inline OwnedReadout line_readout(int number, int line) {
  OwnedReadout readout;
  readout.head.number_of_samples = samples;
  readout.head.active_channels = coils;
  readout.head.trajectory_dimensions = 2;
  readout.head.sample_time_us = 2;
  for (int s = 0; s < samples; ++s)
    readout.trajectory.insert(readout.trajectory.end(),
                              {static_cast<float>(s - samples / 2), static_cast<float>(line)});
  for (int coil = 0; coil < coils; ++coil)
    for (int s = 0; s < samples; ++s)
      readout.values.insert(readout.values.end(),
                            {static_cast<float>(number), static_cast<float>(s + 100 * coil)});
  return readout;
}

inline Header header_8x8() {
  Header header;
  header.encoded_matrix = {8, 8, 1};
  header.encoded_fov_mm = {80, 80, 5};
  header.trajectory = "other";
  header.trajectory_unit = "cycles/FOV";
  return header;
}

/// A stream: readouts kept in memory.
class Stream {
 public:
  explicit Stream(Header header = header_8x8())
      : assembler(std::move(header), {}, {"stream", "stream header", "readout"}) {}
  void deliver(const OwnedReadout& readout) {
    readouts_.push_back(readout);
    assembler.add(readout.view());
  }
  Source source() {
    return [this](std::int64_t number) { return readouts_.at(static_cast<std::size_t>(number)).view(); };
  }
  VolumeAssembler assembler;

 private:
  std::vector<OwnedReadout> readouts_;
};

/// Readout `number` of a Cartesian scan at encoding step `step`.
inline OwnedReadout cartesian(int number, int step, std::initializer_list<int> flags = {}) {
  auto readout = line_readout(number, 0);
  readout.trajectory.clear();
  readout.head.trajectory_dimensions = 0;
  readout.head.center_sample = samples / 2;
  readout.head.idx.kspace_encode_step_1 = static_cast<std::uint16_t>(step);
  for (const int flag : flags) readout.head.set_flag(flag);
  return readout;
}
inline Header cartesian_header() {
  auto header = header_8x8();
  header.trajectory = "cartesian";
  header.step_1 = Limit{7, 4};
  return header;
}
inline constexpr int only = ISMRMRD::ISMRMRD_ACQ_IS_PARALLEL_CALIBRATION,
                     also = ISMRMRD::ISMRMRD_ACQ_IS_PARALLEL_CALIBRATION_AND_IMAGING;

inline Scan scan_of(Stream& stream, std::int64_t repetition = 0) {
  stream.assembler.finish(stream.source(), stream.source());
  auto scan = stream.assembler.volume(0, repetition, stream.source());
  scan.validate("stream");
  return scan;
}
}  // namespace fhd::io::mrd
