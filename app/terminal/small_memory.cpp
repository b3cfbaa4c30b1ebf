// A small piece of memory that the system has not got ends the process in order, instead of being refused to a library that
// may not look (io/reader/end_of_memory.hpp). Large ones, of the arrays, are refused as ever: Error tells how much was
// needed. Of programs alone, `fhd` and `fhd-reader`: these functions take the place of those of the C library, also for
// the libraries.
#include <dlfcn.h>

#include <atomic>
#include <cerrno>
#include <cstddef>

#include "io/reader/end_of_memory.hpp"
#include "io/reader/sanitizer.hpp"

#if defined(__GLIBC__) && !FHD_HAS_SANITIZER

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
}

namespace {

/// Where glibc begins to ask the system for each piece by itself (M_MMAP_THRESHOLD).
constexpr std::size_t least_large = 128 << 10;

void look_at(int error, std::size_t bytes) {
  fhd::io::guard::memory_was_refused = error == ENOMEM;
  if (error != ENOMEM || bytes >= least_large) return;
  if (const auto end = fhd::io::guard::end_of_memory.load()) end();
}

void* checked(void* found, std::size_t bytes) {
  look_at(found == nullptr && bytes > 0 ? errno : 0, bytes);
  return found;
}

/// The function that would be called without this file: glibc's, or that of a library that is loaded before the others
/// (LD_PRELOAD). The search for it may itself take memory, from glibc.
template <class Function>
class Next {
 public:
  constexpr Next(const char* name, Function* of_glibc) : name_(name), of_glibc_(of_glibc) {}
  template <class... Arguments>
  auto operator()(Arguments... arguments) {
    if (found_.load(std::memory_order_relaxed) == nullptr) {
      thread_local bool is_searching = false;
      if (is_searching) return of_glibc_(arguments...);
      is_searching = true;
      void* const found = dlsym(RTLD_NEXT, name_);
      is_searching = false;
      found_ = found != nullptr ? reinterpret_cast<Function*>(found) : of_glibc_;
    }
    return found_.load(std::memory_order_relaxed)(arguments...);
  }

 private:
  const char* name_;
  Function* of_glibc_;
  std::atomic<Function*> found_ = nullptr;
};

int take_aligned(void** data, std::size_t alignment, std::size_t bytes) {
  void* const found = __libc_memalign(alignment, bytes);
  if (found == nullptr) return ENOMEM;
  *data = found;
  return 0;
}

constinit Next next_malloc("malloc", &__libc_malloc);
constinit Next next_calloc("calloc", &__libc_calloc);
constinit Next next_realloc("realloc", &__libc_realloc);
constinit Next next_memalign("memalign", &__libc_memalign);
constinit Next next_aligned_alloc("aligned_alloc", &__libc_memalign);
constinit Next next_posix_memalign("posix_memalign", &take_aligned);

}  // namespace

extern "C" {

void* malloc(std::size_t bytes) { return checked(next_malloc(bytes), bytes); }
void* calloc(std::size_t count, std::size_t size) {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) bytes = least_large;
  return checked(next_calloc(count, size), bytes);
}
void* realloc(void* data, std::size_t bytes) { return checked(next_realloc(data, bytes), bytes); }
void* memalign(std::size_t alignment, std::size_t bytes) {
  return checked(next_memalign(alignment, bytes), bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  return checked(next_aligned_alloc(alignment, bytes), bytes);
}
int posix_memalign(void** data, std::size_t alignment, std::size_t bytes) {
  const int error = next_posix_memalign(data, alignment, bytes);
  look_at(error, bytes);
  return error;
}
}

#endif
