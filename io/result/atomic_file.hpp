#pragma once
// Files that appear whole or not at all: written under a temporary name in the same folder, flushed to disk,
// renamed.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fhd::io {

/// One file (or directory) to be. Until `commit_all` has renamed it, the destructor removes what was written.
class AtomicFile {
 public:
  /// Throws Error when the folder of `path` does not exist or cannot be written, or `path` is a directory.
  explicit AtomicFile(std::string path);
  /// A directory to be, already created under its temporary name. `path` must be new or an empty directory.
  static AtomicFile directory(std::string path);
  /// The same, but a directory that is there is replaced at the commit, whatever is in it then: the caller has looked.
  static AtomicFile directory_replacing(std::string path);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&& other) = delete;
  AtomicFile(const AtomicFile&) = delete;
  ~AtomicFile();

  const std::string& path() const { return path_; }
  /// Where to write until the commit.
  const std::string& temporary() const { return temporary_; }
  /// To the disk, once everything is written: what `commit_all` does for those that were not. Throws Error.
  void flush();

  friend void commit_all(std::vector<AtomicFile>& files);

 private:
  AtomicFile() = default;
  static AtomicFile begun_directory(std::string path);
  void put_in_place();
  std::string path_, temporary_;
  bool flushed_ = false, replaces_directory_ = false;
};

/// Flushes every file to disk, then renames them all. Throws Error; files that were not renamed are removed.
void commit_all(std::vector<AtomicFile>& files);

/// Removes every temporary file of this process, from any thread, and lets no other begin or be renamed: for
/// a process that is about to end.
void remove_unfinished_files();

/// "scan.h5" when `name` is a temporary name of scan.h5 (of this or any other process), else empty.
std::optional<std::string> final_name_of_temporary(const std::string& name);

/// A file that is written from its beginning to its end, every step checked; messages call it `reported_path`. All
/// throw Error. (Not atomic by itself: give it a temporary name.)
class OutputFile {
 public:
  OutputFile(const std::string& path, const std::string& reported_path);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();
  void write(const void* bytes, std::size_t count);
  /// Without it what was written may not be there.
  void close();

 private:
  std::string reported_path_;
  int descriptor_;
};

/// Writes `bytes` to `path`, checking every step; messages call it `reported_path`. Throws Error. (Not atomic
/// by itself: give it a temporary name.)
void write_bytes(const std::string& path, const void* bytes, std::size_t count,
                 const std::string& reported_path);

/// Writes one file, whole or not at all. Throws Error.
void write_atomically(const std::string& path, const void* bytes, std::size_t count);

/// Throws Error with what errno says of `path`; of a full disk or quota with what to do.
[[noreturn]] void fail_by_errno(const std::string& path, std::string_view expected);
/// Writes `count` bytes from `offset` on; messages call the file `reported_path`. Throws Error.
void write_at(int descriptor, const void* bytes, std::size_t count, std::uint64_t offset,
              const std::string& reported_path);
/// The values of an open file to the disk. Throws Error.
void flush_descriptor(int descriptor, const std::string& reported_path);

/// Throws Error when `path` is there but no regular file: reading a pipe would wait for ever.
void require_regular_file(const std::string& path);
/// Whether `path` is `outer`, or lies in it. Links are followed; neither need be there.
bool lies_in(const std::string& path, const std::string& outer);
/// Throws Error when a file with a name like `path` cannot be created in its folder.
void require_writable_folder(const std::string& path);

}  // namespace fhd::io
