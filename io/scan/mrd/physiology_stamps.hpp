#pragma once
// Times since triggers, which heads of readouts hold.
#include <array>
#include <cstdint>
#include <vector>

#include "io/scan/mrd/readout.hpp"

namespace fhd::io::mrd {

/// A source of readouts that also appends their physiology_time_stamp to `stamps`, which stays empty while all are
/// 0; both outlive it.
template <class Source>
auto noting_stamps(const Source& source, std::vector<std::array<std::uint32_t, 3>>& stamps) {
  static_assert(ISMRMRD::ISMRMRD_PHYS_STAMPS == 3);
  return [&source, &stamps, earlier = std::size_t{0}](std::int64_t number) mutable {
    const Readout readout = source(number);
    const auto& [first, second, third] = readout.head.physiology_time_stamp;
    if (!stamps.empty() || (first | second | third) != 0) {
      stamps.resize(earlier);
      stamps.push_back({first, second, third});
    }
    ++earlier;
    return readout;
  };
}

}  // namespace fhd::io::mrd
