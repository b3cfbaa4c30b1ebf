#pragma once
// The options of a session: those of `fhd recon`, and its own.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "app/options/run_options.hpp"

namespace CLI {
class App;
}

namespace fhd::app {

/// Returns the help of a session's own options, for `fhd serve --help`.
std::string session_options_help();

/// The options of a session, as words of a command line ("--lambda 1e-3 --image complex") or as TOML or JSON.
class SessionOptions {
 public:
  /// Parses "--name=value" or "--flag" each. `may_name_files`: options may name files of this machine. Throws Error.
  SessionOptions(const std::vector<std::string>& arguments, bool may_name_files);

  const Settings& settings() const { return settings_; }
  const io::ReadOptions& read_options() const { return options_.read_options; }
  const TrajectoryCorrection& trajectory_correction() const { return options_.correction; }
  /// Returns how many readouts are an image, one frame after the other; 0: flags and counters decide.
  std::int64_t spokes_per_frame() const { return spokes_per_frame_; }
  /// Returns whether images are made when all readouts are there, as from a file.
  bool waits_for_close() const { return send_ == "at-close"; }
  bool sends_complex() const { return image_ == "complex"; }
  /// Returns whether each image has maps of its own; otherwise all use those of the first image of their slice.
  bool finds_maps_anew() const { return maps_of_ == "each"; }

 private:
  friend std::string session_options_help();
  SessionOptions() = default;
  /// Adds the options that `fhd recon` does not have.
  void add_own_to(CLI::App& app);

  RunOptions options_;
  std::int64_t spokes_per_frame_ = 0;
  std::string send_ = "auto", image_ = "magnitude", maps_of_ = "first";
  Settings settings_;
};

/// Returns the options that a client sends as text; they may name no files of this machine. Throws Error.
SessionOptions options_of_text(const std::string& text);
/// Returns the options of a name: "default", "default.xml" and "fhd" have none; NAME is NAME.toml or NAME.json in `folder`,
/// which may name files. Throws Error.
SessionOptions options_of_name(const std::string& name, const std::string& folder);

}  // namespace fhd::app
