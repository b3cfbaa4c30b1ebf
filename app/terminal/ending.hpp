#pragma once
// How the program ends: by itself, by a signal, or by an exception that nobody catches. In all cases it prints one line and
// leaves no temporary files.
#include <array>
#include <atomic>
#include <csignal>
#include <string>

namespace fhd::app {

/// Installs the handlers of signals, of uncaught exceptions and of exit(), which libraries call: each removes the temporary
/// files first. Called once, before anything else.
void end_cleanly();

/// While it lives, signals that ask the process to end only raise a flag.
class StopRequests {
 public:
  /// The signal that came, 0 without one; it stays when the object has gone.
  static int caught() { return signal_; }
  static bool has_come() { return signal_ != 0; }

  StopRequests() {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      before_[i] = std::signal(numbers[i], [](int number) { signal_ = number; });
      if (before_[i] == SIG_IGN) std::signal(numbers[i], SIG_IGN);  // nohup
    }
  }
  ~StopRequests() {
    for (std::size_t i = 0; i < numbers.size(); ++i) std::signal(numbers[i], before_[i]);
  }
  StopRequests(const StopRequests&) = delete;
  StopRequests& operator=(const StopRequests&) = delete;

 private:
  static inline std::atomic<int> signal_ = 0;
  static constexpr std::array numbers{SIGHUP, SIGINT, SIGTERM};
  std::array<void (*)(int), numbers.size()> before_{};
};

/// Prints `failure`, removes temporary files and ends the process with status 1. From any thread.
[[noreturn]] void end_at_once(const std::string& failure) noexcept;

/// Returns the message of the exception that is being handled, in one line.
std::string failure_of_exception();

/// Prints `failure` and what is unfinished, and reports the event "end". Returns `status`.
int tell_failure(const std::string& failure, int status) noexcept;

}  // namespace fhd::app
