#pragma once
// What a session asks for: options of `fhd recon`, and those of sessions.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "app/options/options.hpp"

namespace CLI {
class App;
}

namespace fhd::app {

/// What `fhd serve --help` tells of a session's own options.
std::string session_options_help();

/// Options of a session. In the words of a command line ("--lambda 1e-3 --image complex") or as TOML or JSON, keys as the
/// options are called.
class SessionOptions {
 public:
  /// From "--name=value" or "--flag" each. `may_name_files`: whether options may name files of this machine. Throws Error.
  SessionOptions(const std::vector<std::string>& arguments, bool may_name_files);

  const Settings& settings() const { return settings_; }
  const io::ReadOptions& read_options() const { return read_options_; }
  TrajectoryCorrection trajectory_correction() const { return recon_.trajectory_correction(); }
  /// Readouts that become an image, one frame after the other; 0: flags and counters tell.
  std::int64_t spokes_per_frame() const { return spokes_per_frame_; }
  /// Images are made when everything is there, as of a file.
  bool waits_for_close() const { return send_ == "at-close"; }
  bool sends_complex() const { return image_ == "complex"; }
  /// Each image has maps of its own; else those of the first of its slice are used for all.
  bool finds_maps_anew() const { return maps_of_ == "each"; }

 private:
  friend std::string session_options_help();
  SessionOptions() = default;
  /// Those that 'fhd recon' has not.
  void add_own_to(CLI::App& app);
  void add_to(CLI::App& app);

  std::shared_ptr<CLI::App> parser_;  ///< that recon_ asks
  ReconOptions recon_;
  io::ReadOptions read_options_;
  std::int64_t spokes_per_frame_ = 0;
  std::string send_ = "auto", image_ = "magnitude", maps_of_ = "first";
  Settings settings_;
};

/// The options that a client sends as text. Files of this machine are not its to name. Throws Error.
SessionOptions options_of_text(const std::string& text);
/// Those of a name: "default", "default.xml" and "fhd" are without options; NAME is NAME.toml or NAME.json in `folder`,
/// which may name files. Throws Error.
SessionOptions options_of_name(const std::string& name, const std::string& folder);

}  // namespace fhd::app
