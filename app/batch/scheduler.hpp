#pragma once
// Hands out the scans of a batch to workers and follows them to their end.
#include <array>
#include <atomic>
#include <csignal>
#include <string>
#include <vector>

#include "app/batch/log.hpp"
#include "app/batch/work.hpp"

namespace fhd::app {

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

struct BatchEnd {
  std::vector<Outcome> outcomes;  ///< of the scans
  std::string stopped;            ///< why it ended early; empty when it did not
};
/// Does all scans, or stops where a signal (StopRequests) or a full disk stops it.
BatchEnd do_batch(const BatchWork& work, BatchLog& log);

}  // namespace fhd::app
