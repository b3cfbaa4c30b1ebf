#include <fmt/format.h>

#include <algorithm>

#include "io/scan/scan_file.hpp"

namespace fhd::io {

std::string name_of_repetition(const std::vector<RepetitionCounters>& all, std::size_t i) {
  if (i >= all.size()) return {};
  std::string name;
  int told = 0;
  const auto tell = [&](const char* what, int RepetitionCounters::*counter) {
    const bool differs = std::any_of(all.begin(), all.end(), [&](const RepetitionCounters& each) {
      return each.*counter != all.front().*counter;
    });
    if (!differs) return;
    ++told;
    name += fmt::format("{}{} {}", name.empty() ? "" : ", ", what, all[i].*counter);
  };
  tell("repetition", &RepetitionCounters::repetition);
  tell("contrast", &RepetitionCounters::contrast);
  tell("phase", &RepetitionCounters::phase);
  tell("set", &RepetitionCounters::set);
  const bool is_its_number = told == 1 && name == fmt::format("repetition {}", i);
  return is_its_number ? "" : name;
}

}  // namespace fhd::io
