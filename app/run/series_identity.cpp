#include "app/run/series_identity.hpp"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <set>

#include "app/options/options.hpp"

namespace fhd::app {
namespace {

/// Returns options that do not change an image, and those whose effect the identity states otherwise.
const std::set<std::string>& without_effect() {
  static const std::set<std::string> names{"SCAN",
                                           "--help",
                                           "--output",
                                           "--force",
                                           "--strict",
                                           "--phase",
                                           "--compression",
                                           "--dicom",
                                           "--ismrmrd-images",
                                           "--quiet",
                                           "--recipe",
                                           "--json-lines",
                                           "--verbose",
                                           "--device",
                                           "--device-memory",
                                           "--device-memory-mib",
                                           "--threads",
                                           "--cache",
                                           "--trace",
                                           "--slices",
                                           "--repetitions"};
  return names;
}

/// Returns "0-39", "0-3,7", "5,1", as --slices takes them.
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

io::SeriesIdentity identity_of(const CLI::App& app, const io::Provenance& provenance) {
  io::SeriesIdentity identity{{"the scan", provenance.input_checksum},
                              {"fhd", provenance.program_version},
                              {"--repetitions", in_ranges(provenance.repetitions)},
                              {"--slices", in_ranges(provenance.slices)}};
  for (const auto* option : app.get_options()) {
    if (option->count() == 0 || without_effect().contains(option->get_name())) continue;
    std::string values;
    for (const auto& value : option->results()) values += (values.empty() ? "" : " ") + with_content(value);
    identity.emplace_back(option->get_name(), values);
  }
  return identity;
}

}  // namespace fhd::app
