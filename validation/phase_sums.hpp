#pragma once
// Sums of complex exponentials in double precision, for the widest vectors of the processor: real and imaginary
// parts lie apart. Of the certificate alone; nothing of it is shared with recon/.
#include <array>
#include <complex>
#include <cstdint>
#include <vector>

#include "recon/array/complex.hpp"

namespace fhd::validation {

/// Complex numbers [row][length].
struct ComplexRows {
  ComplexRows(std::int64_t rows, std::int64_t row_length)
      : length(row_length),
        all_re(static_cast<std::size_t>(rows * row_length)),
        all_im(static_cast<std::size_t>(rows * row_length)) {}
  double* re(std::int64_t row) { return all_re.data() + row * length; }
  double* im(std::int64_t row) { return all_im.data() + row * length; }
  const double* re(std::int64_t row) const { return all_re.data() + row * length; }
  const double* im(std::int64_t row) const { return all_im.data() + row * length; }

  std::int64_t length;
  std::vector<double> all_re, all_im;
};

/// re[j] + i im[j] = scale * values[j] for j < count.
void set_values(std::int64_t count, const Complex<float>* values, double scale, double* re, double* im);
void set_values(std::int64_t count, const Complex<double>* values, double scale, double* re, double* im);

/// conj(f) d, |f|^2 and |d|^2, each summed.
struct InnerProducts {
  double re = 0, im = 0, of_f = 0, of_d = 0;
  InnerProducts& operator+=(const InnerProducts& other) {
    re += other.re, im += other.im, of_f += other.of_f, of_d += other.of_d;
    return *this;
  }
};
/// Returns those of f[j] and d[j], j < count.
InnerProducts inner_products(std::int64_t count, const Complex<float>* f, const Complex<float>* d);
InnerProducts inner_products(std::int64_t count, const Complex<double>* f, const Complex<double>* d);
InnerProducts inner_products(std::int64_t count, const Complex<double>* f, const Complex<float>* d);

/// Sums of conj(t) f and conj(t) d for two t, and those of f and d.
struct CombinedProducts {
  InnerProducts own;
  std::complex<double> of_f[2], of_d[2];
  CombinedProducts& operator+=(const CombinedProducts& other) {
    own += other.own;
    for (int i = 0; i < 2; ++i) of_f[i] += other.of_f[i], of_d[i] += other.of_d[i];
    return *this;
  }
};
/// Returns those of t[0][j], t[1][j], f[j] and d[j], j < count.
CombinedProducts combined_products(std::int64_t count, const std::array<const Complex<float>*, 2>& t,
                                   const Complex<float>* f, const Complex<float>* d);
CombinedProducts combined_products(std::int64_t count, const std::array<const Complex<double>*, 2>& t,
                                   const Complex<double>* f, const Complex<double>* d);
CombinedProducts combined_products(std::int64_t count, const std::array<const Complex<double>*, 2>& t,
                                   const Complex<double>* f, const Complex<float>* d);

/// Returns the sum of |a[j] - b[j]|^2, j < count.
double squared_difference(std::int64_t count, const Complex<float>* a, const Complex<float>* b);
double squared_difference(std::int64_t count, const Complex<double>* a, const Complex<double>* b);

/// exp(i 2 pi turns[j]) for j < count, each within 1e-15; NaN where turns[j] is
/// not finite.
void set_exponentials(std::int64_t count, const double* turns, double* re, double* im);

/// to[j] *= e[j] for j < count.
void multiply(std::int64_t count, const double* e_re, const double* e_im, double* to_re, double* to_im);

/// to[j] += factor conj(e[j]) for j < count.
void add_conjugates(std::int64_t count, std::complex<double> factor, const double* e_re, const double* e_im,
                    double* to_re, double* to_im);

/// sums[i] += sum over j < count of rows[i][j] e[j] for i < row_count <= 4.
void add_inner_products(const ComplexRows& rows, std::int64_t first_row, std::int64_t row_count,
                        std::int64_t count, const double* e_re, const double* e_im,
                        std::complex<double>* sums);

}  // namespace fhd::validation
