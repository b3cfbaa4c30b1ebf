#include "app/batch/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "app/batch/stop_requests.hpp"
#include "io/files/input_file.hpp"
#include "io/files/file_set.hpp"
#include "io/result/message_json.hpp"
#include "recon/error.hpp"
#include "version.hpp"

namespace fhd::app {
namespace {

using Json = nlohmann::ordered_json;

constexpr auto csv_head =
    "name,scan,status,seconds,images,iterations,residual,data_residual,converged,cache_hits,warnings,why\n";
constexpr auto json_head = "{\n \"program\": \"fhd\",";  // as nlohmann prints it

constexpr std::pair<const char*, const char*> heads_of_summaries[]{{"summary.json", json_head},
                                                                   {"summary.csv", csv_head}};

bool is_earlier(const Outcome& outcome) {
  return outcome.status == Outcome::Status::earlier || outcome.status == Outcome::Status::failed_earlier;
}

bool has_results(const Outcome& outcome) {
  return outcome.status == Outcome::Status::finished || outcome.status == Outcome::Status::unchanged ||
         outcome.status == Outcome::Status::earlier;
}

/// RFC 4180. A text that a spreadsheet would take for a formula is marked as text.
std::string csv(std::string text) {
  if (!text.empty() && std::string_view("=+-@").find(text.front()) != std::string_view::npos)
    text.insert(0, "'");
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string lines_of(const std::vector<Message>& messages) {
  std::vector<std::string> lines;
  for (const auto& message : messages) lines.push_back(line_of(message));
  return fmt::format("{}", fmt::join(lines, "; "));
}

std::string why(const Outcome& outcome) {
  if (!outcome.error.empty()) return outcome.error;
  for (const auto& message : outcome.manifest.messages)
    if (has_results(outcome) && outcome.reason.empty() && message.code != codes::certificate)
      return line_of(message);
  return outcome.reason;
}

}  // namespace

bool is_suspicious(const Outcome& outcome) {
  const auto& messages = outcome.manifest.messages;
  return has_results(outcome) && std::any_of(messages.begin(), messages.end(), [](const Message& message) {
           return message.code != codes::certificate;
         });
}

std::string text(const Outcome& outcome) {
  constexpr const char* texts[] = {"not run", "finished", "unchanged",     "no scan",
                                   "failed",  "earlier",  "failed earlier"};
  return std::string(texts[static_cast<int>(outcome.status)]) +
         (is_suspicious(outcome) ? ", suspicious" : "");
}

BatchTotals totals(const std::vector<Outcome>& outcomes) {
  using Status = Outcome::Status;
  const auto count = [&](Status status) {
    return static_cast<int>(std::count_if(outcomes.begin(), outcomes.end(),
                                          [&](const Outcome& outcome) { return outcome.status == status; }));
  };
  return {count(Status::finished),
          count(Status::unchanged),
          count(Status::images),
          count(Status::failed),
          count(Status::open),
          count(Status::earlier) + count(Status::failed_earlier),
          static_cast<int>(std::count_if(outcomes.begin(), outcomes.end(), [](const Outcome& outcome) {
            return !is_earlier(outcome) && is_suspicious(outcome);
          }))};
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
    Outcome outcome;
    if (manifest.status == io::Manifest::Status::failed) {
      outcome.status = Outcome::Status::failed_earlier;
      outcome.error = manifest.error;
    } else {
      outcome.status = Outcome::Status::earlier;
      const auto missing = io::missing_product(directory, manifest, StopRequests::has_come);
      if (missing && !StopRequests::has_come())  // not looked at is not changed
        outcome.reason = *missing + " is missing or changed";
    }
    scans.push_back({manifest.scan, name});
    outcome.manifest = std::move(manifest);
    outcomes.push_back(std::move(outcome));
  }
}

std::string summary_table(const std::vector<BatchScan>& scans, const std::vector<Outcome>& outcomes,
                          double seconds) {
  constexpr std::size_t few = 40;
  std::size_t width = 4;
  for (const auto& scan : scans) width = std::min<std::size_t>(40, std::max(width, scan.name.size()));
  std::string table = fmt::format("{:<{}}  {:<20}  {:>8}  {:>10}  {:>8}  {:>8}  {}\n", "scan", width,
                                  "status", "seconds", "iterations", "residual", "data", "why");
  bool any = false;
  for (std::size_t i = 0; i < scans.size(); ++i) {
    const auto& outcome = outcomes[i];
    if (outcome.status == Outcome::Status::images || is_earlier(outcome) ||
        (scans.size() > few && has_results(outcome) && !is_suspicious(outcome)))
      continue;
    any = true;
    table += fmt::format("{:<{}}  {:<20}", scans[i].name, width, text(outcome));
    if (has_results(outcome)) {
      const auto& m = outcome.manifest;
      table += fmt::format("  {:>8.2f}  {:>10}  {:>8.1e}  {:>8.3f}", m.seconds, m.iterations, m.residual,
                           m.data_residual);
    } else {
      table += fmt::format("  {:>8}  {:>10}  {:>8}  {:>8}", "", "", "", "");
    }
    table += "  " + why(outcome);
    while (table.back() == ' ') table.pop_back();
    table += "\n";
  }
  if (!any) table.clear();
  const auto t = totals(outcomes);
  std::int64_t hits = 0;
  for (const auto& outcome : outcomes)
    if (outcome.status == Outcome::Status::finished) hits += outcome.manifest.cache_hits;
  table += fmt::format("{} scans: {} finished, {} unchanged, {} failed",
                       scans.size() - static_cast<std::size_t>(t.earlier), t.finished, t.unchanged, t.failed);
  if (t.suspicious > 0) table += fmt::format(", {} suspicious", t.suspicious);
  if (t.images > 0) table += fmt::format(", {} hold images and no scan", t.images);
  if (t.open > 0) table += fmt::format(", {} not run", t.open);
  if (t.earlier > 0) table += fmt::format("; {} more of earlier runs", t.earlier);
  table += fmt::format("; {:.1f} s", seconds);
  if (t.finished > 0 && seconds > 0) table += fmt::format(", {:.2f} scans/s", t.finished / seconds);
  if (hits > 0) table += fmt::format(", {} cache hits", hits);
  return table + "\n";
}

void require_own_summaries(const std::string& directory) {
  for (const auto& [name, head] : heads_of_summaries) {
    const auto path = (std::filesystem::path(directory) / name).string();
    if (io::is_of_another_kind(path, head))
      throw Error(path, "a new name, or the summary of an earlier 'fhd batch'", "another file",
                  "move it, or choose another folder (-o)");
  }
}

std::vector<std::string> write_summary(const std::string& directory, const std::vector<BatchScan>& scans,
                                       const std::vector<Outcome>& outcomes, double seconds,
                                       const std::string& command_line) {
  std::string lines = csv_head;
  Json rows = Json::array();
  for (std::size_t i = 0; i < scans.size(); ++i) {
    const auto& outcome = outcomes[i];
    const auto& m = outcome.manifest;
    Json row{{"name", scans[i].name}, {"scan", scans[i].path}, {"status", text(outcome)}};
    lines += fmt::format("{},{},{}", csv(scans[i].name), csv(scans[i].path), csv(text(outcome)));
    if (has_results(outcome)) {
      lines +=
          fmt::format(",{:.3f},{},{},{:.4g},{:.4g},{},{},{}", m.seconds, m.images, m.iterations, m.residual,
                      m.data_residual, m.converged ? "yes" : "no", m.cache_hits, csv(lines_of(m.messages)));
      row.update({{"seconds", m.seconds},
                  {"images", m.images},
                  {"iterations", m.iterations},
                  {"residual", m.residual},
                  {"data_residual", m.data_residual},
                  {"converged", m.converged},
                  {"cache_hits", m.cache_hits},
                  {"messages", m.messages}});
    } else {
      lines += ",,,,,,,,";
    }
    row["why"] = why(outcome);
    lines += "," + csv(why(outcome)) + "\n";
    rows.push_back(std::move(row));
  }
  const auto t = totals(outcomes);
  const Json json{{"program", "fhd"},   {"version", program_version}, {"command_line", command_line},
                  {"seconds", seconds}, {"finished", t.finished},     {"unchanged", t.unchanged},
                  {"failed", t.failed}, {"suspicious", t.suspicious}, {"no_scans", t.images},
                  {"not_run", t.open},  {"earlier", t.earlier},       {"scans", rows}};
  const auto json_text = json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";

  const io::OutputLock lock((std::filesystem::path(directory) / "summary").string());
  require_own_summaries(directory);
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
