#pragma once
// The right to write a set of files, OUT.h5, OUT.json, ...: one process at a time. It is a lock on the hidden file
// .fhd-lock-OUT beside them, which the kernel releases when its process dies: nothing is stale after a crash. The file
// says who holds it, and which temporary files belong to the run, for whoever comes after a crash. On file systems without
// locks (some network ones) nobody can tell whether a run lives: the file alone keeps others out, until it is removed.
#include <memory>
#include <string>

#include "io/files/folder.hpp"
#include "recon/error.hpp"

namespace fhd::io {

class OutputLock {
 public:
  /// Another run holds it.
  struct Held : Error {
    using Error::Error;
  };
  enum class WhenHeld { refuse, wait };
  /// Of the files whose names begin as `prefix`, or of the file `prefix`: endings that formats have do not count.
  /// Completes what a run that died has committed (io/files/file_set.hpp), and removes what it has not. Throws Error:
  /// another run holds it (who, where, since when), or the folder cannot be written.
  explicit OutputLock(const std::string& prefix, WhenHeld when_held = WhenHeld::refuse);
  OutputLock(OutputLock&& other) noexcept = default;
  OutputLock& operator=(OutputLock&& other) = delete;
  OutputLock(const OutputLock&) = delete;
  ~OutputLock();

  const std::shared_ptr<const Folder>& folder() const { return folder_; }
  const std::string& name() const { return name_; }
  /// Whether it is that of the files called `path`. Throws Error.
  bool is_of(const std::string& path) const;
  /// What is removed after a crash: a temporary file of this run.
  void remember(const Folder& folder, const std::string& temporary) const;
  /// What it remembers, to the disk.
  void flush() const;

  /// "scan" of out/scan.h5, out/scan_traj.cfl, out/scan/: what the files of a set share.
  static std::string name_of(const std::string& path);
  /// "scan" of .fhd-lock-scan and of .fhd-journal-scan, else empty.
  static std::string name_in(const std::string& file);

 private:
  bool lock(WhenHeld when_held, NameRace& race);
  void clear_up() const;
  /// `without_locks`: what to do where nobody can tell whether that run lives.
  [[noreturn]] void refuse(const std::string& without_locks) const;

  std::string prefix_, name_, file_;
  std::shared_ptr<const Folder> folder_;
  Descriptor descriptor_;
};

}  // namespace fhd::io
