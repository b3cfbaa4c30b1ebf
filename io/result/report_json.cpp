#include "io/result/report_json.hpp"

#include <algorithm>
#include <charconv>
#include <concepts>
#include <filesystem>
#include <fstream>
#include <limits>

#include "io/files/blocks.hpp"
#include "io/result/formats.hpp"

namespace fhd {

NLOHMANN_JSON_SERIALIZE_ENUM(Verdict::Judgement, {{Verdict::Judgement::untested, "untested"},
                                                  {Verdict::Judgement::explained, "explained"},
                                                  {Verdict::Judgement::not_converged, "not converged"},
                                                  {Verdict::Judgement::varies, "varies"},
                                                  {Verdict::Judgement::unexplained, "unexplained"}})

namespace io {
namespace {

using Json = nlohmann::ordered_json;

template <class T, class Named>
concept Is = std::same_as<std::remove_const_t<T>, Named>;

// describe(value, field) names the members that JSON holds, for writing and for reading:
//   field(name, member)
//   field.filled(name, member)    absent while it is empty
//   field.nonzero(name, number)   absent while it is 0
//   field.positive(name, number)  null where it is 0: not known
//   field.checked(name, number)   null where it is below 0: not checked

void describe(Is<Stage> auto& stage, const auto& field) {
  field("name", stage.name);
  field("seconds", stage.seconds);
  field.filled("spans", stage.spans);
}

void describe(Is<Certificate> auto& c, const auto& field) {
  field("passed", c.passed);
  field("requested", c.requested);
  field.checked("forward_error", c.forward_error);
  field.checked("adjoint_error", c.adjoint_error);
  field.checked("normal_error", c.normal_error);
  field.checked("adjointness", c.adjointness);
  field.checked("true_residual", c.true_residual);
  field.checked("solver_residual", c.solver_residual);
  field("voxels", c.voxels);
  field("samples", c.samples);
}

void describe(Is<Misfit> auto& m, const auto& field) {
  field("where", m.where);
  field("share_of_energy", m.energy);
  field("unexplained", m.unexplained);
  field.positive("chi_squared", m.chi_squared);
}

void describe(Is<ModelChange> auto& c, const auto& field) {
  field("what", c.what);
  field("amount", c.amount);
  field("unit", c.unit);
  field("share_of_rest", c.share);
  field.positive("deviations", c.deviations);
}

void describe(Is<Cause> auto& c, const auto& field) {
  field("code", c.code);
  field("text", c.text);
}

void describe(Is<Verdict> auto& v, const auto& field) {
  field("judgement", v.judgement);
  field("sentence", v.sentence);
  field.filled("cause", v.cause);
  field("unexplained", v.unexplained);
  field("tested", v.tested);
  field.positive("chi_squared", v.chi_squared);
  field("noise_variance", v.noise_variance);
  field("noise_is_measured", v.noise_is_measured);
  field("by_radius", v.by_radius);
  field("by_coil", v.by_coil);
  field("changes", v.changes);
  field("border", v.border);
  field("air", v.air);
  field("centre", v.centre);
  field("offset", v.offset);
}

void describe(Is<PointWidth> auto& p, const auto& field) {
  field("voxel", p.voxel);
  field("width_voxels", p.width);
  field("width_mm", p.width_mm);
}

void describe(Is<NoiseSummary> auto& n, const auto& field) {
  field("method", n.method);
  field("noise_is_measured", n.noise_is_measured);
  field.nonzero("replicas", n.replicas);
  field("deviation", n.deviation);
  field("snr", n.snr);
  field.positive("g_factor", n.g_factor);
  field.positive("largest_g_factor", n.largest_g_factor);
  field.filled("point_widths", n.widths);
}

void describe(Is<UsedTerm> auto& t, const auto& field) {
  field("name", t.name);
  field("strength", t.strength);
  field("weight", t.weight);
}

void describe(Is<LambdaPoint> auto& p, const auto& field) {
  field("lambda", p.lambda);
  field("data_residual", p.data_residual);
  field("penalty", p.penalty);
}

void describe(Is<StrengthPoint> auto& p, const auto& field) {
  field("strength", p.strength);
  field("data_residual", p.data_residual);
  field("risk", p.risk);
}

void describe(Is<Report> auto& r, const auto& field) {
  field("settings", r.settings);
  field("messages", r.messages);
  field("converged", r.converged);
  field("relative_residuals", r.relative_residuals);
  field("data_residual", r.data_residual);
  field("largest_eigenvalue", r.largest_eigenvalue);
  field("lambda", r.lambda);
  field.filled("terms", r.terms);
  field.filled("objectives", r.objectives);
  field.filled("lambda_curve", r.lambda_curve);
  field.filled("strength_curve", r.strength_curve);
  field.nonzero("noise_residual", r.noise_residual);
  field.filled("certificate", r.certificate);
  field.filled("verdict", r.verdict);
  field.filled("noise", r.noise_summary);
}

/// Describes what `environment` says of an image. The certificate and its like have been read before.
void describe_times(Is<Report> auto& r, const auto& field) {
  field("seconds", r.seconds);
  field("stages", r.stages);
  if (r.certificate) field.nonzero("certificate_seconds", r.certificate->seconds);
  if (r.verdict) field.nonzero("verdict_seconds", r.verdict->seconds);
  if (r.noise_summary) field.nonzero("noise_seconds", r.noise_summary->seconds);
}

template <class T>
concept Described = requires(T& value) {
  describe(value, [](const char*, auto&) {});
};

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

using Pairs = std::vector<std::pair<std::string, std::string>>;

struct Writer {
  Json& json;

  template <class T>
  void operator()(const char* name, const T& value) const {
    json[name] = of(value);
  }
  template <class T>
  void filled(const char* name, const std::vector<T>& values) const {
    if (!values.empty()) json[name] = of(values);
  }
  template <class T>
  void filled(const char* name, const std::optional<T>& value) const {
    if (value) json[name] = of(*value);
  }
  void nonzero(const char* name, auto number) const {
    if (number != 0) json[name] = number;
  }
  void positive(const char* name, double number) const { json[name] = number > 0 ? Json(number) : Json(); }
  void checked(const char* name, double number) const { json[name] = number < 0 ? Json() : Json(number); }

  template <class T>
  static Json of(const T& value) {
    if constexpr (!Described<const T>) return value;
    Json made = Json::object();
    if constexpr (Described<const T>) describe(value, Writer{made});
    return made;
  }
  template <class T>
  static Json of(const std::vector<T>& values) {
    Json made = Json::array();
    for (const auto& value : values) made.push_back(of(value));
    return made;
  }
  static Json of(const StageSpan& span) { return {span.begin_s, span.seconds}; }
  static Json of(const Pairs& settings) { return settings_json(settings); }
};

struct Reader {
  const Json& json;

  template <class T>
  void operator()(const char* name, T& value) const {
    if (!json.is_object() || !json.contains(name)) return;
    try {
      take(json[name], value);
    } catch (const Json::exception&) {  // of another type
    }
  }
  template <class T>
  void filled(const char* name, T& value) const {
    (*this)(name, value);
  }
  void nonzero(const char* name, auto& number) const { (*this)(name, number); }
  void positive(const char* name, double& number) const { known(name, number); }
  void checked(const char* name, double& number) const { known(name, number); }
  void known(const char* name, double& number) const {
    if (json.is_object() && json.contains(name) && json[name].is_number()) json[name].get_to(number);
  }

  template <class T>
  static void take(const Json& from, T& value) {
    if constexpr (Described<T>)
      describe(value, Reader{from});
    else
      from.get_to(value);
  }
  static void take(const Json& from, double& value) {
    value = from.is_null() ? std::numeric_limits<double>::quiet_NaN() : from.get<double>();
  }
  template <class T>
  static void take(const Json& from, std::optional<T>& value) {
    if (from.is_object()) take(from, value.emplace());
  }
  template <class T>
  static void take(const Json& from, std::vector<T>& values) {
    std::vector<T> found(from.is_array() ? from.size() : 0);
    for (std::size_t i = 0; i < found.size(); ++i) take(from[i], found[i]);
    values = std::move(found);
  }
  static void take(const Json& from, StageSpan& span) { span = {from.at(0), from.at(1)}; }
  static void take(const Json& from, Pairs& settings) {
    if (!from.is_object()) return;
    for (const auto& [name, value] : from.items())
      settings.emplace_back(name, value.is_string() ? value.get<std::string>() : value.dump());
  }
};

constexpr auto planned = "planned_bytes", peak = "peak_bytes", device_memory = "device_memory";

}  // namespace

Json settings_json(const Pairs& settings) {
  Json json = Json::object();
  for (const auto& [name, value] : settings) json[name] = number_or_text(value);
  return json;
}

std::string json_line(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json report_to_json(const Report& report) {
  Json json = Writer::of(report);
  json["iterations"] = report.relative_residuals.empty() ? 0 : report.relative_residuals.size() - 1;
  if (report.noise_summary) json["noise"]["deviation_unit"] = "that of the image, of the real part";
  return json;
}

Json times_to_json(const Report& report) {
  Json json = Json::object();
  describe_times(report, Writer{json});
  if (report.device_planned_bytes > 0)
    json[device_memory] = {{planned, report.device_planned_bytes}, {peak, report.device_peak_bytes}};
  return json;
}

Report report_from_json(const Json& json, const Json& times) {
  Report report;
  describe(report, Reader{json});
  describe_times(report, Reader{times});
  if (!times.is_object() || !times.contains(device_memory)) return report;
  const Reader memory{times[device_memory]};
  memory(planned, report.device_planned_bytes);
  memory(peak, report.device_peak_bytes);
  return report;
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

Json image_json(const ImageSeries& series, const Provenance& provenance, std::size_t i,
                const Report& report) {
  const auto& geometry = series.images[i].geometry;
  const auto slice_count = static_cast<std::size_t>(series.slice_count);
  const std::size_t repetition = i / slice_count, slice = i % slice_count;
  Json image{{"repetition", provenance.repetition_number(repetition)},
             {"slice", provenance.slice_number(slice)},
             {"matrix_size", geometry.matrix_size},
             {"fov_mm", geometry.fov_mm},
             {"position_mm", geometry.position_mm}};
  if (provenance.frames) image["first_readout"] = provenance.frames->first_readouts[repetition];
  add_counters(image, provenance, repetition, slice);
  image.update(report_to_json(report));
  return image;
}

std::string indented(const Json& json, std::size_t columns) {
  std::string text;
  for (const char c : json.dump(2, ' ', false, Json::error_handler_t::replace)) {
    text += c;
    if (c == '\n') text.append(columns, ' ');
  }
  return text;
}

/// Returns the text of an object without the brace at its end, and with `name` begun as its last field.
std::string begun(const Json& object, std::size_t columns, const char* name) {
  auto text = indented(object, columns);
  text.resize(text.rfind('}'));
  text.resize(text.find_last_not_of(" \n") + 1);
  return text + ",\n" + std::string(columns + 2, ' ') + "\"" + name + "\": ";
}

/// Writes a list of text_of(image), which several threads make.
template <class TextOf, class Write>
void write_list(std::size_t count, std::size_t columns, const TextOf& text_of, const Write& write) {
  constexpr std::size_t in_block = 32;
  const auto make = [&](std::int64_t block) {
    std::string text;
    const std::size_t first = static_cast<std::size_t>(block) * in_block;
    for (std::size_t i = first; i < std::min(count, first + in_block); ++i)
      text += (i == 0 ? "\n" : ",\n") + std::string(columns + 2, ' ') + text_of(i);
    return text;
  };
  write("[");
  in_order(static_cast<std::int64_t>((count + in_block - 1) / in_block), threads_or_all(0), make, write);
  write("\n" + std::string(columns, ' ') + "]");
}

}  // namespace

ReportText write_report_json(const ImageSeries& series, const Provenance& provenance,
                             const std::function<void(std::string_view)>& write) {
  const auto count = series.images.size();
  ReportText parts;
  parts.relative_residuals.resize(count);
  std::uint64_t bytes = 0;
  const auto put = [&](std::string_view text) {
    write(text);
    bytes += text.size();
  };
  put(begun(head_of(provenance), 0, "images"));
  const auto image_text = [&](std::size_t i) {
    const auto report = provenance.report(i);
    parts.relative_residuals[i] = report.relative_residuals;
    return indented(image_json(series, provenance, i, report), 4);
  };
  write_list(count, 2, image_text, put);
  parts.images_end = bytes;
  put(",\n  \"environment\": ");
  parts.environment_begin = bytes;
  put(begun(environment_of(provenance), 2, "images"));
  write_list(
      count, 4, [&](std::size_t i) { return json_line(times_to_json(provenance.report(i))); }, put);
  put("\n  }");
  parts.environment_end = bytes;
  put("\n}\n");
  return parts;
}

namespace {

void write_json(const AtomicFile& to, ResultContent& results) {
  OutputFile file(to.temporary(), to.path());
  std::string waiting;
  constexpr std::size_t enough = std::size_t{1} << 18;
  const auto write = [&](std::string_view text) {
    waiting += text;
    if (waiting.size() < enough) return;
    file.write(waiting.data(), waiting.size());
    waiting.clear();
  };
  results.report = write_report_json(results.series, results.provenance, write);
  results.report_path = to.temporary();
  file.write(waiting.data(), waiting.size());
  file.close();
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
                               .in_calling_thread = true,
                               .recorded_scan = scan_in_json,
                               .write = write_json};

}  // namespace io
}  // namespace fhd
