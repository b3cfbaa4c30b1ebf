// Arithmetic over rows beside the same in double precision, element by element.
#include "recon/array/rows.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <random>
#include <vector>

namespace {

using fhd::Complex;
using Exact = std::complex<double>;

template <class T>
class Rows : public testing::Test {
 protected:
  static std::vector<Complex<T>> values(std::int64_t count, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    std::vector<Complex<T>> result(static_cast<std::size_t>(count));
    for (auto& value : result) value = {static_cast<T>(normal(random)), static_cast<T>(normal(random))};
    return result;
  }
  static Exact exact(Complex<T> value) { return {value.re, value.im}; }
  /// Two products and two sums are rounded, of numbers of this size.
  static double tolerance(double size) { return 4 * std::numeric_limits<T>::epsilon() * size; }
};
using Precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(Rows, Precisions);

// Less than a vector, whole vectors of every instruction set, and something beyond them.
constexpr std::int64_t counts[] = {0, 1, 3, 8, 16, 31, 64, 100, 1000};

TYPED_TEST(Rows, are_multiplied_scaled_and_subtracted_element_by_element) {
  using T = TypeParam;
  for (const auto count : counts) {
    // One element further than a whole cache line: alignment is not needed; and one behind, which is not touched.
    const auto a = this->values(count + 1, 1), b = this->values(count + 1, 2), c = this->values(count + 2, 3);
    std::vector<T> factors(static_cast<std::size_t>(count) + 1, T(0.3));
    for (std::size_t i = 0; i < factors.size(); ++i) factors[i] *= static_cast<T>(i) - 5;
    auto product = c, conjugate = c, sum = c, scaled = c, rest = c;
    const Complex<T> factor{T(0.4), T(-1.7)};
    fhd::rows::kernels<T>().multiply(count, a.data() + 1, b.data() + 1, product.data() + 1);
    fhd::rows::kernels<T>().multiply_conjugate(count, a.data() + 1, b.data() + 1, false,
                                               conjugate.data() + 1);
    fhd::rows::kernels<T>().multiply_conjugate(count, a.data() + 1, b.data() + 1, true, sum.data() + 1);
    fhd::rows::kernels<T>().scale(count, factors.data() + 1, scaled.data() + 1);
    fhd::rows::kernels<T>().subtract(count, factor, a.data() + 1, rest.data() + 1);
    for (std::int64_t i = 1; i <= count; ++i) {
      const Exact x = this->exact(a[i]), y = this->exact(b[i]), z = this->exact(c[i]);
      const double size = std::abs(x) * std::abs(y) + std::abs(z);
      EXPECT_LE(std::abs(this->exact(product[i]) - x * y), this->tolerance(size)) << i << " of " << count;
      EXPECT_LE(std::abs(this->exact(conjugate[i]) - std::conj(x) * y), this->tolerance(size));
      EXPECT_LE(std::abs(this->exact(sum[i]) - (z + std::conj(x) * y)), this->tolerance(size));
      EXPECT_LE(std::abs(this->exact(scaled[i]) - z * double(factors[i])),
                this->tolerance(std::abs(z) * std::abs(double(factors[i]))));
      EXPECT_LE(std::abs(this->exact(rest[i]) - (z - this->exact(factor) * x)),
                this->tolerance(std::abs(z) + std::abs(this->exact(factor) * x)));
    }
    for (const auto* row : {&product, &conjugate, &sum, &scaled, &rest}) {
      EXPECT_EQ((*row)[0].re, c[0].re);
      EXPECT_EQ((*row)[count + 1].im, c[count + 1].im);
    }
  }
}

TYPED_TEST(Rows, have_a_product_summed_in_double_precision) {
  for (const auto count : counts) {
    const auto a = this->values(count, 4), b = this->values(count, 5);
    Exact sum = 0;
    double size = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      sum += std::conj(this->exact(a[i])) * this->exact(b[i]);
      size += std::abs(this->exact(a[i])) * std::abs(this->exact(b[i]));
    }
    const Complex<double> found = fhd::rows::kernels<TypeParam>().dot(count, a.data(), b.data());
    // Sums in two orders differ by a rounding of every element at most.
    EXPECT_LE(std::abs(Exact(found.re, found.im) - sum), (1 + double(count)) * 2.3e-16 * size) << count;
  }
}

TYPED_TEST(Rows, keep_what_is_no_number) {
  auto a = this->values(40, 6), b = this->values(40, 7);
  a[17].im = std::numeric_limits<TypeParam>::quiet_NaN();
  std::vector<Complex<TypeParam>> product(40);
  fhd::rows::kernels<TypeParam>().multiply(40, a.data(), b.data(), product.data());
  EXPECT_TRUE(std::isnan(product[17].re));
  EXPECT_TRUE(std::isfinite(product[16].re) && std::isfinite(product[18].re));
  EXPECT_TRUE(std::isnan(fhd::rows::kernels<TypeParam>().dot(40, a.data(), b.data()).re));
}

}  // namespace
