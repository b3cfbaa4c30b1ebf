#include "app/batch/ledger.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>
#include <utility>

#include "app/batch/stop_requests.hpp"
#include "io/files/file_set.hpp"
#include "io/result/results.hpp"
#include "recon/error.hpp"
#include "version.hpp"

namespace fhd::app {
namespace {

namespace fs = std::filesystem;

fs::path claims_path(const std::string& directory) { return fs::path(directory) / ".claims"; }

/// DIRECTORY/.claims, made where it is not. Throws Error: it is a link, or no folder.
std::shared_ptr<const io::Folder> claims_folder(const std::string& directory) {
  const auto path = claims_path(directory).string();
  for (io::NameRace race;; race.lost(path)) {
    if (::mkdir(path.c_str(), 0777) != 0 && errno != EEXIST)
      throw Error(path, "a folder that can be created", std::strerror(errno));
    if (auto folder = io::Folder::within(path)) return folder;  // null: another process has just removed it
  }
}

/// Empty, as every claim is: whatever else lies there is somebody's, and stays.
bool is_claim(const struct stat& file) {
  return S_ISREG(file.st_mode) && file.st_size == 0 && file.st_nlink <= 1;
}

/// The NAME of a result file NAME.h5, NAME.manifest.json, ...
std::string name_of(const std::string& file) {
  if (auto name = io::OutputLock::name_in(file); !name.empty()) return name;
  for (const char* ending :
       {".manifest.json", io::phase_ending, io::noise_endings[0], io::noise_endings[1], io::noise_endings[2],
        "_images.h5", "_dicom", ".nii.gz", ".h5", ".png", ".json", ".csv", ".html"})
    if (file.ends_with(ending)) return file.substr(0, file.size() - std::strlen(ending));
  return file;
}

struct Temporary {
  std::string file, name;
};

std::vector<Temporary> temporaries(const io::Folder& folder) {
  std::vector<Temporary> found;
  for (const auto& file : folder.names())
    if (const auto final_name = io::final_name_of_temporary(file))
      found.push_back({file, name_of(*final_name)});
  return found;
}

std::shared_ptr<const io::Folder> folder_of_results(const std::string& directory) {
  return io::Folder::of((fs::path(directory) / "batch.log").string());
}

}  // namespace

std::optional<Claim> Claim::lock(const std::string& directory, const std::string& name, int operation) {
  io::NameRace race;
  while (true) {
    const auto folder = claims_folder(directory);
    const auto path = folder->path_of(name);
    // Whoever ends a claim removes its file before it lets go of the lock.
    auto file = folder->open(name, O_RDWR | O_CREAT | O_EXCL, 0666);
    const bool is_new = static_cast<bool>(file);
    if (!is_new && errno == EEXIST) file = folder->open(name, O_RDWR);
    if (!file && errno == ENOENT) {  // another process has just removed it, or the empty folder
      race.lost(path);
      continue;
    }
    struct stat ours {};
    if (file ? ::fstat(file.get(), &ours) != 0 || !is_claim(ours)
             : errno == ELOOP || errno == ENXIO || errno == EISDIR)
      throw Error(path, "nothing, or the claim of a batch", "something else", "remove it");
    if (!file) throw Error(path, "a file that can be created", std::strerror(errno));
    while (::flock(file.get(), operation) != 0) {
      // Only a wait is interrupted, and only by signals that ask the batch to stop.
      if (errno == EINTR)
        throw Error(path, "a claim that gets free", "one that another process still has, when it was to stop",
                    "run again");
      if (errno == EWOULDBLOCK) return {};
      throw Error(path, "a file system with locks (flock)", std::strerror(errno));
    }
    // The holder before us removed the file on leaving: a lock on a file without a name excludes nobody.
    if (race.is_kept(*folder, file, name)) return Claim(folder, std::move(file), name, !is_new);
  }
}

std::optional<Claim> Claim::take(const std::string& directory, const std::string& name) {
  return lock(directory, name, LOCK_EX | LOCK_NB);
}

Claim Claim::wait(const std::string& directory, const std::string& name) {
  return std::move(*lock(directory, name, LOCK_EX));
}

Claim::~Claim() {
  if (!file_) return;
  folder_->remove(name_);
  ::flock(file_.get(), LOCK_UN);  // a child process may hold a copy of the descriptor
}

void remove_temporaries(const std::string& directory, const std::string& name) {
  try {
    // Completes or removes what a run of this name has left, with its lock.
    const io::OutputLock lock((fs::path(directory) / name).string());
    const auto folder = folder_of_results(directory);
    for (const auto& temporary : temporaries(*folder))
      if (temporary.name == name) folder->remove_abandoned(temporary.file);
  } catch (const Error&) {
    // Another run than one of a batch is at work on it, or it cannot be completed: whoever writes it next is told.
  }
}

void remove_strays(const std::string& directory) {
  const auto folder = folder_of_results(directory);
  std::set<std::string> names;
  for (const auto& temporary : temporaries(*folder)) names.insert(temporary.name);
  for (const auto& file : folder->names())
    if (auto name = io::OutputLock::name_in(file); !name.empty()) names.insert(std::move(name));
  for (const auto& name : names)
    if (const auto claim = Claim::take(directory, name)) remove_temporaries(directory, name);
  // Claims of processes that were killed.
  const auto path = claims_path(directory).string();
  const auto claims = io::Folder::within(path);
  if (!claims) return;
  for (const auto& name : claims->names())
    if (const auto file = claims->find(name); file && is_claim(*file)) Claim::take(directory, name);
  ::rmdir(path.c_str());  // not empty where others are at work
}

// --- Outcomes

BatchLedger::Turn BatchLedger::take(std::size_t scan) {
  auto& claim = entries_[scan].claim;
  const std::string& name = work_.scans[scan].name;
  if (adopt(scan)) return Turn::over;
  if (!claim) {
    auto taken = Claim::take(work_.directory, name);
    if (!taken) return Turn::of_another;
    if (adopt(scan)) return Turn::over;  // ended by another process since we looked: its to tell
    claim.emplace(std::move(*taken));
    if (claim->was_left()) remove_temporaries(work_.directory, name);
  }
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
  if (manifest->program_version != program_version && !work_.accepts_version)
    reason = "made by version " + manifest->program_version;
  if (manifest->settings != work_.settings[work_.settings_of[scan]].recorded) reason = "settings changed";
  if (reason.empty())
    if (const auto missing = io::missing_product(work_.directory, *manifest, StopRequests::has_come))
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
  if (status == Outcome::Status::unchanged && outcome.manifest.program_version != program_version)
    outcome.reason = "made by version " + outcome.manifest.program_version + ", kept";
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
