#pragma once
// Tests of named hypotheses about what is wrong with a scan, on the centre of k-space: sizes by least squares beside
// the image (centre_model.hpp), uncertainties from what is left over, readout by readout, and how much of the image
// depends on it.
#include <vector>

#include "validation/verdict/centre_model.hpp"

namespace fhd::validation {

/// A hypothesis counts as a mistake if undoing it changes the image by this, half of the change that must be seen, ...
inline constexpr double image_change_limit = 0.05;
/// ... its size is above its uncertainty by this factor (noise gives 6e-7 of sizes as much, and some 50 hypotheses are
/// tried), ...
inline constexpr double certain = 5;
/// ... and it explains this share of what is left over beyond noise near the centre of k-space: some changes explain
/// 0.4 of what scans in vivo leave over.
inline constexpr double share_limit = 0.45;

struct HypothesisTests {
  std::vector<Finding> changes;  ///< the best of each kind by its first step, most explained first
  std::optional<Finding> cause;  ///< a mistake, solved for its size
};

/// Tests the hypotheses on `centre`. `noise_variance` is E |n|^2 of a sample in the unit of the scaled samples, 0
/// where not known; `time` as that of central_samples. Nothing is found where the centre of k-space cannot tell.
HypothesisTests test_hypotheses(const VerifierInput<float>& input, const std::vector<Index>& starts,
                                const std::vector<double>& time, double noise_variance, Centre& centre);

}  // namespace fhd::validation
