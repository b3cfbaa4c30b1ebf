// What is there already under the names of results: of which scan it says it is. Earlier versions recorded the plain
// SHA-256 of the scan, as `sha256`.
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "io/hdf5/hdf5_facts.hpp"
#include "io/result/results.hpp"
#include "recon/error.hpp"

namespace fhd::io {
namespace {

namespace fs = std::filesystem;

/// The scan of a result.
struct Source {
  std::string path, checksum;
};

std::optional<Source> source_in_json(const std::string& path) {
  std::error_code status;
  constexpr std::uintmax_t longest = std::uintmax_t{1} << 30;  // no report of fhd is longer
  if (fs::file_size(path, status) > longest || status) return {};
  std::ifstream file(path, std::ios::binary);
  // What else is in the file, such as the images of a long series, is not kept in memory.
  const auto of_source = [](int depth, nlohmann::json::parse_event_t event, nlohmann::json& value) {
    using Event = nlohmann::json::parse_event_t;
    if (event == Event::key)
      return depth == 1 ? value == "program" || value == "input"
                        : value == "path" || value == "checksum" || value == "sha256";
    return event != Event::array_start && (event != Event::object_start || depth <= 1);
  };
  const auto json = nlohmann::json::parse(file, of_source, false);
  if (!json.is_object() || !json.contains("program") || json["program"] != "fhd" || !json.contains("input"))
    return {};
  const auto& input = json["input"];
  const auto text = [&](const char* name) {
    const bool known = input.is_object() && input.contains(name) && input[name].is_string();
    return known ? input[name].get<std::string>() : std::string();
  };
  return Source{text("path"), text(input.contains("checksum") ? "checksum" : "sha256")};
}

std::optional<Source> source_in_hdf5(const std::string& path) {
  const auto facts = facts_of_hdf5(
      path, {{}, {{"/report", "input_path"}, {"/report", "input_checksum"}, {"/report", "input_sha256"}}});
  if (!facts || !facts->texts[0]) return {};
  const auto& checksum = facts->texts[1] ? facts->texts[1] : facts->texts[2];
  if (!checksum) return {};
  return Source{*facts->texts[0], *checksum};
}

constexpr const char* replaceable = "a new name, or an earlier result of this scan";

/// `checksum()` is that of the scan.
template <class Checksum>
void require_replaceable_by(const std::string& prefix, const std::string& scan, const Checksum& checksum,
                            bool with_phase, bool with_noise, const Replacing& replacing) {
  const char* const remedy = replacing.remedy;
  bool of_this_scan = false;
  std::string silent;  // a file that can only be told by the others
  for (const auto& path : files_of_results(prefix, with_phase, with_noise)) {
    std::error_code status;
    if (!fs::exists(path, status)) continue;
    const bool json = path.ends_with(".json"), hdf5 = path.ends_with(".h5");
    if (!json && !hdf5) {
      if (silent.empty()) silent = path;
      continue;
    }
    const auto source = !fs::is_regular_file(path, status) ? std::nullopt
                        : json                             ? source_in_json(path)
                                                           : source_in_hdf5(path);
    if (!source || source->checksum.empty())
      throw Error(path, replaceable, "a file that is no result of fhd", remedy);
    if (!(replacing.earlier_content && source->path == scan) &&
        !is_checksum_of(source->checksum, scan, checksum()))
      throw Error(path, replaceable,
                  "one of " + (source->path == scan ? scan + " with another content" : source->path), remedy);
    of_this_scan = true;
  }
  if (!silent.empty() && !of_this_scan)
    throw Error(silent, replaceable, "a file that does not say of which scan it is", remedy);
  // OUT_phase.nii.gz may also be the image of a result that is called OUT_phase.
  const auto require_no_namesake = [&](const std::string& path) {
    const auto namesake = without_result_ending(path);
    std::error_code status;
    if (fs::exists(path, status) &&
        (fs::exists(namesake + ".json", status) || fs::exists(namesake + ".h5", status)))
      throw Error(path, replaceable, "one of the result " + namesake, remedy);
  };
  if (with_phase) require_no_namesake(prefix + phase_ending);
  if (with_noise)
    for (const char* ending : noise_endings) require_no_namesake(prefix + ending);
}

}  // namespace

void require_replaceable(const std::string& prefix, const std::string& scan, const std::string& checksum,
                         bool with_phase, bool with_noise, const Replacing& replacing) {
  require_replaceable_by(
      prefix, scan, [&]() -> const std::string& { return checksum; }, with_phase, with_noise, replacing);
}

void require_replaceable(const std::string& prefix, const std::string& scan,
                         const ChecksumInBackground& checksum, bool with_phase, bool with_noise) {
  require_replaceable_by(prefix, scan, [&]() -> const std::string& { return checksum.get(); }, with_phase,
                         with_noise, {});
}

}  // namespace fhd::io
