// Strengths of sparse terms from the noise: Stein's unbiased risk.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "data/simulate.hpp"
#include "recon/pipeline/reconstruct.hpp"
#include "validation/metrics.hpp"
#include "validation/oracle.hpp"
#include "validation/tests/messages.hpp"

namespace fhd {
namespace {

data::SimulationSettings scan_settings(data::TrajectoryKind kind, double snr, int matrix = 64) {
  data::SimulationSettings settings;
  settings.trajectory.kind = kind;
  settings.trajectory.matrix_size = {matrix, matrix, 1};
  settings.trajectory.fov_mm = {240, 240, 5};
  settings.trajectory.undersampling = 4;
  settings.coil_count = 8;
  settings.snr = snr;
  settings.noise_samples = 65536;
  return settings;
}

Settings settings_with(std::vector<SparsePenalty> terms) {
  LeastSquares method;
  method.lambda = OfLargestEigenvalue{0};
  method.sparse = std::move(terms);
  method.iterations = sparse_iterations;
  method.tolerance = sparse_tolerance;
  Settings settings{method};
  settings.coils.whitening =
      NoiseWhitening::off;  // the simulated noise is white, and the risk is in its unit
  return settings;
}

Reconstruction made_of(const Scan& scan, std::vector<SparsePenalty> terms) {
  return reconstruct(scan, settings_with(std::move(terms)), {Device::cpu(), 1});
}

double error_of_image(const Reconstruction& made, const data::Simulation& simulation) {
  return metrics::nrmse_best_scale(converted<Complex<double>>(made.image.values),
                                   converted<Complex<double>>(simulation.band_limited.values));
}

TEST(StrengthFromNoise, error_is_within_a_tenth_of_the_best) {
  for (const auto& [kind, term, snr] :
       {std::tuple{data::TrajectoryKind::golden_radial, SparseKind::wavelet, 20.0},
        std::tuple{data::TrajectoryKind::golden_radial, SparseKind::tv, 50.0},
        std::tuple{data::TrajectoryKind::spiral, SparseKind::tv, 20.0}}) {
    const auto simulation = data::simulate(scan_settings(kind, snr));
    double best = 1;
    for (const double strength : {0.001, 0.002, 0.004, 0.008, 0.016, 0.032})
      best = std::min(best, error_of_image(made_of(simulation.scan, {{term, strength}}), simulation));
    const auto automatic = made_of(simulation.scan, {{term, {}}});
    EXPECT_LE(error_of_image(automatic, simulation), 1.1 * best) << name_of(term) << " at SNR " << snr;
    Scan unmeasured = simulation.scan;
    unmeasured.noise.reset();
    const auto estimated = made_of(unmeasured, {{term, {}}});
    EXPECT_LE(error_of_image(estimated, simulation), 1.1 * best) << "without noise readouts";
    EXPECT_TRUE(tests::tells(estimated.report.messages, "no noise readouts"));
  }
}

/// |E rho - E rho_0|^2 over the expected |noise|^2, E rho_0 the samples without noise.
double true_risk(const Image& image, const Scan& scan, const Scan& without_noise, double deviation) {
  const auto predicted = oracle::sense_forward(
      scan.trajectory.k, oracle::voxel_positions(scan.geometry.matrix_size),
      converted<Complex<double>>(image.values), converted<Complex<double>>(scan.sensitivity_maps->values));
  double square = 0;
  for (std::int64_t i = 0; i < predicted.size(); ++i)
    square += norm(predicted[i] - Complex<double>(without_noise.kspace.values[i]));
  return square / (2 * deviation * deviation * static_cast<double>(predicted.size()));
}

TEST(StrengthFromNoise, the_estimated_error_is_the_true_one) {
  auto settings = scan_settings(data::TrajectoryKind::golden_radial, 20, 48);
  const auto noisy = data::simulate(settings);
  settings.snr.reset();
  settings.noise_samples = 0;
  const Scan clean = data::simulate(settings).scan;
  const auto made = made_of(noisy.scan, {{SparseKind::tv, {}}});
  const auto& curve = made.report.strength_curve;
  const double strength = made.report.terms.at(0).strength;
  const auto point = std::find_if(curve.begin(), curve.end(),
                                  [&](const StrengthPoint& each) { return each.strength == strength; });
  ASSERT_NE(point, curve.end());
  const double truth = true_risk(made.image, noisy.scan, clean, noisy.noise_standard_deviation);
  // The estimate scatters by |noise|^2's relative 1 / sqrt(samples), and by the same of the readouts; 4 of these.
  const double samples = static_cast<double>(noisy.scan.kspace.values.size());
  EXPECT_NEAR(point->risk, truth, 4 * (1 / std::sqrt(samples) + 1 / std::sqrt(8.0 * 65536)));
  EXPECT_GT(truth, 0);
}

TEST(StrengthFromNoise, keeps_its_curve_and_takes_its_minimum) {
  const auto simulation = data::simulate(scan_settings(data::TrajectoryKind::golden_radial, 20));
  const Report report = made_of(simulation.scan, {{SparseKind::wavelet, {}}}).report;
  const auto& curve = report.strength_curve;
  ASSERT_GE(curve.size(), 4u);
  ASSERT_LE(curve.size(), 12u) << "few solutions";
  for (std::size_t i = 1; i < curve.size(); ++i) {
    EXPECT_GT(curve[i].strength, curve[i - 1].strength);
    EXPECT_GT(curve[i].data_residual, curve[i - 1].data_residual)
        << "a stronger term leaves more of the data";
  }
  const auto least = std::min_element(curve.begin(), curve.end(),
                                      [](const auto& a, const auto& b) { return a.risk < b.risk; });
  EXPECT_EQ(report.terms.at(0).strength, least->strength);
  EXPECT_GT(report.noise_residual, 0);
  EXPECT_TRUE(tests::tells(report.messages, "estimated error"));
}

TEST(StrengthFromNoise, more_noise_asks_for_more_and_a_scale_of_the_data_for_the_same) {
  const auto strength = [](const Scan& scan) {
    return made_of(scan, {{SparseKind::tv, {}}}).report.terms.at(0).strength;
  };
  Scan scan = data::simulate(scan_settings(data::TrajectoryKind::golden_radial, 40)).scan;
  const double quiet = strength(scan),
               noisy = strength(data::simulate(scan_settings(data::TrajectoryKind::golden_radial, 10)).scan);
  EXPECT_GT(noisy, quiet);
  for (auto& value : scan.kspace.values) value *= 1024;
  for (auto& value : *scan.noise) value *= 1024;
  EXPECT_NEAR(strength(scan) / quiet, 1, 1e-6);  // a power of two rounds nothing
}

TEST(StrengthFromNoise, in_a_sum_the_numbers_given_stay) {
  const auto simulation = data::simulate(scan_settings(data::TrajectoryKind::golden_radial, 20, 48));
  const Report report = made_of(simulation.scan, {{SparseKind::wavelet, 0.01}, {SparseKind::tv, {}}}).report;
  EXPECT_EQ(report.terms.at(0).strength, 0.01);
  EXPECT_GE(report.strength_curve.size(), 4u);
  // The other term does a part of the work.
  EXPECT_LT(report.terms.at(1).strength,
            made_of(simulation.scan, {{SparseKind::tv, {}}}).report.terms.at(0).strength);
}

TEST(StrengthFromNoise, takes_a_default_where_there_is_no_noise) {
  auto simulation = data::simulate(scan_settings(data::TrajectoryKind::golden_radial, 20, 32));
  simulation.scan.noise->fill_zero();
  const Report report = made_of(simulation.scan, {{SparseKind::tv, {}}}).report;
  EXPECT_TRUE(tests::tells(report.messages, "there is no noise to go by"));
  EXPECT_EQ(report.terms.at(0).strength, 0.005);
  simulation.scan.kspace.values.fill_zero();
  EXPECT_TRUE(tests::tells(made_of(simulation.scan, {{SparseKind::tv, {}}}).report.messages,
                           "there is no noise to go by"));
}

TEST(StrengthFromNoise, the_strongest_coil_decides_for_all_where_there_are_no_maps) {
  auto simulation = data::simulate(scan_settings(data::TrajectoryKind::golden_radial, 20, 32));
  simulation.scan.sensitivity_maps.reset();
  Settings settings = settings_with({{SparseKind::wavelet, {}}});
  settings.coils.maps = CoilMaps::none;
  const Report report = reconstruct(simulation.scan, settings, {Device::cpu(), 1}).report;
  EXPECT_EQ(report.terms.size(), 1u);
  EXPECT_GE(report.strength_curve.size(), 4u);
}

}  // namespace
}  // namespace fhd
