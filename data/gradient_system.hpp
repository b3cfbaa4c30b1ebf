#pragma once
// A readout as a gradient system with a given response plays it, from its design between samples.
#include <array>
#include <cstdint>
#include <functional>

#include "recon/array/array.hpp"
#include "recon/domain/gradient_response.hpp"

namespace fhd::data {

/// The positions at samples 0 ... length - 1, [axis][sample], of a readout designed to be at `position(sample)`,
/// a number between samples too, in steps of a quarter of a sample from a millisecond ahead on.
Array<double> played_readout(const std::function<std::array<double, 3>(double sample)>& position,
                             std::int64_t length, double dwell_s, const GradientResponse& response);

}  // namespace fhd::data
