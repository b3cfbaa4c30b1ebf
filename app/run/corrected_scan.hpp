#pragma once
// A scan file whose volumes have their trajectory corrected for the gradients' impulse responses and delays, in
// this order, as they are read: whatever follows, calibration first, sees the positions as played.
#include <memory>
#include <vector>

#include "app/options/run_options.hpp"
#include "io/scan/scan_file.hpp"
#include "recon/trajectory/gradient_delays.hpp"

namespace fhd::app {

/// `file` itself where nothing is asked for. Delays are found once for a scan, in the first repetition of its
/// middle slice, when the first volume is read; the notes of every volume say what was done, or why nothing was.
/// The summary's readout_length is that of the volume read last: 0 where single samples were left out.
std::unique_ptr<io::ScanFile> with_trajectory_correction(std::unique_ptr<io::ScanFile> file,
                                                         const TrajectoryCorrection& correction,
                                                         BeyondMatrix leaves = BeyondMatrix::samples);
/// The same of files at the same positions: delays are found in the first, and are those of all.
std::vector<std::unique_ptr<io::ScanFile>> with_trajectory_correction(
    std::vector<std::unique_ptr<io::ScanFile>> files, const TrajectoryCorrection& correction);

}  // namespace fhd::app
