#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "io/files/atomic_file.hpp"
#include "io/files/input_file.hpp"
#include "io/files/json_text.hpp"
#include "io/page/page_parts.hpp"
#include "io/page/report_page.hpp"
#include "io/result/message_json.hpp"
#include "recon/error.hpp"

namespace fhd::io {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// Returns a file name as a reference from a page in the same folder.
std::string url_of(const std::string& name) {
  std::string url;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = std::isalnum(byte) || c == '-' || c == '_' || c == '.' || c == '~';
    url += plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return url;
}

Json read_summary(const std::string& folder) {
  const auto path = (fs::path(folder) / "summary.json").string();
  require_reachable(path);
  std::error_code status;
  if (!fs::exists(path, status))
    throw Error(path, "the summary of 'fhd batch'", "none", "give a folder that 'fhd batch' made");
  constexpr std::uint64_t longest = std::uint64_t{1} << 28;  // of a million scans
  constexpr std::size_t characters_of_value = 16, characters_of_scan = 72,
                        few = 1000;  // at least, as a batch writes them
  const auto text = content_of_file(path, longest, "the summary of 'fhd batch'");
  Json summary = flat_json(text, characters_of_value);
  if (!summary.is_object() || !summary.contains("scans") || !summary["scans"].is_array() ||
      summary["scans"].size() > few + text.size() / characters_of_scan)
    throw Error(path, "the summary of 'fhd batch'", "something else", "run 'fhd batch' again");
  return summary;
}

/// Returns what the summary says of a scan. `failed`: now or in an earlier run.
Json scan_json(const Json& row) {
  const auto status = text_or(row, "status");
  Json scan{{"name", text_or(row, "name")},
            {"path", text_or(row, "scan")},
            {"status", status},
            {"failed", status == "failed" || status == "failed earlier"},
            {"suspicious", field_of(row, "suspicious") == Json(true)},
            {"line", text_or(row, "why")}};
  if (text_or(row, "why").empty())
    for (const auto& message : messages_in(row))
      scan["line"] = std::string(name_of(message.severity)) + ": " + fhd::line_of(message);
  for (const auto& [from, to] : {std::pair{"seconds", "seconds"}, std::pair{"data_residual", "residual"}})
    if (row.contains(from) && row[from].is_number()) scan[to] = row[from];
  return scan;
}

/// Writes the page of one result of a batch. Returns why it cannot be made, and then removes one of an earlier run.
std::string failure_of_page(const std::string& result, const std::string& page, bool force) try {
  if (!force) require_own_page(page);
  try {
    write_report_page({result}, page, force);
    return {};
  } catch (const Error& error) {
    std::error_code ignored;
    if (is_own_page(page)) fs::remove(page, ignored);
    return error.what();
  }
} catch (const Error& error) {
  return error.what();
}

/// Links a scan that has a result to its page and picture in `folder`. Makes the page first if there are `failures`, to which
/// it adds why a scan has none.
void link_files(Json& scan, const std::string& folder, std::vector<std::string>* failures, bool force) {
  const auto name = text_or(scan, "name");
  const auto file = [&](const char* ending) { return (fs::path(folder) / (name + ending)).string(); };
  std::error_code absent;
  // A name is one file in this folder, whatever the summary says.
  const bool safe = !name.empty() && name.find('/') == std::string::npos && name != "..";
  if (!safe || scan["failed"] == true || !fs::exists(file(".h5"), absent)) return;
  if (failures != nullptr)
    if (const auto failure = failure_of_page(file(".h5"), file(".html"), force); !failure.empty()) {
      failures->push_back(failure);
      scan["line"] = failure;
    }
  if (is_own_page(file(".html"))) scan["page"] = url_of(name + ".html");
  for (const char* picture : {"_1.png", ".png"})  // of the first of several stacks of slices, or of all
    if (fs::exists(file(picture), absent)) scan["picture"] = url_of(name + picture);
}

}  // namespace

BatchPages write_batch_pages(const std::string& folder, bool of_results, bool force) {
  BatchPages pages{(fs::path(folder) / "index.html").string(), {}};
  const Json summary = read_summary(folder);
  if (!force) require_own_page(pages.index);
  Json scans = Json::array();
  for (const auto& row : summary["scans"]) {
    if (!row.is_object()) continue;
    link_files(scans.emplace_back(scan_json(row)), folder, of_results ? &pages.failures : nullptr, force);
  }
  const auto first_whole = std::stable_partition(scans.begin(), scans.end(),
                                                 [](const Json& scan) { return scan["failed"] == true; });
  std::error_code status;
  const auto whole = fs::absolute(folder, status).lexically_normal();
  const auto subtitle = fmt::format("{} scans, {} failed", scans.size(), first_whole - scans.begin());
  auto text = filled_page(
      {{"title", "Batch " + whole.filename().string()}, {"subtitle", subtitle}, {"scans", scans}});
  // The pictures are files of the same folder, and nothing else may be loaded than files.
  constexpr std::string_view embedded = "img-src data:;";
  text.replace(text.find(embedded), embedded.size(), "img-src data: file:;");
  write_atomically(pages.index, text.data(), text.size());
  return pages;
}

}  // namespace fhd::io
