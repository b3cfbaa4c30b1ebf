#pragma once
// The text of OUT.json, as README.md describes it.
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "io/result/results.hpp"

namespace fhd::io {

/// Ends with a new line.
std::string report_json(const ImageSeries& series, const Provenance& provenance);
/// {"method": "cg", "iterations": 30}: a value that is a number as a whole is one, others are text.
nlohmann::ordered_json settings_json(const std::vector<std::pair<std::string, std::string>>& settings);
/// The numbers of `count` chosen volumes in their scan: `chosen`, or 0, 1, ... where that is empty.
std::vector<int> chosen_numbers(const std::vector<std::int64_t>& chosen, std::int64_t count);

}  // namespace fhd::io
