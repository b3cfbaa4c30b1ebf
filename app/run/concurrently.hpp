#pragma once
// Runs the same work in several threads until one of them fails or all are done.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace fhd::app {

/// Calls work(goes_on) in `count` threads, one of which is the caller's; goes_on() is false once one of them has thrown.
/// When all have ended, throws what the first threw. Works with fewer threads where the system gives no more.
template <class Work>
void run_concurrently(int count, const Work& work) {
  std::atomic<bool> failed = false;
  std::mutex mutex;
  std::exception_ptr failure;
  const auto guarded = [&] {
    try {
      work([&] { return !failed; });
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failed.exchange(true)) failure = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  others.reserve(static_cast<std::size_t>(std::max(count, 1)));
  try {
    for (int i = 1; i < count; ++i) others.emplace_back(guarded);
  } catch (const std::exception&) {  // no more threads, or no memory for one
  }
  guarded();
  for (auto& other : others) other.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace fhd::app
