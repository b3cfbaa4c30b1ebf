#pragma once
// Receive coils that keep a phantom's k-space in closed form. Each sensitivity is a short sum of low-order
// complex exponentials,
//
//   S_c(r) = sum_j a_cj exp(i 2 pi kappa_j . r)     =>     d_c(k) = sum_j a_cj P(k - kappa_j),
//
// P being the phantom's own transform. The exponentials have kappa on the half-integer lattice (a period of
// two FOVs, so that the edges of the FOV are not tied together); a_cj is a least-squares fit to the receive
// field B_x - i B_y of circular loops around the head, by Biot and Savart's law. Guerquin-Kern et al., IEEE
// TMI 31:626 (2012), doi:10.1109/TMI.2011.2174158, use the same sums.
#include <cstdint>
#include <span>
#include <vector>

#include "data/phantom.hpp"

namespace fhd::data {

class CoilArray {
 public:
  /// Makes 1 ... 32 coils: one with S = 1, or loops of radius 0.3 FOV, 0.75 FOV from the centre, on one ring (2D) or up to
  /// three (3D), whose root sum of squares is at most 1 inside the FOV's inscribed disc (ball). Throws Error.
  CoilArray(int dimensions, int coil_count);

  /// Returns the coils as a slice at height z (fractions of the FOV) sees them: a sum of exponentials along x
  /// and y, whose a_cj are the sums of a_cj exp(i 2 pi kappa_z z) over those that differ along z alone.
  CoilArray section(double z) const;

  int coil_count() const { return coil_count_; }
  /// kappa_j, cycles/FOV.
  const std::vector<Vector3>& frequencies() const { return frequencies_; }
  /// a_cj, [coil][frequency].
  const Array<Complex<double>>& coefficients() const { return coefficients_; }

  /// S_c(r) of all coils.
  void sensitivities(const Vector3& r, std::span<Complex<double>> values) const;
  /// S_c at the voxels, [coil][z][y][x].
  SensitivityMaps maps(std::array<int, 3> matrix_size) const;

 private:
  int coil_count_;
  std::vector<Vector3> frequencies_;
  Array<Complex<double>> coefficients_;
};

/// The sensitivities at the voxels of a matrix, row by row.
class MapRows {
 public:
  /// `coils` must outlive this object.
  MapRows(const CoilArray& coils, std::array<int, 3> matrix_size);
  /// S_c of a row, [coil][x], in two parts.
  struct Scratch {
    std::vector<double> real, imaginary;
  };
  Scratch scratch() const;
  /// S_c of the voxels (*, y, z), line = z N_y + y.
  void fill(std::int64_t line, Scratch& scratch) const;

 private:
  /// exp(i 2 pi kappa_x x) along a row, in two parts.
  struct Wave {
    double kappa_x;
    std::vector<double> real, imaginary;
  };
  const CoilArray& coils_;
  std::array<int, 3> matrix_size_;
  std::vector<Wave> waves_;
};

/// The k-space of a phantom as the coils see it.
class CoilKSpace {
 public:
  CoilKSpace(Phantom phantom, CoilArray coils);
  /// integral S_c(r) rho(r) exp(-i 2 pi k . r) dr of all coils.
  void values(const Vector3& k, std::span<Complex<double>> values) const;
  /// Computes the values at many positions, `count` for each axis of `k`: values[coil * count + position].
  void values(const std::array<std::span<const double>, 3>& k, std::span<Complex<double>> values) const;

 private:
  /// At no more than `block` positions: values[coil * stride + position].
  void fill_block(const std::array<std::span<const double>, 3>& k, std::span<Complex<double>> values,
                  std::int64_t stride) const;
  static constexpr std::int64_t block =
      64;  ///< positions at a time, whose intermediate results stay in the cache

  Phantom phantom_;
  CoilArray coils_;
  std::vector<Complex<double>> shifts_;  ///< exp(i 2 pi kappa . centre), [part][frequency]
};

}  // namespace fhd::data
