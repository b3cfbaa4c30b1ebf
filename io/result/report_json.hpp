#pragma once
// The text of OUT.json (app/docs/results.md), which is a sidecar of OUT.nii.gz, too (bids_fields.hpp). Everything in it but `environment` follows from the scan, the settings and
// the version; `environment` holds times, names of files and of machines.
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/result/message_json.hpp"
#include "io/result/results.hpp"

namespace fhd::io {

/// The text of OUT.json in two parts, which OUT.h5 holds one by one, and the residuals, which it also holds as numbers.
struct ReportText {
  std::string report, environment;                      ///< JSON each
  std::vector<std::vector<double>> relative_residuals;  ///< of every image
};

/// The part of OUT.json on one image, but its place, and that of `environment`: the seconds of its stages and the
/// memory of the GPU.
struct ReportJson {
  nlohmann::ordered_json report, times;
};
ReportJson json_of(const Report& report);
/// The two parts as text, each on one line, as a long series keeps them.
struct ReportLines {
  std::string report, times;
};
/// Returns the lines in a line of JSON that ends with the fields "report" and "times"; empty where it has none.
std::optional<ReportLines> report_lines_in(std::string_view line);
ReportText report_text(const ImageSeries& series, const Provenance& provenance,
                       const CompanionResults& companions);
/// Returns the text of OUT.json of its parts.
std::string joined_report(const std::string& report, const std::string& environment);
/// Returns {"method": "cg", "iterations": 30}: a value that is a number as a whole is one, others are text.
nlohmann::ordered_json settings_json(const std::vector<std::pair<std::string, std::string>>& settings);
/// Returns one line. Bytes that are no UTF-8, as paths may hold them, are replaced.
std::string json_line(const nlohmann::ordered_json& json);

}  // namespace fhd::io
