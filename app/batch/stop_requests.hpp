#pragma once
// Ctrl-C and the like, as a flag.
#include <array>
#include <csignal>
#include <vector>

namespace fhd::app {

/// While it lives, signals that ask the process to end only raise a flag.
class StopRequests {
 public:
  /// The signal that came, 0 without one; it stays when the object has gone.
  static int caught() { return signal_; }

  StopRequests() {
    for (const int each : numbers) {
      struct sigaction action {};
      sigaction(each, nullptr, &action);
      before_.push_back(action);
      if (action.sa_handler == SIG_IGN) continue;  // nohup
      action.sa_handler = [](int number) { signal_ = number; };
      action.sa_flags = 0;  // interrupts poll
      sigaction(each, &action, nullptr);
    }
  }
  ~StopRequests() {
    for (std::size_t i = 0; i < numbers.size(); ++i) sigaction(numbers[i], &before_[i], nullptr);
  }
  StopRequests(const StopRequests&) = delete;
  StopRequests& operator=(const StopRequests&) = delete;

 private:
  static inline volatile std::sig_atomic_t signal_ = 0;
  static constexpr std::array numbers{SIGHUP, SIGINT, SIGTERM};
  std::vector<struct sigaction> before_;
};

}  // namespace fhd::app
