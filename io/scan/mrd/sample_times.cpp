#include "io/scan/mrd/sample_times.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "io/scan/trajectory_axes.hpp"

namespace fhd::io::mrd {
namespace {

/// Returns whether time stamps leave no time for excitations between readouts: they follow each other within 1.4 lengths
/// of a readout, and a repetition lasts as long as three.
bool stamps_tell_trains(const Header& header, std::span<const TimedReadout> readouts) {
  const double count = static_cast<double>(readouts.size()) - 1;
  const auto first = readouts.front().stamp, last = readouts.back().stamp;
  if (!is_siemens(header.acquisition) || count < 8 || last <= first) return false;
  const double step_s = (last - first) * siemens_tick_s / count;
  return step_s + siemens_tick_s / count < 1.4 * readouts.front().duration_s() &&
         header.acquisition.excitation_time_s > 3 * step_s;
}

/// Returns the first statement of the header that fits the length of readouts, as it stands or in another unit of time.
double echo_spacing_s(const Header& header, double readout_s) {
  for (const double unit : {1.0, 1e-3, 1e3, 1e-6})
    for (const double stated : header.echo_spacings_s)
      if (const double spacing = stated * unit; spacing >= 0.98 * readout_s && spacing <= 8 * readout_s)
        return spacing;
  return 0;
}

/// Returns the echo of its train that each readout is; empty where that cannot be told.
std::vector<std::int64_t> echo_numbers(const Header& header, std::span<const TimedReadout> readouts,
                                       double spacing_s) {
  const bool has_ticks = is_siemens(header.acquisition);
  std::vector<std::int64_t> numbers;
  std::vector<std::size_t> starts;
  int direction = 0;
  for (std::size_t i = 0; i < readouts.size(); ++i) {
    const auto& now = readouts[i];
    const auto& before = readouts[i == 0 ? 0 : i - 1];
    const int step = now.step_1 < before.step_1 ? -1 : now.step_1 > before.step_1 ? 1 : 0;
    const double pause_s = (static_cast<double>(now.stamp) - before.stamp - 1) * siemens_tick_s;
    if (i == 0 || now.step_2 != before.step_2 || now.average != before.average || direction * step < 0 ||
        (has_ticks && pause_s > spacing_s)) {
      starts.push_back(i);
      direction = 0;
    } else if (step != 0) {
      direction = step;
    }
    numbers.push_back(static_cast<std::int64_t>(i - starts.back()));
  }
  const auto length = header.echo_train_length;
  starts.push_back(readouts.size());
  if (starts.size() > 2 && 2 * (starts.size() - 1) >= readouts.size()) return {};  // no trains along y
  for (std::size_t t = 0; length > 0 && t + 1 < starts.size(); ++t)
    if (static_cast<std::int64_t>(starts[t + 1] - starts[t]) % length == 0)
      for (auto i = starts[t]; i < starts[t + 1]; ++i) numbers[i] %= length;
  return numbers;
}

/// Returns how many samples lie between the last of a readout and the first of the next, m, which goes on where it ended; 0
/// where it does not.
double steps_between(const Array<double>& k, std::int64_t m) {
  const auto samples = k.extent(1);
  const auto distance = [&](std::int64_t from) {
    double square = 0;
    for (int axis = 0; axis < 3; ++axis) {
      const double d = k[axis * samples + from + 1] - k[axis * samples + from];
      square += d * d;
    }
    return std::sqrt(square);
  };
  const double step = (distance(m - 2) + distance(m)) / 2, gap = distance(m - 1);
  return step > 0 && gap > 0.5 * step && gap < 4 * step ? std::round(gap / step) : 0;
}

bool is_next_segment(const TimedReadout& before, const TimedReadout& now) {
  return now.segment == before.segment + 1 && now.step_1 == before.step_1 && now.step_2 == before.step_2 &&
         now.average == before.average && now.dwell_s == before.dwell_s &&
         std::min(now.sample_count, before.sample_count) > 1;
}

/// Returns the times of the first samples of readouts that are no echo trains.
std::vector<double> starts_of_readouts(std::span<const TimedReadout> readouts, const Array<double>& k) {
  std::vector<double> starts;
  std::int64_t m = 0;
  for (std::size_t i = 0; i < readouts.size(); ++i) {
    const auto& now = readouts[i];
    const double gap = i > 0 && is_next_segment(readouts[i - 1], now) ? steps_between(k, m) : 0;
    starts.push_back(gap > 0 ? starts.back() +
                                   (static_cast<double>(readouts[i - 1].sample_count) - 1 + gap) * now.dwell_s
                             : static_cast<double>(now.first_sample) * now.dwell_s);
    m += now.sample_count;
  }
  return starts;
}

}  // namespace

TimedReadout::TimedReadout(const ReadoutHead& head)
    : step_1(head.idx.kspace_encode_step_1),
      step_2(head.idx.kspace_encode_step_2),
      average(head.idx.average),
      segment(head.idx.segment),
      stamp(head.acquisition_time_stamp),
      reversed(head.is_reversed()),
      first_sample(head.first_sample()),
      sample_count(head.sample_count()),
      all_samples(head.number_of_samples),
      dwell_s(head.sample_time_us * 1e-6) {}

bool alternate(std::span<const TimedReadout> readouts) {
  std::size_t turns = 0;
  for (std::size_t i = 1; i < readouts.size(); ++i) turns += readouts[i].reversed != readouts[i - 1].reversed;
  return turns > 0 && 2 * turns + 1 >= readouts.size();
}

bool are_echo_trains(const Header& header, std::span<const TimedReadout> readouts, bool has_trajectory,
                     bool has_navigators) {
  return header.trajectory == "epi" ||
         (!has_trajectory && !readouts.empty() &&
          (has_navigators || alternate(readouts) || stamps_tell_trains(header, readouts)));
}

std::optional<SampleTimes> sample_times(const Header& header, bool echo_trains,
                                        std::span<const TimedReadout> readouts, const Array<double>& k) {
  std::int64_t samples = 0;  // a file may have changed since k was measured by it
  for (const auto& each : readouts)
    samples += each.dwell_s > 0 && each.sample_count > 0 ? each.sample_count : k.extent(1) + 1;
  if (readouts.empty() || samples != k.extent(1)) return std::nullopt;
  std::vector<double> starts;
  if (echo_trains) {
    double longest_s = 0;
    for (const auto& each : readouts) longest_s = std::max(longest_s, each.duration_s());
    const double spacing_s = echo_spacing_s(header, longest_s);
    if (spacing_s == 0) return std::nullopt;
    const auto echoes = echo_numbers(header, readouts, spacing_s);
    if (echoes.empty()) return std::nullopt;
    for (std::size_t i = 0; i < readouts.size(); ++i)
      starts.push_back(static_cast<double>(echoes[i]) * spacing_s +
                       static_cast<double>(readouts[i].first_sample) * readouts[i].dwell_s);
  } else {
    starts = starts_of_readouts(readouts, k);
  }
  SampleTimes times{Array<double>({k.extent(1)}),
                    echo_trains ? TimeOrigin::train_start : TimeOrigin::readout_start};
  double* time_s = times.seconds.data();
  for (std::size_t i = 0; i < readouts.size(); ++i)
    for (std::int64_t s = 0; s < readouts[i].sample_count; ++s)
      *time_s++ = starts[i] + static_cast<double>(s) * readouts[i].dwell_s;
  return times;
}

std::size_t count_excitations(std::span<const TimedReadout> readouts, const Array<double>& seconds) {
  std::size_t count = 0;
  std::int64_t m = 0;
  for (const auto& each : readouts) {
    count += m == 0 || seconds[m] <= seconds[m - 1];
    m += each.sample_count;
  }
  return count;
}

}  // namespace fhd::io::mrd
