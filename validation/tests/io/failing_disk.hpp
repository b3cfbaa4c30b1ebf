#pragma once
// A disk that fails, for test programs that include this: their function is called instead of the C library's.
#include <dlfcn.h>
#include <unistd.h>

#include <cerrno>

namespace fhd::tests {

struct Disk {
  int flushes_that_work = -1;  ///< before all others fail; -1: all work
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

}  // extern "C"
