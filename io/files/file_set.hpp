#pragma once
// Files that belong together: afterwards either all of them are there or none, and what was there before is there or
// not accordingly, whatever fails and whenever the power goes.
//
//   1  all are written under temporary names, and flushed with their folders
//   2  a journal, which says what becomes of each, is written, flushed, and renamed to .fhd-journal-OUT: from here on the
//      new set is what counts
//   3  each gets its name; what it replaces is kept under another
//   4  the folders are flushed; the journal and what was replaced are removed
//
// A run that fails in 3 puts back what was there. Of one that dies before 2 nothing is left but temporary files, which
// the next OutputLock removes; one that dies later, or fails in 4, or cannot put back what was there, is completed by it,
// or by settle(), before anybody reads. A set of one file needs no journal.
#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <utility>

#include "io/files/atomic_file.hpp"
#include "io/files/output_lock.hpp"

namespace fhd::io {

inline constexpr std::string_view journal_start = ".fhd-journal-";

class FileSet {
 public:
  /// `lock`: of its names; outlives it.
  explicit FileSet(const OutputLock& lock) : lock_(lock) {}

  /// As the constructors of AtomicFile. What they return stays where it is.
  AtomicFile& add(std::string path) { return take(AtomicFile(std::move(path))); }
  AtomicFile& add_directory(std::string path) { return take(AtomicFile::directory(std::move(path))); }
  AtomicFile& add_replacing_directory(std::string path) {
    return take(AtomicFile::directory_replacing(std::move(path)));
  }
  AtomicFile& operator[](std::size_t number) { return files_[number]; }
  AtomicFile& back() { return files_.back(); }
  std::size_t size() const { return files_.size(); }

  /// Throws Error: what was there before is there, and none of them; or, where the disk failed after the journal was
  /// begun, a journal is left, and the next command makes of it the whole new set, or the old one. Of a single file: the
  /// old or the new one.
  void commit();

 private:
  AtomicFile& take(AtomicFile file);
  void require_all() const;
  void commit_several();
  void release();
  const OutputLock& lock_;
  std::deque<AtomicFile> files_;
};

/// Completes what a run that died has left half renamed among the files that share a name with `path`, before they are
/// read; waits for a run that is just about it. Does nothing where only somebody else could: who reads a set of results
/// sees by its run whether it is whole (io/result/run.hpp).
void settle(const std::string& path);

/// Completes, or takes back, what the journal of `name` in the folder says, if there is one. For the holder of its lock.
/// Throws Error: it is somebody else's, neither can be done, or it cannot be brought to the disk: then the journal stays.
void complete_journal(const std::shared_ptr<const Folder>& folder, const std::string& name);

}  // namespace fhd::io
