#pragma once
// Exceptions in OpenMP regions. One that leaves the body of a region ends the program, whatever is thrown: most often
// that there is no memory.
#include <atomic>
#include <exception>
#include <optional>

#include "recon/array/interruption.hpp"

namespace fhd {

/// Keeps the first exception of a parallel region for the thread that began it, and leaves out work once that thread's caller
/// wants to end (interruption.hpp):
///
///     ParallelFailure failure;
///     #pragma omp parallel for
///     for (...) failure.guard([&] { body that may throw });
///     failure.rethrow();
class ParallelFailure {
 public:
  /// Any thread of the region may call it.
  template <class Work>
  void guard(const Work& work) noexcept {
    if (checkpoint_.is_ended()) return;
    try {
      work();
    } catch (...) {
      if (!is_taken_.test_and_set()) failure_ = std::current_exception();
    }
  }
  /// A thread's own memory for the region; empty where making it throws: then there is nothing to be done by it.
  template <class Make>
  auto made_by(const Make& make) noexcept {
    std::optional<decltype(make())> made;
    guard([&] { made.emplace(make()); });
    return made;
  }
  /// After the region.
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
    checkpoint_.rethrow();
  }

 private:
  Checkpoint checkpoint_;
  std::atomic_flag is_taken_;
  std::exception_ptr failure_;
};

}  // namespace fhd
