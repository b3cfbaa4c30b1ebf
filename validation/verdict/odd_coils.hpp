#pragma once
// Finds one or two coils that do not agree with their maps where the others do, and what is wrong with them.
#include <algorithm>
#include <optional>
#include <vector>

#include "recon/domain/report.hpp"
#include "validation/verdict/map_fit.hpp"

namespace fhd::validation {

/// Returns the largest share of the energy that a change of maps or coils leaves if it is the cause, where `left` is
/// left as told: a fifth of it, and a tenth or what right maps leave in vivo.
inline double most_left_by_cause(double left, double by_right_maps) {
  return std::min(0.2 * left, std::max(by_right_maps, 0.1 * left));
}

/// Returns what is wrong with a coil, or with two, without which an image leaves no more than most_left_by_cause:
/// gain, sign, phase, conjugation, coupling, a change in time, or none of these. `maps` [coil][voxel], `starts` where
/// readouts start. Code "coil". One of two coils always agrees, so that three are needed; and four to find two, which
/// must be coupled or exchanged.
std::optional<Finding> odd_coils(const MapFit& fit, const Matrix& maps, const std::vector<Index>& starts,
                                 double by_right_maps);

}  // namespace fhd::validation
