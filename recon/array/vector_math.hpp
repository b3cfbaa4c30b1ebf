#pragma once
// Vector operations of the solver, on the device of their arrays. Scalars that one operation makes and the
// next one uses stay in an Array<double> on the same device: on a GPU nothing waits for the host.
#include "recon/array/array.hpp"
#include "recon/array/pointwise.hpp"

namespace fhd {

/// A quotient of two scalars that lie in arrays on the device; 0 where the denominator is 0.
struct Quotient {
  const Array<double>& numerators;
  std::int64_t numerator;
  const Array<double>& denominators;
  std::int64_t denominator;
  double factor = 1;       ///< multiplies the quotient
  double negligible = -1;  ///< a numerator of at most this counts as 0

  Quotient negative() const {
    return {numerators, numerator, denominators, denominator, -factor, negligible};
  }
};

/// results[index] = Re sum conj(a_i) b_i, summed in double in an order that does not depend on the threads.
template <class T>
void dot(const Array<Complex<T>>& a, const Array<Complex<T>>& b, Array<double>& results, std::int64_t index);
/// y += ratio x
template <class T>
void add_scaled(Array<Complex<T>>& y, const Quotient& ratio, const Array<Complex<T>>& x);
/// y = x + ratio y
template <class T>
void scale_and_add(Array<Complex<T>>& y, const Quotient& ratio, const Array<Complex<T>>& x);
/// y += factor x
template <class T>
void add_scaled(Array<Complex<T>>& y, T factor, const Array<Complex<T>>& x);
/// y *= factor
template <class T>
void scale(Array<Complex<T>>& y, T factor);
/// y = x, without allocation. Same shape and device.
template <class T>
void copy(const Array<Complex<T>>& x, Array<Complex<T>>& y);

/// y[first_y ...] = x[first_x ...], `count` elements, without allocation. Same device.
template <class T>
void copy_range(const Array<Complex<T>>& x, std::int64_t first_x, Array<Complex<T>>& y, std::int64_t first_y,
                std::int64_t count);

/// Re sum conj(a_i) b_i, on the host.
template <class T>
double real_dot(const Array<Complex<T>>& a, const Array<Complex<T>>& b);
/// sqrt(sum |a_i|^2), on the host.
template <class T>
double norm_l2(const Array<Complex<T>>& a);

namespace device {

/// The CUDA side, in vector_math_cuda.cu: *result, on the device of a and b, is their dot product.
template <class T>
void dot(const Array<Complex<T>>& a, const Array<Complex<T>>& b, double* result);

}  // namespace device

// --- Their elements, for the loop of pointwise.hpp. Floor: each element of the vectors is moved once. ---

template <class T>
struct ConstantFactor {
  T constant;
  FHD_HOST_DEVICE T value() const { return constant; }
};

/// Quotient, read where its scalars lie.
template <class T>
struct QuotientFactor {
  const double *numerator, *denominator;
  double factor, negligible;
  FHD_HOST_DEVICE T value() const {
    return static_cast<T>(*denominator == 0 || *numerator <= negligible ? 0
                                                                        : factor * *numerator / *denominator);
  }
};

/// y_i += factor x_i
template <class T, class Factor>
struct AddScaled {
  static constexpr const char* name = "adding a scaled vector";
  Complex<T>* y;
  Factor factor;
  const Complex<T>* x;
  FHD_HOST_DEVICE void operator()(std::int64_t i) const { y[i] += factor.value() * x[i]; }
};

/// y_i = x_i + factor y_i
template <class T, class Factor>
struct ScaleAndAdd {
  static constexpr const char* name = "scaling and adding a vector";
  Complex<T>* y;
  Factor factor;
  const Complex<T>* x;
  FHD_HOST_DEVICE void operator()(std::int64_t i) const { y[i] = x[i] + factor.value() * y[i]; }
};

/// y_i *= factor
template <class T>
struct Scale {
  static constexpr const char* name = "scaling a vector";
  Complex<T>* y;
  T factor;
  FHD_HOST_DEVICE void operator()(std::int64_t i) const { y[i] *= factor; }
};

}  // namespace fhd
