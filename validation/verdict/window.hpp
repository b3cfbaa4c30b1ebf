#pragma once
// Finds a window (Hann, Hamming, Gauss) that was applied to samples before they were stored: the image is blurred.
#include <optional>

#include "recon/domain/report.hpp"
#include "validation/verdict/readout_set.hpp"

namespace fhd::validation {

/// Returns a window along the readouts, or from readout to readout (the outermost against those half-way out). A
/// receiver's noise is as strong at the ends of a readout as in its middle; a window that was applied later takes it
/// down with the signal. The noise is that of the residual in the upper half of its band (fourth differences), which
/// holds little of an object and which no fit absorbs. Meaningful only where there are more values than unknowns.
/// `amount`: the factor at the ends, against the middle third, in %.
std::optional<Finding> window_in(const ReadoutSet& set);

}  // namespace fhd::validation
