// The metrics against values worked out by hand.
#include "validation/metrics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace {

using fhd::Complex;
using namespace fhd::metrics;
constexpr double rounding = 1e-14;

Values values(std::initializer_list<Complex<double>> elements) {
  Values result({static_cast<std::int64_t>(elements.size())});
  std::copy(elements.begin(), elements.end(), result.begin());
  return result;
}

Mask mask(std::initializer_list<int> elements) {
  Mask result({static_cast<std::int64_t>(elements.size())});
  std::copy(elements.begin(), elements.end(), result.begin());
  return result;
}

TEST(Metrics, relative_l2_is_the_length_of_the_error_over_that_of_the_reference) {
  // errors (3, 4i), reference (6, 8): 5 / 10
  EXPECT_DOUBLE_EQ(relative_l2(values({9.0, {8, 4}}), values({6.0, 8.0})), 0.5);
  EXPECT_EQ(relative_l2(values({0.0}), values({0.0})), 0.0);
  EXPECT_EQ(relative_l2(values({1.0}), values({0.0})), std::numeric_limits<double>::infinity());
}

TEST(Metrics, best_scale_undoes_a_complex_factor) {
  const auto reference = values({{1, 2}, {-3, 0.5}, {0, 1}});
  const auto turned = scaled(reference, {0, 2});
  const auto scale = best_scale(turned, reference);
  EXPECT_NEAR(scale.re, 0, rounding);
  EXPECT_NEAR(scale.im, -0.5, rounding);
  EXPECT_NEAR(nrmse_best_scale(turned, reference), 0, rounding);
}

TEST(Metrics, nrmse_after_the_best_scale_is_the_sine_of_the_angle) {
  // (1, 1) against (1, 0): best scale 1/2, error (-1/2, 1/2), length sqrt(1/2)
  EXPECT_NEAR(nrmse_best_scale(values({1.0, 1.0}), values({1.0, 0.0})), std::sqrt(0.5), rounding);
  EXPECT_EQ(nrmse_best_scale(values({0.0, 0.0}), values({1.0, 0.0})), 1.0);
}

TEST(Metrics, maximum_error_is_relative_to_the_largest_reference) {
  EXPECT_DOUBLE_EQ(relative_maximum_error(values({1.0, {4, 3}, 0.0}), values({1.0, 4.0, -12.0})), 1.0);
  EXPECT_DOUBLE_EQ(relative_maximum_error(values({1.0, {4, 3}}), values({1.0, 4.0})), 0.75);
}

TEST(Metrics, psnr_of_a_tenth_of_the_peak_is_20_dB) {
  EXPECT_NEAR(psnr_db(values({1.1, {0, 0.1}}), values({1.0, 0.0})), 20, 1e-12);
  EXPECT_EQ(psnr_db(values({1.0}), values({1.0})), std::numeric_limits<double>::infinity());
}

TEST(Metrics, ssim_of_two_constant_pictures_is_the_luminance_term) {
  // Magnitudes a = 0.5 and b = 1 everywhere, variances 0: (2ab + c1) / (a^2 + b^2 + c1), c1 = 0.01^2.
  // A variance E[x^2] - E[x]^2 of rounding size, 2e-16, is divided by c2 = 9e-4: 2e-13.
  Values a({2, 16, 12}), b({2, 16, 12});
  for (auto& value : a) value = {0, 0.5};
  for (auto& value : b) value = 1.0;
  EXPECT_NEAR(ssim(a, b, {12, 16, 2}), (1 + 1e-4) / (1.25 + 1e-4), 1e-12);
}

TEST(Metrics, ssim_of_one_window_follows_its_formula) {
  // 3 x 1 picture: window exp(-1/4.5) : 1 : exp(-1/4.5), magnitudes (1, 2, 4) against (1, 3, 2), L = 3.
  const double side = std::exp(-1 / 4.5), sum = 1 + 2 * side, edge = side / sum, middle = 1 / sum;
  const double mean_a = edge * 1 + middle * 2 + edge * 4, mean_b = edge * 1 + middle * 3 + edge * 2;
  const double variance_a = edge * 1 + middle * 4 + edge * 16 - mean_a * mean_a;
  const double variance_b = edge * 1 + middle * 9 + edge * 4 - mean_b * mean_b;
  const double covariance = edge * 1 + middle * 6 + edge * 8 - mean_a * mean_b;
  const double c1 = 0.0009, c2 = 0.0081;
  const double expected = (2 * mean_a * mean_b + c1) * (2 * covariance + c2) /
                          ((mean_a * mean_a + mean_b * mean_b + c1) * (variance_a + variance_b + c2));
  EXPECT_NEAR(ssim(values({{0, 1}, -2.0, 4.0}), values({1.0, 3.0, 2.0}), {3, 1, 1}), expected, 1e-13);
}

TEST(Metrics, ssim_is_one_for_equal_pictures_and_lower_for_noisier_ones) {
  Values reference({1, 32, 32}), slightly({1, 32, 32}), strongly({1, 32, 32});
  for (std::int64_t i = 0; i < reference.size(); ++i) {
    reference[i] =
        1 + std::sin(0.3 * static_cast<double>(i % 32)) * std::cos(0.2 * static_cast<double>(i / 32));
    const double noise = std::sin(12.9898 * static_cast<double>(i));
    slightly[i] = reference[i] + 0.1 * Complex<double>(noise);
    strongly[i] = reference[i] + 0.5 * Complex<double>(noise);
  }
  const std::array<int, 3> matrix{32, 32, 1};
  EXPECT_NEAR(ssim(reference, reference, matrix), 1, rounding);
  EXPECT_LE(ssim(strongly, reference, matrix), ssim(slightly, reference, matrix));
  EXPECT_LE(ssim(slightly, reference, matrix), 0.99);
}

TEST(Metrics, correlation_is_blind_to_scale_offset_and_phase) {
  // |values| = 1, 2, 3, 6 against 2 |values| + 1
  const auto a = values({1.0, {0, 2}, -3.0, {0, -6}}), b = values({3.0, 5.0, 7.0, 13.0});
  EXPECT_NEAR(magnitude_correlation(a, b), 1, rounding);
  // 0, 1, 2 against 0, 2, 1: covariance 1/3, variances 2/3
  EXPECT_NEAR(magnitude_correlation(values({0.0, 1.0, 2.0}), values({0.0, 2.0, 1.0})), 0.5, rounding);
}

TEST(Metrics, mask_hides_what_lies_outside) {
  const auto a = values({1.0, 99.0, {0, 2}}), b = values({1.0, 1.0, {0, 1}});
  const auto inside = mask({1, 0, 1});
  EXPECT_DOUBLE_EQ(relative_l2(a, b, inside), std::sqrt(0.5));
  EXPECT_DOUBLE_EQ(relative_maximum_error(a, b, inside), 1.0);
  EXPECT_DOUBLE_EQ(nrmse_best_scale(values({2.0, 99.0, 4.0}), values({1.0, 7.0, 2.0}), inside), 0.0);
  EXPECT_THROW(relative_l2(a, b, mask({0, 0, 0})), fhd::Error);
}

TEST(Metrics, nan_propagates) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Values good({1, 12, 12}), bad({1, 12, 12});
  for (std::int64_t i = 0; i < good.size(); ++i) good[i] = bad[i] = static_cast<double>(i % 7);
  bad[70] = {1, nan};
  const std::array<int, 3> matrix{12, 12, 1};
  for (const auto& [a, b] : {std::pair{&bad, &good}, std::pair{&good, &bad}}) {
    EXPECT_TRUE(std::isnan(relative_l2(*a, *b)));
    EXPECT_TRUE(std::isnan(nrmse_best_scale(*a, *b)));
    EXPECT_TRUE(std::isnan(relative_maximum_error(*a, *b)));
    EXPECT_TRUE(std::isnan(psnr_db(*a, *b)));
    EXPECT_TRUE(std::isnan(ssim(*a, *b, matrix)));
    EXPECT_TRUE(std::isnan(magnitude_correlation(*a, *b)));
  }
}

TEST(Metrics, refuse_arrays_of_different_sizes) {
  EXPECT_THROW(relative_l2(values({1.0}), values({1.0, 2.0})), fhd::Error);
  EXPECT_THROW(ssim(values({1.0}), values({1.0}), {2, 1, 1}), fhd::Error);
}

}  // namespace
