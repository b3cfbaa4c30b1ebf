#pragma once
// What a person sees while a command works.
#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "io/scan/scan_file.hpp"
#include "recon/domain/report.hpp"

namespace fhd::app {

/// One changing line at the bottom of a terminal (standard error), nothing elsewhere.
class StatusLine {
 public:
  explicit StatusLine(bool quiet);
  ~StatusLine();
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;
  bool visible() const { return visible_; }
  /// Replaces the line; cut to the width of the terminal.
  void show(std::string line);
  void clear();

 private:
  bool visible_;
  std::size_t width_ = 0;
};

/// "[=====-----]": `done` of `total`, `width` characters between the brackets.
std::string bar(std::int64_t done, std::int64_t total, int width);
/// "1:05" (minutes, seconds) or "2:03:20".
std::string clock_text(double seconds);

/// The stage, iteration and residual of one reconstruction, as a changing line.
class ProgressLine {
 public:
  explicit ProgressLine(bool quiet) : line_(quiet) {}
  /// Text before the stage, such as "slice 3 of 20".
  void set_context(std::string context) { context_ = std::move(context); }
  ProgressCallback callback();
  void clear() { line_.clear(); }
  void show(std::string text) { line_.show(std::move(text)); }

 private:
  StatusLine line_;
  std::string context_;
  std::chrono::steady_clock::time_point last_{};
};

/// Of an event.
nlohmann::ordered_json progress_fields(const Progress& progress);

/// "64 x 64 x 16"
std::string text(const std::array<int, 3>& matrix_size);
/// What the scan is, what was inferred and what is missing, one line each.
void print_scan(const io::ScanSummary& summary);

/// With "?" for control characters: one line whatever a file is called.
std::string one_line(std::string text);
/// "fhd: ..." on standard error, in one line and in the words of the command line.
void print_failure(const std::string& line);
/// The same; with --json-lines also the event "warning": of what does not end the command.
void print_error(const std::string& line);

/// Now, in ISO 8601: "2026-11-21T07:45:00Z".
std::string utc_now();

}  // namespace fhd::app
