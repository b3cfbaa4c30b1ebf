#include "io/files/atomic_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "io/files/input_file.hpp"
#include "io/files/unfinished_files.hpp"
#include "recon/error.hpp"

namespace fhd::io {
namespace {

namespace fs = std::filesystem;

constexpr mode_t permissions = 0777;
constexpr auto writable = "a file that can be written to its end";

}  // namespace

void write_at(int descriptor, const void* bytes, std::size_t count, std::uint64_t offset,
              const std::string& reported_path) {
  const auto* const begin = static_cast<const char*>(bytes);
  const auto put = [&](const char* from, std::size_t left) {
    return ::pwrite(descriptor, from, left, static_cast<off_t>(offset) + (from - begin));
  };
  if (!move_all(begin, count, put)) fail_by_errno(reported_path, writable);
}

void flush_descriptor(int descriptor, const std::string& reported_path) {
  // Some file systems cannot fsync (EINVAL).
  if (fdatasync(descriptor) != 0 && errno != EINVAL) fail_by_errno(reported_path, writable);
}

void require_writable_folder(const std::string& path) {
  const auto folder = Folder::of(path);
  const auto probe = temporary_name(file_name_of(path));  // as long as the longest name that will be needed
  const NoEndNow not_yet;
  if (!folder->open(probe, O_WRONLY | O_CREAT | O_EXCL, 0600))
    fail_by_errno(path, "a folder '" + folder->path() + "' that can be written");
  folder->remove(probe);
}

bool lies_in(const std::string& path, const std::string& outer) {
  const auto whole = [](const std::string& name) {
    std::error_code status;
    const auto from_root = fs::absolute(name, status);
    const auto found = fs::weakly_canonical(from_root, status);
    return status ? from_root.lexically_normal() : found;
  };
  const auto own = whole(path), other = whole(outer);
  return std::mismatch(other.begin(), other.end(), own.begin(), own.end()).first == other.end();
}

void require_replaceable_entry(const std::string& path) {
  std::error_code status;
  if (fs::is_directory(path, status))
    throw Error(path, "the name of a file", "a directory", "choose another name");
  const auto found = fs::symlink_status(path, status);
  if (fs::exists(found) && !fs::is_regular_file(found) && !fs::is_symlink(found))
    throw Error(path, "the name of a file", "a pipe, a device or a socket", "choose another name");
}

AtomicFile::AtomicFile(std::string path) : AtomicFile(std::move(path), false) {
  require_replaceable_entry(path_);
  make();
}

AtomicFile::AtomicFile(std::shared_ptr<const Folder> folder, const std::string& name)
    : path_(folder->path_of(name)), name_(name), folder_(std::move(folder)) {
  require_replaceable_entry(path_);
  make();
}

AtomicFile::AtomicFile(std::string path, bool is_directory)
    : path_(is_directory ? without_last_slash(std::move(path)) : std::move(path)),
      name_(file_name_of(path_)),
      folder_(Folder::of(path_)),
      is_directory_(is_directory) {}

AtomicFile AtomicFile::directory(std::string path) {
  std::error_code status;
  if (fs::exists(path, status) && !(fs::is_directory(path, status) && fs::is_empty(path, status)))
    throw Error(path, "a new or empty directory", "a file, or a directory with files",
                "choose another name, or remove it");
  AtomicFile result(std::move(path), true);
  result.make();
  return result;
}

AtomicFile AtomicFile::directory_replacing(std::string path) {
  std::error_code status;
  const bool is_link = fs::is_symlink(path, status);
  if (is_link && fs::is_directory(path, status)) {
    const auto whole = fs::canonical(path, status);
    if (status) throw Error(path, "a directory that can be replaced", status.message());
    path = whole.string();
  }
  if ((is_link || fs::exists(path, status)) && !fs::is_directory(path, status))
    throw Error(path, "the name of a directory", "a file", "choose another name");
  AtomicFile result(std::move(path), true);
  result.replaces_directory_ = true;
  result.make();
  return result;
}

/// Creates it under a name of its own. Nobody else may look into a directory before it is complete.
void AtomicFile::make() {
  const NoEndNow not_yet;
  const auto temporary = temporary_name(name_);
  if (is_directory_ && ::mkdirat(folder_->get(), temporary.c_str(), permissions) != 0)
    fail_by_errno(path_, "a directory that can be created");
  descriptor_ = is_directory_ ? folder_->open(temporary, O_RDONLY | O_DIRECTORY)
                              : folder_->open(temporary, O_RDWR | O_CREAT | O_EXCL, 0666);
  if (!descriptor_) {
    const int error = errno;
    if (is_directory_) folder_->remove_tree(temporary);
    errno = error;
    fail_by_errno(path_, "a folder '" + folder_->path() + "' that can be written");
  }
  Folder::hold(descriptor_);
  temporary_ = temporary;
  add_unfinished(folder_, temporary_);
  take_permissions();
}

/// While the file is written, it is no more open to others than in the end.
void AtomicFile::take_permissions() {
  struct stat mine {};
  if (::fstat(descriptor_.get(), &mine) != 0) fail_by_errno(path_, "a file that can be created");
  usual_permissions_ = mine.st_mode & permissions;
  const auto there = folder_->find(name_);
  mode_t own = is_directory_ ? 0 : usual_permissions_;
  if (there && S_ISREG(there->st_mode)) own &= there->st_mode;
  own |= is_directory_ ? S_IRWXU : S_IRUSR | S_IWUSR;
  if (own != usual_permissions_) static_cast<void>(!::fchmod(descriptor_.get(), own));
}

/// Gives it the permissions of the file that it replaces; of a link none. If the group cannot be kept, the group may do no
/// more than others.
void AtomicFile::keep_permissions() {
  auto own = usual_permissions_;
  const auto there = folder_->find(name_);
  struct stat mine {};
  if (::fstat(descriptor_.get(), &mine) != 0) fail_by_errno(path_, "a file that can be replaced");
  if (there && !S_ISLNK(there->st_mode) &&
      !(is_directory_ ? S_ISDIR(there->st_mode) : S_ISREG(there->st_mode)))
    throw Error(path_, "what was there before", "something else that no result can replace",
                "choose another name");
  if (there && !S_ISLNK(there->st_mode)) {
    own = there->st_mode & permissions;
    if (there->st_gid != mine.st_gid &&
        ::fchown(descriptor_.get(), static_cast<uid_t>(-1), there->st_gid) != 0)
      own = (own & ~mode_t{070}) | (own & (own & mode_t{07}) << 3);
  }
  // File systems without permissions cannot keep any.
  if (own != (mine.st_mode & permissions)) static_cast<void>(!::fchmod(descriptor_.get(), own));
}

AtomicFile::~AtomicFile() {
  if (temporary_.empty() || !folder_) return;  // committed, or moved
  const NoEndNow not_yet;
  folder_->remove_tree(temporary_);
  end_unfinished(folder_, temporary_);
}

/// Flushes the files of a directory.
void AtomicFile::flush_entries() const {
  constexpr auto expected = "a directory whose files can be brought to the disk";
  std::error_code status;
  fs::directory_iterator entry(temporary(), status);
  for (; !status && entry != fs::directory_iterator(); entry.increment(status)) {
    const auto name = entry->path().filename();
    const Descriptor file(::openat(descriptor_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!file) fail_by_errno(path_, expected);
    flush_to_disk(file, path_);
  }
  errno = status.value();
  if (status) fail_by_errno(path_, expected);
}

void AtomicFile::flush() {
  if (is_directory_) flush_entries();
  flush_to_disk(descriptor_, path_);
  flushed_ = true;
}

void AtomicFile::rename() {
  const NoEndNow not_yet;
  if (!folder_->rename(temporary_, name_)) fail_by_errno(path_, "a file that can be replaced");
  release();
}

/// Leaves the temporary file to whoever gives it its name.
void AtomicFile::release() {
  end_unfinished(folder_, temporary_);
  temporary_.clear();
}

void AtomicFile::commit_unflushed() {
  if (replaces_directory_) throw Error(path_, "a file, or a new directory", "one that replaces another");
  keep_permissions();
  rename();
}

void AtomicFile::commit() {
  if (!flushed_) flush();
  commit_unflushed();
  folder_->flush(path_);
}

void write_atomically(AtomicFile file, const void* bytes, std::size_t count) {
  write_bytes(file.temporary(), bytes, count, file.path());
  file.commit();
}

void require_regular_file(const std::string& path) {
  require_reachable(path);
  std::error_code status;
  const auto found = fs::status(path, status);
  if (fs::exists(found) && !fs::is_regular_file(found))
    throw Error(path, "a file", fs::is_directory(found) ? "a directory" : "a pipe, a device or a socket",
                "save the scan as a file first");
}

OutputFile::OutputFile(const std::string& path, const std::string& reported_path)
    : OutputFile(Descriptor(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)),
                 reported_path) {}

OutputFile::OutputFile(Descriptor opened, const std::string& reported_path)
    : reported_path_(reported_path), descriptor_(std::move(opened)) {
  if (!descriptor_) fail_by_errno(reported_path_, "a file that can be created");
}

void OutputFile::write(const void* bytes, std::size_t count) {
  const auto put = [&](const char* from, std::size_t left) { return ::write(descriptor_.get(), from, left); };
  if (!move_all(static_cast<const char*>(bytes), count, put)) fail_by_errno(reported_path_, writable);
}

void OutputFile::close() {
  if (::close(descriptor_.release()) != 0) fail_by_errno(reported_path_, writable);
}

void write_bytes(const std::string& path, const void* bytes, std::size_t count,
                 const std::string& reported_path) {
  OutputFile file(path, reported_path);
  file.write(bytes, count);
  file.close();
}

}  // namespace fhd::io
