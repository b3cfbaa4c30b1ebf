#include "io/files/file_set.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "io/files/commit_log.hpp"
#include "io/files/unfinished_files.hpp"
#include "recon/error.hpp"

namespace fhd::io {

FileSet::FileSet(const OutputLock& lock, const std::vector<OutputLock>& others) : locks_{&lock} {
  for (const auto& other : others) locks_.push_back(&other);
}

const OutputLock& FileSet::lock_of(const AtomicFile& file) const {
  for (const auto* lock : locks_)
    if (lock->folder()->is_same_as(*file.folder_)) return *lock;
  throw Error(file.path(), "a file in the folder of the results", "another folder");
}

AtomicFile& FileSet::take(AtomicFile file) {
  lock_of(file).remember(file.temporary_);
  return files_.emplace_back(std::move(file));
}

void FileSet::commit() {
  for (auto& file : files_) {
    file.keep_permissions();
    if (!file.flushed_) file.flush();
  }
  for (auto lock = locks_.rbegin(); lock != locks_.rend(); ++lock) commit(**lock);
}

/// Commits the files in the folder of a lock.
void FileSet::commit(const OutputLock& lock) {
  std::vector<AtomicFile*> files;
  for (auto& file : files_)
    if (&lock_of(file) == &lock) files.push_back(&file);
  if (files.empty()) return;
  if (files.size() == 1 && !files.front()->replaces_directory_) return files.front()->commit();
  const NoEndNow not_yet;
  CommitLog log(lock.folder(), lock.name());
  for (const auto* file : files) log.add(file->temporary_, file->name_);
  lock.folder()->flush(lock.folder()->path_of(lock.name()));
  log.begin(lock);
  for (auto* file : files) file->release();  // they are the log's
  for (const auto& replaced : log.carry_out()) lock.folder()->remove_tree(replaced);
}

void complete_interrupted_set(const std::string& path) {
  const auto whole = without_last_slash(path);
  const auto file = file_name_of(whole);
  const auto folder = std::filesystem::path(whole).parent_path();
  constexpr const char* name_ends = "._";  // the set of scan_traj.cfl and scan.truth.h5 is called scan
  // A living run needs milliseconds for it. Nobody waits longer for a run that holds the lock for another reason.
  constexpr std::chrono::milliseconds longest{1000}, pause{10};
  const auto until = std::chrono::steady_clock::now() + longest;
  for (auto end = file.find_first_of(name_ends, 1);; end = file.find_first_of(name_ends, end + 1)) {
    const auto name = file.substr(0, end);
    const auto log = (folder / (std::string(commit_log_start) + name)).string();
    while (std::chrono::steady_clock::now() < until &&
           ::faccessat(AT_FDCWD, log.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
      try {
        const OutputLock lock((folder / name).string());
        break;
      } catch (const OutputLock::Held&) {
        std::this_thread::sleep_for(pause);
      } catch (const Error&) {
        break;  // somebody else has to complete it
      }
    }
    if (end == std::string::npos) return;
  }
}

}  // namespace fhd::io
