#pragma once
// Finds a tone in the samples of a scan without an image.
#include <optional>

#include "recon/domain/scan.hpp"
#include "recon/trajectory/gradient_delays.hpp"

namespace fhd::validation {

/// Returns the frequency of a tone that the samples show by themselves, cycles/sample; empty: none. Spectra as of tone_in of
/// data_tests.hpp are compared with their neighbours: of the quarter of the pieces with the least signal, 12 times (right
/// scans stay below 9), and of all pieces, with the samples of all places of a readout made equally strong, 20 times. Edges of
/// an object look like a tone of at most 1 % of the signal there (34 times): ask take_off_tone for 2 %.
std::optional<double> tone_in(const Trajectory& trajectory, const KSpace& kspace,
                              const ReadoutStarts& starts);

}  // namespace fhd::validation
