#pragma once
// Ends long loops early where their caller wants that, such as Python at Ctrl-C.
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <utility>

namespace fhd {

/// Says that the work was ended because its caller wanted that; its results are not complete.
struct Interrupted : std::exception {
  const char* what() const noexcept override { return "interrupted"; }
};

/// While it lives, the loops that this thread starts (those with a Checkpoint) call wants_to_end(), in this thread, once
/// every `interval`, and throw Interrupted once it has returned true. It may not throw.
class Interruptible {
 public:
  using Clock = std::chrono::steady_clock;
  explicit Interruptible(std::function<bool()> wants_to_end,
                         Clock::duration interval = std::chrono::milliseconds(50))
      : wants_to_end_(std::move(wants_to_end)),
        outer_(std::exchange(current_, this)),
        interval_(interval),
        next_(Clock::now() + interval) {}
  ~Interruptible() { current_ = outer_; }
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

 private:
  friend class Checkpoint;

  /// Asks, in the thread that made it, where it is time.
  void look() {
    if (current_ != this || Clock::now() < next_) return;
    if (wants_to_end_()) is_ended_ = true;
    next_ = Clock::now() + interval_;
  }

  static inline thread_local Interruptible* current_ = nullptr;
  std::function<bool()> wants_to_end_;
  Interruptible* outer_;
  Clock::duration interval_;
  Clock::time_point next_;
  std::atomic<bool> is_ended_ = false;
};

/// A loop that may be ended, unless a thread of a team starts it, which cannot throw. The bodies of its rounds, which take
/// milliseconds, are left out once that is so:
///
///     const Checkpoint checkpoint;
///     #pragma omp parallel for
///     for (...) { if (checkpoint.is_ended()) continue; ... }
///     checkpoint.rethrow();
class Checkpoint {
 public:
  /// Makes it in the thread that starts the loop, which may take no part in a short one: so it asks here, too.
  Checkpoint() : caller_(omp_in_parallel() ? nullptr : Interruptible::current_) { is_ended(); }
  /// Returns whether the loop is to end. Any thread of the loop may call it.
  bool is_ended() const {
    if (caller_ == nullptr) return false;
    if (!caller_->is_ended_.load(std::memory_order_relaxed)) caller_->look();
    return caller_->is_ended_.load(std::memory_order_relaxed);
  }
  /// Throws Interrupted if the loop was ended. Called after it.
  void rethrow() const {
    if (caller_ != nullptr && caller_->is_ended_) throw Interrupted();
  }

 private:
  Interruptible* caller_;
};

/// Calls body(first, end) for blocks of up to `block` of `count` things, by all threads. Throws Interrupted where the caller
/// wants to end.
template <class Body>
void for_blocks(std::int64_t count, std::int64_t block, const Body& body) {
  const Checkpoint checkpoint;
  const std::int64_t blocks = (count + block - 1) / block;
#pragma omp parallel for schedule(static) if (blocks > 1)
  for (std::int64_t i = 0; i < blocks; ++i)
    if (!checkpoint.is_ended()) body(i * block, std::min(count, (i + 1) * block));
  checkpoint.rethrow();
}

}  // namespace fhd
