#include "io/scan/echoes.hpp"

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

}  // namespace fhd::io
