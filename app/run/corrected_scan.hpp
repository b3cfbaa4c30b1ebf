#pragma once
// Corrects the trajectory of the volumes of a scan, as they are read, for the gradients' impulse responses and delays, in
// this order: all later steps, calibration first, use the positions as played.
#include <memory>
#include <vector>

#include "app/options/run_options.hpp"
#include "io/scan/scan_file.hpp"
#include "recon/trajectory/gradient_delays.hpp"

namespace fhd::app {

/// Returns the file with the corrections that are asked for. Delays are found once for a scan, in the first repetition of
/// its middle slice, when the first volume is read; the notes of every volume say what was done, or why nothing was.
/// The summary's readout_length is that of the volume read last: 0 where single samples were left out.
std::unique_ptr<io::ScanFile> with_trajectory_correction(std::unique_ptr<io::ScanFile> file,
                                                         const TrajectoryCorrection& correction,
                                                         BeyondMatrix leaves = BeyondMatrix::samples);
/// Corrects files at the same positions: delays are found in the first file and used for all.
std::vector<std::unique_ptr<io::ScanFile>> with_trajectory_correction(
    std::vector<std::unique_ptr<io::ScanFile>> files, const TrajectoryCorrection& correction);

}  // namespace fhd::app
