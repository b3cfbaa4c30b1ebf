#include "io/result/report_json.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <limits>

#include "io/files/atomic_file.hpp"
#include "io/result/bids_fields.hpp"
#include "io/result/formats.hpp"

namespace fhd {

using Json = nlohmann::ordered_json;

/// Returns null where 0 says that the number is not known.
static Json positive(double number) { return number > 0 ? Json(number) : Json(); }
/// Returns null where a number below 0 says that it was not checked.
static Json checked(double number) { return number < 0 ? Json() : Json(number); }

/// Adds values unless there are none: an empty list, an empty optional, the number 0.
static void add_filled(Json& json, const char* name, const auto& values) {
  if constexpr (requires { values.empty(); }) {
    if (!values.empty()) json[name] = values;
  } else if constexpr (requires { values.has_value(); }) {
    if (values) json[name] = *values;
  } else if (values != 0) {
    json[name] = values;
  }
}

static void to_json(Json& json, const StageSpan& span) { json = {span.begin_s, span.seconds}; }

static void to_json(Json& json, const Stage& stage) {
  json = {{"name", stage.name}, {"seconds", stage.seconds}};
  add_filled(json, "spans", stage.spans);
}

static void to_json(Json& json, const Certificate& c) {
  json = {{"passed", c.passed},
          {"requested", c.requested},
          {"forward_error", checked(c.forward_error)},
          {"adjoint_error", checked(c.adjoint_error)},
          {"normal_error", checked(c.normal_error)},
          {"worst_error", checked(c.worst_error)},
          {"adjointness", checked(c.adjointness)},
          {"true_residual", checked(c.true_residual)},
          {"solver_residual", checked(c.solver_residual)},
          {"voxels", c.voxels},
          {"samples", c.samples}};
}

/// Returns the misfits, with chi squared where the noise is known.
static Json misfits_json(const std::vector<Misfit>& misfits, bool noise_is_known) {
  Json all = Json::array();
  for (const auto& m : misfits)
    all.push_back({{"where", m.where},
                   {"share_of_energy", m.energy},
                   {"samples", static_cast<std::int64_t>(m.samples)},
                   {"unexplained", m.unexplained},
                   {"beyond_noise", checked(m.beyond_noise)},
                   {"chi_squared", noise_is_known ? positive(m.chi_squared) : Json()}});
  return all;
}

static void to_json(Json& json, const Finding& f) {
  json = {{"code", f.code},
          {"text", f.text},
          {"amount", f.unit.empty() ? Json() : Json(f.amount)},
          {"uncertainty", positive(f.uncertainty)},
          {"unit", f.unit},
          {"share_of_rest", f.share},
          {"image_change", checked(f.image_change)},
          {"correction", f.correction}};
}

static void to_json(Json& json, const Verdict& v) {
  constexpr const char* judgements[] = {"explained", "explained but for an ordinary rest",
                                        "untested",  "not converged",
                                        "varies",    "unexplained"};
  json = {{"judgement", judgements[static_cast<int>(v.judgement)]}, {"sentence", v.sentence}};
  add_filled(json, "cause", v.cause);
  json.update({{"unexplained", v.unexplained},
               {"tested", v.tested},
               {"chi_squared", v.noise_is_measured ? positive(v.chi_squared) : Json()},
               {"noise_variance", v.noise_variance},
               {"noise_is_measured", v.noise_is_measured},
               {"noise_share", positive(v.noise_share)},
               {"by_radius", misfits_json(v.by_radius, v.noise_is_measured)},
               {"by_coil", misfits_json(v.by_coil, v.noise_is_measured)},
               {"changes", v.changes},
               {"ordinary", v.ordinary},
               {"ordinary_limit", positive(v.ordinary_limit)},
               {"border", v.border},
               {"air", v.air},
               {"offset", v.offset}});
  add_filled(json, "by_readout", v.by_readout);
  add_filled(json, "readouts_per_group", v.readouts_per_group);
}

static void to_json(Json& json, const PointWidth& p) {
  json = {{"voxel", p.voxel}, {"width_voxels", p.width}, {"width_mm", p.width_mm}};
}

static void to_json(Json& json, const NoiseSummary& n) {
  json = {{"method", n.method}, {"noise_is_measured", n.noise_is_measured}};
  add_filled(json, "replicas", n.replicas);
  json.update({{"deviation", n.deviation},
               {"snr", n.snr},
               {"g_factor", positive(n.g_factor)},
               {"largest_g_factor", positive(n.largest_g_factor)}});
  add_filled(json, "point_widths", n.widths);
  json["deviation_unit"] = "that of the image, of the real part";
}

FHD_JSON_FIELDS(UsedTerm, name, strength, weight)
FHD_JSON_FIELDS(LambdaPoint, lambda, data_residual, risk)
FHD_JSON_FIELDS(StrengthPoint, strength, data_residual, risk)

namespace io {
namespace {

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

Json times_of(const Report& r) {
  Json json{{"seconds", r.seconds}, {"stages", r.stages}};
  if (r.certificate) add_filled(json, "certificate_seconds", r.certificate->seconds);
  if (r.verdict) add_filled(json, "verdict_seconds", r.verdict->seconds);
  if (r.noise_summary) add_filled(json, "noise_seconds", r.noise_summary->seconds);
  if (r.device_planned_bytes > 0)
    json["device_memory"] = {{"planned_bytes", r.device_planned_bytes}, {"peak_bytes", r.device_peak_bytes}};
  return json;
}

}  // namespace

Json settings_json(const std::vector<std::pair<std::string, std::string>>& settings) {
  Json json = Json::object();
  for (const auto& [name, value] : settings) json[name] = number_or_text(value);
  return json;
}

std::string json_line(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

ReportJson json_of(const Report& r) {
  Json json{{"settings", settings_json(r.settings)},
            {"messages", r.messages},
            {"converged", r.converged},
            {"relative_residuals", r.relative_residuals},
            {"data_residual", r.data_residual},
            {"largest_eigenvalue", r.largest_eigenvalue},
            {"lambda", r.lambda}};
  add_filled(json, "terms", r.terms);
  add_filled(json, "objectives", r.objectives);
  add_filled(json, "lambda_curve", r.lambda_curve);
  add_filled(json, "strength_curve", r.strength_curve);
  add_filled(json, "noise_residual", r.noise_residual);
  add_filled(json, "certificate", r.certificate);
  add_filled(json, "verdict", r.verdict);
  add_filled(json, "noise", r.noise_summary);
  json["iterations"] = r.relative_residuals.empty() ? 0 : r.relative_residuals.size() - 1;
  return {json, times_of(r)};
}

// Within a string a quote has a backslash before it, so that these words are names of fields.
std::optional<ReportLines> report_lines_in(std::string_view line) {
  constexpr std::string_view before_report = ",\"report\":", before_times = ",\"times\":";
  const auto report = line.find(before_report), times = line.rfind(before_times), end = line.rfind('}');
  if (report == line.npos || times == line.npos || end == line.npos || report > times || times > end)
    return {};
  const auto between = [&](std::size_t begin, std::size_t to) {
    return std::string(line.substr(begin, to - begin));
  };
  ReportLines lines{between(report + before_report.size(), times), between(times + before_times.size(), end)};
  if (!lines.report.starts_with('{') || !lines.times.starts_with('{')) return {};
  return lines;
}

ReportJson Provenance::report(std::size_t i) const {
  if (stored_report) {
    const auto lines = stored_report(i);
    return {Json::parse(lines.report), Json::parse(lines.times)};
  }
  return json_of(i < reports.size() ? reports[i] : Report{});
}

namespace {

Json head_of(const Provenance& provenance) {
  Json input{{"checksum", provenance.input_checksum}};
  for (const auto& [what, path, checksum] : provenance.pieces)
    input["pieces"].push_back(Json::object({{"what", what}, {"checksum", checksum}}));
  return {
      {"program", "fhd"}, {"schema_version", 3}, {"version", provenance.program_version}, {"input", input}};
}

/// Returns `environment` without what it says of the images.
Json environment_of(const Provenance& provenance) {
  Json json{{"command_line", provenance.command_line},
            {"started_at", provenance.started_at},
            {"input_path", provenance.input_path}};
  for (const auto& piece : provenance.pieces) json["piece_paths"].push_back(piece.path);
  for (const auto& [name, value] : provenance.environment) json[name] = value;
  return json;
}

/// Adds how the scan file counts an image, if it does. `repetition`, `slice`: among those of the results.
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

/// Returns the place of an image. `stacks`: those of the slices, which an image names where there are several.
Json place_json(const ImageSeries& series, const Provenance& provenance,
                const std::vector<SliceStack>& stacks, std::size_t i) {
  const auto& geometry = series.images[i].geometry;
  const auto slice_count = static_cast<std::size_t>(series.slice_count);
  const std::size_t repetition = i / slice_count, slice = i % slice_count;
  Json image{{"repetition", provenance.repetition_number(repetition)},
             {"slice", provenance.slice_number(slice)},
             {"matrix_size", geometry.matrix_size},
             {"fov_mm", geometry.fov_mm},
             {"position_mm", geometry.position_mm},
             {"read_direction", geometry.read_direction},
             {"phase_direction", geometry.phase_direction},
             {"slice_direction", geometry.slice_direction}};
  for (std::size_t stack = 0; stack < stacks.size() && stacks.size() > 1; ++stack)
    if (std::ranges::find(stacks[stack].slices, slice) != stacks[stack].slices.end())
      image["stack"] = stack + 1;
  if (provenance.frames) image["first_readout"] = provenance.frames->first_readouts[repetition];
  add_counters(image, provenance, repetition, slice);
  return image;
}

/// Returns JSON that is on one line with each value on its own, at least `columns` from the left but for the first.
std::string indented(std::string_view line, std::size_t columns) {
  std::string text;
  text.reserve(4 * line.size());
  const auto new_line = [&] { text += '\n', text.append(columns, ' '); };
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"') {
      const auto begin = i;
      for (++i; i < line.size() && line[i] != '"'; ++i) i += line[i] == '\\';
      text += line.substr(begin, i + 1 - begin);
    } else if ((c == '{' || c == '[') && i + 1 < line.size() && (line[i + 1] == '}' || line[i + 1] == ']')) {
      text += line.substr(i++, 2);
    } else if (c == '}' || c == ']') {
      columns -= 2, new_line(), text += c;
    } else {
      text += c;
      if (c == '{' || c == '[') columns += 2;
      if (c == '{' || c == '[' || c == ',') new_line();
      if (c == ':') text += ' ';
    }
  }
  return text;
}

/// Returns the text of an object without the brace at its end, and with `name` begun as its last field.
std::string begun(const Json& object, std::size_t columns, const char* name) {
  auto text = indented(json_line(object), columns);
  text.resize(text.rfind('}'));
  text.resize(text.find_last_not_of(" \n") + 1);
  return text + ",\n" + std::string(columns + 2, ' ') + "\"" + name + "\": ";
}

/// Returns the numbers of a list in a report on one line; of others, which JSON holds as null, NaN.
std::vector<double> numbers_in(std::string_view report, std::string_view name) {
  const auto before = "\"" + std::string(name) + "\":";
  const auto found = report.find(before), begin = found == report.npos ? found : found + before.size();
  const auto end = report.find(']', begin);
  std::vector<double> numbers;
  if (end == report.npos) return numbers;
  for (const auto& each : Json::parse(report.substr(begin, end + 1 - begin)))
    numbers.push_back(each.is_number() ? each.get<double>() : std::numeric_limits<double>::quiet_NaN());
  return numbers;
}

ReportLines lines_of(const Provenance& provenance, std::size_t i) {
  if (provenance.stored_report) return provenance.stored_report(i);
  const auto [report, times] = provenance.report(i);
  return {json_line(report), json_line(times)};
}

void write_json(const AtomicFile& to, ResultContent& results, std::size_t) {
  const auto text = joined_report(results.report.report, results.report.environment);
  write_bytes(to.temporary(), text.data(), text.size(), to.path());
}

/// Reads no more into memory than the scan, whatever else is in the file.
RecordedScan scan_in_json(const std::string& path) {
  std::error_code status;
  constexpr std::uintmax_t longest = std::uintmax_t{1} << 30;  // no report of fhd is longer
  if (std::filesystem::file_size(path, status) > longest || status) return {};
  std::ifstream file(path, std::ios::binary);
  const auto of_scan = [](int depth, Json::parse_event_t event, Json& value) {
    using Event = Json::parse_event_t;
    if (event == Event::key)
      return depth == 1 ? value == "program" || value == "input" || value == "environment"
                        : value == "checksum" || value == "input_path";
    return event != Event::array_start && (event != Event::object_start || depth <= 1);
  };
  const auto json = Json::parse(file, of_scan, false);
  const auto text = [&](const char* object, const char* name) {
    const auto& found = json.contains(object) ? json[object] : Json();
    const bool is_text = found.is_object() && found.contains(name) && found[name].is_string();
    return is_text ? found[name].get<std::string>() : std::string();
  };
  if (!json.is_object() || json.value("program", Json()) != "fhd") return {};
  return {text("input", "checksum"), text("environment", "input_path")};
}

}  // namespace

const ResultFormat json_format{.name = "json",
                               .ending = ".json",
                               .is_optional = false,
                               .recorded_scan = scan_in_json,
                               .write = write_json};

ReportText report_text(const ImageSeries& series, const Provenance& provenance,
                       const CompanionResults& companions) {
  ReportText made;
  std::string images, times;
  const auto stacks = stacks_of(series);
  for (std::size_t i = 0; i < series.images.size(); ++i) {
    const auto [report, own_times] = lines_of(provenance, i);
    made.relative_residuals.push_back(numbers_in(report, "relative_residuals"));
    const std::string separator = i == 0 ? "\n" : ",\n";
    auto image = json_line(place_json(series, provenance, stacks, i));
    image.back() = ',', image += std::string_view(report).substr(1);
    images += separator + "    " + indented(image, 4);
    times += separator + "      " + own_times;
  }
  auto head = head_of(provenance);
  head.update(bids_fields(series, provenance, companions));
  made.report = begun(head, 0, "images") + "[" + images + "\n  ]\n}\n";
  made.environment = begun(environment_of(provenance), 2, "images") + "[" + times + "\n    ]\n  }";
  return made;
}

std::string joined_report(const std::string& report, const std::string& environment) {
  const auto end = report.find_last_of('}');
  if (environment.empty() || end == std::string::npos) return report;
  return report.substr(0, report.find_last_not_of(" \n", end - 1) + 1) +
         ",\n  \"environment\": " + environment + "\n}\n";
}

}  // namespace io
}  // namespace fhd
