#pragma once
// A folder that is held open: files in it are made, renamed and removed by its descriptor, wherever its path leads meanwhile,
// and links in it are never followed.
#include <sys/stat.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/files/descriptor.hpp"
#include "recon/error.hpp"

namespace fhd::io {

/// Thrown when the disk, or a quota, is full.
class NoRoom : public Error {
 public:
  NoRoom(const Error& error, int number) : Error(error), number_(number) {}
  int number() const { return number_; }  ///< of errno

 private:
  int number_;
};

class Folder {
 public:
  /// Opens the folder that the file `path` lies in. Throws Error naming `path`.
  static std::shared_ptr<const Folder> of(const std::string& path);
  /// Opens the folder `path` itself, which must be no link. Returns null if there is none. Throws Error.
  static std::shared_ptr<const Folder> within(const std::string& path);
  int get() const { return descriptor_.get(); }
  const std::string& path() const { return path_; }
  std::string path_of(const std::string& name) const;
  bool is_same_as(const Folder& other) const;

  /// Opens a file as openat does, without following a link and without waiting for a pipe. Sets errno on failure.
  Descriptor open(const std::string& name, int flags, mode_t mode = 0) const;
  /// Opens a regular file that has no other name; errno is EINVAL if it is none.
  Descriptor open_file(const std::string& name, int flags, mode_t mode = 0) const;
  /// Returns what has this name (a link itself). Empty: nothing if errno is ENOENT, else it cannot be told.
  std::optional<struct stat> find(const std::string& name) const;
  std::vector<std::string> names() const;
  /// These return false, with errno, if it could not be done.
  bool rename(const std::string& from, const std::string& to) const;
  bool remove(const std::string& name) const;
  /// Removes a file, or a folder with all that is in it; links are removed, not followed.
  void remove_tree(const std::string& name) const;
  /// Has remove_abandoned(), in every process, leave an open file or folder alone as long as it is open.
  static void hold(const Descriptor& file);
  /// Calls remove_tree() unless somebody holds it, or it is another user's.
  void remove_abandoned(const std::string& name) const;
  /// Puts renamed and removed names on the disk; does nothing for a folder whose names may not be listed, which cannot be
  /// flushed. Throws Error naming `reported_path`.
  void flush(const std::string& reported_path) const;

 private:
  Folder(Descriptor descriptor, std::string path)
      : descriptor_(std::move(descriptor)), path_(std::move(path)) {}
  Descriptor descriptor_;
  std::string path_;
};

/// Returns whether an open file is a regular one of this user. What others have written is not carried out.
bool is_of_this_user(const Descriptor& file);

/// Returns "scan.h5" of out/scan.h5.
std::string file_name_of(const std::string& path);
std::string without_last_slash(std::string path);
/// Returns the text of a regular file of at most `most_bytes`, links followed; empty if it is none, or longer. Does not wait
/// for a pipe or a device.
std::optional<std::string> text_of_file(const std::string& path, std::size_t most_bytes);
std::optional<std::string> text_of_file(const Descriptor& file, std::size_t most_bytes);

/// Returns a name for `name` until it is complete, which nobody can foresee: hidden, so that half-written files are not taken
/// for results, with the same ending, because some libraries choose their format by it.
std::string temporary_name(const std::string& name);
/// Returns "scan.h5" if `name` is a temporary name of scan.h5 (of any process), else nothing.
std::optional<std::string> final_name_of_temporary(const std::string& name);

/// Throws Error with what errno says of `path`: NoRoom if the disk, or a quota, is full.
[[noreturn]] void fail_by_errno(const std::string& path, std::string_view expected);
/// Puts an open file on the disk, with all that the file system says of it. Throws Error.
void flush_to_disk(const Descriptor& file, const std::string& reported_path);

}  // namespace fhd::io
