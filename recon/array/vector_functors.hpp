#pragma once
// The elements of vector_math.hpp, for the loop of pointwise.hpp. Floor: each element of the vectors is moved
// once.
#include "recon/array/pointwise.hpp"

namespace fhd {

template <class T>
struct ConstantFactor {
  T constant;
  FHD_HOST_DEVICE T value() const { return constant; }
};

/// Quotient of vector_math.hpp, read where its scalars lie.
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
