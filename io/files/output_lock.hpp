#pragma once
// The right to write a set of files, OUT.h5, OUT.json, ...: one process at a time. It is a lock on the hidden file
// .fhd-lock-OUT beside them, which the kernel releases when the process dies, so that nothing is stale after a crash. The
// file says who holds it, and which temporary files belong to the run, for whoever comes after a crash. On file systems
// without locks (some network ones) the file alone keeps others out, until it is removed.
#include <memory>
#include <string>
#include <string_view>

#include "io/files/folder.hpp"
#include "recon/error.hpp"

namespace fhd::io {

/// The name of the log of a set (io/files/commit_log.hpp) without that of the set.
inline constexpr std::string_view commit_log_start = ".fhd-journal-";

class OutputLock {
 public:
  /// Another run holds the lock.
  struct Held : Error {
    using Error::Error;
  };
  enum class WhenHeld { refuse, wait };
  /// Locks the files whose names begin with `prefix`; endings of file formats do not count. Completes what an interrupted
  /// run has committed (io/files/file_set.hpp), and removes what it has not. Throws Error if another run holds the lock
  /// (who, where, since when), or the folder cannot be written.
  explicit OutputLock(const std::string& prefix, WhenHeld when_held = WhenHeld::refuse);
  OutputLock(OutputLock&& other) noexcept = default;
  OutputLock& operator=(OutputLock&& other) = delete;
  OutputLock(const OutputLock&) = delete;
  ~OutputLock();

  const std::shared_ptr<const Folder>& folder() const { return folder_; }
  const std::string& name() const { return name_; }
  /// Returns whether this is the lock of the files called `path`. Throws Error.
  bool is_of(const std::string& path) const;
  /// Notes a temporary file of this run, to be removed after a crash.
  void remember(const std::string& temporary) const;

  /// Returns what the files of a set share: "scan" of out/scan.h5, out/scan_traj.cfl, out/scan/.
  static std::string name_of(const std::string& path);
  /// Returns "scan" of .fhd-lock-scan and of .fhd-journal-scan, else an empty text.
  static std::string name_in(const std::string& file);

 private:
  bool lock(WhenHeld when_held);
  void clear_up() const;
  [[noreturn]] void refuse(const std::string& remedy_without_locks) const;

  std::string prefix_, name_, file_;
  std::shared_ptr<const Folder> folder_;
  Descriptor descriptor_;
};

}  // namespace fhd::io
