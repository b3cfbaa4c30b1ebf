#pragma once
// --frames, --spokes-per-frame, --sliding, --gate and --basis: frames of a continuous acquisition.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/scan/scan_file.hpp"
#include "recon/pipeline/frames.hpp"

namespace CLI {
class App;
}

namespace fhd::app {

class FrameOptions {
 public:
  /// Adds the options to a command. The object must outlive the parse.
  void add_to(CLI::App& app);
  bool asks() const { return choice_.asks() || gate_; }
  /// What is read, and from which file: of --gate and --basis.
  std::vector<std::pair<std::string, std::string>> files() const;
  /// `settings` with the temporal subspace that is asked for. Throws Error on contradictory options.
  void take_part_in(Settings& settings) const;
  /// The frames of a scan of that file. Throws Error.
  FrameLayout layout_of(const Scan& scan, const io::ScanSummary& summary) const;
  /// Throws Error unless it is one repetition that is cut into frames.
  static void require_one(const std::vector<std::int64_t>& repetitions);
  /// How many frames a scan of so many samples has, and how long, whatever its motion. Throws Error.
  FrameSizes sizes(std::int64_t samples, std::int64_t readout_length) const;

 private:
  FrameChoice choice_;
  std::optional<std::string> gate_, basis_;
};

}  // namespace fhd::app
