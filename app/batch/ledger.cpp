#include "app/batch/ledger.hpp"

#include "recon/error.hpp"
#include "version.hpp"

namespace fhd::app {

BatchLedger::Turn BatchLedger::take(std::size_t scan) {
  auto& claim = entries_[scan].claim;
  const std::string& name = work_.scans[scan].name;
  if (adopt(scan)) return Turn::over;
  if (!claim) {
    auto taken = Claim::take(work_.directory, name);
    if (!taken) return Turn::of_another;
    claim.emplace(std::move(*taken));
    if (adopt(scan)) {  // ended by another process since we looked
      claim.reset();
      return Turn::over;
    }
  }
  remove_temporaries(work_.directory, name);
  return Turn::ours;
}

bool BatchLedger::adopt(std::size_t scan) {
  auto manifest = io::read_manifest(io::manifest_path(work_.directory, work_.scans[scan].name));
  std::string& reason = entries_[scan].reason;
  reason.clear();
  if (!manifest) return false;
  const bool now = manifest->ended_ns >= began_ns_;
  if (manifest->status == io::Manifest::Status::failed) {
    reason = "failed before";
    // Another process of this run has tried it, or will tell the same.
    if (!now || !is_same_work(*manifest, scan)) return false;
    end(scan, Outcome::Status::failed, manifest->error);
    return true;
  }
  if (manifest->program_version != program_version) reason = "made by version " + manifest->program_version;
  if (manifest->settings != work_.settings[work_.settings_of[scan]].recorded) reason = "settings changed";
  if (reason.empty())
    if (const auto missing = io::missing_product(work_.directory, *manifest))
      reason = *missing + " is missing or changed";
  if (!reason.empty()) return false;
  try {
    if (io::same_stamps(*manifest, io::stamps_of(work_.scans[scan].path)) ||
        (now && is_same_work(*manifest, scan))) {
      end(scan, now ? Outcome::Status::finished : Outcome::Status::unchanged);
      return true;
    }
  } catch (const Error&) {
    // The scan is gone: that is for the worker to tell.
  }
  reason = "input changed";
  return false;
}

bool BatchLedger::is_same_work(const io::Manifest& manifest, std::size_t scan) const {
  return manifest.scan == absolute_path(work_.scans[scan].path) &&
         manifest.settings == work_.settings[work_.settings_of[scan]].recorded &&
         manifest.program_version == program_version;
}

void BatchLedger::end(std::size_t scan, Outcome::Status status, const std::string& line) {
  Outcome& outcome = outcomes_[scan];
  const bool ours = entries_[scan].claim.has_value();
  outcome.status = status;
  outcome.error = line;
  outcome.reason = status == Outcome::Status::finished ? entries_[scan].reason : "";
  if (status == Outcome::Status::finished || status == Outcome::Status::unchanged)
    if (auto manifest = io::read_manifest(io::manifest_path(work_.directory, work_.scans[scan].name)))
      outcome.manifest = std::move(*manifest);
  entries_[scan].claim.reset();
  log_.ended(work_.scans[scan], outcome, ours, totals(outcomes_));
}

void BatchLedger::fail(std::size_t scan, const std::string& line) {
  io::Manifest manifest;
  manifest.error = line;
  manifest.scan = absolute_path(work_.scans[scan].path);
  manifest.settings = work_.settings[work_.settings_of[scan]].recorded;
  manifest.program_version = program_version;
  manifest.ended_ns = io::now_ns();
  try {
    io::write_manifest(io::manifest_path(work_.directory, work_.scans[scan].name), manifest);
  } catch (const Error&) {
    // The summary still tells it.
  }
  end(scan, Outcome::Status::failed, line);
}

void BatchLedger::abandon(std::size_t scan) {
  if (adopt(scan)) return;  // it ended just now
  remove_temporaries(work_.directory, work_.scans[scan].name);
  entries_[scan].claim.reset();
}

}  // namespace fhd::app
