// lambda by Stein's unbiased estimate of the error of the image.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "data/simulate.hpp"
#include "recon/pipeline/reconstruct.hpp"
#include "validation/oracle.hpp"
#include "validation/tests/messages.hpp"

namespace fhd {
namespace {

data::SimulationSettings scan_settings(double snr, data::TrajectoryKind kind, int coils) {
  data::SimulationSettings settings;
  settings.trajectory.matrix_size = {48, 48, 1};
  settings.trajectory.fov_mm = {240, 240, 5};
  settings.trajectory.kind = kind;
  settings.coil_count = coils;
  settings.snr = snr;
  settings.noise_samples = 4096;
  return settings;
}

Scan scan_of(double snr, data::TrajectoryKind kind = data::TrajectoryKind::spiral, int coils = 4) {
  return data::simulate(scan_settings(snr, kind, coils)).scan;
}

Settings automatic() {
  Settings settings{LeastSquares{.lambda = FromNoise{}}};
  settings.coils.whitening = NoiseWhitening::off;  // the noise stays in the unit of the simulation
  return settings;
}

/// A scan whose E^H E is diagonal: every place of a Cartesian k-space, seen by one coil of an uneven map. The risk of each
/// voxel is known, with e its eigenvalue, s^2 = E |n|^2 / e, w = e / (e + l_0) and q = l / (e + l):
///
///     w^2 (q^2 |rho|^2 + (1 - q)^2 s^2),    estimated as w^2 (q^2 |rho + n|^2 + s^2 |z|^2 (1 - 2 q)),
///
/// n noise of variance s^2, z of variance 1; over sum w^2 s^2 |z|^2.
class DiagonalScan {
 public:
  explicit DiagonalScan(double noise_share) {
    auto settings = scan_settings(0, data::TrajectoryKind::cartesian, 1);
    settings.snr.reset();
    settings.noise_samples = 0;
    auto made = data::simulate(settings);
    scan = std::move(made.scan);
    const auto image = converted<Complex<double>>(made.band_limited.values);
    const std::int64_t voxels = image.size(), samples = scan.kspace.sample_count();
    auto& maps = scan.sensitivity_maps->values;
    double energy = 0;
    for (std::int64_t v = 0; v < voxels; ++v) {
      const double magnitude = 0.2 + 0.8 * static_cast<double>(v % 48) / 47,
                   phase = 0.1 * static_cast<double>(v / 48);
      maps[v] = Complex<float>(Complex<double>(magnitude * std::cos(phase), magnitude * std::sin(phase)));
      eigenvalues.push_back(static_cast<double>(samples) * norm(Complex<double>(maps[v])));
      mean += eigenvalues.back() / static_cast<double>(voxels);
      squares.push_back(norm(image[v]));
      energy += squares.back();
    }
    variance = noise_share * mean * energy / static_cast<double>(voxels);
    const auto exact =
        oracle::sense_forward(scan.trajectory.k, oracle::voxel_positions(scan.geometry.matrix_size), image,
                              converted<Complex<double>>(maps));
    scan.kspace.values = converted<Complex<float>>(exact);
    scan.kspace.values = std::move(scan.kspace.values).reshaped({1, samples});
    data::add_noise(scan.kspace.values, std::sqrt(variance / 2), 7);
    scan.noise = Array<Complex<float>>({1, 65536});
    data::add_noise(*scan.noise, std::sqrt(variance / 2), 99);
  }
  struct Value {
    double risk = 0, deviation = 0;
  };
  Value at(double lambda) const {
    const double reference = 0.004 * mean;
    double noise = 0, risk = 0, square = 0;
    const auto each = [&](auto&& add) {
      for (std::size_t v = 0; v < eigenvalues.size(); ++v) {
        const double e = eigenvalues[v], w = e / (e + reference);
        add(w * w, lambda / (e + lambda), variance / e, squares[v]);
      }
    };
    each([&](double w, double q, double s, double rho) {
      noise += w * s;
      risk += w * (q * q * rho + (1 - q) * (1 - q) * s);
    });
    risk /= noise;
    each([&](double w, double q, double s, double rho) {
      square += w * w * (std::pow(q, 4) * (2 * rho * s + s * s) + std::pow(s * (1 - 2 * q - risk), 2));
    });
    return {risk, std::sqrt(square) / noise};
  }

  Scan scan;
  std::vector<double> eigenvalues, squares;
  double mean = 0, variance = 0;
};

TEST(LambdaFromNoise, estimates_the_risk_that_is_known_in_closed_form) {
  for (const Precision precision : {Precision::single_precision, Precision::double_precision})
    for (const double noise_share : {0.02, 0.2}) {
      const DiagonalScan diagonal(noise_share);
      Settings settings = automatic();
      settings.precision = precision;
      settings.outside_fov = OutsideFov::off;
      const Report report = reconstruct(diagonal.scan, settings).report;
      ASSERT_GE(report.lambda_curve.size(), 4U);
      for (const auto& point : report.lambda_curve) {
        const auto expected = diagonal.at(point.lambda * report.largest_eigenvalue);
        // The noise readouts tell the variance within 1 / sqrt(65536).
        EXPECT_NEAR(point.risk, expected.risk, 4 * (expected.deviation + 1 / std::sqrt(65536.0)))
            << point.lambda << " of the largest eigenvalue";
      }
      double least = 1;
      for (double share = 0.008; share <= 1; share *= 1.05)
        least = std::min(least, diagonal.at(share * diagonal.mean).risk);
      EXPECT_LE(diagonal.at(report.lambda).risk, 1.05 * least);
    }
}

TEST(LambdaFromNoise, grows_with_the_noise_and_is_where_its_curve_is_least) {
  const Report quiet = reconstruct(scan_of(10), automatic()).report,
               noisy = reconstruct(scan_of(2), automatic()).report;
  EXPECT_GT(noisy.lambda, quiet.lambda);
  for (const auto* report : {&quiet, &noisy}) {
    const auto& curve = report->lambda_curve;
    ASSERT_GE(curve.size(), 3U);
    for (std::size_t i = 1; i < curve.size(); ++i) {
      EXPECT_GT(curve[i].lambda, curve[i - 1].lambda);
      EXPECT_GT(curve[i].data_residual, curve[i - 1].data_residual);
    }
    const auto least = std::min_element(curve.begin(), curve.end(),
                                        [](const auto& a, const auto& b) { return a.risk < b.risk; });
    EXPECT_NEAR(report->lambda / (least->lambda * report->largest_eigenvalue), 1, 1e-6);
    EXPECT_GT(report->noise_residual, 0);
  }
}

TEST(LambdaFromNoise, finds_the_noise_of_a_scan_without_noise_readouts) {
  Scan scan = scan_of(5);
  const Report measured = reconstruct(scan, automatic()).report;
  scan.noise.reset();
  const Report found = reconstruct(scan, automatic()).report;
  // Each has some thousands of values and tells the variance within a per cent or two.
  EXPECT_NEAR(found.noise_residual / measured.noise_residual, 1, 0.05);
  EXPECT_TRUE(tests::tells(found.messages, "no noise readouts"));
}

TEST(LambdaFromNoise, stays_with_the_default_where_the_noise_is_not_known) {
  const auto expect_default = [](const Scan& scan, const std::string& words) {
    Settings settings = automatic();
    const Report report = reconstruct(scan, settings).report;
    std::get<LeastSquares>(settings.method).lambda = OfMeanEigenvalue{};
    EXPECT_NEAR(report.lambda / reconstruct(scan, settings).report.lambda, 1, 1e-9) << words;
    EXPECT_TRUE(report.lambda_curve.empty()) << words;
    EXPECT_TRUE(tests::tells(report.messages, words)) << words;
  };
  Scan scan = scan_of(8);
  for (auto& value : *scan.noise) value *= 0.1F;
  expect_default(scan, "something other than noise");
  scan.noise->fill_zero();
  expect_default(scan, "no noise to go by");
  scan.noise.reset();
  scan.kspace.values.fill_zero();
  expect_default(scan, "no noise to go by");
  Scan full = scan_of(8, data::TrajectoryKind::cartesian, 1);  // as many values as voxels
  full.noise.reset();
  expect_default(full, "do not tell the noise");
}

TEST(LambdaFromNoise, works_on_each_coil_of_a_scan_without_maps) {
  Scan scan = scan_of(4);
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
