#include "app/batch/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "app/batch/stop_requests.hpp"
#include "io/files/file_set.hpp"
#include "io/files/input_file.hpp"
#include "io/result/message_json.hpp"
#include "recon/error.hpp"
#include "version.hpp"

namespace fhd::app {
namespace {

using Json = nlohmann::ordered_json;

/// Returns whether a message of a manifest is about the scan or its image, and not about the accuracy of numbers.
bool makes_suspicious(const Message& message) { return message.code != codes::certificate; }

std::string why(const Outcome& outcome) {
  if (!outcome.error.empty()) return outcome.error;
  for (const auto& message : outcome.manifest.messages)
    if (outcome.reason.empty() && makes_suspicious(message) && has_results(outcome)) return line_of(message);
  return outcome.reason;
}

/// A column of the summary: its name, and its value as JSON; of scans without results some columns have none.
struct Column {
  const char* name;
  bool is_of_results;
  Json (*value)(const BatchScan&, const Outcome&);
};

// A new column is one line here: CSV, JSON and the events of --json-lines are made of this table.
constexpr Column columns[] = {
    {"name", false, [](const BatchScan& scan, const Outcome&) -> Json { return scan.name; }},
    {"scan", false, [](const BatchScan& scan, const Outcome&) -> Json { return scan.path; }},
    {"status", false, [](const BatchScan&, const Outcome& one) -> Json { return text(one); }},
    {"suspicious", false, [](const BatchScan&, const Outcome& one) -> Json { return is_suspicious(one); }},
    {"seconds", true, [](const BatchScan&, const Outcome& one) -> Json { return one.manifest.seconds; }},
    {"images", true, [](const BatchScan&, const Outcome& one) -> Json { return one.manifest.images; }},
    {"iterations", true,
     [](const BatchScan&, const Outcome& one) -> Json { return one.manifest.iterations; }},
    {"residual", true, [](const BatchScan&, const Outcome& one) -> Json { return one.manifest.residual; }},
    {"data_residual", true,
     [](const BatchScan&, const Outcome& one) -> Json { return one.manifest.data_residual; }},
    {"converged", true, [](const BatchScan&, const Outcome& one) -> Json { return one.manifest.converged; }},
    {"cache_hits", true,
     [](const BatchScan&, const Outcome& one) -> Json { return one.manifest.cache_hits; }},
    {"messages", true, [](const BatchScan&, const Outcome& one) -> Json { return one.manifest.messages; }},
    {"why", false, [](const BatchScan&, const Outcome& one) -> Json { return why(one); }}};

constexpr auto json_head = "{\n \"program\": \"fhd\",";  // as nlohmann prints it

std::string csv_head() {
  std::string head;
  for (const auto& column : columns) head += (head.empty() ? "" : ",") + std::string(column.name);
  return head + "\n";
}

bool is_earlier(const Outcome& outcome) {
  return outcome.status == Outcome::Status::earlier || outcome.status == Outcome::Status::failed_earlier;
}

/// Returns a text as a field of RFC 4180. A text that a spreadsheet would take for a formula is marked as text.
std::string csv(std::string text) {
  if (!text.empty() && std::string_view("=+-@").find(text.front()) != std::string_view::npos)
    text.insert(0, "'");
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string csv(const Json& value) {
  if (value.is_null()) return {};
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_number_float()) return fmt::format("{:.4g}", value.get<double>());
  if (value.is_string()) return csv(value.get<std::string>());
  if (!value.is_array()) return value.dump();
  std::vector<std::string> lines;
  for (const auto& message : value.get<std::vector<Message>>()) lines.push_back(line_of(message));
  return csv(fmt::format("{}", fmt::join(lines, "; ")));
}

}  // namespace

bool has_results(const Outcome& outcome) {
  return outcome.status == Outcome::Status::finished || outcome.status == Outcome::Status::unchanged ||
         outcome.status == Outcome::Status::earlier;
}

bool is_suspicious(const Outcome& outcome) {
  const auto& messages = outcome.manifest.messages;
  return has_results(outcome) && std::any_of(messages.begin(), messages.end(), makes_suspicious);
}

std::string text(const Outcome& outcome) {
  constexpr const char* texts[] = {"not run", "finished", "unchanged",     "no scan",
                                   "failed",  "earlier",  "failed earlier"};
  return std::string(texts[static_cast<int>(outcome.status)]) +
         (is_suspicious(outcome) ? ", suspicious" : "");
}

Json row_of(const BatchScan& scan, const Outcome& outcome) {
  Json row;
  for (const auto& [name, is_of_results, value] : columns)
    if (!is_of_results || has_results(outcome)) row[name] = value(scan, outcome);
  return row;
}

BatchTotals totals(const std::vector<Outcome>& outcomes) {
  BatchTotals totals;
  for (const auto& outcome : outcomes) {
    ++totals.count[static_cast<std::size_t>(outcome.status)];
    if (!is_earlier(outcome) && is_suspicious(outcome)) ++totals.suspicious;
  }
  return totals;
}

Json json_of(const BatchTotals& t) {
  using enum Outcome::Status;
  return {{"finished", t[finished]},    {"unchanged", t[unchanged]}, {"failed", t[failed]},
          {"suspicious", t.suspicious}, {"no_scans", t[images]},     {"not_run", t[open]},
          {"earlier", t.earlier()}};
}

void add_earlier(const std::string& directory, std::vector<BatchScan>& scans,
                 std::vector<Outcome>& outcomes) {
  namespace fs = std::filesystem;
  constexpr std::string_view ending = ".manifest.json";
  std::set<std::string> known;
  for (const auto& scan : scans) known.insert(scan.name);
  std::map<std::string, io::Manifest> others;
  std::error_code status;
  for (fs::directory_iterator entry(directory, status), end; !status && entry != end;
       entry.increment(status)) {
    auto name = entry->path().filename().string();
    if (name.starts_with(".") || !name.ends_with(ending)) continue;
    name.resize(name.size() - ending.size());
    if (known.count(name) > 0) continue;
    if (auto manifest = io::read_manifest(entry->path().string())) others.emplace(name, std::move(*manifest));
  }
  for (auto& [name, manifest] : others) {
    const bool failed = manifest.status == io::Manifest::Status::failed;
    Outcome outcome{
        failed ? Outcome::Status::failed_earlier : Outcome::Status::earlier, "", manifest.error, {}};
    const auto missing =
        failed ? std::nullopt : io::missing_product(directory, manifest, StopRequests::has_come);
    if (missing && !StopRequests::has_come())  // a file that was not looked at is not changed
      outcome.reason = *missing + " is missing or changed";
    scans.push_back({manifest.scan, name});
    outcome.manifest = std::move(manifest);
    outcomes.push_back(std::move(outcome));
  }
}

namespace {

/// Returns "3 scans: 2 finished, ...", the last line of the table.
std::string totals_line(const std::vector<Outcome>& outcomes, double seconds) {
  using enum Outcome::Status;
  const auto t = totals(outcomes);
  std::int64_t hits = 0;
  for (const auto& outcome : outcomes)
    if (outcome.status == finished) hits += outcome.manifest.cache_hits;
  auto line =
      fmt::format("{} scans: {} finished, {} unchanged, {} failed",
                  static_cast<int>(outcomes.size()) - t.earlier(), t[finished], t[unchanged], t[failed]);
  const auto add = [&](const char* text, int count) {
    if (count > 0) line += fmt::format(fmt::runtime(text), count);
  };
  add(", {} suspicious", t.suspicious);
  add(", {} hold images and no scan", t[images]);
  add(", {} not run", t[open]);
  add("; {} more of earlier runs", t.earlier());
  line += fmt::format("; {:.1f} s", seconds);
  if (t[finished] > 0 && seconds > 0) line += fmt::format(", {:.2f} scans/s", t[finished] / seconds);
  if (hits > 0) line += fmt::format(", {} cache hits", hits);
  return line + "\n";
}

}  // namespace

std::string summary_table(const std::vector<BatchScan>& scans, const std::vector<Outcome>& outcomes,
                          double seconds) {
  constexpr std::size_t few = 40;
  std::size_t width = 4;
  for (const auto& scan : scans) width = std::min<std::size_t>(40, std::max(width, scan.name.size()));
  std::string table;
  for (std::size_t i = 0; i < scans.size(); ++i) {
    const auto& outcome = outcomes[i];
    const auto& m = outcome.manifest;
    if (outcome.status == Outcome::Status::images || is_earlier(outcome) ||
        (scans.size() > few && has_results(outcome) && !is_suspicious(outcome)))
      continue;
    if (table.empty())
      table = fmt::format("{:<{}}  {:<20}  {:>8}  {:>10}  {:>8}  {:>8}  {}\n", "scan", width, "status",
                          "seconds", "iterations", "residual", "data", "why");
    table += fmt::format("{:<{}}  {:<20}", scans[i].name, width, text(outcome));
    table += has_results(outcome) ? fmt::format("  {:>8.2f}  {:>10}  {:>8.1e}  {:>8.3f}", m.seconds,
                                                m.iterations, m.residual, m.data_residual)
                                  : fmt::format("{:>42}", "");
    table += "  " + why(outcome);
    while (table.back() == ' ') table.pop_back();
    table += "\n";
  }
  return table + totals_line(outcomes, seconds);
}

void require_own_summaries(const std::string& directory) {
  const std::pair<const char*, std::string> heads[] = {{"summary.json", json_head},
                                                       {"summary.csv", "name,scan,status,"}};
  for (const auto& [name, head] : heads) {
    const auto path = (std::filesystem::path(directory) / name).string();
    if (io::is_of_another_kind(path, head))
      throw Error(path, "a new name, or the summary of an earlier 'fhd batch'", "another file",
                  "move it, or choose another folder (-o)");
  }
}

std::vector<std::string> write_summary(const std::string& directory, const std::vector<BatchScan>& scans,
                                       const std::vector<Outcome>& outcomes, double seconds,
                                       const std::string& command_line) {
  std::string lines = csv_head();
  Json json{
      {"program", "fhd"}, {"version", program_version}, {"command_line", command_line}, {"seconds", seconds}};
  json.update(json_of(totals(outcomes)));
  json["scans"] = Json::array();
  for (std::size_t i = 0; i < scans.size(); ++i) {
    Json row = row_of(scans[i], outcomes[i]);
    std::vector<std::string> fields;
    for (const auto& column : columns)
      fields.push_back(row.contains(column.name) ? csv(row[column.name]) : "");
    lines += fmt::format("{}\n", fmt::join(fields, ","));
    json["scans"].push_back(std::move(row));
  }
  const auto json_text = json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";

  const io::OutputLock lock((std::filesystem::path(directory) / "summary").string());
  io::FileSet files(lock);
  const auto add = [&](const char* name, const std::string& content) {
    files.add((std::filesystem::path(directory) / name).string());
    io::write_bytes(files.back().temporary(), content.data(), content.size(), files.back().path());
  };
  add("summary.json", json_text);
  add("summary.csv", lines);
  files.commit();
  return {files[0].path(), files[1].path()};
}

}  // namespace fhd::app
