#pragma once
// Fields that are not linear in space, and gradients that are not: the phase of a voxel beside k . r and off-resonance,
//
//     phi'(p, m) = sum_l kappa_l(m) b_l(r_p + Delta(r_p)) + kappa_k(m) . Delta(r_p),
//
// in radians; forward transforms hold exp(-i phi'). b_l are real functions of the position about the isocentre, in metres,
// along the axes of the magnet; kappa_l is in rad/m^n for a function of order n: an integrated phase, not a field. kappa_k is
// 2 pi k of the trajectory, in rad/m. Sources: Wilm et al., MRM 65:1690 (2011); Bernstein et al., MRM 39:300 (1998).
#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "recon/array/array.hpp"
#include "recon/domain/geometry.hpp"

namespace fhd {

/// Solid harmonics to third order in the order of the literature, then the four functions of Maxwell terms.
enum class FieldFunction {
  one,
  x,
  y,
  z,
  xy,
  zy,
  z2,
  xz,
  x2_y2,
  yx2,
  xyz,
  yz2,
  z3,
  xz2,
  zx2_zy2,
  x3,
  maxwell_z2,
  maxwell_x2_y2,
  maxwell_xz,
  maxwell_yz
};
/// The formulas, which files and messages name functions by.
constexpr std::array<const char*, 20> names_of(FieldFunction) {
  return {"1",       "x",       "y",       "z",     "xy",         "zy",        "3z2-r2",
          "xz",      "x2-y2",   "3yx2-y3", "xyz",   "5yz2-yr2",   "5z3-3zr2",  "5xz2-xr2",
          "zx2-zy2", "x3-3xy2", "z2",      "x2+y2", "maxwell-xz", "maxwell-yz"};
}
/// Returns the power of a length that a function is: 0 ... 3.
constexpr int order_of(FieldFunction function) {
  return function == FieldFunction::one     ? 0
         : function <= FieldFunction::z     ? 1
         : function <= FieldFunction::x2_y2 ? 2
         : function <= FieldFunction::x3    ? 3
                                            : 2;
}
/// Returns the value of a function at x, y, z in metres, m^order.
double value_of(FieldFunction function, const std::array<double, 3>& position_m);

/// The fields of a scan.
struct Fields {
  std::vector<FieldFunction> functions;  ///< any may stand there more than once
  Array<double> coefficients;            ///< kappa, [function][sample], rad/m^order
  /// The directions of the magnet's x, y and z in LPS (geometry.hpp), rows; their origin is the isocentre.
  std::array<std::array<double, 3>, 3> axes{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  /// Delta: how far nonlinear gradients displace a voxel along x, y, z of the magnet, mm, [3][z][y][x]; empty: linear.
  Array<float> displacement_mm{};
};

/// Returns whether a function is of second order or more: then it matters where the isocentre is.
inline bool has_higher_orders(const Fields& fields) {
  return std::ranges::any_of(fields.functions, [](auto function) { return order_of(function) > 1; });
}

/// Returns the positions of all voxels along the axes of the magnet, [x, y, z][voxel], metres from the isocentre, without
/// displacement. Throws Error if a FOV of more than one voxel is unknown.
Array<double> positions_in_magnet_m(const Geometry& geometry, const Fields& fields);

}  // namespace fhd
