// Planned memory of images, and the cache of slices.
#include "app/server/image_maker.hpp"

#include <gtest/gtest.h>

#include "app/server/slice_cache.hpp"
#include "validation/tests/processes.hpp"

namespace fhd::app {
namespace {

Scan scan_of(std::int64_t samples, std::int64_t coils = 2, int n = 8) {
  Scan scan;
  scan.geometry.matrix_size = {n, n, 1};
  scan.trajectory.k = Array<double>(Shape{3, samples});
  scan.kspace.values = Array<Complex<float>>(Shape{coils, samples});
  return scan;
}

TEST(SliceCache, those_not_used_for_longest_give_way) {
  const std::size_t one = bytes_of(scan_of(100));
  EXPECT_EQ(one, 100u * (3 * sizeof(double) + 2 * sizeof(Complex<float>)));
  SliceCache cache(2 * one);
  const auto series = [&] { return std::make_shared<SliceSeries>(scan_of(100)); };
  EXPECT_EQ(cache.add(0, series()), 0u);
  EXPECT_EQ(cache.add(1, series()), 0u);
  EXPECT_TRUE(cache.find(0));
  EXPECT_EQ(cache.add(2, series()), 1u);
  EXPECT_TRUE(cache.find(0));
  EXPECT_FALSE(cache.find(1));
  EXPECT_EQ(cache.bytes(), 2 * one);
  EXPECT_EQ(cache.add(3, std::make_shared<SliceSeries>(scan_of(1000))), 2u);  // alone, however large
  EXPECT_TRUE(cache.find(3));
}

TEST(SharedMemory, an_image_waits_for_those_that_leave_too_little) {
  SharedMemory memory(100);
  memory.enter(60);
  tests::WatchedThread other([&] {
    memory.enter(50);
    memory.leave(50);
  });
  EXPECT_TRUE(other.is_waiting());
  memory.leave(60);
  other.join();
  memory.enter(1000);  // alone
  memory.leave(1000);
}

/// Plans are made for devices that are absent, too.
TEST(PlannedMemory, of_an_image_on_a_gpu_counts_what_the_gpu_holds) {
  const SessionOptions options({}, false);
  const Scan scan = scan_of(5000, 8, 64);
  ChosenDevice gpu;
  gpu.device = Device::cuda(0);
  const auto on_cpu = planned_memory(scan, options, ChosenDevice{}),
             on_gpu = planned_memory(scan, options, gpu);
  EXPECT_EQ(on_cpu.device, 0u);
  // At least the transform of Q and the images of all coils.
  EXPECT_GT(on_gpu.device, (128u * 128 + 8u * 64 * 64) * sizeof(Complex<float>));
  EXPECT_THROW(require_memory(scan, options, gpu, on_gpu.device - 1), Error);
  EXPECT_EQ(require_memory(scan, options, gpu, std::size_t{1} << 40), std::max(on_gpu.host, on_gpu.device));
}

}  // namespace
}  // namespace fhd::app
