#pragma once
// Sums of complex exponentials in double precision, for the widest vectors of the processor: real and imaginary
// parts lie apart. Of the certificate alone; nothing of it is shared with recon/.
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
};
/// Adds those of f[j] and d[j], j < count.
void add_inner_products(std::int64_t count, const double* f_re, const double* f_im, const double* d_re,
                        const double* d_im, InnerProducts& sums);

/// exp(i 2 pi turns[j]) for j < count, each within 1e-15; NaN where turns[j] is
/// not finite.
void set_exponentials(std::int64_t count, const double* turns, double* re, double* im);

/// to[j] *= e[j] for j < count.
void multiply(std::int64_t count, const double* e_re, const double* e_im, double* to_re, double* to_im);

/// sums[i] += sum over j < count of rows[i][j] e[j] for i < row_count <= 4.
void add_inner_products(const ComplexRows& rows, std::int64_t first_row, std::int64_t row_count,
                        std::int64_t count, const double* e_re, const double* e_im,
                        std::complex<double>* sums);

}  // namespace fhd::validation
