#pragma once
// ISMRMRD -> ISMRMRD: readouts keep their flags, counters and time stamps, and the header stays. Trajectories whose unit
// the header does not state, or that the user states, are written in cycles/FOV, in axes of the image. Anonymous: without
// what may identify somebody (anonymous.hpp).
#include <cstdint>
#include <functional>
#include <string>

#include "io/hdf5/hdf5.hpp"
#include "io/scan/mrd/sample_positions.hpp"
#include "io/scan/scan_parts.hpp"

namespace fhd::io::mrd {

/// The readouts of a file, or a stream.
struct ReadoutsToCopy {
  std::string header, header_subject;
  std::int64_t count = 0;
  std::function<Source(bool with_values)> reader_of;
  bool has_waveforms = false;
};

/// Writes header and readouts to `file`. `positions`: of the image. Returns what is not written. Throws Error.
Sentences copy_readouts(const ReadoutsToCopy& readouts, const SamplePositions& positions,
                        const ReadOptions& options, hdf5::File& file);

}  // namespace fhd::io::mrd
