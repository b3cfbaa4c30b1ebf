// One lambda means the same on every scan: with default settings and maps from the scan itself.
#include <gtest/gtest.h>

#include "data/simulate.hpp"
#include "recon/pipeline/reconstruct.hpp"
#include "validation/metrics.hpp"
#include "validation/tests/problems.hpp"

namespace fhd {
namespace {

Scan scan_without_maps() {
  data::SimulationSettings settings;
  settings.trajectory.matrix_size = {48, 48, 1};
  settings.trajectory.fov_mm = {240, 240, 5};
  settings.coil_count = 4;
  Scan scan = data::simulate(settings).scan;
  scan.sensitivity_maps.reset();
  return scan;
}

Array<Complex<double>> image_of(const Scan& scan) {
  return converted<Complex<double>>(reconstruct(scan, {}).image.values);
}

// The demand is 1e-3. Neither change alters the solution; single precision and the stop rule at a residual of 1e-4
// leave less than that.
constexpr double tolerance = 1e-3;

TEST(ScaleInvariance, data_times_a_thousand_give_the_image_times_a_thousand) {
  Scan scan = scan_without_maps();
  const auto once = image_of(scan);
  for (auto& value : scan.kspace.values) value *= 1000;
  EXPECT_LE(metrics::relative_l2(image_of(scan), metrics::scaled(once, Complex<double>(1000))), tolerance);
}

TEST(ScaleInvariance, samples_taken_twice_give_the_same_image) {
  const Scan scan = scan_without_maps();
  EXPECT_LE(metrics::relative_l2(image_of(tests::with_samples_twice(scan)), image_of(scan)), tolerance);
}

}  // namespace
}  // namespace fhd
