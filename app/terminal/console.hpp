#pragma once
// What a person sees while a command works.
#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "io/scan/scan_file.hpp"
#include "io/files/shown_text.hpp"
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

/// A text of an argument of print_out() as it is printed; another argument as it is.
template <class T>
decltype(auto) as_printed(const T& value) {
  if constexpr (std::is_convertible_v<const T&, std::string_view>)
    return io::shown(value);
  else
    return (value);
}
template <class T>
using Printed = std::remove_cvref_t<decltype(as_printed(std::declval<const T&>()))>;

/// Prints on standard output as fmt::print does. Every text among the values is shown (io/files/shown_text.hpp), whatever file,
/// name or option it came from: only here, in print_failure() and in tell_event() do such texts reach a terminal.
template <class... T>
void print_out(fmt::format_string<const Printed<T>&...> format, const T&... values) {
  const auto formatted = [&](const auto&... printed) {
    return fmt::vformat(format, fmt::make_format_args(printed...));
  };
  fmt::print("{}", formatted(as_printed(values)...));
}
/// The same of a text of several lines, each of which is shown.
void print_lines(std::string_view lines);
/// JSON for a person and for programs: ASCII alone, what is beyond it as JSON has it.
/// `indent`: of each level; -1: all on one line.
void print_json(const nlohmann::ordered_json& json, int indent = 2);

/// An error, warning or note as a person is told of it: in the words of the command line, shown, not too long.
std::string told_line(std::string_view line);
/// "fhd: ..." on standard error: told_line().
void print_failure(const std::string& line);
/// The same; with --json-lines also the event "warning": of what does not end the command.
void print_error(const std::string& line);

/// Now, in ISO 8601: "2026-11-21T07:45:00Z".
std::string utc_now();

}  // namespace fhd::app
