#include "app/batch/state.hpp"

#include <filesystem>

#include "app/batch/stop_requests.hpp"
#include "io/files/file_set.hpp"
#include "io/files/folder.hpp"
#include "io/scan/checksum.hpp"
#include "recon/error.hpp"
#include "version.hpp"

namespace fhd::app {
namespace {

std::string manifest_path_of(const BatchWork& work, std::size_t scan) {
  return io::manifest_path(work.directory, work.scans[scan].name);
}

/// Returns whether the scan is what it was when the manifest was written: by its times or, `by_content`, its checksum.
bool has_same_input(const io::Manifest& manifest, const std::string& scan, bool by_content) {
  try {
    return io::same_stamps(manifest, io::stamps_of(scan)) ||
           (by_content && io::has_checksum(scan, manifest.input_checksum, StopRequests::has_come));
  } catch (const Error&) {
    return false;  // the scan is gone: its worker reports that
  }
}

}  // namespace

const char* code(Missing::Reason reason) {
  constexpr const char* codes[] = {
      "new", "failed", "version_changed", "settings_changed", "results_changed", "input_changed"};
  return codes[static_cast<int>(reason)];
}

std::string text(const Missing& missing) {
  switch (missing.reason) {
    case Missing::Reason::no_manifest:
      return {};
    case Missing::Reason::failed:
      return "failed before";
    case Missing::Reason::other_version:
      return "made by version " + missing.subject;
    case Missing::Reason::results_changed:
      return missing.subject + " is missing or changed";
    case Missing::Reason::other_settings:
      return "settings changed";
    case Missing::Reason::input_changed:
      break;
  }
  return "input changed";
}

std::optional<Missing> missing_of(const BatchWork& work, std::size_t scan, const io::Manifest& manifest,
                                  const std::function<bool()>& has_same_input) {
  using Reason = Missing::Reason;
  if (manifest.status == io::Manifest::Status::failed) return Missing{Reason::failed, {}};
  if (manifest.settings != work.settings[work.settings_of[scan]].recorded)
    return Missing{Reason::other_settings, {}};
  if (manifest.version != program_version && !work.accepts_version)
    return Missing{Reason::other_version, manifest.version};
  if (const auto product = io::missing_product(work.directory, manifest, StopRequests::has_come))
    return Missing{Reason::results_changed, *product};
  if (!has_same_input()) return Missing{Reason::input_changed, {}};
  return {};
}

std::optional<Missing> missing_in_folder(const BatchWork& work, std::size_t scan) {
  const auto& [path, name, found] = work.scans[scan];
  const auto manifest = io::read_manifest(manifest_path_of(work, scan));
  if (!manifest && found && holds_only_images(path)) return {};
  if (!manifest) return Missing{};
  return missing_of(work, scan, *manifest, [&] { return has_same_input(*manifest, path, true); });
}

void remove_leftovers(const std::string& directory) {
  const auto folder = io::Folder::of((std::filesystem::path(directory) / "batch.log").string());
  for (const auto& file : folder->names())
    if (const auto name = io::OutputLock::name_in(file); !name.empty()) try {
        const io::OutputLock completes((std::filesystem::path(directory) / name).string());
      } catch (
          const Error&) {  // of a run that is alive, or that cannot be completed: who writes it next reports that
      }
  for (const auto& file : folder->names())
    if (io::final_name_of_temporary(file)) folder->remove_abandoned(file);
}

bool BatchState::end_if_unchanged(std::size_t scan) {
  const auto manifest = io::read_manifest(manifest_path_of(work_, scan));
  const auto missing =
      manifest ? missing_of(work_, scan, *manifest,
                            [&] { return has_same_input(*manifest, work_.scans[scan].path, false); })
               : Missing{};
  if (missing) {
    reasons_[scan] = text(*missing);
    return false;
  }
  end(scan, Outcome::Status::unchanged);
  return true;
}

bool BatchState::end_by_manifest(std::size_t scan) {
  const auto manifest = io::read_manifest(manifest_path_of(work_, scan));
  if (!manifest || manifest->ended_ns < began_ns_) return false;
  const bool failed = manifest->status == io::Manifest::Status::failed;
  end(scan, failed ? Outcome::Status::failed : Outcome::Status::finished, manifest->error);
  return true;
}

void BatchState::end(std::size_t scan, Outcome::Status status, const std::string& line) {
  Outcome& outcome = outcomes_[scan];
  outcome.status = status;
  outcome.error = line;
  outcome.reason = status == Outcome::Status::finished ? reasons_[scan] : "";
  if (status == Outcome::Status::finished || status == Outcome::Status::unchanged)
    if (auto manifest = io::read_manifest(manifest_path_of(work_, scan)))
      outcome.manifest = std::move(*manifest);
  if (status == Outcome::Status::unchanged && outcome.manifest.version != program_version)
    outcome.reason = "made by version " + outcome.manifest.version + ", kept";
  log_.ended(work_.scans[scan], outcome, totals(outcomes_));
}

void BatchState::fail(std::size_t scan, const std::string& line) {
  io::Manifest manifest;
  manifest.error = line;
  manifest.scan = absolute_path(work_.scans[scan].path);
  manifest.settings = work_.settings[work_.settings_of[scan]].recorded;
  manifest.version = program_version;
  manifest.ended_ns = io::now_ns();
  try {
    io::write_manifest(manifest_path_of(work_, scan), manifest);
  } catch (const Error&) {  // the summary still reports it
  }
  end(scan, Outcome::Status::failed, line);
}

}  // namespace fhd::app
