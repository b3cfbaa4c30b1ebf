// The oracle against values worked out by hand: it is what everything else is measured with.
#include "validation/oracle.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "validation/metrics.hpp"
#include "validation/tests/problems.hpp"

namespace {

using namespace fhd;
using namespace fhd::tests;
using oracle::Values;
constexpr double unit_rounding = 1e-15;  // a few units in the last place of numbers of size 1

Array<double> positions(std::initializer_list<std::array<double, 3>> points) {
  const auto count = static_cast<std::int64_t>(points.size());
  Array<double> result({3, count});
  std::int64_t i = 0;
  for (const auto& point : points) {
    for (int axis = 0; axis < 3; ++axis) result[axis * count + i] = point[axis];
    ++i;
  }
  return result;
}

TEST(Oracle, places_voxels_of_odd_and_even_matrices_about_the_centre) {
  const auto r = oracle::voxel_positions({4, 3, 1});
  ASSERT_EQ(r.shape(), (Shape{3, 12}));
  for (int x = 0; x < 4; ++x) EXPECT_EQ(r[x], (x - 2) / 4.0);
  for (int y = 0; y < 3; ++y) EXPECT_EQ(r[12 + 4 * y], (y - 1) / 3.0);
  EXPECT_EQ(r[24], 0.0);
}

TEST(Oracle, places_voxel_differences_in_periodic_order) {
  const auto differences = oracle::difference_positions({2, 1, 3});
  ASSERT_EQ(differences.shape(), (Shape{3, 4 * 6}));
  for (int x = 0; x < 4; ++x) EXPECT_EQ(differences[x], (std::array{0.0, 0.5, -1.0, -0.5})[x]);
  EXPECT_EQ(differences[24], 0.0);
  for (int z = 0; z < 6; ++z) EXPECT_EQ(differences[48 + 4 * z], (z < 3 ? z : z - 6) / 3.0);
}

TEST(Oracle, forward_has_the_minus_sign_and_adjoint_the_plus_sign) {
  // k . r = 1/4 turn: exp(-i pi/2) = -i forward, +i adjoint.
  const auto k = positions({{1, 2, 0}}), r = positions({{0.5, -0.125, 0.3}});
  Values one({1, 1});
  one[0] = 1.0;
  const auto forward = oracle::forward(k, r, one), adjoint = oracle::adjoint(k, r, one);
  EXPECT_NEAR(forward[0].re, 0, unit_rounding);
  EXPECT_NEAR(forward[0].im, -1, unit_rounding);
  EXPECT_NEAR(adjoint[0].re, 0, unit_rounding);
  EXPECT_NEAR(adjoint[0].im, 1, unit_rounding);
}

TEST(Oracle, off_resonance_turns_with_the_sign_of_k_space) {
  // omega t = 2 pi 10 x 0.025 = half a pi: exp(-i pi/2) = -i forward.
  const auto k = positions({{0, 0, 0}}), r = positions({{0.25, 0, 0}});
  Values one({1, 1});
  one[0] = 1.0;
  oracle::OffResonance off{Array<double>({1}), Array<double>({1})};
  off.omega_rad_per_s[0] = 2 * std::numbers::pi * 10;
  off.time_s[0] = 0.025;
  EXPECT_NEAR(oracle::forward(k, r, one, off)[0].im, -1, unit_rounding);
  EXPECT_NEAR(oracle::adjoint(k, r, one, off)[0].im, 1, unit_rounding);
}

TEST(Oracle, adjoint_is_conjugate_transpose_with_off_resonance_and_maps) {
  const auto k = random_positions(37, 8, 1), r = random_positions(50, 0.5, 2);
  const oracle::OffResonance off{[] {
                                   Array<double> omega({50});
                                   for (std::int64_t i = 0; i < 50; ++i) omega[i] = 20.0 * i - 400;
                                   return omega;
                                 }(),
                                 [] {
                                   Array<double> time({37});
                                   for (std::int64_t i = 0; i < 37; ++i) time[i] = 1e-3 * i;
                                   return time;
                                 }()};
  const auto maps = random_values<double>({3, 50}, 3), image = random_values<double>({50}, 4),
             samples = random_values<double>({3, 37}, 5);
  const auto ax = oracle::sense_forward(k, r, image, maps, off);
  const auto ahy = oracle::sense_adjoint(k, r, samples, maps, off);
  // Sums of 50 ... 111 terms, each right to about 2e-16.
  EXPECT_LE(abs(dot(ax, samples) - dot(image, ahy)), 1e-14 * length(ax) * length(samples));
}

TEST(Oracle, full_cartesian_sampling_is_orthogonal) {
  // Integer k of a 4 x 3 matrix: F^H F = 12 I.
  const auto r = oracle::voxel_positions({4, 3, 1});
  Array<double> k({3, 12});
  for (int i = 0; i < 12; ++i) k[i] = i % 4 - 2, k[12 + i] = i / 4 - 1;
  const auto image = random_values<double>({1, 12}, 6);
  const auto back = oracle::adjoint(k, r, oracle::forward(k, r, image));
  EXPECT_LE(metrics::relative_l2(back, metrics::scaled(image, 12.0)), 1e-14);
}

TEST(Oracle, q_is_the_sum_of_weights_at_zero_and_conjugate_symmetric) {
  const auto k = random_positions(20, 4, 7);
  Array<double> weights({20});
  double sum = 0;
  for (int i = 0; i < 20; ++i) sum += weights[i] = 1 + i;
  const auto q = oracle::q(k, positions({{0, 0, 0}, {0.25, -0.5, 0.75}, {-0.25, 0.5, -0.75}}), weights);
  EXPECT_NEAR(q[0].re, sum, sum * unit_rounding);
  EXPECT_EQ(q[0].im, 0);
  EXPECT_NEAR(q[1].re, q[2].re, sum * unit_rounding);
  EXPECT_NEAR(q[1].im, -q[2].im, sum * unit_rounding);
}

TEST(Oracle, encoding_matrix_times_image_is_the_sense_forward) {
  const auto k = random_positions(9, 3, 8), r = oracle::voxel_positions({3, 2, 2});
  const auto maps = random_values<double>({2, 12}, 9), image = random_values<double>({12}, 10);
  const auto matrix = oracle::encoding_matrix(k, r, maps);
  Values product({18});
  for (int i = 0; i < 18; ++i)
    for (int j = 0; j < 12; ++j) product[i] += matrix[i * 12 + j] * image[j];
  EXPECT_LE(metrics::relative_l2(product, oracle::sense_forward(k, r, image, maps)), 1e-14);
}

TEST(Oracle, finite_differences_of_a_ramp_are_its_slopes_without_wrap_around) {
  const auto w = oracle::finite_difference_matrix({3, 2, 1});
  ASSERT_EQ(w.shape(), (Shape{2 * 2 + 3, 6}));
  for (int row = 0; row < 7; ++row) {
    Complex<double> product;  // of the ramp 5 x + 7 y
    for (int y = 0; y < 2; ++y)
      for (int x = 0; x < 3; ++x) product += (5.0 * x + 7.0 * y) * w[row * 6 + 3 * y + x];
    EXPECT_EQ(product, Complex<double>(row < 4 ? 5.0 : 7.0));
  }
}

TEST(Oracle, least_squares_recovers_the_solution_of_a_consistent_system) {
  const auto a = random_values<double>({40, 15}, 11), x = random_values<double>({15}, 12);
  Values b({40});
  for (int i = 0; i < 40; ++i)
    for (int j = 0; j < 15; ++j) b[i] += a[i * 15 + j] * x[j];
  // Condition number of a 40 x 15 Gaussian matrix is below 10.
  EXPECT_LE(metrics::relative_l2(oracle::least_squares(a, b), x), 1e-14);
}

TEST(Oracle, least_squares_leaves_a_regularised_residual_orthogonal) {
  // A^H (b - A x) = lambda W^H W x, with fewer equations than unknowns.
  const double lambda = 0.3;
  const auto a = random_values<double>({10, 12}, 13), b = random_values<double>({10}, 14),
             w = random_values<double>({20, 12}, 15);
  const auto x = oracle::least_squares(a, b, lambda, w);
  const auto residual_gradient = [&](const Values& matrix, const Values& target) {
    Values gradient({12});
    for (std::int64_t i = 0; i < matrix.extent(0); ++i) {
      Complex<double> residual = target[i];
      for (int j = 0; j < 12; ++j) residual -= matrix[i * 12 + j] * x[j];
      for (int j = 0; j < 12; ++j) gradient[j] += conj(matrix[i * 12 + j]) * residual;
    }
    return gradient;
  };
  const auto data = residual_gradient(a, b);
  const auto penalty = metrics::scaled(residual_gradient(w, Values({20})), -lambda);
  EXPECT_LE(metrics::relative_l2(data, penalty), 1e-13);
}

TEST(Oracle, least_squares_refuses_a_rank_deficient_system) {
  auto a = random_values<double>({10, 4}, 16);
  for (int i = 0; i < 10; ++i) a[i * 4 + 2] = 2.0 * a[i * 4] - a[i * 4 + 1];
  EXPECT_THROW(oracle::least_squares(a, random_values<double>({10}, 17)), Error);
  EXPECT_THROW(oracle::least_squares(random_values<double>({3, 4}, 18), random_values<double>({3}, 19)),
               Error);
}

TEST(Oracle, refuses_arrays_that_do_not_agree) {
  const auto k = random_positions(5, 1, 20), r = random_positions(6, 0.5, 21);
  EXPECT_THROW(oracle::forward(k, r, random_values<double>({7}, 22)), Error);
  EXPECT_THROW(oracle::adjoint(k, r, random_values<double>({6}, 23)), Error);
  EXPECT_THROW(oracle::adjoint(Array<double>({2, 5}), r, random_values<double>({5}, 24)), Error);
}

}  // namespace
