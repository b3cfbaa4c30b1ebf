#include "app/run/frames_run.hpp"

#include <fmt/format.h>

#include <utility>

#include "app/run/series_formats.hpp"
#include "recon/error.hpp"

namespace fhd::app {
namespace {

std::string frames_line(const FrameLayout& layout, double frame_time_s) {
  std::string line = fmt::format("{} of {} readouts", layout.frames, layout.readouts_per_frame);
  if (layout.gate)
    line += ", bins by " + layout.gate->source;
  else if (layout.step < layout.readouts_per_frame)
    line += fmt::format(", {} on from each to the next", layout.step);
  if (!layout.gate)
    line += frame_time_s > 0 ? fmt::format(", {:.3g} s apart if every readout takes one TR", frame_time_s)
                             : ", at times that the scan does not tell (no TR)";
  if (layout.unused() > 0)
    line += fmt::format("; the last {} of {} readouts are in no frame", layout.unused(), layout.readouts);
  return line;
}

/// Makes the results those of frames of this layout, once it is known from the first slice.
void begin_frames(ScanRun& run, const FrameLayout& layout, const RunEvents& events) {
  const auto& summary = run.file->summary();
  const bool follow_evenly = !layout.gate && doubt_of_gaps(layout).empty();
  const double frame_time_s =
      follow_evenly ? summary.readout_time_s * static_cast<double>(layout.step) : 0;
  run.results.take_frames(layout.frames, frame_time_s);
  SeriesFormats(run.settings->options, run.results.path()).require_room(run.results);
  events.text("frames", frames_line(layout, frame_time_s));
}

}  // namespace

std::int64_t repetition_of_frames(const io::ScanSummary& summary, const VolumeSelection& selection) {
  const auto repetitions = parse_selection(selection.repetitions, summary.repetition_count, "--repetitions");
  FrameOptions::require_one(repetitions);
  parse_selection(selection.slices, summary.slice_count, "--slices");
  return repetitions.front();
}

void reconstruct_frames(ScanRun& run, const RunEngines& engines, const RunEvents& events,
                        const std::string& note) {
  const RunOptions& options = run.settings->options;
  const auto repetition = repetition_of_frames(run.file->summary(), options.selection);
  const auto slices = parse_selection(options.selection.slices, run.file->summary().slice_count, "--slices");
  const CurrentDevice current(engines.devices.front().device);
  const auto engine = engines.make(engines.devices.front(), 0);
  std::int64_t readouts = 0;
  for (std::size_t slice = 0; slice < slices.size(); ++slice) {
    const Scan volume = run.file->read(slices[slice], repetition);
    const auto layout = options.frames.layout_of(volume, run.file->summary());  // certain once samples are read
    if (slice == 0) {
      readouts = layout.readouts;
      begin_frames(run, layout, events);
    }
    if (layout.readouts != readouts)
      throw Error(fmt::format("{}, slice {}", run.results.path(), slices[slice]),
                  fmt::format("{} readouts, as in the first", readouts), std::to_string(layout.readouts),
                  "take slices by themselves: --slices");
    run.results.add_frames(layout);
    const VolumeGroup group{{&volume}, nullptr, false, &layout, checks_of(run), 0};
    auto made = (*engine)(group, events);
    if (slice == 0 && events.wants_cost && made.front().sizes)
      events.text("planned", engine->cost_text_of(*made.front().sizes, layout.readout_length,
                                                  static_cast<std::int64_t>(slices.size()), sizes_of(layout)));
    for (std::size_t frame = 0; frame < made.size(); ++frame)
      add_image(run, frame * slices.size() + slice, std::move(made[frame]), events, note);
  }
}

}  // namespace fhd::app
