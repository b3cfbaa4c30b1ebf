#pragma once
// Small work on one thread: where processors are busy, threads that wait for each other in every loop of a
// microsecond cost far more than they save.
#include <omp.h>

#include <cstddef>

#include "recon/array/parallel_failure.hpp"

namespace fhd {

/// While it lives, OpenMP regions that this thread starts have at most `threads` threads; 0: no limit.
class ThreadLimit {
 public:
  explicit ThreadLimit(int threads) : before_(omp_get_max_threads()) {
    if (threads > 0 && threads < before_) omp_set_num_threads(threads);
  }
  ~ThreadLimit() { omp_set_num_threads(before_); }
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;

 private:
  int before_;
};

/// work(i) for 0 <= i < count: one alone with all threads, several side by side with a thread each. Throws, when all
/// have ended, what one of them threw.
template <class Work>
void for_each_in_parallel(std::size_t count, const Work& work) {
  if (count == 1) return work(std::size_t{0});
  ParallelFailure failure;
#pragma omp parallel
  {
    const ThreadLimit limit(1);
#pragma omp for schedule(dynamic)
    for (std::size_t i = 0; i < count; ++i) failure.guard([&] { work(i); });
  }
  failure.rethrow();
}

}  // namespace fhd
