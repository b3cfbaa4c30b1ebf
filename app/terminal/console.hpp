#pragma once
// Prints for a person while a command works.
#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "io/files/shown_text.hpp"
#include "io/scan/scan_file.hpp"
#include "recon/domain/report.hpp"

namespace fhd::app {

/// A changing line at the bottom of a terminal (standard error); nothing where standard error is no terminal.
class StatusLine {
 public:
  explicit StatusLine(bool quiet);
  ~StatusLine();
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;
  bool visible() const { return visible_; }
  /// Replaces the line, cut to the width of the terminal.
  void show(std::string line);
  void clear();

 private:
  bool visible_;
  std::size_t width_ = 0;
};

/// Returns "1:05" (minutes, seconds) or "2:03:20".
std::string clock_text(double seconds);

/// Shows the stage, iteration and residual of one reconstruction as a changing line.
class ProgressLine {
 public:
  explicit ProgressLine(bool quiet) : line_(quiet) {}
  /// Sets a text before the stage, such as "slice 3 of 20".
  void set_context(std::string context) { context_ = std::move(context); }
  ProgressCallback callback();
  void clear() { line_.clear(); }
  void show(std::string text) { line_.show(std::move(text)); }

 private:
  StatusLine line_;
  std::string context_;
  std::chrono::steady_clock::time_point last_{};
};

/// Returns the fields of a progress event.
nlohmann::ordered_json progress_fields(const Progress& progress);

/// Returns "64 x 64 x 16".
std::string text(const std::array<int, 3>& matrix_size);
/// Returns all facts of a scan by their names: of `fhd info`, the event "scan" and Python's Scan.summary.
nlohmann::ordered_json facts_of(const io::ScanSummary& summary);
/// Prints what the scan is, what was inferred and what is missing, one line each.
void print_scan(const io::ScanSummary& summary);

/// Returns a text argument of print_out() as it is printed, and other arguments unchanged.
template <class T>
decltype(auto) as_printed(const T& value) {
  if constexpr (std::is_convertible_v<const T&, std::string_view>)
    return io::shown(value);
  else
    return (value);
}
template <class T>
using Printed = std::remove_cvref_t<decltype(as_printed(std::declval<const T&>()))>;

/// Writes to standard output at once: whoever reads a pipe or the log of a cluster sees a line when it is true. Failures are
/// reported at the end of the command.
void write_out(std::string_view text);
/// Returns the number of the error of the first write_out() that failed; 0: none did.
int error_of_output();

/// Prints on standard output as fmt::print does, with control characters of text values made visible
/// (io/files/shown_text.hpp). Texts of files and names reach a terminal only here, in print_failure() and in tell_event().
template <class... T>
void print_out(fmt::format_string<const Printed<T>&...> format, const T&... values) {
  const auto formatted = [&](const auto&... printed) {
    return fmt::vformat(format, fmt::make_format_args(printed...));
  };
  write_out(formatted(as_printed(values)...));
}
/// JSON for a person and for programs: ASCII alone, what is beyond it as JSON has it.
/// `indent`: of each level; -1: all on one line.
void print_json(const nlohmann::ordered_json& json, int indent = 2);

/// Returns an error, warning or note as it is printed: in the words of the command line, visible, of bounded length.
std::string told_line(std::string_view line);
/// Prints "fhd: ..." on standard error: told_line().
void print_failure(const std::string& line);
/// Prints, like print_failure(), what does not end the command; with --json-lines also the event "warning".
void print_error(const std::string& line);

/// Returns "Q 0.12 s, conjugate gradient 0.08 s; 12 iterations, residual 1.0e-06, |F rho - d| / |d| = 0.043".
std::string solution_line(const Report& report);
/// Returns "F error 3e-07, ..., true residual ...".
std::string certificate_line(const Certificate& certificate);

/// Returns the time in ISO 8601: "2026-11-21T07:45:00Z".
std::string utc_now();

}  // namespace fhd::app
