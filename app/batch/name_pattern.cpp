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

const std::vector<std::string> fields_of_path{"stem", "scan", "folder"};
/// What an ISMRMRD header tells.
const std::vector<std::string> fields_of_header{"subject", "protocol", "series", "study", "date", "slice"};

bool is_among(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Letters beyond ASCII stay as they are.
std::string for_file_name(std::string text) {
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80 && !std::isalnum(byte) && std::string_view("._+-").find(c) == std::string_view::npos)
      c = '-';
  }
  return text;
}

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

std::string of_path(const std::string& field, const std::string& path) {
  if (field == "stem") return plain_name(path);
  const std::filesystem::path whole(absolute_path(path));
  return field == "scan" ? whole.filename().string() : whole.parent_path().filename().string();
}

std::string of_header(const std::string& field, const io::ScanSummary& summary, const std::string& slices) {
  if (field == "slice") return slices_of(summary, slices);
  const auto& told = summary.acquisition;
  const std::pair<const char*, const std::string&> values[] = {{"subject", told.patient_id},
                                                               {"protocol", told.protocol},
                                                               {"series", told.series_description},
                                                               {"study", told.study_id},
                                                               {"date", told.study_date}};
  for (const auto& [name, value] : values)
    if (name == field && !value.empty()) return value;
  throw Error(summary.path, "a header that tells {" + field + "} for --name", "none",
              "leave it out of --name, or give this scan another batch");
}

}  // namespace

NamePattern::NamePattern(const std::string& text) {
  const auto refuse = [&](const std::string& found, const std::string& hint) {
    std::vector<std::string> all;
    for (const auto* fields : {&fields_of_path, &fields_of_header})
      for (const auto& field : *fields) all.push_back("{" + field + "}");
    throw Error("--name " + text, fmt::format("a name with one or more of {}", fmt::join(all, ", ")), found,
                hint);
  };
  std::size_t at = 0;
  while (at < text.size()) {
    const auto brace = text.find_first_of("{}", at);
    if (brace > at) pieces_.push_back({false, text.substr(at, brace - at)});
    if (brace == std::string::npos) break;
    const auto end = text.find('}', brace);
    if (text[brace] == '}' || end == std::string::npos) refuse("a brace without its other", "");
    const auto field = text.substr(brace + 1, end - brace - 1);
    auto known = fields_of_path;
    known.insert(known.end(), fields_of_header.begin(), fields_of_header.end());
    if (!is_among(known, field)) refuse("{" + field + "}", did_you_mean(field, known));
    pieces_.push_back({true, field});
    at = end + 1;
  }
  if (text.find('/') != std::string::npos) refuse("a folder in it", "give the folder with -o");
  if (std::none_of(pieces_.begin(), pieces_.end(), [](const Piece& piece) { return piece.is_field; }))
    refuse("none: all scans would be called alike", "");
}

bool NamePattern::needs_header() const {
  return std::any_of(pieces_.begin(), pieces_.end(), [](const Piece& piece) {
    return piece.is_field && is_among(fields_of_header, piece.text);
  });
}

std::string NamePattern::name_of(const std::string& path, const VolumeSelection& selection,
                                 const io::ReadOptions& options) const {
  std::optional<io::ScanSummary> summary;
  if (needs_header()) try {
      summary = io::open_scan(path, options)->summary();
    } catch (const Error& error) {
      throw CannotOpen(error);
    }
  std::string name;
  for (const auto& piece : pieces_) {
    if (!piece.is_field)
      name += piece.text;
    else
      name += is_among(fields_of_path, piece.text) ? of_path(piece.text, path)
                                                   : of_header(piece.text, *summary, selection.slices);
  }
  return for_file_name(name);
}

}  // namespace fhd::app
