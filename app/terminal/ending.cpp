#include "app/terminal/ending.hpp"

#include <semaphore.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <ios>
#include <iterator>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "app/terminal/console.hpp"
#include "app/terminal/event_lines.hpp"
#include "io/reader/end_of_memory.hpp"
#include "io/files/atomic_file.hpp"
#include "io/result/series_folder.hpp"
#include "recon/error.hpp"

namespace fhd::app {
namespace {

constexpr const char* out_of_memory =
    "out of memory; use a smaller matrix, fewer coils or --precision single";

sem_t stop_requested;
volatile std::sig_atomic_t stop_signal = 0;

void request_stop(int number) {
  stop_signal = number;
  sem_post(&stop_requested);
}

/// Where finished volumes outlive the process.
void print_unfinished() {
  if (const auto note = io::note_of_unfinished_series(); !note.empty()) print_error(note);
}

/// work(), of which nothing is left where there is no memory for it.
template <class Work>
void try_to(const Work& work) noexcept {
  try {
    work();
  } catch (const std::exception&) {
  }
}

void remove_temporaries() noexcept {
  try_to(io::remove_unfinished_files);
  try_to(io::remove_empty_series_folder);
}

/// Of what nobody has caught: it left a thread, a destructor or a parallel region.
[[noreturn]] void end_by_exception() noexcept {
  char line[512] = "unexpected failure";
  try {
    if (std::current_exception()) std::rethrow_exception(std::current_exception());
  } catch (const std::bad_alloc&) {
    std::strncpy(line, out_of_memory, sizeof line - 1);
  } catch (const std::exception& error) {
    std::strncpy(line, error.what(), sizeof line - 1);
  } catch (...) {
  }
  end_at_once(line);
}

std::atomic<bool> is_in_order = false;

/// HDF5 calls exit() where it has no memory for a table of its own.
void end_at_exit() {
  if (!is_in_order) end_at_once("a library has ended the program, most likely for want of memory");
}

struct sigaction of_crashes[3];
constexpr int crashes[3] = {SIGSEGV, SIGBUS, SIGABRT};

/// Libraries crash where they do not look for the memory that they have not got. Any other crash stays one.
void end_for_want_of_memory(int number) {
  if (io::guard::memory_was_refused) end_at_once(out_of_memory);
  for (std::size_t i = 0; i < std::size(crashes); ++i) sigaction(crashes[i], &of_crashes[i], nullptr);
  std::raise(number);
}

/// The thread that ends the process lives without the memory that it does not get; all others stay where they are.
thread_local bool is_ending_here = false;
std::atomic_flag is_ending;
/// What the end itself needs, to tell it and to look into folders.
void* kept_for_the_end = nullptr;

void watch_memory() {
  constexpr std::size_t enough = 1 << 20;
  kept_for_the_end = std::malloc(enough);
  io::guard::end_of_memory = [] {
    // Who holds off the end, which another thread has begun, does without that piece.
    if (!is_ending_here && !(is_ending.test() && io::holds_off_the_end())) end_at_once(out_of_memory);
  };
  for (std::size_t i = 0; i < std::size(crashes); ++i) {
    struct sigaction action {};
    action.sa_handler = end_for_want_of_memory;
    action.sa_flags = SA_NODEFER;
    sigaction(crashes[i], &action, &of_crashes[i]);
  }
}

void wait_for_stop() {
  while (sem_wait(&stop_requested) != 0) {
  }
  remove_temporaries();
  const int number = stop_signal;
  try_to([&] {
    print_failure(std::string("stopped: ") + strsignal(number));
    print_unfinished();
    tell_end_by_signal(number);
  });
  std::signal(number, SIG_DFL);
  std::raise(number);
  _exit(128 + number);  // the first process of a container gets no signal that it has no handler for
}

}  // namespace

/// The handler of the signals wakes a thread that does the work, because a handler may not. Signals that the caller
/// ignores (nohup) stay ignored; a write beyond a size limit is an error like a full disk. Where the system starts no
/// thread for it, signals end the process as they do by themselves.
void end_cleanly() {
  std::set_terminate(end_by_exception);
  std::atexit(end_at_exit);
  watch_memory();
  std::signal(SIGXFSZ, SIG_IGN);
  sem_init(&stop_requested, 0, 0);
  try {
    std::thread(wait_for_stop).detach();
  } catch (const std::exception&) {
    return;
  }
  for (const int number : {SIGHUP, SIGINT, SIGTERM}) {
    struct sigaction action {};
    sigaction(number, nullptr, &action);
    if (action.sa_handler == SIG_IGN) continue;
    action.sa_handler = request_stop;
    action.sa_flags = SA_RESTART;
    sigaction(number, &action, nullptr);
  }
}

void end_in_order() {
  is_in_order = true;
  io::guard::end_of_memory = nullptr;
}

void end_at_once(const char* failure) noexcept {
  if (is_ending.test_and_set())
    while (true) pause();  // another thread is at it
  is_ending_here = true;
  // The failure may have come while a lock was held that what follows waits for.
  constexpr unsigned longest_s = 2;
  std::signal(SIGALRM, [](int) { _exit(1); });
  alarm(longest_s);
  std::free(std::exchange(kept_for_the_end, nullptr));
  char line[600];
  std::snprintf(line, sizeof line, "fhd: %s", failure);
  for (char* c = line; *c != '\0'; ++c)
    if (const auto byte = static_cast<unsigned char>(*c); byte < ' ' || byte >= 0x7F) *c = ' ';
  std::fprintf(stderr, "%s\n", line);
  remove_temporaries();
  try_to([&] {
    print_unfinished();
    tell_end(1, failure);
  });
  _exit(1);
}

std::string failure_of_exception() {
  try {
    throw;
  } catch (const Error& error) {
    return error.what();
  } catch (const std::bad_alloc&) {
    return out_of_memory;
  } catch (const std::ios_base::failure& error) {
    const std::string reason = error.what();
    return "a file: expected one that can be read to its end, found" + reason.substr(reason.rfind(':') + 1);
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::resource_unavailable_try_again)
      return std::string("another thread: ") + error.what() +
             "; end other programs, or raise the limit of threads and processes (ulimit -u)";
    if (std::ferror(stdout) != 0) return "standard output: " + error.code().message();
    return std::string("unexpected failure: ") + error.what();
  } catch (const std::exception& error) {
    return std::string("unexpected failure: ") + error.what();
  }
}

int tell_failure(const std::string& failure, int status) noexcept {
  try {
    print_failure(failure);
  } catch (const std::exception&) {
    std::fprintf(stderr, "fhd: %s\n", out_of_memory);
  }
  try_to([&] {
    if (status == 1) print_unfinished();
    tell_end(status, told_line(failure));
  });
  return status;
}

}  // namespace fhd::app
