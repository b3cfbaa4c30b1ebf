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

#include "io/result/atomic_file.hpp"
#include "io/result/results.hpp"
#include "recon/error.hpp"
#include "version.hpp"

namespace fhd::app {
namespace {

namespace fs = std::filesystem;

fs::path claims_folder(const std::string& directory) { return fs::path(directory) / ".claims"; }

/// The NAME of a result file NAME.h5, NAME.manifest.json, ...
std::string name_of(const std::string& file) {
  for (const char* ending :
       {".manifest.json", io::phase_ending, ".nii.gz", ".h5", ".png", ".json", ".csv", ".html"})
    if (file.ends_with(ending)) return file.substr(0, file.size() - std::strlen(ending));
  return file;
}

struct Temporary {
  std::string path, name;
};

std::vector<Temporary> temporaries(const std::string& directory) {
  std::vector<Temporary> found;
  std::error_code status;
  for (fs::directory_iterator entry(directory, status), end; !status && entry != end; entry.increment(status))
    if (const auto final_name = io::final_name_of_temporary(entry->path().filename().string()))
      found.push_back({entry->path().string(), name_of(*final_name)});
  return found;
}

}  // namespace

std::optional<Claim> Claim::lock(const std::string& directory, const std::string& name, int operation) {
  const auto path = (claims_folder(directory) / name).string();
  while (true) {
    std::error_code status;
    fs::create_directory(claims_folder(directory), status);
    if (status)
      throw Error(claims_folder(directory).string(), "a folder that can be created", status.message());
    // Whoever ends a claim removes its file before it lets go of the lock.
    int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    const bool is_new = descriptor >= 0;
    if (!is_new && errno == EEXIST) descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (descriptor < 0) {
      if (errno == ENOENT) continue;  // another process has just removed it, or the empty folder
      throw Error(path, "a file that can be created", std::strerror(errno));
    }
    while (::flock(descriptor, operation) != 0) {
      if (errno == EINTR) continue;
      const int error = errno;
      ::close(descriptor);
      if (error == EWOULDBLOCK) return {};
      throw Error(path, "a file system with locks (flock)", std::strerror(error));
    }
    // The holder before us removed the file on leaving: a lock on a file without a name excludes nobody.
    struct stat ours {
    }, named{};
    if (::fstat(descriptor, &ours) == 0 && ::stat(path.c_str(), &named) == 0 && ours.st_ino == named.st_ino &&
        ours.st_dev == named.st_dev)
      return Claim(descriptor, path, !is_new);
    ::close(descriptor);
  }
}

std::optional<Claim> Claim::take(const std::string& directory, const std::string& name) {
  return lock(directory, name, LOCK_EX | LOCK_NB);
}

Claim Claim::wait(const std::string& directory, const std::string& name) {
  return std::move(*lock(directory, name, LOCK_EX));
}

Claim::Claim(Claim&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      path_(std::move(other.path_)),
      was_left_(other.was_left_) {}

Claim::~Claim() {
  if (descriptor_ < 0) return;
  ::unlink(path_.c_str());
  ::flock(descriptor_, LOCK_UN);  // a child process may hold a copy of the descriptor
  ::close(descriptor_);
}

void remove_temporaries(const std::string& directory, const std::string& name) {
  std::error_code ignored;
  for (const auto& temporary : temporaries(directory))
    if (temporary.name == name) fs::remove_all(temporary.path, ignored);
}

void remove_strays(const std::string& directory) {
  std::set<std::string> names;
  for (const auto& temporary : temporaries(directory)) names.insert(temporary.name);
  for (const auto& name : names)
    if (const auto claim = Claim::take(directory, name)) remove_temporaries(directory, name);
  // Claims of processes that were killed.
  std::error_code status;
  std::vector<std::string> claims;
  for (fs::directory_iterator entry(claims_folder(directory), status), end; !status && entry != end;
       entry.increment(status))
    claims.push_back(entry->path().filename().string());
  for (const auto& claim : claims) Claim::take(directory, claim);
  fs::remove(claims_folder(directory), status);
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
