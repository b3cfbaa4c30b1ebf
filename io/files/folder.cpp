#include "io/files/folder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

#include "recon/error.hpp"

namespace fhd::io {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view temporary_start = ".fhd-";
constexpr std::size_t random_digits = 16;

bool is_dots(const char* name) { return std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0; }

/// Returns the entries of an open folder.
std::vector<std::string> names_in(int folder) {
  std::vector<std::string> names;
  const int own = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const entries = own < 0 ? nullptr : ::fdopendir(own);
  if (entries == nullptr) {
    if (own >= 0) ::close(own);
    return names;
  }
  while (const dirent* entry = ::readdir(entries))
    if (!is_dots(entry->d_name)) names.emplace_back(entry->d_name);
  ::closedir(entries);
  return names;
}

/// Another thread may still be at work in the folder, so this goes on until nothing new comes.
void remove_tree_at(int folder, const std::string& name, int depth = 0) {
  constexpr int deepest = 64, most_attempts = 100;
  if (::unlinkat(folder, name.c_str(), 0) == 0 || (errno != EISDIR && errno != EPERM)) return;
  const Descriptor inner(::openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!inner || depth == deepest) return;
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    for (const auto& each : names_in(inner.get())) remove_tree_at(inner.get(), each, depth + 1);
    if (::unlinkat(folder, name.c_str(), AT_REMOVEDIR) == 0 || errno != ENOTEMPTY) return;
  }
}

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

std::shared_ptr<const Folder> Folder::without_links(int place, const std::string& name,
                                                    const std::string& path) {
  Descriptor opened(::openat(place, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!opened && errno == ENOENT) return nullptr;
  if (!opened && (errno == ELOOP || errno == ENOTDIR)) {
    struct stat found {};
    const bool is_link =
        ::fstatat(place, name.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(found.st_mode);
    throw Error(path, "a folder", is_link ? "a link" : "a file", "remove it");
  }
  if (!opened) fail_by_errno(path, "a folder that can be read");
  return std::shared_ptr<const Folder>(new Folder(std::move(opened), path));
}

std::shared_ptr<const Folder> Folder::within(const std::string& path) {
  return without_links(AT_FDCWD, path, path);
}

std::shared_ptr<const Folder> Folder::inner(const std::string& name) const {
  return without_links(get(), name, path_of(name));
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

std::vector<std::string> Folder::names() const { return names_in(get()); }

bool Folder::rename(const std::string& from, const std::string& to) const {
  return ::renameat(get(), from.c_str(), get(), to.c_str()) == 0;
}

bool Folder::remove(const std::string& name) const { return ::unlinkat(get(), name.c_str(), 0) == 0; }

bool Folder::make_folder(const std::string& name) const {
  constexpr mode_t permissions = 0777;
  return ::mkdirat(get(), name.c_str(), permissions) == 0;
}

bool Folder::remove_empty_folder(const std::string& name) const {
  return ::unlinkat(get(), name.c_str(), AT_REMOVEDIR) == 0;
}

void Folder::remove_tree(const std::string& name) const { remove_tree_at(get(), name); }

namespace {

struct flock of_whole_file(short kind) {
  struct flock whole {};
  whole.l_type = kind;
  whole.l_whence = SEEK_SET;
  return whole;
}

/// Locks an open file as a whole, as long as it is open. This is another kind of lock than flock(), by which libhdf5 locks
/// its files. Returns EAGAIN if another process has one that excludes it.
int lock_as_open_file(const Descriptor& file, short kind) {
  auto whole = of_whole_file(kind);
  return ::fcntl(file.get(), F_OFD_SETLK, &whole) == 0 ? 0 : errno == EACCES ? EAGAIN : errno;
}

}  // namespace

void Folder::hold(const Descriptor& file) { lock_as_open_file(file, F_RDLCK); }

void Folder::remove_abandoned(const std::string& name) const {
  const auto is = find(name);
  if (!is) return;
  const bool is_folder = S_ISDIR(is->st_mode);
  const auto found = open(name, is_folder ? O_RDONLY | O_DIRECTORY : O_RDWR);
  if (!found && errno == EACCES) return;  // another user's
  if (found && is_folder) {               // which cannot be opened for writing: it is asked alone
    auto whole = of_whole_file(F_WRLCK);
    if (::fcntl(found.get(), F_OFD_GETLK, &whole) == 0 && whole.l_type != F_UNLCK) return;
  }
  if (found && !is_folder && lock_as_open_file(found, F_WRLCK) == EAGAIN) return;
  remove_tree(name);
}

void Folder::flush(const std::string& reported_path) const {
  if ((::fcntl(get(), F_GETFL) & O_PATH) == 0) flush_to_disk(descriptor_, reported_path);
}

bool is_of_this_user(const Descriptor& file) {
  struct stat found {};
  return ::fstat(file.get(), &found) == 0 && S_ISREG(found.st_mode) && found.st_uid == ::geteuid();
}

bool NameRace::is_kept(const Folder& folder, const Descriptor& file, const std::string& name) {
  struct stat mine {};
  const auto named = folder.find(name);
  if (named && ::fstat(file.get(), &mine) == 0 && named->st_ino == mine.st_ino &&
      named->st_dev == mine.st_dev)
    return true;
  lost(folder.path_of(name));
  return false;
}

void NameRace::lost(const std::string& path) {
  constexpr int quick = 100, most = 5000;
  if (++losses_ > most)
    throw Error(path, "a file that can be opened, or none", "one that comes and goes",
                "choose another folder");
  if (losses_ > quick) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

std::string file_name_of(const std::string& path) { return fs::path(path).filename().string(); }

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
  std::array<unsigned char, random_digits / 2> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    fail_by_errno(name, "random numbers of the system");
  std::string result(temporary_start);
  for (const unsigned char byte : bytes)
    for (const int digit : {byte >> 4, byte & 15}) result += "0123456789abcdef"[digit];
  return result + "-" + name;
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
