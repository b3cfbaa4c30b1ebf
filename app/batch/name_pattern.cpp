// --name PATTERN: names the results of the scans of a batch.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <utility>

#include "app/batch/scans.hpp"
#include "app/options/nearest_word.hpp"
#include "recon/error.hpp"

namespace fhd::app {
namespace {

/// What a name is made of.
struct NamedScan {
  std::filesystem::path path;  ///< absolute
  const VolumeSelection& selection;
  io::ScanSummary header{};  ///< read where a field needs it
};

/// Returns the counters of the chosen slices: "3", or "0-15" of several.
std::string slices_of(const NamedScan& scan) {
  const auto& counters = scan.header.slice_counters;
  const auto chosen = parse_selection(scan.selection.slices, scan.header.slice_count, "--slices");
  const auto counter = [&](std::int64_t slice) {
    const auto at = static_cast<std::size_t>(slice);
    return std::to_string(at < counters.size() ? counters[at] : slice);
  };
  const auto first = counter(chosen.front());
  return chosen.size() == 1 ? first : first + "-" + counter(chosen.back());
}

template <std::string io::AcquisitionInfo::*member>
std::string field_of_header(const NamedScan& scan) {
  return scan.header.acquisition.*member;
}

using Info = io::AcquisitionInfo;
constexpr std::size_t first_of_header = 3;
constexpr std::pair<const char*, std::string (*)(const NamedScan&)> name_fields[] = {
    {"stem", [](const NamedScan& scan) { return plain_name(scan.path.string()); }},
    {"scan", [](const NamedScan& scan) { return scan.path.filename().string(); }},
    {"folder", [](const NamedScan& scan) { return scan.path.parent_path().filename().string(); }},
    {"subject", field_of_header<&Info::patient_id>},
    {"protocol", field_of_header<&Info::protocol>},
    {"series", field_of_header<&Info::series_description>},
    {"study", field_of_header<&Info::study_id>},
    {"date", field_of_header<&Info::study_date>},
    {"slice", slices_of}};

}  // namespace

NameOfScan names_by(const std::string& pattern, const VolumeSelection& selection,
                    const io::ReadOptions& options) {
  std::vector<std::string> known;
  for (const auto& [name, value] : name_fields) known.push_back(name);
  const auto refuse = [&](const std::string& found, const std::string& hint) {
    throw Error("--name " + pattern,
                fmt::format("a name with one or more of {{{}}}", fmt::join(known, "}, {")), found, hint);
  };
  std::vector<std::pair<std::string, std::size_t>> pieces;  // a text, and the number of the field behind it
  std::size_t at = 0;
  for (std::size_t brace; (brace = pattern.find_first_of("{}", at)) != std::string::npos;) {
    const auto end = pattern.find('}', brace);
    if (pattern[brace] == '}' || end == std::string::npos) refuse("a brace without its other", "");
    const auto name = pattern.substr(brace + 1, end - brace - 1);
    const auto field = std::ranges::find(known, name);
    if (field == known.end()) refuse("{" + name + "}", did_you_mean(name, known));
    pieces.emplace_back(pattern.substr(at, brace - at), field - known.begin());
    at = end + 1;
  }
  if (pattern.find('/') != std::string::npos) refuse("a folder in it", "give the folder with -o");
  if (pieces.empty()) refuse("none: all scans would be called alike", "");
  return [=, last = pattern.substr(at)](const std::string& path) {
    NamedScan scan{absolute_path(path), selection};
    if (std::ranges::any_of(pieces, [](const auto& piece) { return piece.second >= first_of_header; })) try {
        scan.header = io::open_scan(path, options)->summary();
      } catch (const Error&) {
        return std::string();
      }
    std::string all;
    for (const auto& [text, number] : pieces) {
      const auto& [name, value_of] = name_fields[number];
      const auto value = value_of(scan);
      if (value.empty())
        throw Error(path, fmt::format("a header that tells {{{}}} for --name", name), "none",
                    "leave it out of --name, or give this scan another batch");
      all += text + value;
    }
    all += last;
    for (char& c : all)  // letters beyond ASCII stay
      if (const auto byte = static_cast<unsigned char>(c);
          byte < 0x80 && !std::isalnum(byte) && std::string_view("._+-").find(c) == std::string_view::npos)
        c = '-';
    return all;
  };
}

}  // namespace fhd::app
