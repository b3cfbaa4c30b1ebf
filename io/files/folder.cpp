#include "io/files/folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "recon/error.hpp"

namespace fhd::io {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view temporary_start = ".fhd-";
constexpr std::size_t random_digits = 16;

}  // namespace

std::shared_ptr<const Folder> Folder::of(const std::string& path) {
  auto folder = fs::path(path).parent_path().string();
  if (folder.empty()) folder = ".";
  Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Files can be made in a folder whose names may not be listed.
  if (!opened && errno == EACCES)
    opened = Descriptor(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!opened && (errno == ENOENT || errno == ENOTDIR))
    throw Error(path, "an existing folder '" + folder + "'", "none", "create it first");
  if (!opened) fail_by_errno(path, "a folder '" + folder + "' that can be opened");
  return std::shared_ptr<const Folder>(new Folder(std::move(opened), std::move(folder)));
}

std::shared_ptr<const Folder> Folder::within(const std::string& path) {
  Descriptor opened(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!opened && errno == ENOENT) return nullptr;
  std::error_code status;
  if (!opened && (errno == ELOOP || errno == ENOTDIR))
    throw Error(path, "a folder", fs::is_symlink(path, status) ? "a link" : "a file", "remove it");
  if (!opened) fail_by_errno(path, "a folder that can be read");
  return std::shared_ptr<const Folder>(new Folder(std::move(opened), path));
}

std::string Folder::path_of(const std::string& name) const {
  return path_ == "." ? name : (fs::path(path_) / name).string();
}

bool Folder::is_same_as(const Folder& other) const {
  struct stat mine {
  }, theirs{};
  return ::fstat(get(), &mine) == 0 && ::fstat(other.get(), &theirs) == 0 && mine.st_dev == theirs.st_dev &&
         mine.st_ino == theirs.st_ino;
}

Descriptor Folder::open(const std::string& name, int flags, mode_t mode) const {
  return Descriptor(
      ::openat(get(), name.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, mode));
}

Descriptor Folder::open_file(const std::string& name, int flags, mode_t mode) const {
  auto file = open(name, flags, mode);
  struct stat found {};
  if (file && (::fstat(file.get(), &found) != 0 || !S_ISREG(found.st_mode) || found.st_nlink > 1)) {
    errno = EINVAL;
    return Descriptor();
  }
  return file;
}

std::optional<struct stat> Folder::find(const std::string& name) const {
  struct stat found {};
  if (::fstatat(get(), name.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0) return {};
  return found;
}

std::vector<std::string> Folder::names() const {
  std::vector<std::string> names;
  std::error_code status;
  for (fs::directory_iterator entry(path_, status); !status && entry != fs::directory_iterator();
       entry.increment(status))
    names.push_back(entry->path().filename());
  return names;
}

bool Folder::rename(const std::string& from, const std::string& to) const {
  return ::renameat(get(), from.c_str(), get(), to.c_str()) == 0;
}

bool Folder::remove(const std::string& name) const { return ::unlinkat(get(), name.c_str(), 0) == 0; }

/// Another thread may still be at work in it, so this goes on until nothing new comes.
void Folder::remove_tree(const std::string& name) const {
  constexpr int most_attempts = 100;
  if (::unlinkat(get(), name.c_str(), 0) == 0 || (errno != EISDIR && errno != EPERM)) return;
  std::error_code status;
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    fs::remove_all(path_of(name), status);
    if (status != std::errc::directory_not_empty) return;
  }
}

namespace {

/// Asks for (F_OFD_SETLK), or after (F_OFD_GETLK), a lock of an open file as a whole, as long as it is open. This is another kind
/// of lock than flock(), by which libhdf5 locks its files. Returns whether nobody else excludes it.
bool is_free(const Descriptor& file, int command, short kind) {
  struct flock whole {};
  whole.l_type = kind;
  whole.l_whence = SEEK_SET;
  if (::fcntl(file.get(), command, &whole) != 0) return errno != EACCES && errno != EAGAIN;
  return command != F_OFD_GETLK || whole.l_type == F_UNLCK;
}

}  // namespace

void Folder::hold(const Descriptor& file) { is_free(file, F_OFD_SETLK, F_RDLCK); }

void Folder::remove_abandoned(const std::string& name) const {
  const auto is = find(name);
  if (!is) return;
  // A folder cannot be opened for writing, and so not be locked: it is asked alone.
  const bool is_folder = S_ISDIR(is->st_mode);
  const auto found = open(name, is_folder ? O_RDONLY | O_DIRECTORY : O_RDWR);
  if (!found && errno == EACCES) return;  // another user's
  if (!found || is_free(found, is_folder ? F_OFD_GETLK : F_OFD_SETLK, F_WRLCK)) remove_tree(name);
}

void Folder::flush(const std::string& reported_path) const {
  if ((::fcntl(get(), F_GETFL) & O_PATH) == 0) flush_to_disk(descriptor_, reported_path);
}

bool is_of_this_user(const Descriptor& file) {
  struct stat found {};
  return ::fstat(file.get(), &found) == 0 && S_ISREG(found.st_mode) && found.st_uid == ::geteuid();
}

std::string file_name_of(const std::string& path) { return fs::path(path).filename().string(); }

std::string without_last_slash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

std::optional<std::string> text_of_file(const Descriptor& file, std::size_t most_bytes) {
  struct stat found {};
  if (!file || ::fstat(file.get(), &found) != 0 || !S_ISREG(found.st_mode) ||
      static_cast<std::uintmax_t>(found.st_size) > most_bytes)
    return {};
  std::string text(static_cast<std::size_t>(found.st_size), '\0');
  const auto get = [&](char* to, std::size_t left) {
    return ::pread(file.get(), to, left, static_cast<off_t>(to - text.data()));
  };
  if (!move_all(text.data(), text.size(), get)) return {};  // it is being cut
  return text;
}

std::optional<std::string> text_of_file(const std::string& path, std::size_t most_bytes) {
  return text_of_file(Descriptor(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)),
                      most_bytes);
}

std::string temporary_name(const std::string& name) {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != sizeof number)
    fail_by_errno(name, "random numbers of the system");
  return fmt::format("{}{:0{}x}-{}", temporary_start, number, random_digits, name);
}

std::optional<std::string> final_name_of_temporary(const std::string& name) {
  if (!name.starts_with(temporary_start)) return {};
  const auto dash = name.find_first_not_of("0123456789abcdef", temporary_start.size());
  if (dash != temporary_start.size() + random_digits || name[dash] != '-') return {};
  return name.substr(dash + 1);
}

void fail_by_errno(const std::string& path, std::string_view expected) {
  const int error = errno;
  const bool is_full = error == ENOSPC || error == EDQUOT;
  const Error told(path, expected, std::strerror(error),
                   is_full || error == EFBIG ? "free some space, or write elsewhere"
                   : error == EACCES         ? "ask its owner for the permission, or choose another place"
                                             : "");
  if (is_full) throw NoRoom(told, error);
  throw told;
}

void flush_to_disk(const Descriptor& file, const std::string& reported_path) {
  // Some file systems cannot fsync (EINVAL); a rename is still atomic.
  if (::fsync(file.get()) != 0 && errno != EINVAL)
    fail_by_errno(reported_path, "a file that can be written to its end");
}

}  // namespace fhd::io
