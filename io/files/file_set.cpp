#include "io/files/file_set.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "io/files/journal.hpp"
#include "recon/error.hpp"

namespace fhd::io {
namespace {

/// Where a longer name goes on: scan of scan_traj.cfl, scan.truth.h5.
constexpr const char* name_ends = "._";

/// Whether all is as it was, and no journal says otherwise, also when the power goes: before that, temporary files are
/// what the next command completes.
bool is_taken_back(const Journal& journal) {
  if (!journal.take_back()) return false;
  try {
    journal.flush_folders();
    if (!journal.remove()) return false;
    journal.flush();
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

AtomicFile& FileSet::take(AtomicFile file) {
  lock_.remember(*file.folder_, file.temporary_);
  return files_.emplace_back(std::move(file));
}

void FileSet::commit() {
  if (files_.size() == 1 && !files_.front().replaces_directory_) return files_.front().commit();
  for (auto& file : files_) {
    file.keep_permissions();
    if (!file.flushed_) file.flush();
  }
  commit_several();
}

/// A journal takes what is not there any more for done.
void FileSet::require_all() const {
  for (const auto& file : files_)
    if (!file.folder_->find(file.temporary_))
      throw Error(file.path(), "the unfinished file that was written for it", "none: somebody has removed it",
                  "run again");
}

void FileSet::commit_several() {
  const NoEndNow not_yet;
  Journal journal(lock_.folder(), lock_.name());
  for (const auto& file : files_) {
    const auto kind = !file.is_directory_        ? Journal::Kind::file
                      : file.replaces_directory_ ? Journal::Kind::replacing_directory
                                                 : Journal::Kind::new_directory;
    journal.add(file.folder_, kind, file.temporary_, file.name_);
  }
  lock_.remember(*lock_.folder(), journal.temporary());
  lock_.flush();
  journal.flush_folders();  // the temporary names
  require_all();
  journal.write();
  journal.begin();
  // From here on they are what the next command completes, should this one end.
  for (const auto& file : files_) end_unfinished(file.folder_, file.temporary_);
  try {
    journal.flush();
    journal.carry_out();
  } catch (...) {
    if (is_taken_back(journal))
      for (const auto& file : files_) add_unfinished(file.folder_, file.temporary_);
    else
      release();
    throw;
  }
  release();
  journal.flush_folders();
  journal.remove_replaced();
  journal.remove();
}

/// They are the journal's.
void FileSet::release() {
  for (auto& file : files_) file.temporary_.clear();
}

void complete_journal(const std::shared_ptr<const Folder>& folder, const std::string& name) {
  const auto journal = Journal::read(folder, name);
  if (!journal) return;
  // Whatever fails, the journal stays: nothing of it is taken back, since nobody knows who has written it. What was replaced
  // goes only where all is done.
  journal->carry_out();
  journal->flush_folders();
  journal->remove_replaced();
  journal->remove();
}

void settle(const std::string& path) {
  auto whole = path;
  while (whole.size() > 1 && whole.back() == '/') whole.pop_back();
  const auto file = file_name_of(whole);
  const auto folder = std::filesystem::path(whole).parent_path();
  // What a run that is alive has to do takes it milliseconds. Others, who hold a lock, are not waited for.
  constexpr std::chrono::milliseconds longest{1000}, pause{10};
  const auto until = std::chrono::steady_clock::now() + longest;
  for (auto end = file.find_first_of(name_ends, 1);; end = file.find_first_of(name_ends, end + 1)) {
    const auto name = file.substr(0, end);
    const auto journal = (folder / (std::string(journal_start) + name)).string();
    while (std::chrono::steady_clock::now() < until &&
           ::faccessat(AT_FDCWD, journal.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
      try {
        const OutputLock lock((folder / name).string());
        break;
      } catch (const OutputLock::Held&) {
        std::this_thread::sleep_for(pause);
      } catch (const Error&) {
        break;  // not ours to complete
      }
    }
    if (end == std::string::npos) return;
  }
}

}  // namespace fhd::io
