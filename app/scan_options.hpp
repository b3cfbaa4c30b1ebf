#pragma once
// The options by which a user tells what a scan file leaves out. Shared by every command that reads a scan.
#include <string>

#include "io/scan/scan_file.hpp"

namespace CLI {
class App;
}

namespace fhd::app {

/// Adds --matrix, --fov-mm and --trajectory-unit to a command. The object must outlive the parse.
class ScanOptions {
 public:
  void add_to(CLI::App& app);
  /// What was given on the command line, for io::open_scan.
  const io::ReadOptions& read_options() const { return options_; }

 private:
  io::ReadOptions options_;
};

/// "64" -> {64, 64, 1}; "64,48" -> {64, 48, 1}; "64,64,16" or "64x64x16". Throws Error naming `option`.
std::array<int, 3> parse_matrix_size(const std::string& text, const std::string& option = "--matrix");
/// "220" -> {220, 220, 0}; "220,180,5" or "220x180x5", in mm; 0 where not given. Throws Error naming
/// `option`.
std::array<double, 3> parse_fov_mm(const std::string& text, const std::string& option = "--fov-mm");

}  // namespace fhd::app
