#include "io/result/atomic_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <set>
#include <utility>

#include "recon/error.hpp"

namespace fhd::io {
namespace {

namespace fs = std::filesystem;

std::string folder_of(const std::string& path) {
  const auto folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

/// A name beside `path` that no other process or file of this process uses; hidden, so that half-written
/// files are not taken for results. The ending stays, because some libraries choose their format by it.
std::string temporary_name(const std::string& path) {
  static std::atomic<unsigned> count{0};
  const fs::path final_path(path);
  const auto name = ".fhd-" + std::to_string(getpid()) + "-" + std::to_string(count++) + "-" +
                    final_path.filename().string();
  return (final_path.parent_path() / name).string();
}

/// Temporary names in use. Whoever holds the mutex may create, rename and remove them.
std::mutex unfinished_mutex;
std::set<std::string> unfinished;

void start(const std::string& temporary) {
  const std::lock_guard lock(unfinished_mutex);
  unfinished.insert(temporary);
}

class FileDescriptor {
 public:
  FileDescriptor(const std::string& path, int flags)
      : descriptor_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

void flush_to_disk(const std::string& path, const std::string& reported_path) {
  FileDescriptor file(path, O_RDONLY);
  if (file.get() < 0) fail_by_errno(reported_path, "a file that can be written");
  // Some file systems cannot fsync (EINVAL); there the rename is still atomic.
  if (fsync(file.get()) != 0 && errno != EINVAL)
    fail_by_errno(reported_path, "a file that can be written to its end");
}

}  // namespace

void fail_by_errno(const std::string& path, std::string_view expected) {
  const int error = errno;
  throw Error(
      path, expected, std::strerror(error),
      error == ENOSPC || error == EFBIG || error == EDQUOT ? "free some space, or write elsewhere" : "");
}

void write_at(int descriptor, const void* bytes, std::size_t count, std::uint64_t offset,
              const std::string& reported_path) {
  for (const auto* next = static_cast<const char*>(bytes); count > 0;) {
    const auto written = ::pwrite(descriptor, next, count, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail_by_errno(reported_path, "a file that can be written to its end");
    next += written;
    offset += static_cast<std::uint64_t>(written);
    count -= static_cast<std::size_t>(written);
  }
}

void flush_descriptor(int descriptor, const std::string& reported_path) {
  // Some file systems cannot fsync (EINVAL).
  if (fdatasync(descriptor) != 0 && errno != EINVAL)
    fail_by_errno(reported_path, "a file that can be written to its end");
}

void require_writable_folder(const std::string& path) {
  const auto folder = folder_of(path);
  std::error_code status;
  if (!fs::is_directory(folder, status))
    throw Error(path, "an existing folder '" + folder + "'", "none", "create it first");
  const auto probe = temporary_name(path);  // as long as the longest name that will be needed
  const std::lock_guard lock(unfinished_mutex);
  {
    const FileDescriptor file(probe, O_WRONLY | O_CREAT | O_EXCL);
    if (file.get() < 0) fail_by_errno(path, "a folder '" + folder + "' that can be written");
  }
  ::unlink(probe.c_str());
}

bool lies_in(const std::string& path, const std::string& outer) {
  const auto whole = [](const std::string& name) { return fs::weakly_canonical(fs::absolute(name)); };
  const auto own = whole(path), other = whole(outer);
  return std::mismatch(other.begin(), other.end(), own.begin(), own.end()).first == other.end();
}

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)), temporary_(temporary_name(path_)) {
  std::error_code status;
  if (fs::is_directory(path_, status))
    throw Error(path_, "the name of a file", "a directory", "choose another name");
  require_writable_folder(path_);
  start(temporary_);
}

AtomicFile AtomicFile::directory(std::string path) {
  std::error_code status;
  if (fs::exists(path, status) && !(fs::is_directory(path, status) && fs::is_empty(path, status)))
    throw Error(path, "a new or empty directory", "a file, or a directory with files",
                "choose another name, or remove it");
  return begun_directory(std::move(path));
}

AtomicFile AtomicFile::directory_replacing(std::string path) {
  std::error_code status;
  const bool is_link = fs::is_symlink(path, status);
  if (is_link && fs::is_directory(path, status)) path = fs::canonical(path).string();
  if ((is_link || fs::exists(path, status)) && !fs::is_directory(path, status))
    throw Error(path, "the name of a directory", "a file", "choose another name");
  auto result = begun_directory(std::move(path));
  result.replaces_directory_ = true;
  return result;
}

AtomicFile AtomicFile::begun_directory(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  std::error_code status;
  require_writable_folder(path);
  AtomicFile result;
  result.temporary_ = temporary_name(path);
  result.path_ = std::move(path);
  start(result.temporary_);
  if (!fs::create_directory(result.temporary_, status)) {
    errno = status.value();
    fail_by_errno(result.path_, "a directory that can be created");
  }
  return result;
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      flushed_(other.flushed_),
      replaces_directory_(other.replaces_directory_) {}

AtomicFile::~AtomicFile() {
  if (temporary_.empty()) return;
  const std::lock_guard lock(unfinished_mutex);
  std::error_code ignored;
  fs::remove_all(temporary_, ignored);
  unfinished.erase(temporary_);
}

void AtomicFile::flush() {
  std::error_code status;
  if (fs::is_directory(temporary_, status))
    for (const auto& entry : fs::directory_iterator(temporary_)) flush_to_disk(entry.path(), path_);
  flush_to_disk(temporary_, path_);
  flushed_ = true;
}

/// Of a directory that takes the place of one with files, the temporary name becomes that of the old one, which the
/// destructor removes.
void AtomicFile::put_in_place() {
  const bool is_renamed = ::rename(temporary_.c_str(), path_.c_str()) == 0;
  if (!is_renamed) {
    if (!replaces_directory_ || (errno != ENOTEMPTY && errno != EEXIST))
      fail_by_errno(path_, "a file that can be replaced");
    if (::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str(), RENAME_EXCHANGE) == 0) return;
    // A file system that cannot exchange: for an instant there is neither.
    const auto old = temporary_ + "-old";
    if (::rename(path_.c_str(), old.c_str()) != 0) fail_by_errno(path_, "a directory that can be replaced");
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
      ::rename(old.c_str(), path_.c_str());
      fail_by_errno(path_, "a directory that can be replaced");
    }
    unfinished.insert(old);
    unfinished.erase(temporary_);
    temporary_ = old;
    return;
  }
  unfinished.erase(temporary_);
  temporary_.clear();
}

void commit_all(std::vector<AtomicFile>& files) {
  for (auto& file : files)
    if (!file.flushed_) file.flush();
  {
    const std::lock_guard lock(unfinished_mutex);  // all or none, for a signal as well
    for (auto& file : files) file.put_in_place();
  }
  std::set<std::string> folders;
  for (const auto& file : files)
    if (const auto folder = folder_of(file.path_); folders.insert(folder).second)
      flush_to_disk(folder, file.path_);
}

void remove_unfinished_files() {
  unfinished_mutex.lock();
  std::error_code ignored;
  for (const auto& temporary : unfinished) {
    // Under another name first: a writer that is still at work then finds no directory to put its next file
    // in.
    const std::string doomed = temporary + "-stopped";
    fs::rename(temporary, doomed, ignored);
    fs::remove_all(doomed, ignored);
    fs::remove_all(temporary, ignored);
  }
}

void write_atomically(const std::string& path, const void* bytes, std::size_t count) {
  std::vector<AtomicFile> files;
  files.emplace_back(path);
  write_bytes(files.front().temporary(), bytes, count, path);
  commit_all(files);
}

void require_regular_file(const std::string& path) {
  std::error_code status;
  const auto found = fs::status(path, status);
  if (fs::exists(found) && !fs::is_regular_file(found))
    throw Error(path, "a file", fs::is_directory(found) ? "a directory" : "a pipe, a device or a socket",
                "save the scan as a file first");
}

std::optional<std::string> final_name_of_temporary(const std::string& name) {
  constexpr std::string_view start = ".fhd-";
  if (!name.starts_with(start)) return {};
  std::size_t at = start.size();
  for (int number = 0; number < 2; ++number) {  // of the process, and of the file
    const auto dash = name.find_first_not_of("0123456789", at);
    if (dash == std::string::npos || dash == at || name[dash] != '-') return {};
    at = dash + 1;
  }
  return name.substr(at);
}

OutputFile::OutputFile(const std::string& path, const std::string& reported_path)
    : reported_path_(reported_path),
      descriptor_(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
  if (descriptor_ < 0) fail_by_errno(reported_path_, "a file that can be created");
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void OutputFile::write(const void* bytes, std::size_t count) {
  for (const auto* next = static_cast<const char*>(bytes); count > 0;) {
    const auto written = ::write(descriptor_, next, count);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail_by_errno(reported_path_, "a file that can be written to its end");
    next += written;
    count -= static_cast<std::size_t>(written);
  }
}

void OutputFile::close() {
  if (::close(std::exchange(descriptor_, -1)) != 0)
    fail_by_errno(reported_path_, "a file that can be written to its end");
}

void write_bytes(const std::string& path, const void* bytes, std::size_t count,
                 const std::string& reported_path) {
  OutputFile file(path, reported_path);
  file.write(bytes, count);
  file.close();
}

}  // namespace fhd::io
