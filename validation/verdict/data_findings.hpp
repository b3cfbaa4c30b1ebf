#pragma once
// Finds mistakes in the samples themselves by a test for each.
#include <vector>

#include "recon/domain/report.hpp"
#include "recon/pipeline/context.hpp"
#include "validation/verdict/algebra.hpp"

namespace fhd::validation {

/// Returns what samples hold that no image explains, with the codes that mistake_in_data lists: from some 10^5 samples at
/// most, but spikes and integers that wrap from all. Tests of mistakes that leave much over need it of `v.unexplained`, and a window needs that
/// little is left over. `starts`: where readouts start.
std::vector<Finding> findings_in_data(const VerifierInput<float>& input, const std::vector<Index>& starts,
                                      const Verdict& v);

/// Returns the mistake among `v.changes` that calls for an alarm: one of findings_in_data or an offset of the
/// receiver, which changes the image by more than 5 % or, where its size is not known, explains a third of an
/// alarming residual; the first in size. Null: none.
const Finding* mistake_in_data(const Verdict& v);

}  // namespace fhd::validation
