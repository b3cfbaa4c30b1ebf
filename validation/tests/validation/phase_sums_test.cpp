// Exponentials and their sums beside the C library's in extended precision.
#include "validation/phase_sums.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <random>

namespace fhd::validation {
namespace {

using Precise = std::complex<long double>;

/// exp(i 2 pi turns)
Precise exponential(double turns) {
  const long double phase = 2 * std::numbers::pi_v<long double> *
                            (static_cast<long double>(turns) - std::rint(static_cast<long double>(turns)));
  return {std::cos(phase), std::sin(phase)};
}

TEST(PhaseSums, exponentials_are_those_of_the_c_library) {
  std::mt19937_64 generator(1);
  for (const double range : {0.6, 128.0, 1e6}) {
    std::vector<double> turns{0, 0.25, -0.25, 0.5, -0.5, 0.75, 0x1p-30, 127.125};
    std::uniform_real_distribution<double> uniform(-range, range);
    while (turns.size() < 1003) turns.push_back(uniform(generator));  // no multiple of any vector's length
    const auto count = static_cast<std::int64_t>(turns.size());
    ComplexRows e(1, count);
    set_exponentials(count, turns.data(), e.re(0), e.im(0));
    for (std::int64_t j = 0; j < count; ++j) {
      const auto expected = exponential(turns[static_cast<std::size_t>(j)]);
      EXPECT_LE(std::abs(Precise(e.re(0)[j], e.im(0)[j]) - expected), 1e-15L)
          << turns[static_cast<std::size_t>(j)];
    }
  }
}

TEST(PhaseSums, exponentials_of_what_is_not_finite_are_nan) {
  const double turns[] = {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                          0.5};
  double re[3], im[3];
  set_exponentials(3, turns, re, im);
  EXPECT_TRUE(std::isnan(re[0]) && std::isnan(im[0]) && std::isnan(re[1]) && std::isnan(im[1]));
  EXPECT_EQ(re[2], -1);
}

TEST(PhaseSums, inner_products_of_any_number_of_rows_and_columns) {
  std::mt19937_64 generator(2);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (const std::int64_t count : {1, 7, 8, 256, 259})
    for (std::int64_t row_count = 1; row_count <= 4; ++row_count) {
      ComplexRows rows(row_count + 1, count), e(1, count), product(1, count);
      for (auto* values : {&rows.all_re, &rows.all_im, &e.all_re, &e.all_im})
        for (double& v : *values) v = uniform(generator);
      std::complex<double> sums[5] = {1, 1, 1, 1, 1};
      add_inner_products(rows, 1, row_count, count, e.re(0), e.im(0), sums);
      for (std::int64_t row = 0; row < 5; ++row) {
        Precise expected = 1;
        for (std::int64_t j = 0; j < count && row < row_count; ++j)
          expected += Precise(rows.re(row + 1)[j], rows.im(row + 1)[j]) * Precise(e.re(0)[j], e.im(0)[j]);
        // Each of 2 count products is at most 1 and rounds once, each sum once.
        EXPECT_LE(std::abs(Precise(sums[row]) - expected),
                  static_cast<long double>(4 * count + 1) * 0x1p-52L);
      }
    }
}

template <class T>
std::vector<Complex<T>> random_values(std::int64_t count, std::mt19937_64& generator) {
  std::uniform_real_distribution<T> uniform(-1, 1);
  std::vector<Complex<T>> values(static_cast<std::size_t>(count));
  for (auto& v : values) v = {uniform(generator), uniform(generator)};
  return values;
}

/// Compares products of f and d, and of both with two others, with sums in extended precision.
template <class F, class D>
void expect_products() {
  std::mt19937_64 generator(3);
  for (const std::int64_t count : {1, 7, 8, 256, 259}) {
    const auto f = random_values<F>(count, generator), t = random_values<F>(count, generator),
               u = random_values<F>(count, generator);
    const auto d = random_values<D>(count, generator);
    const auto precise = [](const auto& v) { return Precise(v.re, v.im); };
    const auto product = [&](const auto& a, const auto& b) {
      Precise sum = 0;
      for (std::size_t j = 0; j < a.size(); ++j) sum += std::conj(precise(a[j])) * precise(b[j]);
      return sum;
    };
    const auto expect_near = [&](std::complex<double> found, const Precise& expected) {
      EXPECT_LE(std::abs(Precise(found) - expected), static_cast<long double>(4 * count + 1) * 0x1p-52L);
    };
    const auto own = inner_products(count, f.data(), d.data());
    const auto all = combined_products(count, {t.data(), u.data()}, f.data(), d.data());
    for (const auto& products : {own, all.own}) {
      expect_near({products.re, products.im}, product(f, d));
      expect_near(products.of_f, product(f, f));
      expect_near(products.of_d, product(d, d));
    }
    expect_near(all.of_f[0], product(t, f)), expect_near(all.of_f[1], product(u, f));
    expect_near(all.of_d[0], product(t, d)), expect_near(all.of_d[1], product(u, d));
    std::vector<Complex<F>> difference(f);
    for (std::size_t j = 0; j < f.size(); ++j) difference[j] = f[j] - t[j];
    // Single precision rounds the differences that are compared here, by half of 2^-23 each.
    EXPECT_NEAR(squared_difference(count, f.data(), t.data()),
                static_cast<double>(product(difference, difference).real()),
                4 * static_cast<double>(count) * std::numeric_limits<F>::epsilon());
  }
}

TEST(PhaseSums, products_of_values_in_either_precision) {
  expect_products<float, float>();
  expect_products<double, double>();
  expect_products<double, float>();
}

TEST(PhaseSums, conjugates_are_added) {
  ComplexRows e(1, 3), to(1, 3);
  for (int j = 0; j < 3; ++j) e.re(0)[j] = j, e.im(0)[j] = 1, to.re(0)[j] = 5;
  add_conjugates(3, {2, 3}, e.re(0), e.im(0), to.re(0), to.im(0));
  for (int j = 0; j < 3; ++j) {  // 5 + (2 + 3 i) (j - i)
    EXPECT_EQ(to.re(0)[j], 8 + 2 * j);
    EXPECT_EQ(to.im(0)[j], 3 * j - 2);
  }
}

TEST(PhaseSums, products_are_elementwise) {
  ComplexRows a(1, 3), b(1, 3);
  for (int j = 0; j < 3; ++j) a.re(0)[j] = j, a.im(0)[j] = 1, b.re(0)[j] = 2, b.im(0)[j] = -j;
  multiply(3, a.re(0), a.im(0), b.re(0), b.im(0));
  for (int j = 0; j < 3; ++j) {  // (j + i) (2 - i j) = 3 j + i (2 - j^2)
    EXPECT_EQ(b.re(0)[j], 3 * j);
    EXPECT_EQ(b.im(0)[j], 2 - j * j);
  }
}

}  // namespace
}  // namespace fhd::validation
