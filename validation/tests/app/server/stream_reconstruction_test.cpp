// Planned memory of images.
#include "app/server/stream_reconstruction.hpp"

#include <gtest/gtest.h>

#include "validation/tests/processes.hpp"

namespace fhd::app {
namespace {

TEST(SharedMemory, an_image_waits_for_those_that_leave_too_little) {
  SharedMemory memory(100);
  auto first = memory.take(60);
  tests::WatchedThread other([&] { memory.take(50); });
  EXPECT_TRUE(other.is_waiting());
  first.reset();
  other.join();
  memory.take(1000);  // alone
}

/// Plans are made for devices that are absent, too.
TEST(PlannedMemory, of_an_image_on_a_gpu_counts_what_the_gpu_holds) {
  constexpr std::int64_t samples = 5000, coils = 8;
  Scan scan;
  scan.geometry.matrix_size = {64, 64, 1};
  scan.trajectory.k = Array<double>(Shape{3, samples});
  scan.kspace.values = Array<Complex<float>>(Shape{coils, samples});
  ChosenDevice gpu;
  gpu.device = Device::cuda(0);
  const auto settings = options_of_text("").settings;
  const auto bytes = require_memory(scan, settings, gpu, std::size_t{1} << 40);
  // At least the transform of Q and the images of all coils.
  EXPECT_GT(bytes, (128u * 128 + 8u * 64 * 64) * sizeof(Complex<float>));
  EXPECT_THROW(require_memory(scan, settings, gpu, bytes - 1), Error);
}

}  // namespace
}  // namespace fhd::app
