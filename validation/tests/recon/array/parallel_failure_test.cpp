// Exceptions in OpenMP regions reach the thread that began the region.
#include "recon/array/parallel_failure.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <new>
#include <string>
#include <vector>

#include "recon/error.hpp"

namespace fhd {
namespace {

TEST(ParallelFailure, hands_out_what_one_thread_throws) {
  ParallelFailure failure;
  std::atomic<int> done = 0;
#pragma omp parallel for num_threads(4)
  for (int i = 0; i < 100; ++i)
    failure.guard([&] {
      if (i % 10 == 7) throw Error("work", "", std::to_string(i));
      ++done;
    });
  EXPECT_THROW(failure.rethrow(), Error);
  EXPECT_EQ(done, 90);
  EXPECT_NO_THROW(ParallelFailure().rethrow());
}

TEST(ParallelFailure, of_a_made_value_leaves_none) {
  ParallelFailure failure;
  const auto made = failure.made_by([]() -> std::vector<int> { throw std::bad_alloc(); });
  EXPECT_FALSE(made.has_value());
  EXPECT_THROW(failure.rethrow(), std::bad_alloc);
  ParallelFailure none;
  EXPECT_EQ(none.made_by([] { return std::vector<int>(3); })->size(), 3u);
  EXPECT_NO_THROW(none.rethrow());
}

}  // namespace
}  // namespace fhd
