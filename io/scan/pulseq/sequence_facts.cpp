// Describes a sequence for `fhd info`.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "io/files/in_reader.hpp"
#include "io/files/input_stamps.hpp"
#include "io/scan/pulseq/sequence.hpp"

namespace fhd::io::pulseq {
namespace {

/// Ranges of positions (1/m) and times of all samples.
struct SampleRanges {
  static constexpr double infinite = std::numeric_limits<double>::infinity();
  std::array<double, 3> least{infinite, infinite, infinite}, most{-infinite, -infinite, -infinite};
  double first_s = infinite, last_s = -infinite;
  std::int64_t step = 1;    ///< 1: of every ADC event; 2: of every second one, ...
  bool is_partial = false;  ///< not all samples of these ADC events
};

SampleRanges ranges_of(const PlayedSequence& played) {
  constexpr std::int64_t most_samples_at_once = 1 << 16, most_samples_of_all = std::int64_t{1} << 23;
  std::int64_t total = 0;
  for (std::int64_t adc = 0; adc < played.acquisition_count(); ++adc) total += played.sample_count(adc);
  SampleRanges ranges;
  ranges.step = 1 + total / most_samples_of_all;
  std::array<std::vector<double>, 4> room;
  for (auto& numbers : room) numbers.resize(static_cast<std::size_t>(std::min(total, most_samples_at_once)));
  std::int64_t done = 0;
  for (std::int64_t adc = 0; adc < played.acquisition_count(); adc += ranges.step)
    for (std::int64_t first = 0; first < played.sample_count(adc); first += most_samples_at_once) {
      if (done > 2 * most_samples_of_all) {
        ranges.is_partial = true;
        return ranges;
      }
      const auto count = std::min(most_samples_at_once, played.sample_count(adc) - first);
      done += count;
      played.sample(adc, first, count, {room[0].data(), room[1].data(), room[2].data()}, room[3].data());
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const auto [least, most] = std::minmax_element(room[axis].begin(), room[axis].begin() + count);
        ranges.least[axis] = std::min(ranges.least[axis], *least);
        ranges.most[axis] = std::max(ranges.most[axis], *most);
      }
      const auto [early, late] = std::minmax_element(room[3].begin(), room[3].begin() + count);
      if (!played.is_excited(adc)) continue;
      ranges.first_s = std::min(ranges.first_s, *early);
      ranges.last_s = std::max(ranges.last_s, *late);
    }
  return ranges;
}

/// "128 of 256 samples, 1 of 1000": the ADC events by their lengths.
std::string events_by_length(const PlayedSequence& played) {
  std::map<std::pair<std::int64_t, double>, std::int64_t> counts;
  for (std::int64_t adc = 0; adc < played.acquisition_count(); ++adc)
    ++counts[{played.sample_count(adc), played.dwell_s(adc)}];
  std::string list;
  constexpr std::size_t most_shown = 8;
  std::size_t shown = 0;
  for (const auto& [kind, count] : counts) {
    if (shown++ == most_shown) return list + ", ...";
    list += fmt::format("{}{} of {} samples, {:g} us each", list.empty() ? "" : ", ", count, kind.first,
                        kind.second * 1e6);
  }
  return list.empty() ? "none" : list;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> Sequence::facts() const {
  std::vector<std::pair<std::string, std::string>> facts{{"format", "Pulseq " + version_}};
  const auto add = [&](const char* name, std::string value) { facts.emplace_back(name, std::move(value)); };
  if (!name_.empty()) add("name", name_);
  const bool has_fov = std::any_of(fov_mm_.begin(), fov_mm_.end(), [](double mm) { return mm > 0; });
  add("FOV",
      has_fov ? fmt::format("{:g} x {:g} x {:g} mm", fov_mm_[0], fov_mm_[1], fov_mm_[2]) : "not stated");
  add("duration", fmt::format("{:.6g} s in {} blocks", played_.duration_s(), block_count_));
  add("pulses",
      fmt::format("{} excitations, {} refocusing, {} others", played_.count_of(PulseUse::excitation),
                  played_.count_of(PulseUse::refocusing), other_pulses_));
  add("ADC events", fmt::format("{}{}{}", adc_count(), adc_count() > 0 ? ": " : "",
                                adc_count() > 0 ? events_by_length(played_) : ""));
  if (adc_count() == 0) return facts;
  const auto ranges = ranges_of(played_);
  const std::string about = ranges.is_partial ? " (of the first samples)"
                            : ranges.step > 1 ? fmt::format(" (of one ADC event in {})", ranges.step)
                                              : "";
  for (std::size_t axis = 0; axis < 3; ++axis) {
    auto extent = fmt::format("{:.6g} ... {:.6g} 1/m", ranges.least[axis], ranges.most[axis]);
    if (const double fov_m = fov_mm_[axis] * 1e-3; fov_m > 0)
      extent += fmt::format(", {:.6g} ... {:.6g} cycles/FOV", ranges.least[axis] * fov_m,
                            ranges.most[axis] * fov_m);
    add(std::array{"k along x", "k along y", "k along z"}[axis], extent + about);
  }
  if (ranges.first_s <= ranges.last_s)
    add("sample times", fmt::format("{:.6g} ... {:.6g} ms from the excitation{}", ranges.first_s * 1e3,
                                    ranges.last_s * 1e3, about));
  std::string labels;
  for (std::size_t i = 0; i < label_names.size(); ++i) {
    const auto [least, most] = std::minmax_element(
        labels_.begin(), labels_.end(), [i](const Labels& a, const Labels& b) { return a[i] < b[i]; });
    if ((*least)[i] == 0 && (*most)[i] == 0) continue;
    labels +=
        fmt::format("{}{} {} ... {}", labels.empty() ? "" : ", ", label_names[i], (*least)[i], (*most)[i]);
  }
  add("labels", labels.empty() ? "none" : labels);
  return facts;
}

SequenceDescription describe_sequence_here(const std::string& path) {
  const auto sequence = read_sequence(path);
  return {sequence.facts(), sequence.remarks()};
}

SequenceDescription describe_sequence(const std::string& path) {
  return read_unchanged(InputStamps({path}), [&] { return in_reader<&describe_sequence_here>(path); });
}

}  // namespace fhd::io::pulseq
