#include "io/page/selection.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "io/page/page_parts.hpp"
#include "io/scan/scan_file.hpp"

namespace fhd::io {

namespace {

using Json = nlohmann::ordered_json;

std::int64_t integer_or(const Json& json, const char* name, std::int64_t other) {
  const Json& field = field_of(json, name);
  return field.is_number_integer() ? field.get<std::int64_t>() : other;
}

/// Returns how the scan file counts the repetitions; nothing unless the report states it of every one.
std::vector<RepetitionCounters> counters_of(const Json& images, const ImageSeries& series) {
  std::vector<RepetitionCounters> all;
  for (std::int64_t r = 0; r < series.repetition_count; ++r) {
    const Json& counters =
        field_of(item_of(images, static_cast<std::size_t>(r * series.slice_count)), "counters");
    if (counters.is_null()) return {};
    const auto counter = [&](const char* name) { return static_cast<int>(integer_or(counters, name, 0)); };
    all.push_back({counter("repetition"), counter("contrast"), counter("phase"), counter("set")});
  }
  return all;
}

std::int64_t rounded_up(std::int64_t count, std::int64_t step) { return (count + step - 1) / step; }

/// One in so many slices, and one in so many repetitions.
struct Steps {
  std::int64_t slices = 1, repetitions = 1;
};

/// Sets stride, width and height, and returns the steps with which `most` voxels suffice.
Steps choose_steps(Selection& chosen, const std::array<int, 3>& n, std::int64_t slice_count,
                   std::int64_t repetition_count, std::int64_t most) {
  constexpr std::int64_t thumbnail = 32;
  for (chosen.stride = 1;; ++chosen.stride) {
    const std::int64_t longest = std::max(n[0], n[1]);
    chosen.width = rounded_up(n[0], chosen.stride);
    chosen.height = rounded_up(n[1], chosen.stride);
    const std::int64_t pixels = chosen.width * chosen.height;
    if (pixels > most && chosen.stride < longest) continue;
    const std::int64_t room = std::max<std::int64_t>(1, most / pixels);
    Steps steps;
    steps.slices = std::min(slice_count, rounded_up(slice_count * repetition_count, room));
    steps.repetitions = rounded_up(repetition_count * rounded_up(slice_count, steps.slices), room);
    if (steps.repetitions == 1 || longest < thumbnail * (chosen.stride + 1)) return steps;
  }
}

/// Returns what is left out, in words; empty where all is shown.
std::string words_of(const Selection& chosen, std::int64_t slice_count, std::int64_t repetition_count) {
  std::string words;
  const auto add = [&](const std::string& part) { words += (words.empty() ? "Shown are " : ", ") + part; };
  const auto add_share = [&](std::size_t count, std::int64_t all, const std::string& of) {
    if (static_cast<std::int64_t>(count) < all) add(fmt::format("{} of {} {}s", count, all, of));
  };
  add_share(chosen.slices.size(), slice_count, "slice");
  add_share(chosen.repetitions.size(), repetition_count, chosen.kind);
  if (chosen.stride > 1) add(fmt::format("means of {0} × {0} pixels", chosen.stride));
  return words.empty() ? words : words + "; the result file holds all.";
}

}  // namespace

std::string kind_of_repetitions(const hdf5::File& file) {
  constexpr auto attribute = "repetitions_are";
  const auto kinds =
      file.has_attribute("/image", attribute) ? file.text_attribute("/image", attribute) : std::string();
  return kinds == "frames" ? "frame" : kinds == "bins" ? "bin" : "repetition";
}

Selection select_shown(const ImageSeries& series, const Json& images, const std::string& kind,
                       std::size_t most_voxels) {
  const auto& n = series.images.front().geometry.matrix_size;
  const std::int64_t slice_count = series.slice_count * n[2], repetition_count = series.repetition_count;
  Selection chosen;
  chosen.kind = kind;
  const auto most = static_cast<std::int64_t>(most_voxels) * (repetition_count > 2 ? 3 : 1);
  const Steps steps = choose_steps(chosen, n, slice_count, repetition_count, most);
  const auto number = [&](std::int64_t image, const char* what, std::int64_t other) {
    return integer_or(item_of(images, static_cast<std::size_t>(image)), what, other);
  };
  const auto counters = counters_of(images, series);
  // Around the middle, so that one slice alone is the middle one.
  const auto first = [](std::int64_t count, std::int64_t step) { return step == 1 ? 0 : count / 2 % step; };
  const std::int64_t first_slice = first(slice_count, steps.slices);
  for (std::int64_t s = first_slice; s < slice_count; s += steps.slices) {
    const std::int64_t of_scan = number(s / n[2], "slice", s / n[2]), z = s % n[2];
    chosen.slices.push_back(n[2] == 1                ? std::to_string(of_scan)
                            : series.slice_count > 1 ? fmt::format("{}: {}", of_scan, z)
                                                     : std::to_string(z));
  }
  for (std::int64_t r = first(repetition_count, steps.repetitions); r < repetition_count;
       r += steps.repetitions) {
    const auto of_scan = std::to_string(number(r * series.slice_count, "repetition", r));
    const auto name = name_of_repetition(counters, static_cast<std::size_t>(r));
    chosen.repetitions.push_back(of_scan +
                                 (name.empty() || name == "repetition " + of_scan ? "" : ": " + name));
    for (std::int64_t s = first_slice; s < slice_count; s += steps.slices)
      chosen.planes.push_back({static_cast<std::size_t>(r * series.slice_count + s / n[2]), s % n[2]});
  }
  chosen.reduced = words_of(chosen, slice_count, repetition_count);
  return chosen;
}

}  // namespace fhd::io
