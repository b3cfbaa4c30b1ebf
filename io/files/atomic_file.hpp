#pragma once
// Files that appear whole or not at all: written under a temporary name in the same folder, flushed to disk,
// renamed. Several that belong together: io/files/file_set.hpp.
//
// A regular file of the final name is replaced, and its permissions are kept; a link is replaced, and what it leads to stays
// as it is; a folder, a pipe, a device or a socket is refused. The folder itself may be a link.
#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "io/files/folder.hpp"

namespace fhd::io {

/// A file (or directory) that is being made. The destructor removes what was written, unless it was committed.
class AtomicFile {
 public:
  /// Throws Error if the folder of `path` does not exist or cannot be written, or if `path` is no file.
  explicit AtomicFile(std::string path);
  /// Makes a file in this very folder, wherever its path leads meanwhile.
  AtomicFile(std::shared_ptr<const Folder> folder, const std::string& name);
  /// Makes a directory, which already exists under its temporary name. `path` must be new or an empty directory.
  static AtomicFile directory(std::string path);
  /// Makes a directory that replaces the one that is there, with all that is in it: the caller has looked.
  static AtomicFile directory_replacing(std::string path);
  AtomicFile(AtomicFile&& other) noexcept = default;
  AtomicFile& operator=(AtomicFile&& other) = delete;
  AtomicFile(const AtomicFile&) = delete;
  ~AtomicFile();

  const std::string& path() const { return path_; }
  /// Returns the path to write to until the commit.
  std::string temporary() const { return folder_->path_of(temporary_); }
  /// Puts the file on the disk, once everything is written; else the commit does so. Throws Error.
  void flush();
  /// Gives the file its name. Throws Error. (A directory that replaces another needs a FileSet.)
  void commit();
  /// Does the same and flushes nothing: after a loss of power, what was there, the new file, or a damaged one is there.
  void commit_unflushed();

 private:
  friend class FileSet;
  friend class CommitLog;
  AtomicFile(std::string path, bool is_directory);
  void make();
  void take_permissions();
  void keep_permissions();
  void flush_entries() const;
  void rename();
  void release();

  std::string path_, name_, temporary_;  // temporary_ is empty once the file is committed
  std::shared_ptr<const Folder> folder_;
  Descriptor descriptor_;
  mode_t usual_permissions_ = 0;  ///< of a new file of this process
  bool flushed_ = false, is_directory_ = false, replaces_directory_ = false;
};

/// A file that is written from beginning to end, every step checked; messages call it `reported_path`. Not atomic by itself.
/// All functions throw Error.
class OutputFile {
 public:
  OutputFile(const std::string& path, const std::string& reported_path);
  OutputFile(Descriptor opened, const std::string& reported_path);
  void write(const void* bytes, std::size_t count);
  void flush() { flush_to_disk(descriptor_, reported_path_); }
  /// Until then, what was written may not be there.
  void close();

 private:
  std::string reported_path_;
  Descriptor descriptor_;
};

/// Writes `bytes` to `path`, checking every step; messages call it `reported_path`. Not atomic by itself. Throws Error.
void write_bytes(const std::string& path, const void* bytes, std::size_t count,
                 const std::string& reported_path);

/// Writes one file, whole or not at all. Throws Error.
void write_atomically(AtomicFile file, const void* bytes, std::size_t count);
inline void write_atomically(const std::string& path, const void* bytes, std::size_t count) {
  write_atomically(AtomicFile(path), bytes, count);
}

/// Writes `count` bytes from `offset` on; messages call the file `reported_path`. Throws Error.
void write_at(int descriptor, const void* bytes, std::size_t count, std::uint64_t offset,
              const std::string& reported_path);
/// Puts the values of an open file on the disk. Throws Error.
void flush_descriptor(int descriptor, const std::string& reported_path);

/// Throws Error if `path` is there but no regular file: reading a pipe would wait for ever.
void require_regular_file(const std::string& path);
/// Throws Error if `path` is something that no file can replace: a folder, a pipe, a device, a socket.
void require_replaceable_entry(const std::string& path);
/// Returns whether `path` is `outer`, or lies in it. Links are followed; neither need be there.
bool lies_in(const std::string& path, const std::string& outer);
/// Throws Error if a file with a name like `path` cannot be created in its folder.
void require_writable_folder(const std::string& path);

}  // namespace fhd::io
