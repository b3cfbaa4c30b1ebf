// Loaded before the program (LD_PRELOAD): counts calls to the system and lets one of them fail, as a machine without
// memory, threads or room on its disk would. Calls from main() on count; what the loader and constructors of libraries
// do before is theirs. The libraries' calls count as the program's own: it has to live with their failures.
#include <dirent.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
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

#include "validation/tests/robust/failing_calls/call_state.hpp"

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
}

namespace {

using fhd::tests::Call;
using fhd::tests::CallState;

CallState* state = nullptr;
bool has_begun = false;
thread_local bool is_inside __attribute__((tls_model("initial-exec"))) = false;

/// Nothing that is called here counts.
struct Inside {
  bool before = is_inside;
  Inside() { is_inside = true; }
  ~Inside() { is_inside = before; }
};

constexpr int depth = 24;

std::uint64_t hash_of_stack() {
  void* frames[depth];
  const int count = backtrace(frames, depth);
  std::uint64_t hash = 14695981039346656037u;
  for (int i = 0; i < count; ++i) hash = (hash ^ reinterpret_cast<std::uint64_t>(frames[i])) * 1099511628211u;
  return hash | 1;
}

void write_stack() {
  const char* path = std::getenv(fhd::tests::stack_variable);
  if (path == nullptr) return;
  const int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  void* frames[depth];
  backtrace_symbols_fd(frames, backtrace(frames, depth), file);
  close(file);
}

/// Whether this call fails; sets errno.
bool fails(Call call, int error) {
  if (!has_begun || is_inside) return false;
  const auto number = ++state->counts[static_cast<std::size_t>(call)];
  if (call != state->failing) return false;
  const Inside inside;
  if (state->is_recorded && number <= CallState::most_stacks) state->stacks[number - 1] = hash_of_stack();
  if (state->at == 0 || number < state->at || (number > state->at && !state->goes_on)) return false;
  if (!state->has_failed.exchange(1)) write_stack();
  if (state->kills) raise(SIGKILL);
  errno = error;
  return true;
}

/// The function that is called where there is none of this library.
template <class Function>
Function* next(Function*, const char* name) {
  const Inside inside;
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

[[gnu::constructor]] void map_state() {
  const Inside inside;
  const char* path = std::getenv(fhd::tests::state_variable);
  if (path == nullptr) return;
  const int file = open(path, O_RDWR | O_CLOEXEC);
  void* mapped = mmap(nullptr, sizeof(CallState), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (mapped == MAP_FAILED) abort();
  state = static_cast<CallState*>(mapped);
  void* frames[1];
  backtrace(frames, 1);  // loads what it needs
}

int (*main_of_program)(int, char**, char**) = nullptr;
int main_that_counts(int argc, char** argv, char** environment) {
  has_begun = state != nullptr;
  return main_of_program(argc, argv, environment);
}

/// A stream whose write failed says so afterwards.
std::size_t fail_stream(FILE* stream) {
  stream->_flags |= _IO_ERR_SEEN;
  return 0;
}

bool may_create(int flags) { return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE; }

}  // namespace

#define FORWARD(name, ...)                      \
  static auto* const real = next(&name, #name); \
  return real(__VA_ARGS__)
#define FAIL_OR_FORWARD(call, error, failure, name, ...) \
  static auto* const real = next(&name, #name);          \
  if (fails(call, error)) return failure;                \
  return real(__VA_ARGS__)

extern "C" {

int __libc_start_main(int (*main)(int, char**, char**), int argc, char** argv, void (*init)(), void (*end)(),
                      void (*end_of_loader)(), void* stack_end) {
  main_of_program = main;
  FORWARD(__libc_start_main, main_that_counts, argc, argv, init, end, end_of_loader, stack_end);
}

// --- Memory

void* malloc(std::size_t bytes) { return fails(Call::allocate, ENOMEM) ? nullptr : __libc_malloc(bytes); }
void* calloc(std::size_t count, std::size_t bytes) {
  return fails(Call::allocate, ENOMEM) ? nullptr : __libc_calloc(count, bytes);
}
void* realloc(void* data, std::size_t bytes) {
  return fails(Call::allocate, ENOMEM) ? nullptr : __libc_realloc(data, bytes);
}
void* memalign(std::size_t alignment, std::size_t bytes) {
  return fails(Call::allocate, ENOMEM) ? nullptr : __libc_memalign(alignment, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  return fails(Call::allocate, ENOMEM) ? nullptr : __libc_memalign(alignment, bytes);
}
int posix_memalign(void** data, std::size_t alignment, std::size_t bytes) {
  if (fails(Call::allocate, ENOMEM)) return ENOMEM;
  void* made = __libc_memalign(alignment, bytes);
  if (made == nullptr) return ENOMEM;
  *data = made;
  return 0;
}
void* mmap(void* at, std::size_t bytes, int protection, int flags, int file, off_t offset) {
  FAIL_OR_FORWARD(Call::map, ENOMEM, MAP_FAILED, mmap, at, bytes, protection, flags, file, offset);
}
void* mmap64(void* at, std::size_t bytes, int protection, int flags, int file, off64_t offset) {
  FAIL_OR_FORWARD(Call::map, ENOMEM, MAP_FAILED, mmap64, at, bytes, protection, flags, file, offset);
}

// --- Threads and processes

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*work)(void*), void* of_work) {
  FAIL_OR_FORWARD(Call::start_thread, EAGAIN, EAGAIN, pthread_create, thread, attributes, work, of_work);
}
pid_t fork() { FAIL_OR_FORWARD(Call::start_process, EAGAIN, -1, fork); }

// --- Files

#define MODE(last)               \
  mode_t mode = 0;               \
  if (may_create(last)) {        \
    va_list rest;                \
    va_start(rest, last);        \
    mode = va_arg(rest, mode_t); \
    va_end(rest);                \
  }
int open(const char* path, int flags, ...) {
  MODE(flags)
  FAIL_OR_FORWARD(Call::open, EMFILE, -1, open, path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  MODE(flags)
  FAIL_OR_FORWARD(Call::open, EMFILE, -1, open64, path, flags, mode);
}
int openat(int folder, const char* path, int flags, ...) {
  MODE(flags)
  FAIL_OR_FORWARD(Call::open, EMFILE, -1, openat, folder, path, flags, mode);
}
int openat64(int folder, const char* path, int flags, ...) {
  MODE(flags)
  FAIL_OR_FORWARD(Call::open, EMFILE, -1, openat64, folder, path, flags, mode);
}
FILE* fopen(const char* path, const char* mode) {
  FAIL_OR_FORWARD(Call::open, EMFILE, nullptr, fopen, path, mode);
}
FILE* fopen64(const char* path, const char* mode) {
  FAIL_OR_FORWARD(Call::open, EMFILE, nullptr, fopen64, path, mode);
}
DIR* opendir(const char* path) { FAIL_OR_FORWARD(Call::open, EMFILE, nullptr, opendir, path); }
int mkdir(const char* path, mode_t mode) noexcept {
  FAIL_OR_FORWARD(Call::make_folder, ENOSPC, -1, mkdir, path, mode);
}
int mkdirat(int folder, const char* path, mode_t mode) noexcept {
  FAIL_OR_FORWARD(Call::make_folder, ENOSPC, -1, mkdirat, folder, path, mode);
}

ssize_t read(int file, void* to, std::size_t bytes) {
  FAIL_OR_FORWARD(Call::read, EIO, -1, read, file, to, bytes);
}
ssize_t pread(int file, void* to, std::size_t bytes, off_t offset) {
  FAIL_OR_FORWARD(Call::read, EIO, -1, pread, file, to, bytes, offset);
}
ssize_t pread64(int file, void* to, std::size_t bytes, off64_t offset) {
  FAIL_OR_FORWARD(Call::read, EIO, -1, pread64, file, to, bytes, offset);
}
ssize_t process_vm_readv(pid_t process, const iovec* to, unsigned long to_count, const iovec* from,
                         unsigned long from_count, unsigned long flags) noexcept {
  FAIL_OR_FORWARD(Call::read, ENOMEM, -1, process_vm_readv, process, to, to_count, from, from_count, flags);
}
std::size_t fread(void* to, std::size_t size, std::size_t count, FILE* stream) {
  static auto* const real = next(&fread, "fread");
  return fails(Call::read, EIO) ? fail_stream(stream) : real(to, size, count, stream);
}

// What is written to standard error is how the failure is told.
ssize_t write(int file, const void* from, std::size_t bytes) {
  static auto* const real = next(&write, "write");
  return file != STDERR_FILENO && fails(Call::write, ENOSPC) ? -1 : real(file, from, bytes);
}
ssize_t writev(int file, const iovec* from, int count) {
  static auto* const real = next(&writev, "writev");
  return file != STDERR_FILENO && fails(Call::write, ENOSPC) ? -1 : real(file, from, count);
}
ssize_t pwrite(int file, const void* from, std::size_t bytes, off_t offset) {
  FAIL_OR_FORWARD(Call::write, ENOSPC, -1, pwrite, file, from, bytes, offset);
}
ssize_t pwrite64(int file, const void* from, std::size_t bytes, off64_t offset) {
  FAIL_OR_FORWARD(Call::write, ENOSPC, -1, pwrite64, file, from, bytes, offset);
}
std::size_t fwrite(const void* from, std::size_t size, std::size_t count, FILE* stream) {
  static auto* const real = next(&fwrite, "fwrite");
  return stream != stderr && fails(Call::write, ENOSPC) ? fail_stream(stream)
                                                        : real(from, size, count, stream);
}
int fflush(FILE* stream) {
  static auto* const real = next(&fflush, "fflush");
  if (stream == nullptr || stream == stderr || !fails(Call::write, ENOSPC)) return real(stream);
  fail_stream(stream);
  return EOF;
}

int fsync(int file) { FAIL_OR_FORWARD(Call::synchronize, EIO, -1, fsync, file); }
int fdatasync(int file) { FAIL_OR_FORWARD(Call::synchronize, EIO, -1, fdatasync, file); }
int rename(const char* from, const char* to) noexcept {
  FAIL_OR_FORWARD(Call::rename, EIO, -1, rename, from, to);
}
int renameat(int from_folder, const char* from, int to_folder, const char* to) noexcept {
  FAIL_OR_FORWARD(Call::rename, EIO, -1, renameat, from_folder, from, to_folder, to);
}
int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) noexcept {
  FAIL_OR_FORWARD(Call::rename, EIO, -1, renameat2, from_folder, from, to_folder, to, flags);
}
int link(const char* from, const char* to) noexcept {
  FAIL_OR_FORWARD(Call::link, EPERM, -1, link, from, to);
}
int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) noexcept {
  FAIL_OR_FORWARD(Call::link, EPERM, -1, linkat, from_folder, from, to_folder, to, flags);
}
int unlink(const char* path) noexcept { FAIL_OR_FORWARD(Call::remove_name, EIO, -1, unlink, path); }
int unlinkat(int folder, const char* path, int flags) noexcept {
  FAIL_OR_FORWARD(Call::remove_name, EIO, -1, unlinkat, folder, path, flags);
}
int rmdir(const char* path) noexcept { FAIL_OR_FORWARD(Call::remove_name, EIO, -1, rmdir, path); }
int remove(const char* path) noexcept { FAIL_OR_FORWARD(Call::remove_name, EIO, -1, remove, path); }
int flock(int file, int operation) noexcept {
  static auto* const real = next(&flock, "flock");
  return operation != LOCK_UN && fails(Call::lock, ENOLCK) ? -1 : real(file, operation);
}
int fcntl(int file, int command, ...) {
  va_list rest;
  va_start(rest, command);
  void* const last = va_arg(rest, void*);
  va_end(rest);
  static auto* const real = next(&fcntl, "fcntl");
  const bool locks = command == F_SETLK || command == F_SETLKW || command == F_GETLK ||
                     command == F_OFD_SETLK || command == F_OFD_SETLKW || command == F_OFD_GETLK;
  return locks && fails(Call::lock, ENOLCK) ? -1 : real(file, command, last);
}
int ftruncate(int file, off_t bytes) noexcept {
  FAIL_OR_FORWARD(Call::resize, ENOSPC, -1, ftruncate, file, bytes);
}
int ftruncate64(int file, off64_t bytes) noexcept {
  FAIL_OR_FORWARD(Call::resize, ENOSPC, -1, ftruncate64, file, bytes);
}
int fallocate(int file, int mode, off_t offset, off_t bytes) {
  FAIL_OR_FORWARD(Call::resize, ENOSPC, -1, fallocate, file, mode, offset, bytes);
}
int posix_fallocate(int file, off_t offset, off_t bytes) {
  FAIL_OR_FORWARD(Call::resize, ENOSPC, ENOSPC, posix_fallocate, file, offset, bytes);
}

// Closed all the same, as Linux does.
int close(int file) {
  static auto* const real = next(&close, "close");
  const bool failing = fails(Call::close, EIO);
  const int status = real(file);
  if (failing) errno = EIO;
  return failing ? -1 : status;
}
int fclose(FILE* stream) {
  static auto* const real = next(&fclose, "fclose");
  const bool failing = fails(Call::close, EIO);
  const int status = real(stream);
  if (failing) errno = EIO;
  return failing ? EOF : status;
}

}  // extern "C"
