// Every call of CUDA and cuFFT that fails in turn, over a small reconstruction: one Error each time, no memory lost, and
// a device on which the next reconstruction is right.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "recon/array/device_cuda.hpp"
#include "recon/error.hpp"
#include "recon/pipeline/reconstruct.hpp"
#include "validation/metrics.hpp"
#include "validation/tests/device_team.hpp"
#include "validation/tests/gpu.hpp"

namespace fhd {
namespace {

double relative_difference(const Image& image, const Image& reference) {
  return metrics::relative_l2(converted<Complex<double>>(image.values),
                              converted<Complex<double>>(reference.values));
}

class GpuFailingCalls : public tests::GpuTest {
 protected:
  /// Fails a call of `reconstruct(scan, settings)` after the other: FHD_FAIL_EVERY_CALL=all each of them, else 150 that are
  /// spread over all. An image that is made all the same differs by at most `difference`.
  static void fail_each(const Scan& scan, const Settings& settings, double difference) {
    if constexpr (built_with_cuda) {
      const auto run = [&] { return reconstruct(scan, settings, {Device::cuda()}, {}, {}).image; };
      const Image expected = run();  // plans are made and kept
      const auto used = [] { return device::memory_use(Device::cuda()).used_bytes; };
      const auto used_before = used();
      device::fail_call(std::numeric_limits<std::int64_t>::max());
      ASSERT_TRUE(tests::identical(run().values, expected.values));
      const std::int64_t count = device::checked_calls();
      const std::int64_t step =
          std::getenv("FHD_FAIL_EVERY_CALL") ? 1 : std::max<std::int64_t>(1, count / 150);
      ASSERT_GT(count, 100);
      std::int64_t failed = 0, went_on = 0;
      for (std::int64_t number = 1; number <= count; number += step) {
        device::fail_call(number);
        try {
          const Image image = run();
          ++went_on;  // where it could do without
          EXPECT_LE(relative_difference(image, expected), difference) << "call " << number;
        } catch (const Error& error) {
          ++failed;
          EXPECT_TRUE(std::string(error.what()).find("CUDA device") == 0 ||
                      std::string(error.what()).find("cuFFT") == 0)
              << number << ": " << error.what();
        }
        device::fail_call(0);
        ASSERT_NO_THROW(device::synchronize(Device::cuda())) << "call " << number;
        ASSERT_EQ(used(), used_before) << "device memory is lost by call " << number;
        ASSERT_TRUE(tests::identical(run().values, expected.values)) << "after call " << number;
      }
      EXPECT_GT(failed, went_on);
    }
  }
};

TEST_F(GpuFailingCalls, leave_a_device_on_which_direct_sums_go_on) {
  fail_each(tests::team_scan({24, 24, 1}, 3),
            {LeastSquares{.transform = {TransformKind::direct}, .iterations = 6, .tolerance = 0}}, 0);
}

TEST_F(GpuFailingCalls, leave_a_device_on_which_gridding_and_its_plans_go_on) {
  // Where the GPU finds no maps the CPU does: 1e-4 from the others at most (gpu_maps_test), once in F^H and twice in F^H F.
  constexpr double of_maps = 3e-4;
  fail_each(tests::team_scan({24, 24, 1}, 3, false),
            {LeastSquares{.transform = {TransformKind::gridded}, .iterations = 6, .tolerance = 0}}, of_maps);
}

}  // namespace
}  // namespace fhd
