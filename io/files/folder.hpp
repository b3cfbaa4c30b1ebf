#pragma once
// A folder held open: what is made, renamed and removed in it is found by its descriptor, wherever its path leads
// meanwhile, and links in it are never followed.
#include <sys/stat.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "recon/error.hpp"

namespace fhd::io {

/// An open file, closed by whoever owns it last.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor();
  int get() const { return number_; }
  int release() { return std::exchange(number_, -1); }
  explicit operator bool() const { return number_ >= 0; }

 private:
  int number_;
};

/// Nothing more can be written, whatever it is: the disk, or a quota, is full.
class NoRoom : public Error {
 public:
  NoRoom(const Error& error, int number) : Error(error), number_(number) {}
  int number() const { return number_; }  ///< of errno

 private:
  int number_;
};

class Folder {
 public:
  /// The one that the file `path` lies in. Throws Error naming `path`.
  static std::shared_ptr<const Folder> of(const std::string& path);
  /// The folder `path` itself, which must be no link; null where there is none. Throws Error.
  static std::shared_ptr<const Folder> within(const std::string& path);
  /// The same of one in this folder.
  std::shared_ptr<const Folder> inner(const std::string& name) const;

  int get() const { return descriptor_.get(); }
  const std::string& path() const { return path_; }
  std::string path_of(const std::string& name) const;
  std::string whole_path() const;  ///< absolute, without links
  bool is_same_as(const Folder& other) const;

  /// As openat, without following a link and without waiting for a pipe; errno tells why there is none.
  Descriptor open(const std::string& name, int flags, mode_t mode = 0) const;
  /// The same of a regular file with no other name; errno is EINVAL where it is none.
  Descriptor open_file(const std::string& name, int flags, mode_t mode = 0) const;
  /// What has this name, a link itself; empty: nothing where errno is ENOENT, else it cannot be told.
  std::optional<struct stat> find(const std::string& name) const;
  std::vector<std::string> names() const;
  /// False, with errno: it could not be done.
  bool rename(const std::string& from, const std::string& to) const;
  bool remove(const std::string& name) const;
  bool make_folder(const std::string& name) const;
  bool remove_empty_folder(const std::string& name) const;
  /// With all that is in it; links are removed, not followed.
  void remove_tree(const std::string& name) const;
  /// An open file or folder is left alone by remove_abandoned(), in every process, as long as it is open. False: it is
  /// just being removed.
  static bool hold(const Descriptor& file);
  /// remove_tree(), unless somebody holds it, or it is another user's. (On file systems without locks nobody can hold it.)
  void remove_abandoned(const std::string& name) const;
  /// What was renamed and removed is so after a power failure; not of a folder whose names may not be listed, which cannot
  /// be flushed. Throws Error naming `reported_path`.
  void flush(const std::string& reported_path) const;

 private:
  Folder(Descriptor descriptor, std::string path)
      : descriptor_(std::move(descriptor)), path_(std::move(path)) {}
  static std::shared_ptr<const Folder> without_links(int place, const std::string& name,
                                                     const std::string& path);
  Descriptor descriptor_;
  std::string path_;
};

/// Whether others than this user cannot have written what is in a file: what it says is done with this user's rights.
bool is_of_this_user_alone(const struct stat& file);

/// A file that is opened by its name, to be locked, may have lost that name to another process meanwhile. Then it is opened
/// again, as often as others get on.
class NameRace {
 public:
  /// Whether an open file still has its name. Some file systems cannot tell one file from another: after a few doubts it
  /// counts as kept, as where there are no locks. Throws Error as lost().
  bool is_kept(const Folder& folder, const Descriptor& file, const std::string& name);
  /// It went before it was open, or locked. Throws Error after seconds of that.
  void lost(const std::string& path);

 private:
  int doubts_ = 0, losses_ = 0;
};

/// "scan.h5" of out/scan.h5.
std::string file_name_of(const std::string& path);
/// The text of a regular file of at most `most_bytes`, links followed; empty where it is none, or longer: a pipe or a
/// device is not waited for.
std::optional<std::string> text_of_file(const std::string& path, std::size_t most_bytes);
/// The same of what is open.
std::optional<std::string> text_of_file(const Descriptor& file, std::size_t most_bytes);

/// A name that leads to an open file, whatever has become of its path; without /proc, its path.
std::string path_of_open(const Descriptor& file, const std::string& path);

/// A name for `name` until it is complete, which nobody can foresee: hidden, so that half-written files are not taken
/// for results. The ending stays, because some libraries choose their format by it.
std::string temporary_name(const std::string& name);
/// "scan.h5" when `name` is a temporary name of scan.h5 (of this or any other process), else empty.
std::optional<std::string> final_name_of_temporary(const std::string& name);

/// Throws Error with what errno says of `path`; of a full disk or quota with what to do.
/// Of NoRoom where the disk, or a quota, is full.
[[noreturn]] void fail_by_errno(const std::string& path, std::string_view expected);
/// An open file to the disk, with all that the file system says of it. Throws Error.
void flush_to_disk(const Descriptor& file, const std::string& reported_path);

}  // namespace fhd::io
