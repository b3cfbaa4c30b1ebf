#pragma once
// Works on the blocks of something long: made in parallel, delivered in order, few of them in memory. Uses plain threads,
// because the threads of OpenMP may compute at the same time.
#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <future>
#include <utility>

namespace fhd::io {

/// Returns `threads`, or for 0 as many as OpenMP uses in the calling thread.
inline int threads_or_all(int threads) { return threads > 0 ? threads : omp_get_max_threads(); }

/// Calls deliver(make(block)) for block 0 ... count - 1: `make` on up to `threads` threads at once, `deliver` in order
/// in the calling thread. At most `threads` + 1 blocks are made and not yet delivered. The first exception of either
/// is thrown again, when no thread works any more. If the system gives no thread, the calling one works.
template <class Make, class Deliver>
void in_order(std::int64_t count, int threads, const Make& make, const Deliver& deliver) {
  std::int64_t next = 0;
  if (threads <= 1 || count <= 1) {
    while (next < count) deliver(make(next++));
    return;
  }
  std::deque<std::future<decltype(make(next))>> begun;
  const auto begin = [&] {
    begun.push_back(std::async([&make, block = next] { return make(block); }));
    ++next;
  };
  while (next < std::min<std::int64_t>(count, threads)) begin();
  while (!begun.empty()) {
    auto made = begun.front().get();
    begun.pop_front();
    if (next < count) begin();
    deliver(std::move(made));
  }
}

}  // namespace fhd::io
