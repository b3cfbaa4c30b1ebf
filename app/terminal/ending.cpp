#include "app/terminal/ending.hpp"

#include <semaphore.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <ios>
#include <new>
#include <system_error>
#include <thread>

#include "app/terminal/console.hpp"
#include "app/terminal/event_lines.hpp"
#include "io/files/unfinished_files.hpp"
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

/// Prints where the finished volumes of an interrupted series are, if there are any.
void print_unfinished() {
  if (const auto note = io::note_of_unfinished_series(); !note.empty()) print_error(note);
}

/// Calls work() and ignores its failure: the process is about to end.
template <class Work>
void try_to(const Work& work) noexcept {
  try {
    work();
  } catch (const std::exception&) {
  }
}

void remove_temporaries() { try_to(io::remove_unfinished_files); }

/// Handles an exception that left a thread, a destructor or a parallel region.
[[noreturn]] void end_by_exception() noexcept {
  std::string failure = "unexpected failure";
  try_to([&] {
    if (std::current_exception()) failure = failure_of_exception();
  });
  end_at_once(failure);
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

/// A signal handler may do almost nothing, so it wakes a thread that does the work. Signals that the caller ignores (nohup)
/// stay ignored; a write beyond a size limit, or to a pipe that nobody reads, is an error like a full disk: a run whose lines
/// nobody reads any more writes its results. libgomp and HDF5 call exit() if they get no
/// thread or no memory.
void end_cleanly() {
  std::set_terminate(end_by_exception);
  std::atexit(remove_temporaries);
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
  sem_init(&stop_requested, 0, 0);
  try {
    std::thread(wait_for_stop).detach();
  } catch (const std::exception&) {
    return;  // without that thread, signals end the process as usual
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

void end_at_once(const std::string& failure) noexcept {
  static std::atomic_flag is_ending;
  if (is_ending.test_and_set())
    while (true) pause();  // another thread ends the process
  // The failure may have come while this thread held a lock that the following needs.
  constexpr unsigned longest_s = 2;
  std::signal(SIGALRM, [](int) { _exit(1); });
  alarm(longest_s);
  tell_failure(failure, 1);
  remove_temporaries();
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
    return "a file: expected one that can be read to its end, found " + error.code().message();
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
