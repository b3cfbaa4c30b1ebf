// Dense matrices: shortcuts against what they cut short.
#include "recon/array/linear_algebra.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "recon/array/thread_limit.hpp"
#include "validation/metrics.hpp"
#include "validation/tests/problems.hpp"

namespace fhd {
namespace {

template <class T>
double difference(const Array<Complex<T>>& a, const Array<Complex<T>>& b) {
  return metrics::relative_l2(converted<Complex<double>>(a), converted<Complex<double>>(b));
}

/// Positive semidefinite, of this rank but for a hundredth of noise.
Array<Complex<float>> covariance(std::int64_t n, std::int64_t rank) {
  const auto large = sum_of_outer_products(tests::random_values<float>({n, rank}, 1)),
             small = sum_of_outer_products(tests::random_values<float>({n, n}, 2));
  Array<Complex<float>> sum(large.shape());
  for (std::int64_t i = 0; i < sum.size(); ++i) sum[i] = Complex<float>(large[i] + 1e-2 * small[i]);
  return sum;
}

TEST(LeadingEigenvectors, span_what_the_first_of_all_span) {
  for (const std::int64_t n : {1, 2, 7, 64, 233})
    for (const std::int64_t rank : {std::int64_t{1}, (n + 1) / 2, n}) {
      const auto matrix = covariance(n, rank);
      const auto all = hermitian_eigen(matrix);
      const auto leading = leading_eigenvectors(matrix, [&](const auto&) { return rank; });
      EXPECT_LE(difference(converted<Complex<float>>(leading.values), converted<Complex<float>>(all.values)),
                1e-5);
      ASSERT_TRUE(leading.vectors.shape() == (Shape{rank, n}));
      Array<Complex<float>> first({rank, n});
      std::copy_n(all.vectors.data(), first.size(), first.data());
      const auto projector = [&](const Array<Complex<float>>& rows) {
        Array<Complex<float>> columns({n, rank});
        for (std::int64_t i = 0; i < rank; ++i)
          for (std::int64_t j = 0; j < n; ++j) columns[j * rank + i] = rows[i * n + j];
        return sum_of_outer_products(columns);
      };
      EXPECT_LE(difference(projector(leading.vectors), projector(first)), 1e-4) << n << ", " << rank;
    }
}

TEST(LeadingEigenvectors, may_be_none_and_refuse_nan) {
  auto matrix = covariance(5, 2);
  const auto none = leading_eigenvectors(matrix, [](const auto&) { return std::int64_t{0}; });
  EXPECT_EQ(none.values.size(), 5);
  EXPECT_TRUE(none.vectors.empty());
  matrix[7].im = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(leading_eigenvectors(matrix, [](const auto&) { return std::int64_t{1}; }), Error);
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
      EXPECT_LE(difference(product, sums), 1e-13) << n << " x " << columns;
      EXPECT_LE(difference(matrix_product(a, b), sums), 1e-13) << n << " x " << columns;
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
