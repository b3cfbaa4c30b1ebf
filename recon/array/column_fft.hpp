#pragma once
// Fourier transforms of columns that lie side by side: every lane of a vector is a transform of its own, so that no
// vector is ever shuffled between its butterflies. Compiled once per instruction set and chosen at run time.
#include <cstdint>
#include <tuple>
#include <vector>

#include "recon/array/complex.hpp"

namespace fhd {

/// A transform of length n = product of `radices` of n x columns numbers [i][column], unnormalised, exp(-i 2 pi j l /
/// n), or with the sign reversed. The same bits on every call.
///
/// Stockham's autosort form: with l the product of the radices before a stage of radix r and m = n / (l r),
///
///     y[q + l (r p + k)] = w^(p k) sum over j of x[q + l (p + m j)] exp(-i 2 pi j k / r),  w = exp(-i 2 pi / (r m))
///
/// for p < m, q < l. Between the stages real and imaginary parts are apart; the first stage parts them, the last joins
/// them. Floor: a load and a store of every number a stage, from the nearest cache, beside 5 n log2 n operations.
/// Source: Van Loan, Computational Frameworks for the Fast Fourier Transform (1992), section 1.7.
template <class T>
class ColumnFft {
 public:
  static constexpr int columns = 128 / sizeof(Complex<T>);  ///< two cache lines of numbers

  /// Returns whether n has no other prime factors than 2, 3, 5 and 7.
  static bool supports(int n);
  /// Throws Error where it does not.
  explicit ColumnFft(int n);

  /// `data`: n x columns, 64-byte aligned, in place; `scratch`: as much again. Safe to call from several threads.
  void operator()(Complex<T>* data, Complex<T>* scratch, bool backward) const;

  struct Stage {
    int radix;
    std::int64_t before, after;  ///< l and m
    std::int64_t twiddles;       ///< where its w^(p k) begin: [p][k - 1][re, im]
  };

 private:
  int n_;
  std::vector<Stage> stages_;
  std::vector<T> twiddles_;
};

namespace column_fft {

/// A stage of ColumnFft with its memory.
template <class T>
struct Stage {
  const T* from;
  T* to;
  const T* twiddles;
  std::int64_t before, after;
  int radix;
  bool reversed;  ///< reads row n - j for row j: the transform with the other sign
};
template <class T>
struct Kernels {
  /// The first stage reads joined numbers where it is not the only one, the last writes them.
  void (*transform)(const Stage<T>* stages, int count);
  /// Parts the real and imaginary parts of rows of columns.
  void (*part)(const T* from, std::int64_t rows, T* to);
  /// to[column * to_pitch + row] = from[row * from_pitch + column]: lines become columns, or columns lines.
  void (*transpose)(const Complex<T>* from, std::int64_t from_pitch, std::int64_t rows, std::int64_t columns,
                    Complex<T>* to, std::int64_t to_pitch);
};
using AllKernels = std::tuple<Kernels<float>, Kernels<double>>;
const AllKernels& all_kernels();
template <class T>
const Kernels<T>& kernels() {
  return std::get<Kernels<T>>(all_kernels());
}

}  // namespace column_fft
}  // namespace fhd
