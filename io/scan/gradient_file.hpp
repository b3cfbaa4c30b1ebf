#pragma once
// Spherical harmonics of gradients that are not linear, in the text files of Siemens (coeff.grad): a reference radius,
// "0.25 m = R0", and lines "1 A( 3, 1) -0.08 x" with kind A (cosine) or B (sine), degree n, order m, value and axis.
// A place r appears at r + Delta,
//
//   Delta_axis = R0 sum (r/R0)^n N P_n^m(cos theta) (A cos m phi + B sin m phi),   N^2 = (2n+1) (n-m)! / (2 (n+m)!), 1 for m = 0
//
// with x, y, z to the left, to the front and to the feet of a patient who lies head first and supine. Source: Jovicich et al.,
// NeuroImage 30:436 (2006); gradunwarp.
#include <string>
#include <vector>

#include "recon/domain/scan.hpp"

namespace fhd::io {

struct GradientHarmonic {
  bool is_sine = false;
  int degree = 0, order = 0, axis = 0;
  double value = 0;
};
struct GradientHarmonics {
  double radius_m = 0;
  std::vector<GradientHarmonic> terms{};
};

/// Reads a .grad file. Throws Error where it holds no radius or no term, or numbers that no such file has.
GradientHarmonics read_gradient_harmonics(const std::string& path);

/// Returns Delta at the voxels along the axes of the magnet that `axes` state, mm, [3][z][y][x]. Throws Error where a FOV of
/// more than one voxel is unknown.
Array<float> displacement_of(const GradientHarmonics& harmonics, const Geometry& geometry,
                             const std::array<std::array<double, 3>, 3>& axes);

}  // namespace fhd::io
