#include "app/scan_results.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>

#include "app/console.hpp"
#include "io/result/nifti.hpp"
#include "recon/error.hpp"
#include "version.hpp"

namespace fhd::app {

void VolumeSelection::add_to(CLI::App& app) {
  app.add_option("--slices", slices, "which slices: all, or such as 0-3,7")->capture_default_str();
  app.add_option("--repetitions", repetitions, "which repetitions: all, or such as 0-3,7")
      ->capture_default_str();
}

std::vector<std::int64_t> parse_selection(const std::string& text, std::int64_t count,
                                          const std::string& option) {
  std::vector<std::int64_t> selected;
  if (text == "all") {
    for (std::int64_t i = 0; i < count; ++i) selected.push_back(i);
    return selected;
  }
  const auto refuse = [&] {
    throw Error(option,
                fmt::format("\"all\" or different numbers and ranges from 0 to {}, such as 0-3,7", count - 1),
                "'" + text + "'");
  };
  const char *at = text.data(), *end = at + text.size();
  const auto integer = [&] {
    std::int64_t value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc() || value < 0 || value >= count) refuse();
    at = next;
    return value;
  };
  while (true) {
    const std::int64_t first = integer();
    std::int64_t last = first;
    if (at != end && *at == '-') ++at, last = integer();
    if (last < first) refuse();
    for (std::int64_t i = first; i <= last; ++i) {
      if (std::find(selected.begin(), selected.end(), i) != selected.end()) refuse();
      selected.push_back(i);
    }
    if (at == end) return selected;
    if (*at++ != ',') refuse();
  }
}

ScanResults::ScanResults(const std::string& path, const io::ScanSummary& summary,
                         const VolumeSelection& selection, std::string command_line,
                         std::string input_sha256) {
  const auto slices = parse_selection(selection.slices, summary.slice_count, "--slices");
  const auto repetitions = parse_selection(selection.repetitions, summary.repetition_count, "--repetitions");
  for (const auto repetition : repetitions)
    for (const auto slice : slices) volumes_.push_back({repetition, slice});
  series_.repetition_count = static_cast<std::int64_t>(repetitions.size());
  series_.slice_count = static_cast<std::int64_t>(slices.size());
  gridded_ = series_;
  provenance_ = {
      program_version, std::move(command_line), path, std::move(input_sha256), utc_now(), {}, {}, repetitions,
      slices};
}

void ScanResults::add(ReconResult made) {
  Reconstruction& result = made.reconstruction;
  if (series_.images.empty()) companions_.diagnostic_images = std::move(result.diagnostic_images);
  if (made.gridded) gridded_.images.push_back(std::move(*made.gridded));
  series_.images.push_back(std::move(result.image));
  provenance_.reports.push_back(std::move(result.report));
}

std::string ScanResults::note_positions() {
  if (io::lie_on_affine(series_)) return {};
  auto& notes = provenance_.reports.front().notes;
  notes.push_back(
      "the slices are not equally spaced in the order chosen: the NIfTI file places them at their mean "
      "distance");
  return notes.back();
}

void ScanResults::write(const std::string& prefix) {
  if (gridded_.images.size() == series_.images.size()) companions_.gridded = std::move(gridded_);
  io::write_results(prefix, series_, provenance_, companions_);
}

}  // namespace fhd::app
