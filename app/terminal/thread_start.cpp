// Threads that the system does not start. Of the program alone: these functions take the place of those of the C
// library and of GCC's OpenMP, also for the libraries that it opens.
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "app/terminal/ending.hpp"
#include "io/reader/sanitizer.hpp"

#if !FHD_HAS_SANITIZER
namespace {

bool is_openblas(const void* caller) {
  Dl_info found;
  return dladdr(caller, &found) != 0 && found.dli_fname != nullptr &&
         std::strstr(found.dli_fname, "openblas");
}

}  // namespace

extern "C" {

/// Once more, a few times, where the system has no thread just now; where that was in vain nothing is waited for again.
/// OpenBLAS raises SIGINT then, or waits for ever for the thread that it has not got: it is not told.
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*work)(void*), void* of_work) {
  static auto* const start = reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  static std::atomic<bool> was_in_vain = false;
  constexpr useconds_t longest_us = 100'000;
  for (useconds_t wait_us = 1000;; wait_us *= 2) {
    const int error = start(thread, attributes, work, of_work);
    if (error != EAGAIN) return error;
    if (wait_us > longest_us) was_in_vain = true;
    if (!was_in_vain) {
      usleep(wait_us);
      continue;
    }
    if (is_openblas(__builtin_return_address(0)))
      fhd::app::end_at_once(
          "another thread: the system starts no more; end other programs, or raise the limit "
          "of threads and processes (ulimit -u)");
    return error;
  }
}
}
#endif

extern "C" {

/// What libgomp (linked in: CMakeLists.txt) calls where it cannot go on, in place of its gomp_fatal, which would leave
/// temporary files: no thread for a team, no memory for its tables.
[[noreturn]] void __wrap_gomp_fatal(const char* format, ...) {
  char line[256] = "OpenMP: ";
  constexpr int begin = 8;
  va_list values;
  va_start(values, format);
  const int length = std::vsnprintf(line + begin, sizeof line - begin, format, values);
  va_end(values);
  if (length >= 0 && length < 180)
    std::snprintf(line + begin + length, sizeof line - static_cast<std::size_t>(begin + length), "%s",
                  "; use fewer --threads, or raise the limits (ulimit -u, -v)");
  fhd::app::end_at_once(line);
}
}
