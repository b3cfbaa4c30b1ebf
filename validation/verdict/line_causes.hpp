#pragma once
// Finds what is wrong with the lines of a Cartesian scan of several coils from the lines themselves (line_model.hpp):
// phases, gains, motion, ghosts and orders. Maps that are found in the scan absorb much of these, so that little of
// them is left over.
#include <optional>
#include <vector>

#include "recon/domain/report.hpp"
#include "recon/pipeline/context.hpp"
#include "validation/verdict/algebra.hpp"

namespace fhd::validation {

/// Returns the mistake of the lines without which they are likeliest. It counts if undoing it gains 5 nats beyond the
/// logarithm of how many others were tried, or beyond one for each line where every line has a size of its own, and
/// changes the image by more than 5 %. `share` is 1: lines alone show it. Codes: "phase", "signal", "odd_readouts",
/// "motion", "ghost", "exchange", "coil". `unexplained` as in Verdict: tests that need other lines are made above 2
/// %. Empty for other trajectories, for one coil, and in 3D.
std::optional<Finding> cause_in_lines(const VerifierInput<float>& input, const std::vector<Index>& starts,
                                      double unexplained);

}  // namespace fhd::validation
