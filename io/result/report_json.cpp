#include "io/result/report_json.hpp"

#include <algorithm>
#include <charconv>

#include "io/files/blocks.hpp"
#include "io/result/run.hpp"

namespace fhd::io {
namespace {

using Json = nlohmann::ordered_json;

Json pairs_to_json(const std::vector<std::pair<std::string, std::string>>& pairs) {
  Json json = Json::object();
  for (const auto& [name, value] : pairs) json[name] = value;
  return json;
}

Json stages_to_json(const std::vector<Stage>& stages) {
  Json json = Json::array();
  for (const auto& stage : stages) {
    json.push_back({{"name", stage.name}, {"seconds", stage.seconds}});
    for (const auto& [begin_s, seconds] : stage.spans) json.back()["spans"].push_back({begin_s, seconds});
  }
  return json;
}

/// A quantity that was not checked is null.
Json checked(double value) { return value < 0 ? Json(nullptr) : Json(value); }

Json certificate_to_json(const Certificate& c) {
  return {{"passed", c.passed},
          {"requested", c.requested},
          {"forward_error", checked(c.forward_error)},
          {"adjoint_error", checked(c.adjoint_error)},
          {"normal_error", checked(c.normal_error)},
          {"adjointness", checked(c.adjointness)},
          {"true_residual", checked(c.true_residual)},
          {"solver_residual", checked(c.solver_residual)},
          {"voxels", c.voxels},
          {"samples", c.samples},
          {"seconds", c.seconds}};
}

Json noise_to_json(const NoiseSummary& n) {
  Json json{{"method", n.method}, {"noise_is_measured", n.noise_is_measured}};
  if (n.replicas > 0) json["replicas"] = n.replicas;
  json.update({{"deviation", n.deviation},
               {"deviation_unit", "that of the image, of the real part"},
               {"snr", n.snr},
               {"g_factor", n.g_factor > 0 ? Json(n.g_factor) : Json(nullptr)},
               {"largest_g_factor", n.largest_g_factor > 0 ? Json(n.largest_g_factor) : Json(nullptr)}});
  for (const auto& [voxel, width, width_mm] : n.widths)
    json["point_widths"].push_back({{"voxel", voxel}, {"width_voxels", width}, {"width_mm", width_mm}});
  json["seconds"] = n.seconds;
  return json;
}

Json input_to_json(const Provenance& provenance) {
  Json input{{"path", provenance.input_path}, {"checksum", provenance.input_checksum}};
  for (const auto& [what, path, checksum] : provenance.pieces)
    input["pieces"].push_back({{"what", what}, {"path", path}, {"checksum", checksum}});
  return input;
}

Json misfits_to_json(const std::vector<Misfit>& misfits, const char* where) {
  Json json = Json::array();
  for (const auto& m : misfits)
    json.push_back({{where, m.where},
                    {"share_of_energy", m.energy},
                    {"unexplained", m.unexplained},
                    {"chi_squared", m.chi_squared > 0 ? Json(m.chi_squared) : Json(nullptr)}});
  return json;
}

Json verdict_to_json(const Verdict& v) {
  constexpr const char* judgements[] = {"explained", "untested", "not converged", "varies", "unexplained"};
  Json changes = Json::array();
  for (const auto& c : v.changes)
    changes.push_back({{"what", c.what},
                       {"amount", c.amount},
                       {"unit", c.unit},
                       {"share_of_rest", c.share},
                       {"deviations", c.deviations > 0 ? Json(c.deviations) : Json(nullptr)}});
  return {{"judgement", judgements[static_cast<int>(v.judgement)]},
          {"sentence", v.sentence},
          {"cause", v.cause ? v.cause->text : ""},
          {"cause_code", v.cause ? v.cause->code : ""},
          {"unexplained", v.unexplained},
          {"tested", v.tested},
          {"chi_squared", v.chi_squared > 0 ? Json(v.chi_squared) : Json(nullptr)},
          {"noise_variance", v.noise_variance},
          {"noise_is_measured", v.noise_is_measured},
          {"by_radius", misfits_to_json(v.by_radius, "radius")},
          {"by_coil", misfits_to_json(v.by_coil, "coil")},
          {"changes", changes},
          {"border", v.border},
          {"air", v.air},
          {"centre", v.centre},
          {"offset", v.offset},
          {"seconds", v.seconds}};
}

/// How the scan file counts an image, where it does. `repetition`, `slice`: among those of the results.
void add_counters(Json& image, const Provenance& provenance, std::size_t repetition, std::size_t slice) {
  Json counters = Json::object();
  if (!provenance.repetition_counters.empty()) {
    const auto own = provenance.counters_of_repetition(repetition);
    counters = {
        {"repetition", own.repetition}, {"contrast", own.contrast}, {"phase", own.phase}, {"set", own.set}};
  }
  if (!provenance.slice_counters.empty()) counters["slice"] = provenance.counter_of_slice(slice);
  if (!counters.empty()) image["counters"] = counters;
}

/// A whole text that is a number becomes one.
Json number_or_text(const std::string& text) {
  const char *begin = text.data(), *end = begin + text.size();
  std::int64_t whole = 0;
  if (const auto [stop, error] = std::from_chars(begin, end, whole); error == std::errc() && stop == end)
    return whole;
  double number = 0;
  const auto [stop, error] = std::from_chars(begin, end, number);
  const bool is_number = error == std::errc() && stop == end && number - number == 0;  // JSON has no infinity
  return is_number ? Json(number) : Json(text);
}

}  // namespace

Json settings_json(const std::vector<std::pair<std::string, std::string>>& settings) {
  Json json = Json::object();
  for (const auto& [name, value] : settings) json[name] = number_or_text(value);
  return json;
}

Json report_to_json(const Report& report) {
  Json json{{"settings", settings_json(report.settings)},
            {"stages", stages_to_json(report.stages)},
            {"seconds", report.seconds},
            {"messages", report.messages},
            {"converged", report.converged},
            {"iterations", report.relative_residuals.empty() ? 0 : report.relative_residuals.size() - 1},
            {"relative_residuals", report.relative_residuals},
            {"data_residual", report.data_residual},
            {"largest_eigenvalue", report.largest_eigenvalue},
            {"lambda", report.lambda}};
  if (!report.predicted_stages.empty()) json["predicted_stages"] = stages_to_json(report.predicted_stages);
  if (report.device_planned_bytes > 0)
    json["device_memory"] = {{"planned_bytes", report.device_planned_bytes},
                             {"peak_bytes", report.device_peak_bytes}};
  if (!report.terms.empty()) {
    for (const auto& [name, strength, weight] : report.terms)
      json["terms"].push_back({{"name", name}, {"strength", strength}, {"weight", weight}});
    json["objectives"] = report.objectives;
  }
  if (report.certificate) json["certificate"] = certificate_to_json(*report.certificate);
  if (report.verdict) json["verdict"] = verdict_to_json(*report.verdict);
  if (!report.lambda_curve.empty()) {
    Json curve = Json::array();
    for (const auto& point : report.lambda_curve)
      curve.push_back(
          {{"lambda", point.lambda}, {"data_residual", point.data_residual}, {"penalty", point.penalty}});
    json["lambda_curve"] = curve;
    json["noise_residual"] = report.noise_residual;
  }
  for (const auto& [strength, residual, risk] : report.strength_curve)
    json["strength_curve"].push_back({{"strength", strength}, {"data_residual", residual}, {"risk", risk}});
  if (!report.strength_curve.empty()) json["noise_residual"] = report.noise_residual;
  if (report.noise_summary) json["noise"] = noise_to_json(*report.noise_summary);
  return json;
}

Json report_of_image(const Provenance& provenance, std::size_t index) {
  if (provenance.stored_report) return Json::parse(provenance.stored_report(index));
  return index < provenance.reports.size() ? report_to_json(provenance.reports[index]) : Json::object();
}

namespace {

/// json[name] where it is there and of the type of `value`, else `value`.
template <class T>
void take(const Json& json, const char* name, T& value) {
  if (!json.is_object() || !json.contains(name)) return;
  try {
    value = json[name].get<T>();
  } catch (const Json::exception&) {
  }
}

std::string text_of(const Json& json, int indent) {
  // Paths may hold bytes that are no UTF-8: they are replaced rather than refused.
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

Report summary_of_report(const Json& json) {
  Report report;
  take(json, "seconds", report.seconds);
  report.messages = messages_in(json);
  take(json, "converged", report.converged);
  take(json, "relative_residuals", report.relative_residuals);
  take(json, "data_residual", report.data_residual);
  if (!json.is_object() || !json.contains("certificate") || !json["certificate"].is_object()) return report;
  auto& certificate = report.certificate.emplace();
  const Json& stored = json["certificate"];
  take(stored, "passed", certificate.passed);
  take(stored, "requested", certificate.requested);
  take(stored, "forward_error", certificate.forward_error);
  take(stored, "adjoint_error", certificate.adjoint_error);
  take(stored, "normal_error", certificate.normal_error);
  take(stored, "true_residual", certificate.true_residual);
  return report;
}

namespace {

/// One after the other in the file, made together.
struct ReportedImages {
  std::string text;
  std::vector<Json> reports;
};

/// `report` is what report_of_image() gives.
std::string text_of_image(const ImageSeries& series, const Provenance& provenance, std::size_t i,
                          const Json& report) {
  const auto& geometry = series.images[i].geometry;
  const auto slice_count = static_cast<std::size_t>(series.slice_count);
  const std::size_t repetition = i / slice_count, slice = i % slice_count;
  Json image{{"repetition", provenance.repetition_number(repetition)},
             {"slice", provenance.slice_number(slice)},
             {"matrix_size", geometry.matrix_size},
             {"fov_mm", geometry.fov_mm},
             {"position_mm", geometry.position_mm}};
  if (provenance.frames)
    image["first_readout"] = provenance.frames->first_readouts[repetition];
  add_counters(image, provenance, repetition, slice);
  image.update(report);
  std::string text = i == 0 ? "\n    " : ",\n    ";
  for (const char c : text_of(image, 2)) {
    text += c;
    if (c == '\n') text += "    ";
  }
  return text;
}

}  // namespace

void write_report_json(const ImageSeries& series, const Provenance& provenance,
                       const std::function<void(std::string_view)>& write,
                       const std::function<void(std::size_t, const Json&)>& on_report) {
  Json head{{"program", "fhd"}, {"schema_version", 2}};
  if (!provenance.run.empty()) head[run_attribute] = provenance.run;
  head.update({{"version", provenance.program_version},
               {"command_line", provenance.command_line},
               {"started_at", provenance.started_at},
               {"input", input_to_json(provenance)},
               {"environment", pairs_to_json(provenance.environment)}});
  auto text = text_of(head, 2);
  text.resize(text.size() - 2);  // its end: a new line and a brace
  write(text + ",\n  \"images\": [");
  constexpr std::size_t in_block = 32;
  const std::size_t count = series.images.size();
  std::size_t next = 0;
  const auto make = [&](std::int64_t block) {
    ReportedImages made;
    const std::size_t first = static_cast<std::size_t>(block) * in_block;
    for (std::size_t i = first; i < std::min(count, first + in_block); ++i) {
      made.reports.push_back(report_of_image(provenance, i));
      made.text += text_of_image(series, provenance, i, made.reports.back());
    }
    return made;
  };
  in_order(static_cast<std::int64_t>((count + in_block - 1) / in_block), threads_or_all(0), make,
           [&](const ReportedImages& made) {
             for (const auto& report : made.reports) {
               if (on_report) on_report(next, report);
               ++next;
             }
             write(made.text);
           });
  write("\n  ]\n}\n");
}

}  // namespace fhd::io
