#include "io/files/output_lock.hpp"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <thread>
#include <vector>

#include "io/files/commit_log.hpp"
#include "io/files/unfinished_files.hpp"
#include "recon/error.hpp"

namespace fhd::io {
namespace {

constexpr std::string_view lock_start = ".fhd-lock-", lock_format = "fhd lock 2";
constexpr std::size_t most_lock_bytes = 1 << 20, fields_of_holder = 4;

std::string this_host() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "an unknown host";
  return name.data();
}

/// EBADF: NFS wants a lock that excludes others to be of a file that may be written.
bool has_no_locks(int error) {
  return error == ENOLCK || error == EOPNOTSUPP || error == ENOSYS || error == EINVAL || error == EBADF;
}

}  // namespace

std::string OutputLock::name_of(const std::string& path) {
  auto name = file_name_of(without_last_slash(path));
  for (bool is_found = true; is_found;) {
    is_found = false;
    for (const std::string_view ending :
         {".h5", ".nii.gz", ".png", ".json", ".cfl", ".hdr", ".mrd", ".ismrmrd", ".html"})
      if (name.size() > ending.size() && name.ends_with(ending)) {
        name.resize(name.size() - ending.size());
        is_found = true;
      }
  }
  return name;
}

std::string OutputLock::name_in(const std::string& file) {
  for (const std::string_view start : {lock_start, commit_log_start})
    if (file.starts_with(start)) return file.substr(start.size());
  return {};
}

OutputLock::OutputLock(const std::string& prefix, WhenHeld when_held)
    : prefix_(without_last_slash(prefix)),
      name_(name_of(prefix)),
      file_(std::string(lock_start) + name_),
      folder_(Folder::of(prefix_)) {
  constexpr std::size_t longest_name = 255;
  if (temporary_name(std::string(commit_log_start) + name_).size() > longest_name) {  // the longest of all
    errno = ENAMETOOLONG;
    fail_by_errno(prefix_, "a shorter name");
  }
  constexpr int quick = 100, most = 5000;  // then the folder itself is gone, or a name comes and goes
  for (int losses = 1; !lock(when_held); ++losses) {
    if (losses > most)
      throw Error(folder_->path_of(file_), "a file that can be opened, or none", "one that comes and goes",
                  "choose another folder");
    if (losses > quick) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  clear_up();
  const NoEndNow not_yet;
  add_unfinished(folder_, file_);
  const auto holder = zero_ended({std::string(lock_format), this_host(), std::to_string(::getpid()),
                                  fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))});
  // If a full disk has no room for it, nobody learns who holds the lock.
  static_cast<void>(!::ftruncate(descriptor_.get(), 0));
  static_cast<void>(!::pwrite(descriptor_.get(), holder.data(), holder.size(), 0));
}

OutputLock::~OutputLock() {
  if (!descriptor_) return;
  const NoEndNow not_yet;
  folder_->remove(file_);
  end_unfinished(folder_, file_);
  ::flock(descriptor_.get(), LOCK_UN);  // a child process may hold a copy of the descriptor
}

bool OutputLock::is_of(const std::string& path) const {
  return name_of(path) == name_ && Folder::of(without_last_slash(path))->is_same_as(*folder_);
}

/// Returns false if this was the lock of a run that has just ended.
bool OutputLock::lock(WhenHeld when_held) {
  constexpr mode_t for_others_to_read = 0644;
  descriptor_ = folder_->open(file_, O_RDWR | O_CREAT | O_EXCL, for_others_to_read);
  const bool is_ours = static_cast<bool>(descriptor_);
  if (!is_ours && errno == EEXIST) descriptor_ = folder_->open(file_, O_RDWR);
  // It is another user's, whose run has died, or whom the message names.
  if (!descriptor_ && errno == EACCES) descriptor_ = folder_->open(file_, O_RDONLY);
  const auto path = folder_->path_of(file_);
  if (!descriptor_ && errno == ENOENT) return false;
  if (!descriptor_) fail_by_errno(path, "a file that can be created");
  struct stat mine {};
  if (::fstat(descriptor_.get(), &mine) != 0) fail_by_errno(path, "a file that can be read");
  if (!S_ISREG(mine.st_mode) || mine.st_nlink > 1)
    throw Error(path, "the lock of a run of fhd", "something else", "remove it");
  int operation = LOCK_EX | LOCK_NB;
  while (::flock(descriptor_.get(), operation) != 0) {
    if (errno == EWOULDBLOCK && when_held == WhenHeld::refuse) refuse({});
    if (errno == EWOULDBLOCK) operation = LOCK_EX;
    if (has_no_locks(errno) && !is_ours) refuse("where that run has died, remove " + path);
    if (has_no_locks(errno)) return true;
    if (errno != EWOULDBLOCK && errno != EINTR) fail_by_errno(path, "a file that can be locked");
  }
  // Whoever held the lock has removed its file: a lock on a file without a name excludes nobody.
  const auto named = folder_->find(file_);
  return named && named->st_ino == mine.st_ino && named->st_dev == mine.st_dev;
}

void OutputLock::refuse(const std::string& without_locks) const {
  // Whoever has just taken the lock writes its name in a moment.
  constexpr auto pause = std::chrono::milliseconds(5);
  std::vector<std::string> fields;
  for (int attempt = 0; attempt < 20 && fields.size() < fields_of_holder; ++attempt) {
    if (attempt > 0) std::this_thread::sleep_for(pause);
    if (const auto text = text_of_file(descriptor_, most_lock_bytes)) fields = fields_of(*text);
  }
  std::string holder = "another run";
  if (fields.size() >= fields_of_holder && fields[0] == lock_format)
    holder = "process " + fields[2] + " on " + fields[1] + ", since " + fields[3];
  throw Held(prefix_, "a name that no other run writes to", holder,
             "wait for its end, or -o NAME writes beside it" +
                 (without_locks.empty() ? "" : "; this file system has no locks: " + without_locks));
}

/// Completes or removes what an interrupted run has left.
void OutputLock::clear_up() const {
  if (const auto log = CommitLog::read(folder_, name_)) log->carry_out();
  const auto text = text_of_file(descriptor_, most_lock_bytes);
  if (!text || !is_of_this_user(descriptor_)) return;
  const auto fields = fields_of(*text);
  if (fields.size() < fields_of_holder || fields[0] != lock_format) return;
  for (std::size_t i = fields_of_holder; i < fields.size(); ++i)
    if (is_file_name(fields[i]) && final_name_of_temporary(fields[i])) folder_->remove_abandoned(fields[i]);
}

void OutputLock::remember(const std::string& temporary) const {
  const auto text = zero_ended({temporary});
  const auto end = ::lseek(descriptor_.get(), 0, SEEK_END);
  static_cast<void>(!::pwrite(descriptor_.get(), text.data(), text.size(), end));
}

}  // namespace fhd::io
