// Dense matrices: shortcuts against what they cut short.
#include "recon/array/linear_algebra.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "recon/array/thread_limit.hpp"
#include "validation/tests/problems.hpp"

namespace fhd {
namespace {

using tests::relative_error;

/// Positive semidefinite, of this rank but for a hundredth of noise.
Array<Complex<float>> covariance(std::int64_t n, std::int64_t rank) {
  const auto large = sum_of_outer_products(tests::random_values<float>({n, rank}, 1)),
             small = sum_of_outer_products(tests::random_values<float>({n, n}, 2));
  Array<Complex<float>> sum(large.shape());
  for (std::int64_t i = 0; i < sum.size(); ++i) sum[i] = Complex<float>(large[i] + 1e-2 * small[i]);
  return sum;
}

/// |P a - P b| / |P b| of the projectors onto the rows.
double subspace_difference(const Array<Complex<float>>& a, const Array<Complex<float>>& b) {
  const auto projector = [](const Array<Complex<float>>& rows) {
    Array<Complex<float>> columns({rows.extent(1), rows.extent(0)});
    for (std::int64_t i = 0; i < rows.extent(0); ++i)
      for (std::int64_t j = 0; j < rows.extent(1); ++j)
        columns[j * rows.extent(0) + i] = rows[i * rows.extent(1) + j];
    return sum_of_outer_products(columns);
  };
  return relative_error(projector(a), projector(b));
}

TEST(LeadingEigenvectors, span_what_the_first_of_all_span) {
  for (const std::int64_t n : {1, 2, 7, 64, 233})
    for (const std::int64_t rank : {std::int64_t{1}, (n + 1) / 2, n}) {
      const auto matrix = covariance(n, rank);
      const auto all = hermitian_eigen(matrix);
      const auto leading = leading_eigenvectors(matrix, [&](const auto&) { return rank; });
      EXPECT_LE(
          relative_error(converted<Complex<float>>(leading.values), converted<Complex<float>>(all.values)),
          1e-5);
      ASSERT_TRUE(leading.vectors.shape() == (Shape{rank, n}));
      Array<Complex<float>> first({rank, n});
      std::copy_n(all.vectors.data(), first.size(), first.data());
      EXPECT_LE(subspace_difference(leading.vectors, first), 1e-4) << n << ", " << rank;
    }
}

TEST(Eigenvectors, may_be_none_and_refuse_nan) {
  auto matrix = covariance(5, 2);
  const auto none = leading_eigenvectors(matrix, [](const auto&) { return std::int64_t{0}; });
  EXPECT_EQ(none.values.size(), 5);
  EXPECT_TRUE(none.vectors.empty());
  matrix[7].im = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(leading_eigenvectors(matrix, [](const auto&) { return std::int64_t{1}; }), Error);
  matrix = covariance(520, 5);
  matrix[1000].re = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(eigenvectors_above(matrix, {1e-3, 4, 260}), Error);
}

/// Returns the matrix of random vectors, the energy of which falls by `decay` from each to the next, and noise.
Array<Complex<float>> decaying_covariance(std::int64_t n, double decay, double noise) {
  auto columns = tests::random_values<float>({n, n}, 3);
  const auto small = sum_of_outer_products(tests::random_values<float>({n, 2 * n}, 4));
  for (std::int64_t i = 0; i < columns.size(); ++i)
    columns[i] = static_cast<float>(std::pow(decay, 0.5 * static_cast<double>(i % n))) * columns[i];
  const auto large = sum_of_outer_products(columns);
  Array<Complex<float>> sum(large.shape());
  for (std::int64_t i = 0; i < sum.size(); ++i) sum[i] = Complex<float>(large[i] + noise * small[i]);
  return sum;
}

// Small matrices are reduced as a whole, large ones (512) iterated, and again reduced where too many
// eigenvalues are above the threshold or noise decides it. Next to the threshold eigenvalues differ by 1 -
// decay of it, 1e-3 of the largest: 1e-6 of rounding turns vectors by at most 1e-6 / (1e-3 (1 - decay)).
TEST(EigenvectorsAbove, are_those_of_all_that_exceed_the_threshold) {
  struct Case {
    std::int64_t n;
    double decay, noise, share;
  };
  for (const Case& c :
       {Case{40, 0.8, 1e-9, 1e-3}, Case{300, 0.9, 1e-8, 1e-3}, Case{560, 0.9, 1e-9, 1e-3},
        Case{700, 0.9, 1e-8, 1e-3}, Case{560, 0.97, 1e-9, 1e-3}, Case{560, 0.9, 1e-5, 1e-3}}) {
    const auto matrix = decaying_covariance(c.n, c.decay, c.noise);
    const EigenvalueThreshold threshold{c.share, 4, c.n / 2};
    const auto all = hermitian_eigen(converted<Complex<double>>(matrix));
    const double least = std::max(c.share * all.values[0], 4 * all.values[c.n / 2]);
    const std::int64_t rank =
        std::count_if(all.values.begin(), all.values.end(), [&](double v) { return v > least; });
    const auto above = eigenvectors_above(matrix, threshold);
    ASSERT_EQ(above.vectors.extent(0), rank) << c.n << ", " << c.decay << ", " << c.noise;
    ASSERT_GT(rank, 0);
    Array<Complex<float>> first({rank, c.n});
    for (std::int64_t i = 0; i < first.size(); ++i) first[i] = Complex<float>(all.vectors[i]);
    EXPECT_LE(subspace_difference(above.vectors, first), 1e-3 / (1 - c.decay)) << c.n;
    for (std::int64_t i = 0; i < rank; ++i)
      EXPECT_LE(std::abs(above.values[i] - all.values[i]), 1e-5 * all.values[0]);
  }
}

TEST(MatrixProduct, in_place_and_in_parts_is_the_product) {
  for (const std::int64_t n : {1, 3, 16, 70})
    for (const std::int64_t columns : {1, 2047, 2048, 5000}) {
      const auto a = tests::random_values<double>({n, n}, 1),
                 b = tests::random_values<double>({n, columns}, 2);
      Array<Complex<double>> sums({n, columns});
      for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t k = 0; k < n; ++k)
          for (std::int64_t m = 0; m < columns; ++m)
            sums[i * columns + m] += a[i * n + k] * b[k * columns + m];
      auto product = b;
      multiply_in_place(a, product);
      EXPECT_LE(relative_error(product, sums), 1e-13) << n << " x " << columns;
      EXPECT_LE(relative_error(matrix_product(a, b), sums), 1e-13) << n << " x " << columns;
    }
  auto wrong = tests::random_values<float>({3, 4}, 1);
  EXPECT_THROW(multiply_in_place(tests::random_values<float>({2, 2}, 1), wrong), Error);
}

TEST(SumOfOuterProducts, has_the_same_bits_for_any_number_of_threads) {
  const auto values = tests::random_values<float>({12, 200'000}, 3);
  const auto together = sum_of_outer_products(values);
  const ThreadLimit one_thread(1);
  const auto alone = sum_of_outer_products(values);
  EXPECT_TRUE(std::equal(together.begin(), together.end(), alone.begin()));
  double first = 0;
  for (std::int64_t m = 0; m < 200'000; ++m) first += norm(Complex<double>(values[m]));
  EXPECT_NEAR(alone[0].re / first, 1, 1e-6);
}

}  // namespace
}  // namespace fhd
