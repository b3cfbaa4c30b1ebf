#pragma once
// Finds a tone, exp(i 2 pi f n) along all readouts: a line through the image (zipper, spike noise, a carrier).
#include <optional>

#include "recon/domain/report.hpp"
#include "validation/verdict/readout_set.hpp"

namespace fhd::validation {

/// Returns the strongest tone that three readouts in four hold. Pieces of at most 256 samples of the residual are
/// transformed (Hann window); the lower quartile over pieces of |spectrum|^2, summed over coils, is compared with its
/// median over 20 neighbouring frequencies: noise and what a model leaves over stay below 6 times it. Where an image
/// absorbs the tone, as a fully sampled Cartesian one does, the quarter of the pieces with the least signal shows it.
/// `amount`: root mean square over coils in % of that of the samples; `image_change`: within a factor of about two.
/// `dwell_s`: time between samples; 0: not known.
std::optional<Finding> tone_in(const ReadoutSet& set, double dwell_s);

}  // namespace fhd::validation
