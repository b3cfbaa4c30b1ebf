#pragma once
// The options of a session: those of `fhd recon`, and its own.
#include <cstdint>
#include <string>

#include "app/options/run_options.hpp"

namespace fhd::app {

/// Returns the help of a session's own options, for `fhd serve --help`.
std::string session_options_help();

/// The options of a session: words of a command line ("--lambda 1e-3 --image complex"), TOML or JSON.
struct SessionOptions {
  RunOptions run;
  Settings settings;  ///< of `run`
  std::int64_t spokes_per_frame =
      0;  ///< readouts of an image, one frame after the other; 0: flags and counters decide
  std::string send = "auto", image = "magnitude", maps_of = "first";

  /// Returns whether images are made when all readouts are there, as from a file.
  bool waits_for_close() const { return send == "at-close"; }
  bool sends_complex() const { return image == "complex"; }
  /// Returns whether each image has maps of its own; otherwise all use those of the first image of their slice.
  bool finds_maps_anew() const { return maps_of == "each"; }
};

/// Returns the options that a client sends as text; they may name no files of this machine. Throws Error.
SessionOptions options_of_text(const std::string& text);
/// Returns the options of a name: "default", "default.xml" and "fhd" have none; NAME is NAME.toml or NAME.json in `folder`,
/// which may name files. Throws Error.
SessionOptions options_of_name(const std::string& name, const std::string& folder);

}  // namespace fhd::app
