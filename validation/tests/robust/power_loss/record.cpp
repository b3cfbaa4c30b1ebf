// Loaded before the C library (LD_PRELOAD): writes down what a program does to the names in a folder, and what it has
// flushed to the disk, so that a test can ask what is left when the power goes at any moment
// (validation/tests/robust/power_loss/remains.hpp). FHD_POWER_FOLDER is the folder, FHD_POWER_LOG another one, for:
//
//   log     N COUNT, then COUNT lines ID TYPE PATH: all names in the folder, and its own, ".", whenever they have changed
//           F ID BLOB: a file was flushed; its content is in the file BLOB
//           D ID: a folder was flushed
//
// ID is the inode with the time of its birth, because numbers of inodes are used again.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

template <class Function>
Function real(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

using OpenAt = int (*)(int, const char*, int, ...);

std::string id_of(int folder, const char* path, int flags) {
  struct statx found {};
  if (statx(folder, path, flags, STATX_INO | STATX_BTIME | STATX_TYPE, &found) != 0) return "";
  return std::to_string(found.stx_ino) + "." + std::to_string(found.stx_btime.tv_sec) + "." +
         std::to_string(found.stx_btime.tv_nsec);
}

class Recorder {
 public:
  static Recorder& instance() {
    static Recorder recorder;
    return recorder;
  }

  /// Does what `call` does, alone, and writes down what has become of the names.
  template <class Call>
  auto names_of(const Call& call) {
    const std::lock_guard lock(mutex_);
    const auto result = call();
    const int error = errno;
    record_names();
    errno = error;
    return result;
  }

  template <class Call>
  int flush(int descriptor, const Call& call) {
    const std::lock_guard lock(mutex_);
    record_names();
    const int result = call();
    const int error = errno;
    if (result == 0 && !folder_.empty()) record_flush(descriptor);
    errno = error;
    return result;
  }

 private:
  Recorder() : folder_(variable("FHD_POWER_FOLDER")), log_(variable("FHD_POWER_LOG")) {}

  void record_names() {
    if (folder_.empty()) return;
    std::string lines;
    int count = 0;
    lines = id_of(AT_FDCWD, folder_.c_str(), 0) + " d .\n";
    ++count;
    list("", lines, count);
    if (lines == names_) return;
    names_ = lines;
    append("N " + std::to_string(count) + "\n" + lines);
  }

  void list(const std::string& inner, std::string& lines, int& count) {
    DIR* const entries = opendir((folder_ + "/" + inner).c_str());
    if (entries == nullptr) return;
    std::map<std::string, bool> found;
    while (const dirent* entry = readdir(entries))
      if (std::string name = entry->d_name; name != "." && name != "..")
        found[inner + name] = entry->d_type == DT_DIR;
    closedir(entries);
    for (const auto& [path, is_folder] : found) {
      lines += id_of(AT_FDCWD, (folder_ + "/" + path).c_str(), AT_SYMLINK_NOFOLLOW) +
               (is_folder ? " d " : " f ") + path + "\n";
      ++count;
      if (is_folder) list(path + "/", lines, count);
    }
  }

  void record_flush(int descriptor) {
    struct stat found {};
    if (fstat(descriptor, &found) != 0) return;
    const auto id = id_of(descriptor, "", AT_EMPTY_PATH);
    if (S_ISDIR(found.st_mode)) return append("D " + id + "\n");
    std::string content(static_cast<std::size_t>(found.st_size), '\0');
    const int reading = real<OpenAt>("openat")(
        AT_FDCWD, ("/proc/self/fd/" + std::to_string(descriptor)).c_str(), O_RDONLY | O_CLOEXEC);
    if (reading < 0 || read(reading, content.data(), content.size()) != static_cast<ssize_t>(content.size()))
      content = "unreadable";
    close(reading);
    const auto blob = "blob." + std::to_string(blobs_++);
    write_to(blob, O_TRUNC, content);
    append("F " + id + " " + blob + "\n");
  }

  void append(const std::string& text) { write_to("log", O_APPEND, text); }
  void write_to(const std::string& name, int flags, const std::string& text) {
    const int file = real<OpenAt>("openat")(AT_FDCWD, (log_ + "/" + name).c_str(),
                                            O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0666);
    if (file < 0 || write(file, text.data(), text.size()) != static_cast<ssize_t>(text.size())) std::abort();
    close(file);
  }

  const std::string folder_, log_;
  std::mutex mutex_;
  std::string names_;
  int blobs_ = 0;
};

/// One of the C library's own: `int NAME(parameters)`, that may change names.
#define RECORD(name, parameters, arguments)                                   \
  extern "C" int name parameters {                                            \
    static const auto original = real<int(*) parameters>(#name);              \
    return Recorder::instance().names_of([&] { return original arguments; }); \
  }

}  // namespace

RECORD(rename, (const char* from, const char* to), (from, to))
RECORD(renameat, (int a, const char* from, int b, const char* to), (a, from, b, to))
RECORD(link, (const char* from, const char* to), (from, to))
RECORD(linkat, (int a, const char* from, int b, const char* to, int flags), (a, from, b, to, flags))
RECORD(unlink, (const char* path), (path))
RECORD(unlinkat, (int folder, const char* path, int flags), (folder, path, flags))
RECORD(mkdir, (const char* path, mode_t mode), (path, mode))
RECORD(mkdirat, (int folder, const char* path, mode_t mode), (folder, path, mode))
RECORD(rmdir, (const char* path), (path))

namespace {

template <class Original, class... Place>
int recorded_open(const Original& original, int flags, va_list more, Place... place) {
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  if ((flags & O_CREAT) == 0) return original(place..., flags, mode);
  return Recorder::instance().names_of([&] { return original(place..., flags, mode); });
}

}  // namespace

#define RECORD_OPEN(name, parameters, types, ...)                       \
  extern "C" int name parameters {                                      \
    static const auto original = real<int(*) types>(#name);             \
    va_list more;                                                       \
    va_start(more, flags);                                              \
    const int file = recorded_open(original, flags, more, __VA_ARGS__); \
    va_end(more);                                                       \
    return file;                                                        \
  }

RECORD_OPEN(open, (const char* path, int flags, ...), (const char*, int, ...), path)
RECORD_OPEN(open64, (const char* path, int flags, ...), (const char*, int, ...), path)
RECORD_OPEN(openat, (int folder, const char* path, int flags, ...), (int, const char*, int, ...), folder,
            path)
RECORD_OPEN(openat64, (int folder, const char* path, int flags, ...), (int, const char*, int, ...), folder,
            path)

extern "C" int fsync(int descriptor) {
  static const auto original = real<int (*)(int)>("fsync");
  return Recorder::instance().flush(descriptor, [&] { return original(descriptor); });
}
extern "C" int fdatasync(int descriptor) {
  static const auto original = real<int (*)(int)>("fdatasync");
  return Recorder::instance().flush(descriptor, [&] { return original(descriptor); });
}
