// --name PATTERN: names the results of the scans of a batch.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <filesystem>
#include <optional>
#include <utility>

#include "app/batch/scans.hpp"
#include "app/options/nearest_word.hpp"
#include "io/scan/scan_file.hpp"
#include "recon/error.hpp"

namespace fhd::app {
namespace {

namespace fs = std::filesystem;

/// Returns the counters of the chosen slices: "3", or "0-15" of several.
std::string slices_of(const io::ScanSummary& summary, const std::string& selection) {
  const auto chosen = parse_selection(selection, summary.slice_count, "--slices");
  const auto counter = [&](std::int64_t slice) {
    const auto at = static_cast<std::size_t>(slice);
    return std::to_string(at < summary.slice_counters.size() ? summary.slice_counters[at] : slice);
  };
  return chosen.size() == 1 ? counter(chosen.front())
                            : counter(chosen.front()) + "-" + counter(chosen.back());
}

using OfPath = std::string (*)(const std::string& path);
using OfHeader = std::string (*)(const io::ScanSummary& summary, const std::string& slices);
struct Field {
  const char* name;
  OfPath of_path;  ///< null: the header has it
  OfHeader of_header;
};
using Info = io::AcquisitionInfo;
template <std::string Info::*member>
std::string header_value(const io::ScanSummary& summary, const std::string&) {
  return summary.acquisition.*member;
}
constexpr Field fields[] = {
    {"stem", plain_name, nullptr},  // the file name without its ending
    {"scan", [](const std::string& path) { return fs::path(absolute_path(path)).filename().string(); },
     nullptr},
    {"folder",
     [](const std::string& path) { return fs::path(absolute_path(path)).parent_path().filename().string(); },
     nullptr},
    // Fields of the ISMRMRD header:
    {"subject", nullptr, header_value<&Info::patient_id>},
    {"protocol", nullptr, header_value<&Info::protocol>},
    {"series", nullptr, header_value<&Info::series_description>},
    {"study", nullptr, header_value<&Info::study_id>},
    {"date", nullptr, header_value<&Info::study_date>},
    {"slice", nullptr, slices_of}};

/// Replaces what does not belong in a file name; letters beyond ASCII stay.
std::string for_file_name(std::string text) {
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80 && !std::isalnum(byte) && std::string_view("._+-").find(c) == std::string_view::npos)
      c = '-';
  }
  return text;
}

}  // namespace

NameOfScan names_by(const std::string& pattern, const VolumeSelection& selection,
                    const io::ReadOptions& options) {
  std::vector<std::string> names;
  for (const auto& field : fields) names.push_back(field.name);
  const auto refuse = [&](const std::string& found, const std::string& hint) {
    throw Error("--name " + pattern,
                fmt::format("a name with one or more of {{{}}}", fmt::join(names, "}, {")), found, hint);
  };
  std::vector<std::pair<const Field*, std::string>> pieces;  // a field, or a text
  bool has_field = false;
  for (std::size_t at = 0; at < pattern.size();) {
    const auto brace = pattern.find_first_of("{}", at);
    if (brace > at) pieces.emplace_back(nullptr, pattern.substr(at, brace - at));
    if (brace == std::string::npos) break;
    const auto end = pattern.find('}', brace);
    if (pattern[brace] == '}' || end == std::string::npos) refuse("a brace without its other", "");
    const auto name = pattern.substr(brace + 1, end - brace - 1);
    const auto* const found = std::ranges::find(fields, name, &Field::name);
    if (found == std::end(fields)) refuse("{" + name + "}", did_you_mean(name, names));
    pieces.emplace_back(found, "");
    has_field = true;
    at = end + 1;
  }
  if (pattern.find('/') != std::string::npos) refuse("a folder in it", "give the folder with -o");
  if (!has_field) refuse("none: all scans would be called alike", "");
  return [pieces, selection, options](const std::string& path) {
    std::optional<io::ScanSummary> summary;
    std::string all;
    for (auto [field, text] : pieces) {
      if (field && !field->of_path && !summary) try {
          summary = io::open_scan(path, options)->summary();
        } catch (const Error&) {
          return std::string();
        }
      if (field) text = field->of_path ? field->of_path(path) : field->of_header(*summary, selection.slices);
      if (field && text.empty())
        throw Error(path, fmt::format("a header that tells {{{}}} for --name", field->name), "none",
                    "leave it out of --name, or give this scan another batch");
      all += text;
    }
    return for_file_name(all);
  };
}

}  // namespace fhd::app
