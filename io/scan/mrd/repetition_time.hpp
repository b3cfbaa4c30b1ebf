#pragma once
// How long a repetition of an ISMRMRD measurement takes, where its readouts or its header tell.
#include <cstdint>
#include <string>
#include <vector>

#include "io/scan/mrd/header.hpp"

namespace fhd::io::mrd {

struct RepetitionTime {
  double seconds = 0;  ///< 0: not known
  std::string origin;  ///< "time stamps of 2.5 ms"
};

/// `stamps`: acquisition_time_stamp of the first readout of every repetition, in their order. ISMRMRD leaves open
/// what they count; those of Siemens count 2.5 ms. They tell where they rise evenly. Else the TR of the header
/// tells, where every image is one readout (`readouts_per_image` = 1) and so one excitation: how many an image of
/// several readouts takes is not stated.
RepetitionTime repetition_time(const Header& header, const std::vector<std::uint32_t>& stamps,
                               std::int64_t readouts_per_image);

}  // namespace fhd::io::mrd
