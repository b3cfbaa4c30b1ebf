#pragma once
// The text of OUT.json, as README.md describes it.
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/result/message_json.hpp"
#include "io/result/results.hpp"

namespace fhd::io {

/// Writes the text piece by piece, some images at a time, in order; it ends with a new line. Throws what `write` throws.
/// `on_report` hears of the report of every image.
void write_report_json(const ImageSeries& series, const Provenance& provenance,
                       const std::function<void(std::string_view)>& write,
                       const std::function<void(std::size_t, const nlohmann::ordered_json&)>& on_report = {});
/// What the text says of one image beside its place.
nlohmann::ordered_json report_to_json(const Report& report);
/// That of image `index`: of `reports`, or stored; empty where there is none.
nlohmann::ordered_json report_of_image(const Provenance& provenance, std::size_t index);
/// What a summary of many images tells of one: convergence, certificate, suspicions, warnings, settings. What is absent
/// or of another type stays as in an empty report.
Report summary_of_report(const nlohmann::ordered_json& json);
/// {"method": "cg", "iterations": 30}: a value that is a number as a whole is one, others are text.
nlohmann::ordered_json settings_json(const std::vector<std::pair<std::string, std::string>>& settings);

}  // namespace fhd::io
