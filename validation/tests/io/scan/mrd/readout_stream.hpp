#pragma once
// Readouts made by hand, without a file.
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

}  // namespace fhd::io::mrd
