#pragma once
// Estimates how much of what an image leaves over of its samples is what scans in vivo always leave: from the samples
// near the centre of k-space (centre_model.hpp). With r what is left over, each source is a set of changes v of the
// model, and explains
//
//     b^T (G + epsilon)^-1 b,   G = Re v_i^H (1 - H) v_j,  b = Re v_i^H (1 - H) r,
//
// less what as many random changes would. Sources: off-resonance, a field of second order in space; errors of the maps, a
// complex factor of second order for each (virtual) coil; motion, breath and contrast, a shift, a phase and a gain
// for each of some spans of time; tissue beyond the field of view, an image that is half as wide again.
#include <vector>

#include "validation/verdict/centre_model.hpp"

namespace fhd::validation {

struct OrdinaryRest {
  std::vector<Finding>
      sources;            ///< that explain something, most first; `share` of what is left over beyond noise
  double share = 0;       ///< together
  bool is_known = false;  ///< false: the centre of k-space cannot tell
};

/// Returns whether tissue may go on beyond the FOV: `border` as in Verdict. Cropped scans have 0.9 and more, mistakes
/// of spirals up to 0.7.
inline bool reaches_border(double border) { return border > 0.7; }
/// Returns whether the object surely goes on: its border is as bright as the rest.
inline bool is_bright_at_border(double border) { return border > 1; }

/// Estimates the ordinary rest. `has_times`: the times of `samples` are seconds; `border` as in Verdict; 0: tissue
/// outside is not sought; `noise_variance` as that of test_hypotheses. Empty where the centre of k-space cannot tell.
/// Takes some tenths of a second.
OrdinaryRest ordinary_rest(Centre& centre, const std::array<int, 3>& matrix_size, bool has_times,
                           double border, double noise_variance);

}  // namespace fhd::validation
