#pragma once
// What a person sees while a command works.
#include <chrono>
#include <string>
#include <vector>

#include "io/scan_file.hpp"
#include "recon/report.hpp"

namespace fhd::app {

/// One changing line on a terminal, nothing elsewhere.
class ProgressLine {
 public:
  explicit ProgressLine(bool quiet);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  /// Text before the stage, such as "slice 3 of 20".
  void set_context(std::string context) { context_ = std::move(context); }
  ProgressCallback callback();
  void clear();

 private:
  bool visible_;
  std::string context_;
  std::chrono::steady_clock::time_point last_{};
  std::size_t width_ = 0;
};

/// "64 x 64 x 16"
std::string text(const std::array<int, 3>& matrix_size);
/// What the scan is, what was inferred and what is missing, one line each.
void print_scan(const io::ScanSummary& summary);

/// "0-3,7" -> {0, 1, 2, 3, 7}; "all" -> 0 ... count-1. Throws Error naming `option` when an index is not
/// below `count` or comes twice.
std::vector<std::int64_t> parse_selection(const std::string& text, std::int64_t count,
                                          const std::string& option);

}  // namespace fhd::app
