#pragma once
// The time of a repetition of an ISMRMRD measurement, where its readouts or its header tell.
#include <cstdint>
#include <string>
#include <vector>

#include "io/scan/mrd/header.hpp"

namespace fhd::io::mrd {

struct RepetitionTime {
  double seconds = 0;  ///< 0: not known
  std::string origin;  ///< "time stamps of 2.5 ms"
};

/// Returns the time from `stamps`, the acquisition_time_stamp of the first readout of every repetition in their order,
/// where they rise evenly and the scanner is Siemens's, which counts 2.5 ms (ISMRMRD leaves open what they count). Else
/// it is the TR of the header, where every image is one readout (`readouts_per_image` = 1) and so one excitation.
RepetitionTime repetition_time(const Header& header, const std::vector<std::uint32_t>& stamps,
                               std::int64_t readouts_per_image);

}  // namespace fhd::io::mrd
