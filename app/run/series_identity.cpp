#include "app/run/series_identity.hpp"

#include <string>
#include <vector>

#include "app/options/table.hpp"

namespace fhd::app {
namespace {

/// Returns "0-39", "0-3,7" or "5,1", as the options take them.
std::string in_ranges(const std::vector<std::int64_t>& numbers) {
  std::string text;
  for (std::size_t i = 0, end; i < numbers.size(); i = end) {
    for (end = i + 1; end < numbers.size() && numbers[end] == numbers[end - 1] + 1;) ++end;
    text += (i == 0 ? "" : ",") + std::to_string(numbers[i]);
    if (end - i > 1) text += "-" + std::to_string(numbers[end - 1]);
  }
  return text;
}

}  // namespace

io::SeriesIdentity identity_of(const RunOptions& options, const io::Provenance& provenance) {
  io::SeriesIdentity identity{{"the scan", provenance.input_checksum},
                              {"fhd", provenance.program_version},
                              {"--repetitions", in_ranges(provenance.repetitions)},
                              {"--slices", in_ranges(provenance.slices)}};
  for (const auto& row : option_table())
    if (const auto given = options.given.find(row.flag);
        (row.commands & in_recon) != 0 && row.effect == Effect::image && given != options.given.end())
      identity.emplace_back(row.flag, recorded_value(row, given->second));
  return identity;
}

}  // namespace fhd::app
