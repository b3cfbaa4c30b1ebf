#include "validation/phase_sums.hpp"

#include <cmath>
#include <numbers>

#include "recon/array/for_processors.hpp"

namespace fhd::validation {

namespace {

using Value = std::complex<double>;

// Coefficients of the powers of x^2 in sin(x) / x and cos(x): Taylor, of which the first term left out is below 2e-18 for
// |x| <= pi / 2.
constexpr int terms = 12;
struct Coefficients {
  constexpr Coefficients() {
    double factorial = 1;  // of 2 i; exact in double up to 22!
    for (int i = 0; i < terms; ++i) {
      const double sign = i % 2 == 0 ? 1 : -1;
      cosine[i] = sign / factorial;
      sine[i] = sign / (factorial * (2 * i + 1));
      factorial *= (2 * i + 1) * (2 * i + 2);
    }
  }
  double sine[terms]{}, cosine[terms]{};
};
constexpr Coefficients taylor;

// Bodies of functions that are compiled for several processors.

template <class T>
[[gnu::always_inline]] inline Complex<double> parts(const Complex<T>& v) {
  return {static_cast<double>(v.re), static_cast<double>(v.im)};
}

template <class F, class D>
[[gnu::always_inline]] inline InnerProducts products(std::int64_t count, const F* f, const D* d) {
  double re = 0, im = 0, of_f = 0, of_d = 0;
#pragma omp simd reduction(+ : re, im, of_f, of_d)
  for (std::int64_t j = 0; j < count; ++j) {
    const auto [f_re, f_im] = parts(f[j]);
    const auto [d_re, d_im] = parts(d[j]);
    re += f_re * d_re + f_im * d_im;
    im += f_re * d_im - f_im * d_re;
    of_f += f_re * f_re + f_im * f_im;
    of_d += d_re * d_re + d_im * d_im;
  }
  return {re, im, of_f, of_d};
}

template <class T, class F, class D>
[[gnu::always_inline]] inline CombinedProducts combined(std::int64_t count, const T* t, const T* u,
                                                        const F* f, const D* d) {
  double re = 0, im = 0, of_f = 0, of_d = 0, tf_re = 0, tf_im = 0, td_re = 0, td_im = 0, uf_re = 0, uf_im = 0,
         ud_re = 0, ud_im = 0;
#pragma omp simd reduction(+ : re, im, of_f, of_d, tf_re, tf_im, td_re, td_im, uf_re, uf_im, ud_re, ud_im)
  for (std::int64_t j = 0; j < count; ++j) {
    const auto [f_re, f_im] = parts(f[j]);
    const auto [d_re, d_im] = parts(d[j]);
    const auto [t_re, t_im] = parts(t[j]);
    const auto [u_re, u_im] = parts(u[j]);
    re += f_re * d_re + f_im * d_im, im += f_re * d_im - f_im * d_re;
    of_f += f_re * f_re + f_im * f_im, of_d += d_re * d_re + d_im * d_im;
    tf_re += t_re * f_re + t_im * f_im, tf_im += t_re * f_im - t_im * f_re;
    td_re += t_re * d_re + t_im * d_im, td_im += t_re * d_im - t_im * d_re;
    uf_re += u_re * f_re + u_im * f_im, uf_im += u_re * f_im - u_im * f_re;
    ud_re += u_re * d_re + u_im * d_im, ud_im += u_re * d_im - u_im * d_re;
  }
  return {{re, im, of_f, of_d},
          {Value(tf_re, tf_im), Value(uf_re, uf_im)},
          {Value(td_re, td_im), Value(ud_re, ud_im)}};
}

template <class T>
[[gnu::always_inline]] inline double difference(std::int64_t count, const T* a, const T* b) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t j = 0; j < count; ++j) {
    const auto [a_re, a_im] = parts(a[j]);
    const auto [b_re, b_im] = parts(b[j]);
    const double re = a_re - b_re, im = a_im - b_im;
    sum += re * re + im * im;
  }
  return sum;
}

}  // namespace

FHD_FOR_PROCESSORS void set_values(std::int64_t count, const Complex<float>* values, double scale, double* re,
                                   double* im) {
#pragma omp simd
  for (std::int64_t j = 0; j < count; ++j) {
    re[j] = scale * static_cast<double>(values[j].re);
    im[j] = scale * static_cast<double>(values[j].im);
  }
}

FHD_FOR_PROCESSORS void set_values(std::int64_t count, const Complex<double>* values, double scale,
                                   double* re, double* im) {
#pragma omp simd
  for (std::int64_t j = 0; j < count; ++j) {
    re[j] = scale * values[j].re;
    im[j] = scale * values[j].im;
  }
}

FHD_FOR_PROCESSORS InnerProducts inner_products(std::int64_t count, const Complex<float>* f,
                                                const Complex<float>* d) {
  return products(count, f, d);
}
FHD_FOR_PROCESSORS CombinedProducts combined_products(std::int64_t count,
                                                      const std::array<const Complex<float>*, 2>& t,
                                                      const Complex<float>* f, const Complex<float>* d) {
  return combined(count, t[0], t[1], f, d);
}
FHD_FOR_PROCESSORS InnerProducts inner_products(std::int64_t count, const Complex<double>* f,
                                                const Complex<double>* d) {
  return products(count, f, d);
}
FHD_FOR_PROCESSORS CombinedProducts combined_products(std::int64_t count,
                                                      const std::array<const Complex<double>*, 2>& t,
                                                      const Complex<double>* f, const Complex<double>* d) {
  return combined(count, t[0], t[1], f, d);
}
FHD_FOR_PROCESSORS InnerProducts inner_products(std::int64_t count, const Complex<double>* f,
                                                const Complex<float>* d) {
  return products(count, f, d);
}
FHD_FOR_PROCESSORS CombinedProducts combined_products(std::int64_t count,
                                                      const std::array<const Complex<double>*, 2>& t,
                                                      const Complex<double>* f, const Complex<float>* d) {
  return combined(count, t[0], t[1], f, d);
}
FHD_FOR_PROCESSORS double squared_difference(std::int64_t count, const Complex<float>* a,
                                             const Complex<float>* b) {
  return difference(count, a, b);
}
FHD_FOR_PROCESSORS double squared_difference(std::int64_t count, const Complex<double>* a,
                                             const Complex<double>* b) {
  return difference(count, a, b);
}

FHD_FOR_PROCESSORS void set_exponentials(std::int64_t count, const double* turns, double* re, double* im) {
#pragma omp simd
  for (std::int64_t j = 0; j < count; ++j) {
    // Exactly: turns = halves / 2 + rest, |rest| <= 1/4, and exp(i pi halves) = 1 or -1.
    const double reduced = turns[j] - std::rint(turns[j]), halves = std::rint(2 * reduced);
    const double rest = reduced - halves / 2, sign = 1 - 2 * std::abs(halves);
    const double x = 2 * std::numbers::pi * rest, square = x * x;
    double sine = taylor.sine[terms - 1], cosine = taylor.cosine[terms - 1];
    for (int i = terms - 2; i >= 0; --i) {
      sine = sine * square + taylor.sine[i];
      cosine = cosine * square + taylor.cosine[i];
    }
    re[j] = sign * cosine;
    im[j] = sign * x * sine;
  }
}

FHD_FOR_PROCESSORS void multiply(std::int64_t count, const double* e_re, const double* e_im, double* to_re,
                                 double* to_im) {
#pragma omp simd
  for (std::int64_t j = 0; j < count; ++j) {
    const double re = to_re[j], im = to_im[j];
    to_re[j] = re * e_re[j] - im * e_im[j];
    to_im[j] = re * e_im[j] + im * e_re[j];
  }
}

FHD_FOR_PROCESSORS void add_conjugates(std::int64_t count, std::complex<double> factor, const double* e_re,
                                       const double* e_im, double* to_re, double* to_im) {
  const double re = factor.real(), im = factor.imag();
#pragma omp simd
  for (std::int64_t j = 0; j < count; ++j) {
    to_re[j] += re * e_re[j] + im * e_im[j];
    to_im[j] += im * e_re[j] - re * e_im[j];
  }
}

FHD_FOR_PROCESSORS void add_inner_products(const ComplexRows& rows, std::int64_t first_row,
                                           std::int64_t row_count, std::int64_t count, const double* e_re,
                                           const double* e_im, std::complex<double>* sums) {
  if (row_count == 4) {  // each e is loaded once for all
    const double *a = rows.re(first_row), *b = rows.im(first_row);
    const std::int64_t n = rows.length;
    double re0 = 0, re1 = 0, re2 = 0, re3 = 0, im0 = 0, im1 = 0, im2 = 0, im3 = 0;
#pragma omp simd reduction(+ : re0, re1, re2, re3, im0, im1, im2, im3)
    for (std::int64_t j = 0; j < count; ++j) {
      const double re = e_re[j], im = e_im[j];
      re0 += a[j] * re - b[j] * im, im0 += a[j] * im + b[j] * re;
      re1 += a[n + j] * re - b[n + j] * im, im1 += a[n + j] * im + b[n + j] * re;
      re2 += a[2 * n + j] * re - b[2 * n + j] * im, im2 += a[2 * n + j] * im + b[2 * n + j] * re;
      re3 += a[3 * n + j] * re - b[3 * n + j] * im, im3 += a[3 * n + j] * im + b[3 * n + j] * re;
    }
    sums[0] += Value(re0, im0), sums[1] += Value(re1, im1);
    sums[2] += Value(re2, im2), sums[3] += Value(re3, im3);
    return;
  }
  for (std::int64_t row = 0; row < row_count; ++row) {
    const double *a = rows.re(first_row + row), *b = rows.im(first_row + row);
    double re = 0, im = 0;
#pragma omp simd reduction(+ : re, im)
    for (std::int64_t j = 0; j < count; ++j) {
      re += a[j] * e_re[j] - b[j] * e_im[j];
      im += a[j] * e_im[j] + b[j] * e_re[j];
    }
    sums[row] += Value(re, im);
  }
}

}  // namespace fhd::validation
