#pragma once
// Readouts of a trajectory, found from its positions: samples follow each other in small steps.
#include <algorithm>
#include <cmath>
#include <vector>

#include "recon/domain/scan.hpp"
#include "recon/trajectory/gradient_delays.hpp"
#include "validation/verdict/algebra.hpp"

namespace fhd::validation {

/// Returns where readouts start, ascending, with the number of samples as the last element: wherever a step is longer
/// than four times the median one; where none is, after the steps of EPI from line to line. Else there is one readout.
std::vector<Index> readout_starts(const Trajectory& trajectory);

/// Returns starts by the readout length that a source states; 0: it states none.
std::vector<Index> readout_starts(const Trajectory& trajectory, Index stated_length);

using fhd::readout_length;

/// Returns the value of `told` at a place between its samples first ... last, by a line through the two nearest.
inline double between(const double* told, double at, Index first, Index last) {
  const Index low = std::clamp(static_cast<Index>(std::floor(at)), first, std::max(first, last - 1));
  return told[low] + (at - static_cast<double>(low)) * (told[std::min(low + 1, last)] - told[low]);
}

/// Returns dk / dn, the change of k from sample to sample inside of its readout, [axis][sample] in cycles/FOV: the
/// central difference, at the ends the one-sided; 0 in a readout of one sample.
Array<double> steps_along_readouts(const Trajectory& trajectory, const std::vector<Index>& starts);

}  // namespace fhd::validation
