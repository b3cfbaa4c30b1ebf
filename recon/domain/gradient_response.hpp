#pragma once
// Impulse responses of a gradient system (GIRF), as transfer functions of the three physical axes,
//
//     G_played(f) = H_p(f) G_nominal(f),   H_p(f) = integral h_p(t) exp(-i 2 pi f t) dt,   p = x, y, z
//
// A pure delay by tau is H = exp(-i 2 pi f tau). Responses are real, so that H(-f) = H*(f).
// Source: Vannesjo et al., MRM 69:583 (2013), doi:10.1002/mrm.24263.
#include <string>
#include <vector>

#include "recon/array/array.hpp"

namespace fhd {

struct GradientResponse {
  std::vector<double> frequencies_hz;  ///< ascending; from 0 or less on
  Array<Complex<double>> values;       ///< H, [axis][frequency]

  /// Returns H: linear between frequencies, constant beyond the last. A table on both sides of 0 gives the nearest real
  /// response.
  Complex<double> at(int axis, double hz) const;
  /// Returns the frequency up to which H is known on both sides.
  double bandwidth_hz() const;
  /// Throws Error naming `subject` (a file) where frequencies do not ascend from 0 or less, values are not finite
  /// or of another number, or a response to slow gradients, H(0), is not 1 within 10 %.
  void validate(const std::string& subject) const;
};

}  // namespace fhd
