// Fourier transforms of columns and lines beside their sum in double precision.
#include "recon/array/fft.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <vector>

#include "validation/tests/problems.hpp"

namespace {

using fhd::Array;
using fhd::Complex;
using fhd::Shape;

template <class T>
class Fft : public testing::Test {
 protected:
  /// [n][columns], 64-byte aligned.
  static Array<Complex<T>> values(std::int64_t n, std::int64_t columns) {
    return fhd::tests::random_values<T>({n, columns}, static_cast<unsigned>(n));
  }
  /// sum over j of from[j] exp(sign i 2 pi j k / n), from[j] = values[j * pitch].
  static std::vector<std::complex<double>> sums(const Complex<T>* from, std::int64_t n, std::int64_t pitch,
                                                int sign) {
    std::vector<std::complex<double>> result(static_cast<std::size_t>(n));
    for (std::int64_t k = 0; k < n; ++k)
      for (std::int64_t j = 0; j < n; ++j)
        result[k] += std::complex<double>(from[j * pitch].re, from[j * pitch].im) *
                     std::polar(1.0, sign * 2 * std::numbers::pi * static_cast<double>(j * k % n) /
                                         static_cast<double>(n));
    return result;
  }
  /// Relative l2 distance.
  static double error(const Complex<T>* found, std::int64_t pitch,
                      const std::vector<std::complex<double>>& expected) {
    double difference = 0, norm = 0;
    for (std::size_t k = 0; k < expected.size(); ++k) {
      const auto& value = found[static_cast<std::int64_t>(k) * pitch];
      difference += std::norm(std::complex<double>(value.re, value.im) - expected[k]);
      norm += std::norm(expected[k]);
    }
    return std::sqrt(difference / norm);
  }
  /// Rounding grows with the root of the number of stages, at most log2 n of a few roundings each.
  static double tolerance(std::int64_t n) {
    return 2 * std::sqrt(1 + std::log2(static_cast<double>(n))) * std::numeric_limits<T>::epsilon();
  }
};
using Precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(Fft, Precisions);

// Every radix, their products in every order of stages, one to five stages, and lengths that are FFTW's.
constexpr int lengths[] = {2,  3,  4,  5,  6,   7,   8,   9,   10,  12,  14,  16,  21,  24,  32, 35, 49,
                           60, 64, 81, 96, 105, 125, 128, 160, 180, 192, 210, 240, 256, 343, 11, 26, 97};

TYPED_TEST(Fft, of_columns_is_the_sum) {
  using T = TypeParam;
  constexpr std::int64_t wide = fhd::Fft1d<T>::wide;
  for (const int n : lengths)
    for (const int sign : {-1, +1}) {
      const auto in = this->values(n, wide);
      auto out = in;
      Array<Complex<T>> scratch(in.shape());
      const fhd::Fft1d<T> fft(n, wide);
      sign < 0 ? fft.forward(out.data(), scratch.data()) : fft.backward(out.data(), scratch.data());
      for (std::int64_t column = 0; column < wide; ++column)
        EXPECT_LE(this->error(out.data() + column, wide, this->sums(in.data() + column, n, wide, sign)),
                  this->tolerance(n))
            << n << ", column " << column << ", sign " << sign;
    }
}

TYPED_TEST(Fft, of_lines_is_the_sum_and_touches_nothing_beside_them) {
  using T = TypeParam;
  for (const int n : lengths)
    for (const std::int64_t count : {std::int64_t{1}, std::int64_t{5}, fhd::LineFft<T>::wide}) {
      const std::int64_t pitch = n + 3;
      const auto in = this->values(count, pitch);
      auto out = in;
      const fhd::LineFft<T> fft(n, count);
      Array<Complex<T>> scratch(Shape{fft.scratch_elements()});
      fft(out.data(), pitch, count, -1, scratch.data());
      for (std::int64_t line = 0; line < count; ++line) {
        EXPECT_LE(this->error(out.data() + line * pitch, 1, this->sums(in.data() + line * pitch, n, 1, -1)),
                  this->tolerance(n))
            << n << ", line " << line << " of " << count;
        for (std::int64_t i = n; i < pitch; ++i) EXPECT_EQ(out[line * pitch + i].re, in[line * pitch + i].re);
      }
    }
}

TYPED_TEST(Fft, of_a_column_does_not_see_its_neighbours) {
  using T = TypeParam;
  constexpr std::int64_t wide = fhd::Fft1d<T>::wide, n = 60;
  auto one = this->values(n, wide), other = one;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t column = 1; column < wide; ++column)
      other[i * wide + column] = {std::numeric_limits<T>::quiet_NaN(), T(0)};
  const fhd::Fft1d<T> fft(n, wide);
  Array<Complex<T>> scratch(one.shape());
  fft.forward(one.data(), scratch.data());
  fft.forward(other.data(), scratch.data());
  for (std::int64_t i = 0; i < n; ++i) {
    EXPECT_EQ(one[i * wide].re, other[i * wide].re);
    EXPECT_EQ(one[i * wide].im, other[i * wide].im);
    EXPECT_TRUE(std::isnan(other[i * wide + 1].re));
  }
}

TEST(ColumnFft, says_which_lengths_it_takes) {
  for (const int n : {1, 2, 7, 210, 512, 6400}) EXPECT_TRUE(fhd::ColumnFft<float>::supports(n)) << n;
  for (const int n : {0, -8, 11, 26, 97}) {
    EXPECT_FALSE(fhd::ColumnFft<float>::supports(n)) << n;
    EXPECT_THROW(fhd::ColumnFft<float>{n}, std::exception) << n;
  }
}

TYPED_TEST(Fft, lines_become_columns) {
  using T = TypeParam;
  for (const auto& [rows, columns] : {std::pair{1, 1}, {16, 24}, {13, 21}, {8, 3}, {3, 8}}) {
    const auto in = this->values(rows, columns + 2);
    Array<Complex<T>> out(Shape{columns, rows + 1});
    fhd::column_fft::kernels<T>().transpose(in.data(), columns + 2, rows, columns, out.data(),
                                            std::int64_t{rows} + 1);
    for (int row = 0; row < rows; ++row)
      for (int column = 0; column < columns; ++column) {
        EXPECT_EQ(out[column * (rows + 1) + row].re, in[row * (columns + 2) + column].re);
        EXPECT_EQ(out[column * (rows + 1) + row].im, in[row * (columns + 2) + column].im);
      }
    for (int column = 0; column < columns; ++column) EXPECT_EQ(out[column * (rows + 1) + rows].re, T(0));
  }
}

}  // namespace
