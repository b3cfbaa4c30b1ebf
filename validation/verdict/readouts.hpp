#pragma once
// Readouts of a trajectory, found from its positions: samples follow each other in small steps.
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

/// Returns dk / dn, the change of k from sample to sample inside of its readout, [axis][sample] in cycles/FOV: the
/// central difference, at the ends the one-sided; 0 in a readout of one sample.
Array<double> steps_along_readouts(const Trajectory& trajectory, const std::vector<Index>& starts);

}  // namespace fhd::validation
