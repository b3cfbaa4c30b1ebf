#pragma once
// The slices of a run whose readouts are taken as frames, one slice after the other.
#include <cstdint>
#include <string>

#include "app/run/scan_run.hpp"

namespace fhd::app {

/// Returns the repetition whose readouts are frames. Throws Error unless one repetition and slices of the scan are
/// chosen.
std::int64_t repetition_of_frames(const io::ScanSummary& summary, const VolumeSelection& selection);

/// Reconstructs the frames of every slice by one engine: the results become [frame][slice]. Throws Error, also where
/// slices differ in their readouts.
void reconstruct_frames(ScanRun& run, const RunEngines& engines, const RunEvents& events,
                        const std::string& note);

}  // namespace fhd::app
