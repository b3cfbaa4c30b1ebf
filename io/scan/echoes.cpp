#include "io/scan/echoes.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace fhd::io {

std::vector<std::int64_t> echoes_of(const ScanSummary& summary) {
  std::vector<std::int64_t> echoes;
  const auto& counters = summary.repetition_counters;
  for (std::int64_t i = 0; i < summary.repetition_count; ++i) {
    const auto& own = counters.empty() ? RepetitionCounters{} : counters[static_cast<std::size_t>(i)];
    if (counters.empty() || (own.repetition == counters[0].repetition && own.phase == counters[0].phase &&
                             own.set == counters[0].set))
      echoes.push_back(i);
  }
  return echoes;
}

std::optional<double> echo_time_s(const ScanSummary& summary, std::int64_t repetition) {
  const auto& counters = summary.repetition_counters;
  const auto contrast = static_cast<std::size_t>(
      counters.empty() ? 0 : counters[static_cast<std::size_t>(repetition)].contrast);
  if (contrast < summary.echo_times_s.size()) return summary.echo_times_s[contrast];
  return {};
}

std::string name_of_repetition(const std::vector<RepetitionCounters>& all, std::size_t i) {
  if (i >= all.size()) return {};
  std::string name;
  int reported = 0;
  const auto tell = [&](const char* what, int RepetitionCounters::*counter) {
    const bool differs = std::any_of(all.begin(), all.end(), [&](const RepetitionCounters& each) {
      return each.*counter != all.front().*counter;
    });
    if (!differs) return;
    ++reported;
    name += fmt::format("{}{} {}", name.empty() ? "" : ", ", what, all[i].*counter);
  };
  tell("repetition", &RepetitionCounters::repetition);
  tell("contrast", &RepetitionCounters::contrast);
  tell("phase", &RepetitionCounters::phase);
  tell("set", &RepetitionCounters::set);
  const bool is_its_number = reported == 1 && name == fmt::format("repetition {}", i);
  return is_its_number ? "" : name;
}

}  // namespace fhd::io
