#include "recon/pipeline/frame_layout.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "recon/array/execution.hpp"
#include "recon/array/linear_operator.hpp"

namespace fhd {
FrameLayout lay_out_frames(std::int64_t samples, std::int64_t readout_length, const FrameChoice& choice) {
  if (readout_length < 1 || samples % readout_length != 0)
    throw Error("frames", "a scan made of readouts of equal length",
                "one that does not say where its readouts begin",
                "convert it to ISMRMRD, or add the attribute readout_length (samples) to an fhd HDF5 file");
  FrameLayout layout;
  layout.readout_length = readout_length;
  const std::int64_t readouts = layout.readouts = samples / readout_length;
  const auto whole_number = [](const char* name, std::int64_t least, std::int64_t most,
                               const std::string& why, std::int64_t value) {
    if (value < least || value > most)
      throw Error(name, std::to_string(least) + " ... " + std::to_string(most) + why, std::to_string(value));
  };
  const std::string of_scan = ", of the " + std::to_string(readouts) + " readouts of the scan";
  if (readouts < 2) throw Error("frames", "a scan of at least two readouts", std::to_string(readouts));
  layout.order.resize(readouts);
  std::iota(layout.order.begin(), layout.order.end(), std::int64_t{0});
  if (choice.readouts_per_frame == 0) {
    whole_number("--frames", 2, readouts, of_scan, choice.frames);
    layout.frames = choice.frames;
    layout.step = layout.readouts_per_frame = readouts / choice.frames;
    return layout;
  }
  layout.readouts_per_frame = choice.readouts_per_frame;
  whole_number("--spokes-per-frame", 1, readouts - 1, of_scan, layout.readouts_per_frame);
  layout.step = choice.step == 0 ? layout.readouts_per_frame : choice.step;
  whole_number("--sliding", 1, layout.readouts_per_frame, ", the readouts of a frame", layout.step);
  layout.frames = (readouts - layout.readouts_per_frame) / layout.step + 1;
  if (layout.frames < 2)
    throw Error(Field{"spokes-per-frame"}, "room for two frames" + of_scan,
                std::to_string(layout.readouts_per_frame) + " to a frame",
                "take fewer readouts to a frame, or let frames overlap with --sliding");
  return layout;
}

std::vector<std::int64_t> FrameLayout::samples_of(std::int64_t frame) const {
  std::vector<std::int64_t> samples;
  samples.reserve(samples_per_frame());
  for (std::int64_t i = 0; i < readouts_per_frame; ++i)
    for (std::int64_t s = 0; s < readout_length; ++s)
      samples.push_back(readout(frame, i) * readout_length + s);
  return samples;
}

void require_layout_of(const Scan& scan, const FrameLayout& layout) {
  const auto is_readout = [&](std::int64_t number) { return number >= 0 && number < layout.readouts; };
  if (layout.frames < 1 || layout.step < 1 || layout.readouts_per_frame < 1 || layout.unused() < 0 ||
      layout.readouts * layout.readout_length != scan.trajectory.sample_count() ||
      static_cast<std::int64_t>(layout.order.size()) != layout.readouts ||
      !std::all_of(layout.order.begin(), layout.order.end(), is_readout))
    throw Error("frames", "a layout of this scan: lay_out_frames", "another one");
}

std::string doubt_of_frames(const Trajectory& trajectory, const FrameLayout& layout) {
  constexpr double enough = 0.5;
  const std::int64_t samples = trajectory.sample_count(), length = layout.readout_length;
  for (int axis = 0; axis < 3; ++axis) {
    const double* k = trajectory.k.data() + axis * samples;
    const auto [least, most] = std::minmax_element(k, k + samples);
    const double all = *most - *least;
    double of_frames = 0;
    for (std::int64_t frame = 0; frame < layout.frames; ++frame) {
      double low = INFINITY, high = -INFINITY;
      for (std::int64_t i = 0; i < layout.readouts_per_frame; ++i) {
        const double* first = k + layout.readout(frame, i) * length;
        const auto [lowest, highest] = std::minmax_element(first, first + length);
        low = std::min(low, *lowest), high = std::max(high, *highest);
      }
      of_frames += (high - low) / static_cast<double>(layout.frames);
    }
    if (all > 0 && of_frames < enough * all)
      return "frames reach over " + std::to_string(std::lround(100 * of_frames / all)) +
             " % of the scan's k-space along " + std::string(1, "xyz"[axis]) +
             " on average: readouts that go through k-space plane by plane make no frames";
  }
  return {};
}

std::string doubt_of_gaps(const FrameLayout& layout) {
  if (layout.gate) return {};
  const auto& numbers = layout.readout_numbers;
  std::int64_t missing = 0, first = 0;
  for (std::size_t i = 1; i < numbers.size(); ++i) {
    if (numbers[i] == numbers[i - 1] + 1) continue;
    if (missing == 0) first = numbers[i - 1] + 1;
    missing += numbers[i] - numbers[i - 1] - 1;
  }
  if (missing == 0) return {};
  return std::to_string(missing) + (missing == 1 ? " readout is" : " readouts are") +
         " left out between others, from number " + std::to_string(first) +
         " on: frames do not follow each other evenly, and some may hold readouts from both sides of a gap";
}

Scan frame_of(const Scan& scan, const FrameLayout& layout, std::int64_t frame) {
  const auto samples = layout.samples_of(frame);
  Scan part;
  part.geometry = scan.geometry;
  part.cropped_matrix_size = scan.cropped_matrix_size;
  part.trajectory.k = columns_of(scan.trajectory.k, samples);
  part.kspace.values = columns_of(scan.kspace.values, samples);
  part.kspace.in_double = columns_of(scan.kspace.in_double, samples);
  const auto view_of = [](const auto& values) { return one_of(values, values.shape(), 0); };
  if (scan.sensitivity_maps) {
    auto& maps = part.sensitivity_maps.emplace();
    maps.values = view_of(scan.sensitivity_maps->values);
    if (!scan.sensitivity_maps->in_double.empty()) maps.in_double = view_of(scan.sensitivity_maps->in_double);
  }
  if (scan.noise) part.noise.emplace(view_of(*scan.noise));
  if (scan.field_map) part.field_map.emplace(view_of(*scan.field_map));
  if (scan.sample_time_s) part.sample_time_s.emplace(columns_of(*scan.sample_time_s, samples));
  return part;
}

}  // namespace fhd
