#pragma once
// --frames, --spokes-per-frame, --sliding, --gate and --basis: frames of a continuous acquisition.
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/scan/scan_file.hpp"
#include "recon/pipeline/frames.hpp"

namespace fhd::app {

struct FrameOptions {
  FrameChoice choice;
  std::optional<std::string> gate;   ///< "self", "physiology", "physiology:K", or a file
  std::optional<std::string> basis;  ///< "K", or a file

  bool asks() const { return choice.asks() || gate; }
  /// Returns what is read from files, and from which: of --gate and --basis.
  std::vector<std::pair<std::string, std::string>> files() const;
  /// Sets the temporal subspace that is asked for. Throws Error on contradictory options.
  void take_part_in(Settings& settings) const;
  /// Returns the frames of a scan of that file. Throws Error.
  FrameLayout layout_of(const Scan& scan, const io::ScanSummary& summary) const;
  /// Throws Error unless it is one repetition that is cut into frames.
  static void require_one(const std::vector<std::int64_t>& repetitions);
  /// Returns how many frames a scan of so many samples has, and how long they are, whatever its motion. Throws Error.
  FrameSizes sizes(std::int64_t samples, std::int64_t readout_length) const;
};

}  // namespace fhd::app
