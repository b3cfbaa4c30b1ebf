#include "app/run/frames_of_scan.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "recon/error.hpp"

namespace fhd::app {
namespace {

/// Frames take the place of repetitions.
ScanResults results_of(const io::ScanSummary& summary, const FramesRequest& request, std::int64_t repetition,
                       const FrameLayout& layout, double frame_time_s) {
  io::ScanSummary of_frames = summary;
  of_frames.repetition_count = layout.frames;
  of_frames.repetition_counters.clear();
  if (repetition > 0) of_frames.acquisition.series_time.clear();  // they do not begin with the series
  of_frames.repetition_time_s = frame_time_s;
  for (auto& piece : request.options.files()) of_frames.outside_pieces.push_back(std::move(piece));
  return {request.path, of_frames, VolumeSelection{request.selection.slices, "all"}, request.command_line};
}

}  // namespace

std::int64_t repetition_of_frames(const io::ScanSummary& summary, const VolumeSelection& selection) {
  const auto repetitions = parse_selection(selection.repetitions, summary.repetition_count, "--repetitions");
  FrameOptions::require_one(repetitions);
  parse_selection(selection.slices, summary.slice_count, "--slices");
  return repetitions.front();
}

ScanResults frames_of_scan(io::ScanFile& file, const FramesRequest& request, ReconEngine& engine,
                           const FrameEvents& events) {
  const auto repetition = repetition_of_frames(file.summary(), request.selection);
  const auto slices = parse_selection(request.selection.slices, file.summary().slice_count, "--slices");
  std::optional<ScanResults> results;
  std::int64_t readouts = 0;
  for (std::size_t slice = 0; slice < slices.size(); ++slice) {
    const Scan volume = file.read(slices[slice], repetition);
    const auto& summary = file.summary();  // known for certain once the samples are read
    const auto layout = request.options.layout_of(volume, summary);
    if (slice == 0) {
      readouts = layout.readouts;
      const bool follow_evenly = !layout.gate && doubt_of_gaps(layout).empty();
      const double frame_time_s =
          follow_evenly ? summary.readout_time_s * static_cast<double>(layout.step) : 0;
      results.emplace(results_of(summary, request, repetition, layout, frame_time_s));
      events.on_layout(layout, frame_time_s, *results);
    }
    if (layout.readouts != readouts)
      throw Error(fmt::format("{}, slice {}", request.path, slices[slice]),
                  fmt::format("{} readouts, as in the first", readouts), std::to_string(layout.readouts),
                  "take slices by themselves: --slices");
    results->add_frames(layout);
    auto made = engine.frames(volume, layout, events.progress, events.on_fallback);
    if (slice == 0 && events.on_sizes && made.front().sizes)
      events.on_sizes(*made.front().sizes, layout, static_cast<std::int64_t>(slices.size()));
    for (std::size_t frame = 0; frame < made.size(); ++frame) {
      const std::size_t number = frame * slices.size() + slice;
      events.on_image(number, made[frame].reconstruction.report, *results);
      results->add(number, std::move(made[frame]));
    }
  }
  return std::move(*results);
}

}  // namespace fhd::app
