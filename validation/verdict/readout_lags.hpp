#pragma once
// Finds readouts whose centre of k-space lies elsewhere than in others.
#include <optional>
#include <vector>

#include "recon/domain/report.hpp"
#include "recon/domain/scan.hpp"

namespace fhd::validation {

/// Returns that samples were lost in the stream, so that readouts from one on are early (code "lost_samples"; `amount`: how
/// many samples), or that readouts begin early or late at random (code "jitter"; `amount`: samples, rms). The profiles
/// |d(n)| of readouts that pass the centre of k-space in the same way are alike: moved by whole samples to where they
/// fit their mean best, they are 2.5 times as near to it as they are stored, and nearly alike. Lags that follow the
/// direction of the readouts are delays of gradients, those of every second readout a ghost: neither is returned.
std::optional<Finding> lag_of_readouts(const Scan& scan, const std::vector<std::int64_t>& starts);

/// Returns that the energy of each readout lies about another k (code "phase_ramps"; `amount`: cycles/FOV from one to the
/// next).
std::optional<Finding> ramps_of_readouts(const Scan& scan, const std::vector<std::int64_t>& starts);

}  // namespace fhd::validation
