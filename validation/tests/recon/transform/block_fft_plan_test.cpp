// Which lengths the FFTs of a CUDA block take, and their twiddles.
#include "recon/transform/toeplitz/block_fft_plan.hpp"

#include <gtest/gtest.h>

namespace {

using fhd::BlockFftPlan;
using fhd::Complex;

bool has_small_factors(int n) {
  for (const int factor : {2, 3, 5, 7})
    while (n % factor == 0) n /= factor;
  return n == 1;
}

TEST(BlockFftPlan, takes_every_length_up_to_512_without_a_prime_factor_above_7) {
  for (int n = 2; n <= 512; ++n) EXPECT_EQ(BlockFftPlan(n).is_taken(), has_small_factors(n)) << n;
  for (const int n : {-8, 0, 1, 11, 26, 1025, 2048, 1 << 30}) EXPECT_FALSE(BlockFftPlan(n).is_taken()) << n;
}

TEST(BlockFftPlan, radices_multiply_to_the_length_and_threads_are_enough_for_each_stage) {
  int taken = 0;
  for (int n = 2; n <= BlockFftPlan::most_points; ++n) {
    const BlockFftPlan plan(n);
    if (!plan.is_taken()) continue;
    ++taken;
    int product = 1;
    for (int stage = 0; stage < plan.count; ++stage) {
      EXPECT_TRUE(BlockFftPlan::is_radix(plan.radices[stage])) << n;
      EXPECT_GE(plan.threads, n / plan.radices[stage]) << n;
      product *= plan.radices[stage];
    }
    EXPECT_EQ(product, n);
    EXPECT_LE(plan.threads, BlockFftPlan::most_threads) << n;
  }
  EXPECT_EQ(taken, 137);  // of the 142 without a prime factor above 7
}

TEST(BlockFftPlan, fast_lengths_are_taken_and_are_the_next_ones) {
  for (const int length : fhd::fast_lengths) {
    EXPECT_TRUE(BlockFftPlan(length).is_taken()) << length;
    EXPECT_EQ(fhd::fast_length(length), length);
  }
  EXPECT_EQ(fhd::fast_length(33), 64);
  EXPECT_EQ(fhd::fast_length(280), 288);
  EXPECT_EQ(fhd::fast_length(20), 20);
  EXPECT_EQ(fhd::fast_length(513), 513);
}

TEST(BlockFftPlan, twiddles_are_as_many_as_it_says_and_exact_to_their_last_place) {
  for (const int n : {2, 15, 96, 256, 500, 1024}) {
    const BlockFftPlan plan(n);
    const auto table = twiddles_of(plan);
    ASSERT_EQ(static_cast<int>(table.size()), plan.twiddles()) << n;
    const auto error = [&](int at, long double turns) {
      const long double angle = -2 * 3.14159265358979323846264338328L * turns;
      return std::hypot(table[static_cast<std::size_t>(at)].re - std::cos(angle),
                        table[static_cast<std::size_t>(at)].im - std::sin(angle));
    };
    // Half a unit in the last place of 1, in both parts.
    for (int e = 0; e < n; ++e) EXPECT_LE(error(e, 0.5L * e / n), 4.3e-8L) << n;
    int at = n, span = plan.radices[0];
    for (int stage = 1; stage < plan.count; ++stage) {
      const int radix = plan.radices[stage];
      for (int r = 0; r < radix; ++r)
        for (int k = 0; k < span; ++k, ++at)
          EXPECT_LE(error(at, static_cast<long double>(r) * k / (span * radix)), 4.3e-8L) << n;
      span *= radix;
    }
  }
}

}  // namespace
