#pragma once
// Files that appear whole or not at all: written under a temporary name in the same folder, flushed to disk,
// renamed. Several that belong together: io/files/file_set.hpp.
//
// What may be in the way of a result: a regular file is replaced, and its permissions are kept; a link is replaced, and
// what it leads to stays as it is; a folder, a pipe, a device or a socket is refused. The folder itself may be a link.
#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "io/files/folder.hpp"

namespace fhd::io {

/// One file (or directory) to be. Until it is committed the destructor removes what was written.
class AtomicFile {
 public:
  /// Throws Error when the folder of `path` does not exist or cannot be written, or something that is no file is in the
  /// way.
  explicit AtomicFile(std::string path);
  /// In this very folder, wherever its path leads meanwhile.
  AtomicFile(std::shared_ptr<const Folder> folder, const std::string& name);
  /// A directory to be, already created under its temporary name. `path` must be new or an empty directory.
  static AtomicFile directory(std::string path);
  /// The same, but a directory that is there is replaced at the commit, whatever is in it then: the caller has looked.
  static AtomicFile directory_replacing(std::string path);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&& other) = delete;
  AtomicFile(const AtomicFile&) = delete;
  ~AtomicFile();

  const std::string& path() const { return path_; }
  /// Where to write until the commit: a name that leads to the very file, also where another has taken its place.
  const std::string& temporary() const { return writing_path_; }
  /// To the disk, once everything is written: what a commit does for those that were not. Throws Error.
  void flush();
  /// Flushes, and gives it its name. Throws Error. (A directory that replaces another: FileSet.)
  void commit();

 private:
  friend class FileSet;
  AtomicFile(std::string path, bool is_directory);
  void make();
  void open_temporary();
  void take_permissions();
  void keep_permissions();
  void flush_entries() const;

  std::string path_, name_, temporary_, writing_path_;  // temporary_ is empty once it is committed
  std::shared_ptr<const Folder> folder_;
  Descriptor descriptor_;
  mode_t usual_permissions_ = 0;  ///< of a new file of this process
  bool flushed_ = false, is_directory_ = false, replaces_directory_ = false;
};

/// Removes every temporary file of this process, from any thread, and lets no other begin or be renamed: for
/// a process that is about to end.
void remove_unfinished_files();

/// In a process that has just been forked: those so far are the other's.
void forget_unfinished_files();

/// Whether this thread has a NoEndNow.
bool holds_off_the_end();

/// While it lives, remove_unfinished_files() waits, but for that of its own thread.
class NoEndNow {
 public:
  NoEndNow();
  ~NoEndNow();
  NoEndNow(const NoEndNow&) = delete;
  NoEndNow& operator=(const NoEndNow&) = delete;
};
/// What remove_unfinished_files() removes. Under NoEndNow.
void add_unfinished(const std::shared_ptr<const Folder>& folder, const std::string& name);
void end_unfinished(const std::shared_ptr<const Folder>& folder, const std::string& name);

/// A file that is written from its beginning to its end, every step checked; messages call it `reported_path`. All
/// throw Error. (Not atomic by itself: give it a temporary name.)
class OutputFile {
 public:
  OutputFile(const std::string& path, const std::string& reported_path);
  OutputFile(Descriptor opened, const std::string& reported_path);
  void write(const void* bytes, std::size_t count);
  void flush() { flush_to_disk(descriptor_, reported_path_); }
  /// Without it what was written may not be there.
  void close();

 private:
  std::string reported_path_;
  Descriptor descriptor_;
};

/// Writes `bytes` to `path`, checking every step; messages call it `reported_path`. Throws Error. (Not atomic
/// by itself: give it a temporary name.)
void write_bytes(const std::string& path, const void* bytes, std::size_t count,
                 const std::string& reported_path);

/// Writes one file, whole or not at all. Throws Error.
void write_atomically(const std::string& path, const void* bytes, std::size_t count);
/// The same in this very folder.
void write_atomically(std::shared_ptr<const Folder> folder, const std::string& name, const void* bytes,
                      std::size_t count);

/// Writes `count` bytes from `offset` on; messages call the file `reported_path`. Throws Error.
void write_at(int descriptor, const void* bytes, std::size_t count, std::uint64_t offset,
              const std::string& reported_path);
/// The values of an open file to the disk. Throws Error.
void flush_descriptor(int descriptor, const std::string& reported_path);

/// Throws Error when `path` is there but no regular file: reading a pipe would wait for ever.
void require_regular_file(const std::string& path);
/// Throws Error where something is called `path` that no file can replace: a folder, a pipe, a device, a socket.
void require_replaceable_entry(const std::string& path);
/// Whether `path` is `outer`, or lies in it. Links are followed; neither need be there.
bool lies_in(const std::string& path, const std::string& outer);
/// Throws Error when a file with a name like `path` cannot be created in its folder.
void require_writable_folder(const std::string& path);

}  // namespace fhd::io
