// The arithmetic of the CUDA kernels, run on the host: the same inline functions.
#include "recon/transform/direct/pair_arithmetic.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <numbers>
#include <random>

namespace fhd {
namespace {

constexpr double two_pi = 2 * std::numbers::pi;

/// 2^-24 or 2^-53: half a unit in the last place of 1.
template <class T>
constexpr double half_ulp = 0.5 * std::numeric_limits<T>::epsilon();

template <class T>
class PairArithmetic : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(PairArithmetic, Types);

TYPED_TEST(PairArithmetic, integer_phase_equals_k_times_r_at_every_voxel) {
  using T = TypeParam;
  // k / 2N is rounded to half a unit of the phase, and multiplied by at most 2N per axis for Q; three axes.
  // The conversion to half turns (below 1) adds half an ulp. The expected value in double is itself within
  // 2^-50 turns.
  const double unit = std::is_same_v<T, float> ? 0x1p-33 : 0x1p-65;
  std::mt19937 generator(7);
  for (const int n : {1, 2, 63, 64, 255, 512}) {
    const int matrix_size[3] = {n, n + 1, n + 2};
    std::uniform_real_distribution<double> uniform(-0.5, 0.5);
    std::uniform_int_distribution<int> coordinate(-2 * n, 2 * n);
    for (int trial = 0; trial < 200; ++trial) {
      const double k[3] = {uniform(generator) * matrix_size[0], uniform(generator) * matrix_size[1],
                           uniform(generator) * matrix_size[2]};
      const int at[3] = {coordinate(generator), coordinate(generator), coordinate(generator)};
      const auto position = sample_position<T>(k, matrix_size);
      long double turns = 0;
      for (int axis = 0; axis < 3; ++axis)
        turns += static_cast<long double>(k[axis]) * at[axis] / (2.0L * matrix_size[axis]);
      const double found = half_turns<T>(phase_at<T>(position.half_voxel, at[0], at[1], at[2])) / 2.0;
      double error = static_cast<double>(turns - static_cast<long double>(found));
      error -= std::rint(error);
      EXPECT_LE(std::abs(error), 3 * 2 * n * unit + half_ulp<T> + 0x1p-53) << "n = " << n;
    }
  }
}

TYPED_TEST(PairArithmetic, a_run_equals_the_sum_voxel_by_voxel) {
  using T = TypeParam;
  const int matrix_size[3] = {61, 48, 9};
  VoxelGrid grid{{61, 48, 9}, {-60, -48, -8}};
  const double k[3] = {-30.5, 23.75, 3.3};
  const auto position = sample_position<T>(k, matrix_size);
  const Complex<T> data{T(0.75), T(-1.5)};
  // |data| < 1.7; phase: integer_phase_... with N = 61 below 2e-7 rad; phasor, step and products a few half
  // ulps.
  const double tolerance =
      (std::is_same_v<T, float> ? 61 * 3 * two_pi * 0x1p-32 : 0x1p-48) + 8 * 1.7 * half_ulp<T>;
  ASSERT_EQ(grid.runs_per_row(8), 4);
  ASSERT_EQ(grid.runs_per_row(4), 8);
  for (const int half_run : {4, 8})
    for (int run = 0; run < grid.runs_per_row(half_run); ++run) {
      const int y = 11, z = 7;
      const auto phase =
          phase_at<T>(position.half_voxel, grid.run_centre(run, half_run), grid.row(y), grid.plane(z));
      const Complex<T> c = data * unit_phasor<T>(half_turns<T>(phase));
      for (int j = 0; j < half_run; ++j) {
        RunSum<T> sum;
        sum.add(c, position.step[j]);
        const auto expected = [&](int x) {
          const long double exact = static_cast<long double>(k[0]) * (x - 30) / 61 +
                                    static_cast<long double>(k[1]) * (y - 24) / 48 +
                                    static_cast<long double>(k[2]) * (z - 4) / 9;
          const double turns = static_cast<double>(exact - std::rint(exact));
          const Complex<double> e{std::cos(two_pi * turns), std::sin(two_pi * turns)};
          return Complex<double>(data) * e;
        };
        const int centre = run * 2 * half_run + half_run;
        EXPECT_LE(abs(Complex<double>(sum.upper()) - expected(centre + j)), tolerance) << run << " " << j;
        EXPECT_LE(abs(Complex<double>(sum.lower()) - expected(centre - 1 - j)), tolerance) << run << " " << j;
      }
    }
}

TYPED_TEST(PairArithmetic, forward_run_is_the_conjugate_transpose_of_the_adjoint_run) {
  using T = TypeParam;
  const int matrix_size[3] = {32, 1, 1};
  const double k[3] = {13.37, 0, 0};
  const auto position = sample_position<T>(k, matrix_size);
  const Complex<T> upper{T(0.3), T(-1.1)}, lower{T(-0.8), T(0.45)}, data{T(1.25), T(0.5)};
  for (int j = 0; j < longest_half_run; ++j) {
    Complex<T> forward;
    add_voxel_pair(upper + lower, upper - lower, position.step[j], forward);
    RunSum<T> adjoint;
    adjoint.add(data, position.step[j]);
    const Complex<T> left = conj(forward) * data;
    const Complex<T> right = conj(upper) * adjoint.upper() + conj(lower) * adjoint.lower();
    EXPECT_LE(abs(left - right), 20 * half_ulp<T>) << j;  // about ten roundings of terms below 2
  }
}

}  // namespace
}  // namespace fhd
