#pragma once
// A disk that fails, or that cannot tell one file from another, for the one test program that includes this: its own
// functions are called instead of the C library's.
#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace fhd::tests {

struct Disk {
  int flushes_that_work = -1;  ///< before all others fail; -1: all work
  bool changes_inodes = false;
  int inodes_changed = 0;
};
inline Disk disk;

/// All as before at its end.
struct DiskThatFails {
  explicit DiskThatFails(const Disk& how) { disk = how; }
  ~DiskThatFails() { disk = {}; }
  DiskThatFails(const DiskThatFails&) = delete;
  DiskThatFails& operator=(const DiskThatFails&) = delete;
};

}  // namespace fhd::tests

extern "C" {

int fsync(int file) {
  static auto* const real = reinterpret_cast<int (*)(int)>(dlsym(RTLD_NEXT, "fsync"));
  auto& left = fhd::tests::disk.flushes_that_work;
  if (left < 0 || left-- > 0) return real(file);
  left = 0;
  errno = EIO;
  return -1;
}

int fstatat(int folder, const char* name, struct stat* found, int flags) noexcept {
  using FstatAt = int (*)(int, const char*, struct stat*, int);
  static auto* const real = reinterpret_cast<FstatAt>(dlsym(RTLD_NEXT, "fstatat"));
  const int status = real(folder, name, found, flags);
  if (fhd::tests::disk.changes_inodes) found->st_ino += static_cast<ino_t>(++fhd::tests::disk.inodes_changed);
  return status;
}

}  // extern "C"
