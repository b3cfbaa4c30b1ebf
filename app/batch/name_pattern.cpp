#include "app/batch/name_pattern.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>

#include "app/batch/scans.hpp"
#include "app/options/nearest_word.hpp"
#include "io/scan/scan_file.hpp"
#include "recon/error.hpp"

namespace fhd::app {
namespace {

std::filesystem::path whole(const std::string& path) { return absolute_path(path); }

/// Returns the counters of the chosen slices: "3", or "0-15" of several.
std::string slices_of(const io::ScanSummary& summary, const std::string& selection) {
  const auto chosen = parse_selection(selection, summary.slice_count, "--slices");
  const auto counter = [&](std::int64_t slice) {
    const auto at = static_cast<std::size_t>(slice);
    return at < summary.slice_counters.size() ? std::to_string(summary.slice_counters[at])
                                              : std::to_string(slice);
  };
  return chosen.size() == 1 ? counter(chosen.front())
                            : counter(chosen.front()) + "-" + counter(chosen.back());
}

struct Field {
  const char* name;
  std::string (*of_path)(const std::string& path);  ///< null: the header has it
  std::string (*of_header)(const io::ScanSummary& summary, const std::string& slices);
};
constexpr Field fields[] = {
    {"stem", plain_name, nullptr},  // the file name without its ending
    {"scan", [](const std::string& path) { return whole(path).filename().string(); }, nullptr},
    {"folder", [](const std::string& path) { return whole(path).parent_path().filename().string(); },
     nullptr},
    // Fields of the ISMRMRD header:
    {"subject", nullptr,
     [](const io::ScanSummary& s, const std::string&) { return s.acquisition.patient_id; }},
    {"protocol", nullptr,
     [](const io::ScanSummary& s, const std::string&) { return s.acquisition.protocol; }},
    {"series", nullptr,
     [](const io::ScanSummary& s, const std::string&) { return s.acquisition.series_description; }},
    {"study", nullptr, [](const io::ScanSummary& s, const std::string&) { return s.acquisition.study_id; }},
    {"date", nullptr, [](const io::ScanSummary& s, const std::string&) { return s.acquisition.study_date; }},
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

NamePattern::NamePattern(const std::string& text) {
  std::vector<std::string> names;
  for (const auto& field : fields) names.push_back(field.name);
  const auto refuse = [&](const std::string& found, const std::string& hint) {
    throw Error("--name " + text, fmt::format("a name with one or more of {{{}}}", fmt::join(names, "}, {")),
                found, hint);
  };
  bool has_field = false;
  for (std::size_t at = 0; at < text.size();) {
    const auto brace = text.find_first_of("{}", at);
    if (brace > at) pieces_.push_back({-1, text.substr(at, brace - at)});
    if (brace == std::string::npos) break;
    const auto end = text.find('}', brace);
    if (text[brace] == '}' || end == std::string::npos) refuse("a brace without its other", "");
    const auto name = text.substr(brace + 1, end - brace - 1);
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) refuse("{" + name + "}", did_you_mean(name, names));
    pieces_.push_back({static_cast<int>(found - names.begin()), {}});
    has_field = true;
    at = end + 1;
  }
  if (text.find('/') != std::string::npos) refuse("a folder in it", "give the folder with -o");
  if (!has_field) refuse("none: all scans would be called alike", "");
}

std::string NamePattern::name_of(const std::string& path, const VolumeSelection& selection,
                                 const io::ReadOptions& options) const {
  std::optional<io::ScanSummary> summary;
  std::string name;
  for (const auto& [number, text] : pieces_) {
    if (number < 0) {
      name += text;
      continue;
    }
    const Field& field = fields[number];
    if (field.of_path) {
      name += field.of_path(path);
      continue;
    }
    if (!summary) try {
        summary = io::open_scan(path, options)->summary();
      } catch (const Error& error) {
        throw CannotOpen(error);
      }
    const auto value = field.of_header(*summary, selection.slices);
    if (value.empty())
      throw Error(path, "a header that tells {" + std::string(field.name) + "} for --name", "none",
                  "leave it out of --name, or give this scan another batch");
    name += value;
  }
  return for_file_name(name);
}

}  // namespace fhd::app
