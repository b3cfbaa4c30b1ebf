#pragma once
// Finds single samples that no image explains, far above their neighbours: sparks, and errors of a file.
#include <optional>
#include <vector>

#include "recon/domain/report.hpp"
#include "recon/pipeline/context.hpp"
#include "validation/verdict/algebra.hpp"

namespace fhd::validation {

/// Returns the samples whose residual, summed over coils, has 16 times the energy of any but the next ones within
/// four samples of their readout and 30 times the median of all, where they are a tenth of |r|^2 or more. Samples
/// within 4 cycles/FOV of the centre, where the signal has peaks, are left out. One pass over all samples. `amount`:
/// their number; `image_change`: the root of their share of |d|^2, because an image takes them over as noise.
std::optional<Finding> spikes_in(const VerifierInput<float>& input, const std::vector<Index>& starts);

}  // namespace fhd::validation
