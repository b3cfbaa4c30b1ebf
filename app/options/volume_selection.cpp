// --slices and --repetitions.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <numeric>

#include "app/options/options.hpp"
#include "recon/error.hpp"

namespace fhd::app {

void VolumeSelection::add_to(CLI::App& app) {
  app.add_option("--slices", slices, "which slices: all, or such as 0-3,7")
      ->type_name("LIST|all")
      ->capture_default_str();
  app.add_option("--repetitions", repetitions, "which repetitions: all, or such as 0-3,7")
      ->type_name("LIST|all")
      ->capture_default_str();
}

std::vector<std::int64_t> parse_selection(const std::string& text, std::int64_t count,
                                          const std::string& option) {
  std::vector<std::int64_t> selected;
  if (text == "all") {
    selected.resize(static_cast<std::size_t>(count));
    std::iota(selected.begin(), selected.end(), std::int64_t{0});
    return selected;
  }
  const auto refuse = [&] {
    throw Error(option,
                fmt::format("\"all\" or different numbers and ranges from 0 to {}, such as 0-3,7", count - 1),
                "'" + text + "'");
  };
  const char *at = text.data(), *end = at + text.size();
  const auto integer = [&] {
    std::int64_t value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc() || value < 0 || value >= count) refuse();
    at = next;
    return value;
  };
  while (true) {
    const std::int64_t first = integer();
    std::int64_t last = first;
    if (at != end && *at == '-') ++at, last = integer();
    if (last < first) refuse();
    for (std::int64_t i = first; i <= last; ++i) {
      if (std::find(selected.begin(), selected.end(), i) != selected.end()) refuse();
      selected.push_back(i);
    }
    if (at == end) return selected;
    if (*at++ != ',') refuse();
  }
}

std::int64_t selected_count(const std::string& text, std::int64_t count, const std::string& option) {
  return text == "all" ? count : static_cast<std::int64_t>(parse_selection(text, count, option).size());
}

}  // namespace fhd::app
