#pragma once
// Where there is something to see: sensitivity maps are zero elsewhere.
#include <array>
#include <cstdint>

#include "recon/array/array.hpp"
#include "recon/coils/calibration.hpp"

namespace fhd {

/// 1 where maps are wanted, [z][y][x] of `matrix_size`: see MapSettings::signal_mask, which is `share`.
Array<std::uint8_t> signal_mask(const CalibrationRegion& region, double share,
                                std::array<int, 3> matrix_size);

}  // namespace fhd
