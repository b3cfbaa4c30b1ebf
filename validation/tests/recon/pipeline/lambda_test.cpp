// lambda by the discrepancy principle.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "data/simulate.hpp"
#include "recon/pipeline/reconstruct.hpp"
#include "validation/tests/messages.hpp"

namespace fhd {
namespace {

/// Simulates a scan with noise readouts of the noise that is in the samples.
data::Simulation simulation(double snr) {
  data::SimulationSettings settings;
  settings.trajectory.matrix_size = {48, 48, 1};
  settings.trajectory.fov_mm = {240, 240, 5};
  settings.trajectory.kind = data::TrajectoryKind::spiral;
  settings.coil_count = 4;
  settings.snr = snr;
  data::Simulation made = data::simulate(settings);
  made.scan.noise = Array<Complex<float>>({4, 4096});
  data::add_noise(*made.scan.noise, made.noise_standard_deviation, 99);
  return made;
}

Settings automatic() { return {LeastSquares{.lambda = FromNoise{}, .iterations = 60}}; }

TEST(LambdaFromNoise, leaves_a_data_residual_that_is_the_noise) {
  for (const double snr : {3.0, 8.0}) {
    const Scan scan = simulation(snr).scan;
    const Report report = reconstruct(scan, automatic()).report;
    ASSERT_GT(report.noise_residual, 0);
    // The search stops when lambda is known within a factor of 1.3, which moves the residual by less than a
    // tenth of the logarithm of that: the noise readouts tell the noise within 1 / sqrt(4 x 4096) < 1 %.
    EXPECT_NEAR(report.data_residual / report.noise_residual, 1, 0.05);
  }
}

TEST(LambdaFromNoise, grows_with_the_noise_and_keeps_its_curve) {
  const Report quiet = reconstruct(simulation(8).scan, automatic()).report,
               noisy = reconstruct(simulation(2).scan, automatic()).report;
  EXPECT_GT(noisy.lambda, quiet.lambda);
  for (const auto* report : {&quiet, &noisy}) {
    const auto& curve = report->lambda_curve;
    ASSERT_GE(curve.size(), 3U);
    // Residuals grow and penalties shrink with lambda; 2e-3: the solver stops at 1e-4 of |E^H d|.
    for (std::size_t i = 1; i < curve.size(); ++i) {
      EXPECT_GT(curve[i].lambda, curve[i - 1].lambda);
      EXPECT_GE(curve[i].data_residual, curve[i - 1].data_residual * (1 - 2e-3));
      EXPECT_LE(curve[i].penalty, curve[i - 1].penalty * (1 + 2e-3));
    }
    EXPECT_EQ(curve.front().penalty, 1) << "of the smallest lambda";
    EXPECT_GT(curve.back().penalty, 0);
    EXPECT_LE(curve.front().data_residual, report->noise_residual);
    EXPECT_GE(curve.back().data_residual, report->noise_residual);
  }
}

TEST(LambdaFromNoise, says_when_something_other_than_noise_dominates) {
  data::Simulation made = simulation(8);
  for (auto& value : *made.scan.noise) value *= 1e-6F;
  Settings settings = automatic();
  settings.coils.whitening = NoiseWhitening::off;
  const Report report = reconstruct(made.scan, settings).report;
  EXPECT_TRUE(tests::tells(report.messages, "stays above the noise"));
  EXPECT_GT(report.lambda, 0);
}

TEST(LambdaFromNoise, takes_the_default_when_all_is_noise_or_nothing) {
  data::Simulation made = simulation(8);
  for (auto& value : *made.scan.noise) value *= 1e4F;
  Settings settings = automatic();
  settings.coils.whitening = NoiseWhitening::off;
  EXPECT_TRUE(tests::tells(reconstruct(made.scan, settings).report.messages, "stays below the noise"));
  made.scan.kspace.values.fill_zero();
  EXPECT_TRUE(tests::tells(reconstruct(made.scan, settings).report.messages, "no noise to go by"));
}

TEST(LambdaFromNoise, works_on_each_coil_of_a_scan_without_maps) {
  Scan scan = simulation(4).scan;
  scan.sensitivity_maps.reset();
  Settings settings = automatic();
  settings.coils.maps = CoilMaps::none;
  const Report report = reconstruct(scan, settings).report;
  EXPECT_GT(report.lambda, 0);
  EXPECT_GE(report.lambda_curve.size(), 3U);
}

TEST(Settings, refuse_numbers_out_of_range) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const LeastSquares& bad :
       {LeastSquares{.lambda = OfLargestEigenvalue{-1}}, LeastSquares{.lambda = OfLargestEigenvalue{nan}},
        LeastSquares{.transform = {.accuracy = 0}}, LeastSquares{.transform = {.accuracy = 0.2}},
        LeastSquares{.iterations = 0}, LeastSquares{.tolerance = 1}, LeastSquares{.tolerance = nan}})
    EXPECT_THROW(Reconstructor{Settings{bad}}, Error);
  EXPECT_THROW(validate({ConventionalGridding{.accuracy = nan}}), Error);
  EXPECT_NO_THROW(validate({}));
}

}  // namespace
}  // namespace fhd
