#pragma once
// Corrects the trajectory of the volumes of a scan, as they are read, for the gradients' impulse responses and delays, in
// this order: all later steps, calibration first, use the positions as played.
#include <vector>

#include "app/options/run_options.hpp"
#include "io/scan/scan_file.hpp"
#include "recon/trajectory/gradient_delays.hpp"

namespace fhd::app {

/// Adds the corrections that are asked for to files at the same positions. Delays are found once, in the first repetition of
/// the middle slice of the first file, when the first volume is read; the notes of every volume say what was done, or why
/// nothing was. The summary's readout_length is that of the volume read last: 0 where single samples were left out.
void correct_trajectory(const std::vector<io::ScanFile*>& files, const TrajectoryCorrection& correction,
                        BeyondMatrix leaves = BeyondMatrix::samples);

}  // namespace fhd::app
