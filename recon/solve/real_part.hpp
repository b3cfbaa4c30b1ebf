#pragma once
// Real unknowns of a solver: complex arrays whose imaginary parts are 0.
#include "recon/array/array.hpp"
#include "recon/array/pointwise.hpp"

namespace fhd {

/// y = Re y, on its device.
template <class T>
void keep_real_part(Array<Complex<T>>& y);

/// y_i = Re y_i. Floor: each element is moved once.
template <class T>
struct RealPart {
  static constexpr const char* name = "taking the real part";
  Complex<T>* y;
  FHD_HOST_DEVICE void operator()(std::int64_t i) const { y[i].im = 0; }
};

}  // namespace fhd
