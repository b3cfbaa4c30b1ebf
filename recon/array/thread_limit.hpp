#pragma once
// Small work on one thread: where processors are busy, threads that wait for each other in every loop of a
// microsecond cost far more than they save.
#include <omp.h>

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

}  // namespace fhd
