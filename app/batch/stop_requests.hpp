#pragma once
// Signals that ask a batch to stop.
#include <array>
#include <atomic>
#include <csignal>

namespace fhd::app {

/// While it lives, signals that ask the process to end only raise a flag.
class StopRequests {
 public:
  /// The signal that came, 0 without one; it stays when the object has gone.
  static int caught() { return signal_; }
  static bool has_come() { return signal_ != 0; }

  StopRequests() {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      sigaction(numbers[i], nullptr, &before_[i]);
      struct sigaction action = before_[i];
      if (action.sa_handler == SIG_IGN) continue;  // nohup
      action.sa_handler = [](int number) { signal_ = number; };
      action.sa_flags = 0;  // interrupts poll
      sigaction(numbers[i], &action, nullptr);
    }
  }
  ~StopRequests() {
    for (std::size_t i = 0; i < numbers.size(); ++i) sigaction(numbers[i], &before_[i], nullptr);
  }
  StopRequests(const StopRequests&) = delete;
  StopRequests& operator=(const StopRequests&) = delete;

 private:
  static inline std::atomic<int> signal_ = 0;  // threads that read files ask it, too
  static constexpr std::array numbers{SIGHUP, SIGINT, SIGTERM};
  std::array<struct sigaction, numbers.size()> before_{};
};

}  // namespace fhd::app
