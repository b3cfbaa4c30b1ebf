#pragma once
// What an operator of known sizes costs and holds.
#include <algorithm>
#include <cstddef>

#include "recon/array/work.hpp"

namespace fhd {

struct OperatorCost {
  Work making, forward;           ///< of the constructor; of one product
  std::size_t bytes = 0;          ///< held on its device as long as it lives
  std::size_t making_bytes = 0;   ///< beside these while it is made
  std::size_t scratch_bytes = 0;  ///< beside these while it is applied
};

/// Sizes beyond any machine count as 2^63 bytes.
inline std::size_t whole_bytes(double bytes) { return static_cast<std::size_t>(std::min(bytes, 0x1p63)); }

}  // namespace fhd
