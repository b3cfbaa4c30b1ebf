// Noise covariance and whitening: against noise of a known covariance, from noise samples and from the edge
// of k-space.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "data/simulate.hpp"
#include "recon/coils/noise.hpp"
#include "recon/pipeline/reconstruct.hpp"
#include "validation/metrics.hpp"
#include "validation/tests/io/io_scans.hpp"
#include "validation/tests/problems.hpp"

namespace {

using namespace fhd;
using io::error_of;
using tests::random_values;

/// Noise of unit complex variance mixed by `mixing` [coil][coil].
Array<Complex<float>> mixed_noise(const Array<Complex<double>>& mixing, std::int64_t samples, unsigned seed) {
  auto noise = random_values<float>({mixing.extent(1), samples}, seed);
  for (auto& n : noise) n *= std::sqrt(0.5f);
  return apply_mixing(mixing, noise);
}

/// Random, with coils of very different gain: a condition number of the covariance of about 1e4.
Array<Complex<double>> random_mixing(std::int64_t coils, unsigned seed) {
  auto mixing = converted<Complex<double>>(random_values<float>({coils, coils}, seed));
  for (std::int64_t i = 0; i < mixing.size(); ++i)
    mixing[i] *= std::pow(10.0, static_cast<double>(i / coils % 3) - 1);
  return mixing;
}

/// max |C_ij / variance - delta_ij|.
double distance_from_white(const NoiseCovariance& covariance, double variance) {
  const std::int64_t coils = covariance.values.extent(0);
  double largest = 0;
  for (std::int64_t i = 0; i < coils; ++i)
    for (std::int64_t j = 0; j < coils; ++j) {
      const auto expected = Complex<double>(i == j ? 1 : 0);
      const double distance = abs((1 / variance) * covariance.values[i * coils + j] - expected);
      if (!(distance <= largest)) largest = distance;
    }
  return largest;
}

TEST(NoiseCovariance, equals_that_of_the_mixing) {
  const std::int64_t coils = 6, samples = 20000;
  const auto mixing = random_mixing(coils, 1);
  const auto covariance = noise_covariance(mixed_noise(mixing, samples, 2));
  double largest = 0;
  for (std::int64_t i = 0; i < coils; ++i)
    for (std::int64_t j = 0; j < coils; ++j) {
      Complex<double> expected;
      double vi = 0, vj = 0;
      for (std::int64_t k = 0; k < coils; ++k) {
        expected += mixing[i * coils + k] * conj(mixing[j * coils + k]);
        vi += norm(mixing[i * coils + k]), vj += norm(mixing[j * coils + k]);
      }
      largest = std::max(largest, abs(covariance.values[i * coils + j] - expected) / std::sqrt(vi * vj));
    }
  // The standard deviation of an element is sqrt(v_i v_j / samples); 5 of them.
  EXPECT_LE(largest, 5 / std::sqrt(samples));
}

TEST(NoiseCovariance, of_values_far_from_1_is_that_of_the_same_in_another_unit) {
  const auto noise = mixed_noise(random_mixing(3, 1), 500, 2);
  const auto plain = noise_covariance(noise);
  for (const int exponent : {-100, 100}) {  // 1e-30 and 1e30: squares are beyond single precision
    auto scaled = noise;
    for (auto& value : scaled) value = {std::ldexp(value.re, exponent), std::ldexp(value.im, exponent)};
    const auto covariance = noise_covariance(scaled);
    for (std::int64_t i = 0; i < covariance.values.size(); ++i)
      EXPECT_LE(abs(std::ldexp(1.0, -2 * exponent) * covariance.values[i] - plain.values[i]),
                1e-5 * abs(plain.values[i]));  // sums of products in single precision
  }
}

TEST(Whitening, makes_other_noise_of_the_same_coils_white) {
  const std::int64_t coils = 12, samples = 10000;
  const auto mixing = random_mixing(coils, 3);
  const auto white = whitening(noise_covariance(mixed_noise(mixing, samples, 4)));
  EXPECT_TRUE(white.decorrelates);
  const auto after = noise_covariance(apply_mixing(white.matrix, mixed_noise(mixing, samples, 5)));
  // Both estimates err by 1 / sqrt(samples) per element, relative to the variance; 5 standard deviations of
  // the two.
  const double distance = distance_from_white(after, std::pow(white.standard_deviation, 2));
  EXPECT_LE(distance, 5 * std::sqrt(2.0 / samples));
}

TEST(Whitening, makes_the_noise_that_it_comes_from_exactly_white_and_keeps_its_mean_variance) {
  const auto mixing = random_mixing(8, 6);
  const auto noise = mixed_noise(mixing, 500, 7);
  const auto covariance = noise_covariance(noise);
  const auto white = whitening(covariance);
  double trace = 0;
  for (std::int64_t i = 0; i < 8; ++i) trace += covariance.values[i * 9].re;
  EXPECT_NEAR(std::pow(white.standard_deviation, 2), trace / 8, trace * 1e-12);
  // Rounding of float, times the square root of the condition number 1e4.
  EXPECT_LE(distance_from_white(noise_covariance(apply_mixing(white.matrix, noise)), trace / 8),
            6e-8 * 100 * 8);
}

TEST(Whitening, of_too_little_noise_scales_only_or_changes_nothing_and_says_so) {
  auto equal = random_values<float>({3, 1000}, 9), silent = random_values<float>({3, 1000}, 10);
  std::copy_n(equal.data(), 1000, equal.data() + 1000);
  std::fill_n(silent.data() + 1000, 1000, Complex<float>());
  for (const auto& [noise, reason] :
       {std::pair(random_values<float>({8, 15}, 8), "15 noise samples for 8 coils"),
        std::pair(equal, "singular"), std::pair(silent, "no noise")}) {
    const auto white = whitening(noise_covariance(noise));
    EXPECT_FALSE(white.decorrelates);
    EXPECT_CONTAINS(white.reason, reason);
    const std::int64_t coils = noise.extent(0);
    for (std::int64_t i = 0; i < coils * coils; ++i) {
      EXPECT_EQ(norm(white.matrix[i]) > 0, i % (coils + 1) == 0);
      if (white.reason.starts_with("a coil has no noise")) {
        EXPECT_EQ(white.matrix[i], Complex<double>(i % 4 == 0 ? 1 : 0));
      }
    }
  }
}

TEST(Scan, names_the_coil_that_holds_a_nan) {
  Scan scan = io::random_scan({8, 8, 1}, 3, 64, 1);
  scan.kspace.values[130].re = std::numeric_limits<float>::infinity();
  EXPECT_CONTAINS(error_of([&] { scan.validate("a.h5"); }), "a.h5: k-space of coil 2");
  scan = io::random_scan({8, 8, 1}, 3, 64, 1);
  scan.noise = random_values<float>({3, 50}, 12);
  (*scan.noise)[50].re = std::numeric_limits<float>::quiet_NaN();
  EXPECT_CONTAINS(error_of([&] { scan.validate("a.h5"); }), "a.h5: noise of coil 1");
  scan.noise = random_values<float>({4, 50}, 12);
  EXPECT_CONTAINS(error_of([&] { scan.validate("a.h5"); }), "samples of 3 coils");
}

/// A scan without noise, and the standard deviation per real and imaginary part that is an SNR of 30.
struct NoiseFreeScan {
  Scan scan;
  Image truth;
  double standard_deviation;
};
NoiseFreeScan noise_free_scan(int n) {
  data::SimulationSettings settings;
  settings.trajectory.matrix_size = {n, n, 1};
  const double standard_deviation = data::simulate(settings).noise_standard_deviation;
  settings.snr.reset();
  auto simulation = data::simulate(settings);
  return {std::move(simulation.scan), std::move(simulation.band_limited), standard_deviation};
}
void add(const Array<Complex<float>>& noise, Scan& scan) {
  for (std::int64_t i = 0; i < noise.size(); ++i) scan.kspace.values[i] += noise[i];
}
/// Coils with gains from 1 to 3 whose noise is correlated by about a half.
Array<Complex<double>> coupled_coils(std::int64_t coils, double scale, unsigned seed) {
  auto mixing = converted<Complex<double>>(random_values<float>({coils, coils}, seed));
  for (std::int64_t i = 0; i < mixing.size(); ++i) {
    mixing[i] *= 0.25;
    if (i / coils == i % coils) mixing[i] += Complex<double>(1);
    mixing[i] *= scale * static_cast<double>(1 + i / coils % 3);
  }
  return mixing;
}

TEST(NoiseCovariance, of_the_edge_of_kspace_finds_correlated_noise_above_the_signal) {
  auto [scan, truth, standard_deviation] = noise_free_scan(128);
  // SNR 3: a sharp phantom has about twice the energy of SNR 30's noise at the edge of k-space, 2 % of this
  // one's.
  auto mixing = converted<Complex<double>>(random_values<float>({8, 8}, 13));
  for (std::int64_t i = 0; i < 64; ++i) {
    mixing[i] *= 0.1;
    if (i % 9 == 0) mixing[i] += Complex<double>(1);
    mixing[i] *= 10 * std::sqrt(2.0) * standard_deviation;
  }
  const auto signal = edge_noise_covariance(scan.trajectory, scan.geometry.matrix_size, scan.kspace.values);
  const auto noise = mixed_noise(mixing, scan.kspace.sample_count(), 14);
  add(noise, scan);
  const auto edge = edge_noise_covariance(scan.trajectory, scan.geometry.matrix_size, scan.kspace.values);
  const auto white = whitening(edge);
  const auto after = noise_covariance(apply_mixing(white.matrix, noise));
  const double distance = distance_from_white(after, std::pow(white.standard_deviation, 2));
  // 5 standard deviations of an estimate from as many samples, and the signal that is left, relative to the
  // smallest noise: 0.1 random numbers move the eigenvalues of the mixing by about 0.1 (2 sqrt(8)), to 0.43.
  double energy = 0;
  for (std::int64_t coil = 0; coil < 8; ++coil) energy += signal.values[coil * 9].re;
  const double noise_energy = 200 * standard_deviation * standard_deviation * 0.43 * 0.43;
  EXPECT_LE(distance, 5 / std::sqrt(edge.sample_count) + energy / 8 / noise_energy);
  EXPECT_GE(edge.sample_count, scan.kspace.sample_count() / 22);  // noise is not taken for signal
}

TEST(CoilMixing, is_the_sum_over_coils_of_kspace_and_of_maps) {
  const auto matrix = converted<Complex<double>>(random_values<float>({3, 5}, 15));
  const auto maps = random_values<float>({5, 2, 3, 4}, 16);
  const auto mixed = apply_mixing(matrix, maps);
  ASSERT_TRUE((mixed.shape() == Shape{3, 2, 3, 4}));
  double largest = 0;
  for (std::int64_t v = 0; v < 3; ++v)
    for (std::int64_t p = 0; p < 24; ++p) {
      Complex<double> sum;
      for (std::int64_t c = 0; c < 5; ++c) sum += matrix[v * 5 + c] * Complex<double>(maps[c * 24 + p]);
      largest = std::max(largest, abs(sum - Complex<double>(mixed[v * 24 + p])));
    }
  EXPECT_LE(largest, 1e-5);  // five products of a few units in float
  EXPECT_THROW(apply_mixing(matrix, random_values<float>({4, 7}, 17)), Error);
}

TEST(CoilPreparation, whitens_by_the_noise_of_the_scan_and_the_image_gains) {
  auto [scan, truth, standard_deviation] = noise_free_scan(64);
  const auto mixing = coupled_coils(8, 4 * standard_deviation, 18);
  add(mixed_noise(mixing, scan.kspace.sample_count(), 19), scan);
  scan.noise = mixed_noise(mixing, 2000, 20);
  const auto error = [&, &truth = truth, &scan = scan](NoiseWhitening whiten) {
    Settings with{LeastSquares{.lambda = OfLargestEigenvalue{0}}};
    with.coils.whitening = whiten;
    const auto result = reconstruct(scan, with);
    return metrics::relative_l2(converted<Complex<double>>(result.image.values),
                                converted<Complex<double>>(truth.values));
  };
  const double without = error(NoiseWhitening::off), with = error(NoiseWhitening::automatic);
  EXPECT_LE(with, 0.9 * without);
}

}  // namespace
