// Loaded before the program (LD_PRELOAD): counts calls that change files and lets one of them fail, as a full or broken disk
// does. Calls of libraries count as the program's own. Calls before main() do not count.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "validation/tests/robust/call_state.hpp"

namespace {

using fhd::tests::Call;
using fhd::tests::CallState;

CallState* state = nullptr;
bool has_begun = false;

/// Counts this call; returns whether it fails, with errno.
bool fails(Call call, int error) {
  if (!has_begun) return false;
  const auto number = ++state->counts[static_cast<std::size_t>(call)];
  const bool is_reached = call == state->failing && state->at > 0 &&
                          (number == state->at || (number > state->at && state->goes_on));
  if (!is_reached) return false;
  state->has_failed = 1;
  if (state->signal != 0) raise(state->signal);
  if (state->signal == SIGSTOP) return false;
  errno = error;
  return true;
}

template <class Function>
Function* next(Function*, const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

[[gnu::constructor]] void map_state() {
  const char* path = std::getenv(fhd::tests::state_variable);
  if (path == nullptr) return;
  const int file = open(path, O_RDWR | O_CLOEXEC);
  void* mapped = mmap(nullptr, sizeof(CallState), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (mapped == MAP_FAILED) abort();
  state = static_cast<CallState*>(mapped);
}

int (*main_of_program)(int, char**, char**) = nullptr;
int main_that_counts(int argc, char** argv, char** environment) {
  has_begun = state != nullptr;
  return main_of_program(argc, argv, environment);
}

bool may_create(int flags) { return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE; }

}  // namespace

extern "C" {

int __libc_start_main(int (*main)(int, char**, char**), int argc, char** argv, void (*init)(), void (*end)(),
                      void (*end_of_loader)(), void* stack_end) {
  main_of_program = main;
  static auto* const real = next(&__libc_start_main, "__libc_start_main");
  return real(main_that_counts, argc, argv, init, end, end_of_loader, stack_end);
}

/// Defines a function of the C library that fails on demand.
#define FAILING(call, error, failure, result, name, parameters, exception, ...) \
  result name parameters exception {                                            \
    static auto* const real = next(&name, #name);                               \
    return fails(Call::call, error) ? failure : real(__VA_ARGS__);              \
  }
#define MODE                     \
  mode_t mode = 0;               \
  if (may_create(flags)) {       \
    va_list rest;                \
    va_start(rest, flags);       \
    mode = va_arg(rest, mode_t); \
    va_end(rest);                \
  }
#define FAILING_OPEN(name, parameters, ...)                          \
  int name parameters {                                              \
    MODE static auto* const real = next(&name, #name);               \
    return fails(Call::open, EMFILE) ? -1 : real(__VA_ARGS__, mode); \
  }

FAILING_OPEN(open, (const char* path, int flags, ...), path, flags)
FAILING_OPEN(open64, (const char* path, int flags, ...), path, flags)
FAILING_OPEN(openat, (int folder, const char* path, int flags, ...), folder, path, flags)
FAILING_OPEN(openat64, (int folder, const char* path, int flags, ...), folder, path, flags)
FAILING(open, EMFILE, nullptr, FILE*, fopen, (const char* path, const char* mode), , path, mode)
FAILING(open, EMFILE, nullptr, FILE*, fopen64, (const char* path, const char* mode), , path, mode)
FAILING(make_folder, ENOSPC, -1, int, mkdirat, (int folder, const char* path, mode_t mode), noexcept, folder,
        path, mode)
FAILING(synchronize, EIO, -1, int, fsync, (int file), , file)
FAILING(synchronize, EIO, -1, int, fdatasync, (int file), , file)
FAILING(rename, EIO, -1, int, rename, (const char* from, const char* to), noexcept, from, to)
FAILING(rename, EIO, -1, int, renameat, (int a, const char* from, int b, const char* to), noexcept, a, from,
        b, to)
FAILING(link, EPERM, -1, int, linkat, (int a, const char* from, int b, const char* to, int flags), noexcept,
        a, from, b, to, flags)
FAILING(remove_name, EIO, -1, int, unlink, (const char* path), noexcept, path)
FAILING(remove_name, EIO, -1, int, unlinkat, (int folder, const char* path, int flags), noexcept, folder,
        path, flags)
FAILING(remove_name, EIO, -1, int, rmdir, (const char* path), noexcept, path)
FAILING(resize, ENOSPC, -1, int, ftruncate, (int file, off_t bytes), noexcept, file, bytes)
FAILING(resize, ENOSPC, -1, int, truncate, (const char* path, off_t bytes), noexcept, path, bytes)
FAILING(resize, ENOSPC, ENOSPC, int, posix_fallocate, (int file, off_t offset, off_t bytes), , file, offset,
        bytes)
FAILING(write, ENOSPC, -1, ssize_t, pwrite, (int file, const void* from, std::size_t bytes, off_t offset), ,
        file, from, bytes, offset)
FAILING(write, ENOSPC, -1, ssize_t, pwrite64, (int file, const void* from, std::size_t bytes, off64_t offset),
        , file, from, bytes, offset)

// The failure itself is printed on standard error.
ssize_t write(int file, const void* from, std::size_t bytes) {
  static auto* const real = next(&write, "write");
  return file != STDERR_FILENO && fails(Call::write, ENOSPC) ? -1 : real(file, from, bytes);
}
ssize_t writev(int file, const iovec* from, int count) {
  static auto* const real = next(&writev, "writev");
  return file != STDERR_FILENO && fails(Call::write, ENOSPC) ? -1 : real(file, from, count);
}
std::size_t fwrite(const void* from, std::size_t size, std::size_t count, FILE* stream) {
  static auto* const real = next(&fwrite, "fwrite");
  if (stream == stderr || !fails(Call::write, ENOSPC)) return real(from, size, count, stream);
  stream->_flags |= _IO_ERR_SEEN;  // what ferror() looks at
  return 0;
}
int flock(int file, int operation) noexcept {
  static auto* const real = next(&flock, "flock");
  return operation != LOCK_UN && fails(Call::lock, ENOLCK) ? -1 : real(file, operation);
}
// The file is closed all the same, as Linux does.
int close(int file) {
  static auto* const real = next(&close, "close");
  const bool failing = fails(Call::close, EIO);
  const int status = real(file);
  if (failing) errno = EIO;
  return failing ? -1 : status;
}

}  // extern "C"
