#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "io/files/input_file.hpp"
#include "io/files/json_text.hpp"
#include "io/page/fields.hpp"
#include "io/page/own_page.hpp"
#include "io/page/page_template.hpp"
#include "io/page/report_page.hpp"
#include "io/page/thumbnail.hpp"
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

/// Returns what the summary says of a scan.
Json scan_json(const Json& row) {
  Json scan{{"name", text_or(row, "name")},
            {"path", text_or(row, "scan")},
            {"status", text_or(row, "status")},
            {"line", text_or(row, "why")}};
  if (text_or(row, "why").empty())
    for (const auto& message : messages_in(row))
      scan["line"] = std::string(name_of(message.severity)) + ": " + fhd::line_of(message);
  for (const auto& [from, to] : {std::pair{"seconds", "seconds"}, std::pair{"data_residual", "residual"}})
    if (row.contains(from) && row[from].is_number()) scan[to] = row[from];
  return scan;
}

/// Returns whether a scan failed, now or in an earlier run.
bool is_failed(const Json& scan) { return text_or(scan, "status").starts_with("failed"); }

/// Writes the page of one result of a batch. Returns why it cannot be made, and then removes one of an earlier run.
std::string failure_of_page(const std::string& result, const std::string& page, bool force) try {
  if (!force) require_own_page(page, "--force overwrites it");
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

/// Links a scan that has a result to its page and picture in `folder`, and adds to `failures` why it has no page. Returns
/// the bytes of its thumbnail.
std::size_t link_files(Json& scan, const std::string& folder, std::vector<std::string>* failures,
                       bool with_thumbnail, bool force) {
  const auto name = text_or(scan, "name");
  const auto file = [&](const char* ending) { return (fs::path(folder) / (name + ending)).string(); };
  const auto exists = [&](const char* ending) {
    std::error_code absent;
    return fs::exists(file(ending), absent);
  };
  // A name is one file in this folder, whatever the summary says.
  const bool safe = !name.empty() && name.find('/') == std::string::npos && name != "..";
  if (!safe || is_failed(scan) || !exists(".h5")) return 0;
  if (failures != nullptr)
    if (const auto failure = failure_of_page(file(".h5"), file(".html"), force); !failure.empty()) {
      failures->push_back(failure);
      scan["line"] = failure;
    }
  if (is_own_page(file(".html"))) scan["page"] = url_of(name + ".html");
  if (!exists(".png")) return 0;
  scan["picture"] = url_of(name + ".png");
  const auto thumbnail = with_thumbnail ? thumbnail_of(file(".png")) : std::string();
  if (!thumbnail.empty()) scan["thumbnail"] = thumbnail;
  return thumbnail.size();
}

/// `failures`: pages are made, and why some are not is added; null: none are made.
std::string write_batch(const std::string& folder, std::vector<std::string>* failures, std::size_t most_bytes,
                        bool force) {
  const auto path = (fs::path(folder) / "index.html").string();
  const Json summary = read_summary(folder);
  if (!force) require_own_page(path, "--force overwrites it");
  Json scans = Json::array();
  std::size_t thumbnail_bytes = 0;
  for (const auto& row : summary["scans"]) {
    if (!row.is_object()) continue;
    auto scan = scan_json(row);
    // Only as many thumbnails as may be embedded are made: a batch may hold thousands.
    thumbnail_bytes += link_files(scan, folder, failures, thumbnail_bytes <= most_bytes, force);
    scans.push_back(std::move(scan));
  }
  const auto first_whole = std::stable_partition(scans.begin(), scans.end(), is_failed);
  const auto failed = first_whole - scans.begin();
  std::error_code status;
  const auto whole = fs::absolute(folder, status).lexically_normal();
  const auto page = [&] {
    return filled_page({{"title", "Batch " + whole.filename().string()},
                        {"subtitle", fmt::format("{} scans, {} failed", scans.size(), failed)},
                        {"scans", scans}});
  };
  auto text = page();
  if (text.size() > most_bytes) {
    for (auto& scan : scans)
      if (scan.contains("picture")) scan["thumbnail"] = scan["picture"];
    text = page();
    // These pictures are files of the same folder, and nothing else may be loaded than files.
    constexpr std::string_view embedded = "img-src data:;";
    text.replace(text.find(embedded), embedded.size(), "img-src data: file:;");
  }
  write_page(text, path, force);
  return path;
}

}  // namespace

std::string write_batch_index(const std::string& folder, std::size_t most_bytes) {
  return write_batch(folder, nullptr, most_bytes, false);
}
BatchPages write_batch_pages(const std::string& folder, bool force) {
  BatchPages pages;
  pages.index = write_batch(folder, &pages.failures, 5'000'000, force);
  return pages;
}

}  // namespace fhd::io
