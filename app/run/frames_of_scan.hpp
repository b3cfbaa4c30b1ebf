#pragma once
// The slices of a scan whose readouts are taken as frames, one slice after the other: what `fhd recon` and `fhd batch`
// share.
#include <cstddef>
#include <functional>
#include <string>

#include "app/options/frame_options.hpp"
#include "app/options/options.hpp"
#include "app/run/recon_engine.hpp"
#include "io/scan/scan_file.hpp"

namespace fhd::app {

/// What is to be made of a scan.
struct FramesRequest {
  std::string path, command_line;  ///< of the scan, as the user gave it
  const FrameOptions& options;
  const VolumeSelection& selection;
};

/// What hears of it.
struct FrameEvents {
  ProgressCallback progress;
  std::function<void(const std::string&)> on_fallback;
  /// Once the frames of the first slice are known, before it is reconstructed; `frame_time_s` from one frame to the
  /// next, 0: not known, or not even.
  std::function<void(const FrameLayout&, double frame_time_s, ScanResults&)> on_layout;
  /// Of the first slice, once it is reconstructed, where the engine tells sizes; `slices` in all. May be empty.
  std::function<void(const ScanSizes&, const FrameLayout&, std::int64_t slices)> on_sizes{};
  /// Of every image, whose number is that in the results, before it is one of them.
  std::function<void(std::size_t number, Report&, const ScanResults&)> on_image;
};

/// Throws Error unless one repetition and slices of the scan are chosen.
std::int64_t repetition_of_frames(const io::ScanSummary& summary, const VolumeSelection& selection);

/// Results [frame][slice]. Throws Error, also where slices differ in their readouts.
ScanResults frames_of_scan(io::ScanFile& file, const FramesRequest& request, ReconEngine& engine,
                           const FrameEvents& events);

}  // namespace fhd::app
