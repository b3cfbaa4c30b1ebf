#include "app/terminal/console.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <ctime>

#include "app/terminal/event_lines.hpp"
#include "recon/domain/slice_stacks.hpp"

namespace fhd::app {

StatusLine::StatusLine(bool quiet) : visible_(!quiet && !tells_events() && isatty(STDERR_FILENO) != 0) {}
StatusLine::~StatusLine() { clear(); }

void StatusLine::clear() {
  if (width_ == 0) return;
  fmt::print(stderr, "\r{:{}}\r", "", width_);
  std::fflush(stderr);
  width_ = 0;
}

void StatusLine::show(std::string line) {
  if (!visible_) return;
  line = io::shown(line);
  winsize size{};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  if (known && line.size() >= size.ws_col) line.resize(size.ws_col - 1);
  clear();
  fmt::print(stderr, "{}", line);
  std::fflush(stderr);
  width_ = line.size();
}

std::string clock_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::max(0.0, seconds) + 0.5);
  return whole < 3600 ? fmt::format("{}:{:02}", whole / 60, whole % 60)
                      : fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

ProgressCallback ProgressLine::callback() {
  if (!line_.visible() && !tells_events()) return {};
  return [this](const Progress& p) {
    const auto now = std::chrono::steady_clock::now();
    const bool starts = p.done == 0;
    if (!starts && now - last_ < std::chrono::milliseconds(100)) return;
    last_ = now;
    if (tells_events()) {
      tell_event("progress", progress_fields(p));
      return;
    }
    std::string line = context_.empty() ? p.stage : context_ + ": " + p.stage;
    if (p.total > 1) line += fmt::format(" {}/{}", p.done, p.total);
    if (p.residual >= 0) line += fmt::format(", residual {:.2e}", p.residual);
    line_.show(std::move(line));
  };
}

nlohmann::ordered_json progress_fields(const Progress& p) {
  nlohmann::ordered_json fields{{"stage", p.stage}, {"done", p.done}, {"total", p.total}};
  if (p.residual >= 0) fields["residual"] = p.residual;
  return fields;
}

std::string text(const std::array<int, 3>& matrix_size) {
  const auto& n = matrix_size;
  return n[2] == 1 ? fmt::format("{} x {}", n[0], n[1]) : fmt::format("{} x {} x {}", n[0], n[1], n[2]);
}

/// Returns where the stacks of several slices lie, a line for each.
static std::vector<std::string> stack_names(const io::ScanSummary& s, const std::vector<SliceStack>& stacks) {
  std::vector<std::string> names;
  for (const auto& stack : stacks) {
    if (s.slice_count < 2) break;
    const auto& first = s.slice_geometries[stack.slices.front()];
    names.push_back(fmt::format("stack {}: {} of {} slices, from {:.6g} mm along {:.3g}", names.size() + 1,
                                stack.slices.size(), s.slice_count, fmt::join(first.position_mm, ", "),
                                fmt::join(first.slice_direction, ", ")));
    if (stack.slices.size() < 2) continue;
    names.back() += stack.step_mm > 0 ? fmt::format(", {:.4g} mm apart{}", stack.step_mm,
                                                    stack.is_even() ? "" : " in the mean")
                                      : std::string(", all at one position");
  }
  return names;
}

nlohmann::ordered_json facts_of(const io::ScanSummary& s) {
  auto facts = nlohmann::ordered_json::object(), pieces = facts;
  for (const auto& [name, value] : s.facts) facts[name] = value;
  for (const auto& [what, path] : s.outside_pieces) pieces[what] = path;
  auto counters = nlohmann::ordered_json::array(), names = counters;
  constexpr std::size_t most_names = 24;  // each takes a look at all counters
  for (const auto& each : s.repetition_counters) {
    const auto i = counters.size() < most_names ? counters.size() : s.repetition_counters.size();
    const auto name = io::name_of_repetition(s.repetition_counters, i);
    if (!name.empty()) names.push_back(fmt::format("repetition {}: {}", counters.size(), name));
    counters.push_back({{"repetition", each.repetition},
                        {"contrast", each.contrast},
                        {"phase", each.phase},
                        {"set", each.set}});
  }
  auto slices = nlohmann::ordered_json::array();
  const auto stacks = stacks_of(s.slice_geometries);
  for (std::size_t stack = 0; stack < stacks.size(); ++stack)
    for (const auto slice : stacks[stack].slices) {
      const auto& at = s.slice_geometries[slice];
      slices.push_back({{"slice", slice},
                        {"stack", stack + 1},
                        {"position_mm", at.position_mm},
                        {"read_direction", at.read_direction},
                        {"phase_direction", at.phase_direction},
                        {"slice_direction", at.slice_direction}});
    }
  const auto origin = s.has_sample_time ? name_of(s.time_origin) : std::string_view();
  return {{"path", s.path},
          {"format", s.format},
          {"matrix_size", s.geometry.matrix_size},
          {"fov_mm", s.geometry.fov_mm},
          {"position_mm", s.geometry.position_mm},
          {"read_direction", s.geometry.read_direction},
          {"phase_direction", s.geometry.phase_direction},
          {"slice_direction", s.geometry.slice_direction},
          {"coil_count", s.coil_count},
          {"samples_per_scan", s.samples_per_scan},
          {"readout_length", s.readout_length},
          {"slice_count", s.slice_count},
          {"repetition_count", s.repetition_count},
          {"repetition_names", names},
          {"repetition_counters", counters},
          {"slice_counters", s.slice_counters},
          {"stacks", stack_names(s, stacks)},
          {"slices", slices},
          {"repetition_time_s", s.repetition_time_s},
          {"echo_times_s", s.echo_times_s},
          {"cartesian", s.cartesian},
          {"has_sensitivity_maps", s.has_sensitivity_maps},
          {"has_field_map", s.has_field_map},
          {"has_sample_time", s.has_sample_time},
          {"sample_time_origin", origin},
          {"pieces", pieces},
          {"facts", facts},
          {"inferred", s.inferred},
          {"missing", s.missing}};
}

void print_scan(const io::ScanSummary& s) {
  if (tells_events()) return tell_event("scan", facts_of(s));
  const auto& fov = s.geometry.fov_mm;
  std::string line = fmt::format("{}: {}, matrix {}, ", s.path, s.format, text(s.geometry.matrix_size));
  line += fov[0] > 0 ? fmt::format("FOV {:g} x {:g} x {:g} mm, ", fov[0], fov[1], fov[2])
                     : std::string("FOV unknown, ");
  line +=
      fmt::format("{} coil{}, {} samples", s.coil_count, s.coil_count == 1 ? "" : "s", s.samples_per_scan);
  if (s.slice_count > 1) line += fmt::format(", {} slices", s.slice_count);
  if (s.repetition_count > 1) line += fmt::format(", {} repetitions", s.repetition_count);
  if (s.has_sensitivity_maps) line += ", sensitivity maps";
  print_out("scan      {}\n", line);
  for (const auto& [what, path] : s.outside_pieces) print_out("piece     {} from {}\n", what, path);
  for (const auto& sentence : s.inferred) print_out("inferred  {}\n", sentence);
  for (const auto& sentence : s.missing) print_out("missing   {}\n", sentence);
}

static std::atomic<int> output_error = 0;
int error_of_output() { return output_error; }

void write_out(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return;
  int none = 0;
  output_error.compare_exchange_strong(none, errno);
}

void print_json(const nlohmann::ordered_json& json, int indent) {
  write_out(json.dump(indent, ' ', /*ensure_ascii=*/true, nlohmann::ordered_json::error_handler_t::replace) +
            "\n");
}

std::string told_line(std::string_view line) { return io::shown(line, io::longest_line); }

void print_failure(const std::string& line) { std::fprintf(stderr, "fhd: %s\n", told_line(line).c_str()); }

void print_error(const std::string& line) {
  tell_event("warning", {{"text", told_line(line)}});
  print_failure(line);
}

std::string solution_line(const Report& report) {
  std::string line;
  for (const auto& stage : report.stages)
    line += fmt::format("{}{} {:.2f} s", line.empty() ? "" : ", ", stage.name, stage.seconds);
  if (!report.relative_residuals.empty())
    line += fmt::format("; {} iterations, residual {:.1e}{}, |F rho - d| / |d| = {:.3f}",
                        report.relative_residuals.size() - 1, report.relative_residuals.back(),
                        report.converged ? "" : " (stopped by --iterations)", report.data_residual);
  return line;
}

std::string certificate_line(const Certificate& c) {
  std::string line = fmt::format("F^H error {:.1e}", c.adjoint_error);
  if (c.forward_error >= 0)
    line = fmt::format("F error {:.1e}, F^H {:.1e}, F^H F {:.1e}", c.forward_error, c.adjoint_error,
                       c.normal_error);
  if (c.worst_error >= 0) line += fmt::format(", worst {:.1e}", c.worst_error);
  line += fmt::format(" (asked {:.0e}) at {} voxels", c.requested, c.voxels);
  if (c.samples > 0) line += fmt::format(" and {} samples", c.samples);
  if (c.true_residual >= 0)
    line += fmt::format("; true residual {:.1e}, adjointness {:.0e}", c.true_residual, c.adjointness);
  return line;
}

std::string utc_now() { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))); }

}  // namespace fhd::app
