#include "io/result/bids_fields.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "io/result/report_json.hpp"

namespace fhd::io {
namespace {

using Json = nlohmann::ordered_json;

void add_known(Json& json, const char* name, const std::string& text) {
  if (!text.empty()) json[name] = text;
}
void add_known(Json& json, const char* name, double number) {
  if (number > 0) json[name] = number;
}

/// Returns the echo time of each repetition, or the one of all; null where one is not known.
Json echo_times(const ImageSeries& series, const Provenance& provenance,
                const std::vector<double>& stated_s) {
  std::vector<double> times_s;
  for (std::int64_t i = 0; i < series.repetition_count; ++i) {
    const bool counts = !provenance.repetition_counters.empty() && !provenance.frames;
    const auto contrast = static_cast<std::size_t>(
        counts ? provenance.counters_of_repetition(static_cast<std::size_t>(i)).contrast : 0);
    if (contrast >= stated_s.size()) return {};
    times_s.push_back(stated_s[contrast]);
  }
  const bool differ =
      std::any_of(times_s.begin(), times_s.end(), [&](double time) { return time != times_s.front(); });
  return times_s.empty() ? Json() : differ ? Json(times_s) : Json(times_s.front());
}

}  // namespace

std::string name_of_method(const Json& settings) {
  constexpr std::pair<const char*, const char*> methods[]{{"cg", "least squares"},
                                                          {"gridded", "density-compensated gridding"},
                                                          {"adjoint", "adjoint"},
                                                          {"fft", "FFT"}};
  for (const auto& [method, words] : methods)
    if (settings.value("method", Json()) == method) return words;
  return {};
}

Json bids_fields(const ImageSeries& series, const Provenance& provenance,
                 const CompanionResults& companions) {
  const auto& of_scan = companions.acquisition;
  const Json report = provenance.report(0).report, settings = report.value("settings", Json::object());
  const auto& matrix = series.images.front().geometry.matrix_size;
  Json json;
  add_known(json, "Manufacturer", of_scan.vendor);
  add_known(json, "ManufacturersModelName", of_scan.model);
  add_known(json, "MagneticFieldStrength", of_scan.field_strength_t);
  add_known(json, "PulseSequenceType", of_scan.sequence);
  if (auto times = echo_times(series, provenance, companions.echo_times_s); !times.is_null())
    json["EchoTime"] = std::move(times);
  add_known(json, "RepetitionTime",
            series.repetition_count > 1 ? provenance.repetition_time_s : of_scan.excitation_time_s);
  add_known(json, "RepetitionTimeExcitation", of_scan.excitation_time_s);
  add_known(json, "FlipAngle", of_scan.flip_angle_deg);
  json["MatrixSize"] = matrix;
  json["Units"] = "arbitrary";
  json["ConversionSoftware"] = "fhd";
  json["ConversionSoftwareVersion"] = provenance.program_version;
  if (auto method = name_of_method(settings); !method.empty()) {
    if (settings.contains("regularizer")) method += ", " + settings["regularizer"].get<std::string>();
    json["ReconMethodName"] = method;
    json["ReconMethodImplementationVersion"] = provenance.program_version;
  }
  std::vector<std::string> labels, units;
  std::vector<double> values;
  const auto add_parameter = [&](const char* name, const Json& from) {
    if (!from.contains(name) || !from[name].is_number()) return;
    labels.emplace_back(name), units.emplace_back("none"), values.push_back(from[name].get<double>());
  };
  add_parameter("undersampling", settings);
  if (settings.contains("lambda")) add_parameter("lambda", report), add_parameter("iterations", report);
  if (!labels.empty())
    json.update({{"ReconMethodParameterLabels", labels},
                 {"ReconMethodParameterUnits", units},
                 {"ReconMethodParameterValues", values}});
  if (settings.contains("undersampling") && matrix[2] == 1)
    json["ParallelReductionFactorInPlane"] = settings["undersampling"];
  return json;
}

}  // namespace fhd::io
