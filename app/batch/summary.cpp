#include "app/batch/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "app/commands/commands.hpp"
#include "app/terminal/ending.hpp"
#include "io/files/file_set.hpp"
#include "io/files/input_file.hpp"
#include "io/result/message_json.hpp"
#include "recon/error.hpp"
#include "version.hpp"

namespace fhd::app {
namespace {

using Json = nlohmann::ordered_json;

/// Returns whether a message of a manifest is about the scan or its image, and not about the accuracy of numbers.
bool makes_suspicious(const Message& message) {
  return message.code != codes::certificate && is_doubt(message);
}

std::string why(const Outcome& outcome) {
  if (!outcome.error.empty()) return outcome.error;
  for (const auto& message : outcome.manifest.messages)
    if (outcome.reason.empty() && makes_suspicious(message) && has_results(outcome)) return line_of(message);
  return outcome.reason;
}

/// Returns whether the outcome has results that are suspicious.
bool is_suspicious(const Outcome& outcome) {
  const auto& messages = outcome.manifest.messages;
  return has_results(outcome) && std::any_of(messages.begin(), messages.end(), makes_suspicious);
}

constexpr auto json_head = "{\n \"program\": \"fhd\",";  // as nlohmann prints it

bool is_earlier(const Outcome& outcome) {
  return outcome.status == Outcome::Status::earlier || outcome.status == Outcome::Status::failed_earlier;
}

/// Returns a value as a field of RFC 4180. A text that a spreadsheet would take for a formula is marked as text.
std::string csv(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_number_float()) return fmt::format("{:.4g}", value.get<double>());
  if (value.is_number()) return value.dump();
  std::string text;
  if (value.is_string())
    text = value;
  else
    for (const auto& each : value.get<std::vector<Message>>())
      text += (text.empty() ? "" : "; ") + line_of(each);
  if (!text.empty() && std::string_view("=+-@").find(text.front()) != std::string_view::npos)
    text.insert(0, "'");
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

bool has_results(const Outcome& outcome) {
  return outcome.status == Outcome::Status::finished || outcome.status == Outcome::Status::unchanged ||
         outcome.status == Outcome::Status::earlier;
}

std::string text(const Outcome& outcome) {
  constexpr const char* texts[] = {"not run", "finished", "unchanged",     "no scan",
                                   "failed",  "earlier",  "failed earlier"};
  return std::string(texts[static_cast<int>(outcome.status)]) +
         (is_suspicious(outcome) ? ", suspicious" : "");
}

// A new column is one entry here: CSV, JSON and the events of --json-lines are made of it.
Json row_of(const Outcome& one) {
  const auto& m = one.manifest;
  Json row{{"name", one.scan.name},
           {"scan", one.scan.path},
           {"status", text(one)},
           {"suspicious", is_suspicious(one)}};
  if (has_results(one))
    row.update({{"seconds", m.seconds},
                {"images", m.images},
                {"iterations", m.iterations},
                {"residual", m.residual},
                {"data_residual", m.data_residual},
                {"converged", m.converged},
                {"cache_hits", m.cache_hits},
                {"messages", m.messages}});
  row["why"] = why(one);
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

void add_earlier(const std::string& directory, std::vector<Outcome>& outcomes) {
  namespace fs = std::filesystem;
  constexpr std::string_view ending = ".manifest.json";
  std::set<std::string> known;
  for (const auto& one : outcomes) known.insert(one.scan.name);
  const auto of_this_run = static_cast<std::ptrdiff_t>(outcomes.size());
  std::error_code status;
  for (fs::directory_iterator entry(directory, status), end; !status && entry != end;
       entry.increment(status)) {
    auto name = entry->path().filename().string();
    if (name.starts_with(".") || !name.ends_with(ending)) continue;
    name.resize(name.size() - ending.size());
    auto manifest = known.contains(name) ? std::nullopt : io::read_manifest(entry->path().string());
    if (!manifest) continue;
    const bool failed = manifest->status == io::Manifest::Status::failed;
    Outcome outcome{{manifest->scan, name}};
    outcome.status = failed ? Outcome::Status::failed_earlier : Outcome::Status::earlier;
    outcome.error = manifest->error;
    const auto missing =
        failed ? std::nullopt : io::missing_product(directory, *manifest, StopRequests::has_come);
    if (missing && !StopRequests::has_come())  // a file that was not looked at is not changed
      outcome.reason = *missing + " is missing or changed";
    outcome.manifest = std::move(*manifest);
    outcomes.push_back(std::move(outcome));
  }
  std::sort(outcomes.begin() + of_this_run, outcomes.end(),
            [](const Outcome& a, const Outcome& b) { return a.scan.name < b.scan.name; });
}

std::string summary_table(const std::vector<Outcome>& outcomes, double seconds) {
  constexpr std::size_t few = 40;
  std::size_t width = 4;
  std::int64_t hits = 0;
  for (const auto& one : outcomes) {
    width = std::clamp<std::size_t>(one.scan.name.size(), width, 40);
    if (one.status == Outcome::Status::finished) hits += one.manifest.cache_hits;
  }
  std::string table;
  for (const auto& outcome : outcomes) {
    const auto& m = outcome.manifest;
    if (outcome.status == Outcome::Status::images || is_earlier(outcome) ||
        (outcomes.size() > few && has_results(outcome) && !is_suspicious(outcome)))
      continue;
    if (table.empty())
      table = fmt::format("{:<{}}  {:<20}  {:>8}  {:>10}  {:>8}  {:>8}  {}\n", "scan", width, "status",
                          "seconds", "iterations", "residual", "data", "why");
    table += fmt::format("{:<{}}  {:<20}", outcome.scan.name, width, text(outcome));
    table += has_results(outcome) ? fmt::format("  {:>8.2f}  {:>10}  {:>8.1e}  {:>8.3f}", m.seconds,
                                                m.iterations, m.residual, m.data_residual)
                                  : fmt::format("{:>42}", "");
    table += "  " + why(outcome);
    table.resize(table.find_last_not_of(' ') + 1);
    table += "\n";
  }
  using enum Outcome::Status;
  const auto t = totals(outcomes);
  const auto add = [&](const char* text, auto number, bool is_told) {
    if (is_told) table += fmt::format(fmt::runtime(text), number);
  };
  table += fmt::format("{} scans: {} finished, {} unchanged, {} failed",
                       static_cast<int>(outcomes.size()) - t.earlier(), t[finished], t[unchanged], t[failed]);
  add(", {} suspicious", t.suspicious, t.suspicious > 0);
  add(", {} hold images or noise and no scan", t[images], t[images] > 0);
  add(", {} not run", t[open], t[open] > 0);
  add("; {} more of earlier runs", t.earlier(), t.earlier() > 0);
  add("; {:.1f} s", seconds, true);
  add(", {:.2f} scans/s", t[finished] / seconds, t[finished] > 0 && seconds > 0);
  add(", {} cache hits", hits, hits > 0);
  return table + "\n";
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

std::vector<std::string> write_summary(const std::string& directory, const std::vector<Outcome>& outcomes,
                                       double seconds) {
  Json json{{"program", "fhd"},
            {"version", program_version},
            {"command_line", command_line()},
            {"seconds", seconds}};
  json.update(json_of(totals(outcomes)));
  json["scans"] = Json::array();
  for (const auto& outcome : outcomes) json["scans"].push_back(row_of(outcome));
  const Json whole = row_of({.status = Outcome::Status::finished});  // a row that has all columns
  std::string lines;
  for (const auto& [name, value] : whole.items()) lines += (lines.empty() ? "" : ",") + name;
  for (const auto& row : json["scans"]) {
    std::vector<std::string> fields;
    for (const auto& [name, value] : whole.items())
      fields.push_back(row.contains(name) ? csv(row[name]) : "");
    lines += fmt::format("\n{}", fmt::join(fields, ","));
  }
  const auto json_text = json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";

  const io::OutputLock lock((std::filesystem::path(directory) / "summary").string());
  io::FileSet files(lock);
  const auto add = [&](const char* name, const std::string& content) {
    files.add((std::filesystem::path(directory) / name).string());
    io::write_bytes(files.back().temporary(), content.data(), content.size(), files.back().path());
  };
  add("summary.json", json_text);
  add("summary.csv", lines + "\n");
  files.commit();
  return {files[0].path(), files[1].path()};
}

}  // namespace fhd::app
