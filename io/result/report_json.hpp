#pragma once
// The text of OUT.json (app/docs/results.md). Everything in it but `environment` follows from the scan, the settings and
// the version; `environment` holds times, names of files and of machines.
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/result/message_json.hpp"
#include "io/result/results.hpp"

namespace fhd::io {

/// The places of the parts of a text of OUT.json, in bytes, and the residuals, which OUT.h5 also holds as numbers.
struct ReportText {
  std::uint64_t images_end = 0;  ///< with "\n}\n" behind it, the text before is JSON without the environment
  std::uint64_t environment_begin = 0, environment_end = 0;
  std::vector<std::vector<double>> relative_residuals;  ///< of every image
};

/// What OUT.json says of one image, but its place, and what `environment` says of it: the seconds of its stages and the
/// memory of the GPU.
struct ReportJson {
  nlohmann::ordered_json report, times;
};
ReportJson json_of(const Report& report);
/// Writes the text piece by piece, in order, some images at a time. Throws what `write` throws.
ReportText write_report_json(const ImageSeries& series, const Provenance& provenance,
                             const std::function<void(std::string_view)>& write);
/// Returns {"method": "cg", "iterations": 30}: a value that is a number as a whole is one, others are text.
nlohmann::ordered_json settings_json(const std::vector<std::pair<std::string, std::string>>& settings);
/// Returns one line. Bytes that are no UTF-8, as paths may hold them, are replaced.
std::string json_line(const nlohmann::ordered_json& json);

}  // namespace fhd::io
