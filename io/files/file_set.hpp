#pragma once
// Files that belong together: afterwards all are there or none, and what was there before is there or not accordingly,
// whatever fails and whenever the power goes.
//
//   1  all are written under temporary names, and flushed with their folder
//   2  a log, which says which name each gets, is written, flushed, and renamed to .fhd-journal-OUT: from here on the new
//      set is what counts
//   3  each gets its name
//   4  the folder is flushed; the log is removed
//
// A run that fails or dies before 2 leaves nothing but temporary files, which the next OutputLock removes. A run that fails
// or dies later is completed by the next OutputLock, or by complete_interrupted_set() before anybody reads. A set of one
// file needs no log.
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "io/files/atomic_file.hpp"
#include "io/files/output_lock.hpp"

namespace fhd::io {

class FileSet {
 public:
  /// `lock` is that of the set's names and outlives it. Files in another folder are a set of their own, for which `others`
  /// has a lock.
  explicit FileSet(const OutputLock& lock, const std::vector<OutputLock>& others = {});

  /// These add a file as the constructors of AtomicFile make it. References to it stay valid.
  AtomicFile& add(std::string path) { return take(AtomicFile(std::move(path))); }
  AtomicFile& add_directory(std::string path) { return take(AtomicFile::directory(std::move(path))); }
  AtomicFile& add_replacing_directory(std::string path) {
    return take(AtomicFile::directory_replacing(std::move(path)));
  }
  AtomicFile& operator[](std::size_t number) { return files_[number]; }
  AtomicFile& back() { return files_.back(); }
  std::size_t size() const { return files_.size(); }

  /// Gives all files their names. Throws Error: what was there before is there; or, if the disk failed after the log was
  /// begun, the log is left, and the next command completes the new set.
  void commit();

 private:
  AtomicFile& take(AtomicFile file);
  const OutputLock& lock_of(const AtomicFile& file) const;
  void commit(const OutputLock& lock);

  std::vector<const OutputLock*> locks_;
  std::deque<AtomicFile> files_;
};

/// Completes what an interrupted run has left half renamed among the files that share a name with `path`. Called before they
/// are read; waits for a run that is just about it. Does nothing where only another user could
/// complete it.
void complete_interrupted_set(const std::string& path);

}  // namespace fhd::io
