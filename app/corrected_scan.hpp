#pragma once
// A scan file whose volumes have their trajectory corrected for gradient delays as they are read: whatever follows,
// calibration first, sees the positions as played.
#include <memory>

#include "app/options.hpp"
#include "io/scan/scan_file.hpp"

namespace fhd::app {

/// `file` itself where nothing is asked for. Delays are found once for a scan, in the first repetition of its middle
/// slice, when the first volume is read; the remarks of every volume say what was done, or why nothing was.
std::unique_ptr<io::ScanFile> with_trajectory_correction(std::unique_ptr<io::ScanFile> file,
                                                         const TrajectoryCorrection& correction);

}  // namespace fhd::app
