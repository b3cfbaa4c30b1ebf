#pragma once
// Positions of delayed gradients, at and between samples: gradient_delays.hpp.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "recon/array/linear_algebra.hpp"
#include "recon/trajectory/gradient_delays.hpp"

namespace fhd {

/// The axes of the gradients are at right angles in mm; in FOVs where the FOV is not known.
inline std::array<double, 3> lengths_of_axes(const Geometry& geometry) {
  std::array<double, 3> lengths{1, 1, 1};
  for (int axis = 0; axis < 3; ++axis)
    if (geometry.matrix_size[axis] > 1) {
      if (!(geometry.fov_mm[axis] > 0)) return {1, 1, 1};
      lengths[axis] = geometry.fov_mm[axis];
    }
  return lengths;
}

/// From one sample to the next ahead of a readout: 0 where it sets out from rest, as spirals do, which steps tell
/// that would turn round or end there. A gradient that begins to rise with the first dwell time of a sequence ends there but for
/// rounding.
inline double step_ahead(const double* k, std::int64_t count) {
  constexpr double rest = 1e-3;  // of the step
  const double step = k[1] - k[0];
  return count > 2 && step * (2 * step - (k[2] - k[1])) <= rest * step * step ? 0 : step;
}

class PlayedPositions {
 public:
  /// `nominal` outlives this.
  PlayedPositions(const Trajectory& nominal, const Geometry& geometry, const GradientDelays& delays)
      : k_(nominal.k.data()), count_(nominal.sample_count()) {
    fov_ = lengths_of_axes(geometry);
    for (int axis = 0; axis < 3; ++axis) {
      axes_[axis] = {axis == 0 ? 1.0 : 0, axis == 1 ? 1.0 : 0, axis == 2 ? 1.0 : 0};
      delays_[axis] = delays.samples[axis][axis];
    }
    if (delays.are_diagonal()) return;
    Array<Complex<double>> matrix({3, 3});
    for (int i = 0; i < 9; ++i) matrix[i] = Complex<double>(delays.samples[i / 3][i % 3], 0);
    const auto eigen = hermitian_eigen(std::move(matrix));
    for (int p = 0; p < 3; ++p) {
      delays_[p] = eigen.values[p];
      for (int axis = 0; axis < 3; ++axis) axes_[p][axis] = real_vector(eigen, p)[axis];
    }
  }

  /// At sample m, a number between samples too, of the readout [first, last).
  std::array<double, 3> of(std::int64_t first, std::int64_t last, double m) const {
    std::array<double, 3> k{};
    for (int p = 0; p < 3; ++p) {
      double q = 0;
      for (int axis = 0; axis < 3; ++axis)
        if (axes_[p][axis] != 0)
          q += axes_[p][axis] / fov_[axis] * nominal(axis, first, last, m - delays_[p]);
      for (int axis = 0; axis < 3; ++axis) k[axis] += axes_[p][axis] * fov_[axis] * q;
    }
    return k;
  }

 private:
  /// Returns a vector of a real symmetric matrix, turned to be real.
  static std::array<double, 3> real_vector(const HermitianEigen<double>& eigen, int p) {
    const auto* v = eigen.vectors.data() + 3 * p;
    Complex<double> largest = v[0];
    for (int axis = 1; axis < 3; ++axis)
      if (norm(v[axis]) > norm(largest)) largest = v[axis];
    const double size = std::sqrt(norm(largest));
    std::array<double, 3> vector;
    for (int axis = 0; axis < 3; ++axis) vector[axis] = (conj(largest) * v[axis]).re / size;
    return vector;
  }

  /// Lagrange's cubic through the four samples around.
  double nominal(int axis, std::int64_t first, std::int64_t last, double m) const {
    const double* k = k_ + axis * count_;
    const auto at = [&](std::int64_t i) {
      if (last - first < 2) return k[first];
      if (i < first) return k[first] + static_cast<double>(i - first) * step_ahead(k + first, last - first);
      if (i >= last) return k[last - 1] + static_cast<double>(i - last + 1) * (k[last - 1] - k[last - 2]);
      return k[i];
    };
    const double below = std::floor(m), t = m - below;
    const auto i = static_cast<std::int64_t>(below);
    if (t == 0) return at(i);
    return -t * (t - 1) * (t - 2) / 6 * at(i - 1) + (t + 1) * (t - 1) * (t - 2) / 2 * at(i) -
           (t + 1) * t * (t - 2) / 2 * at(i + 1) + (t + 1) * t * (t - 1) / 6 * at(i + 2);
  }

  const double* k_;
  std::int64_t count_;
  std::array<double, 3> fov_{}, delays_{};
  std::array<std::array<double, 3>, 3> axes_{};  ///< u_p
};

}  // namespace fhd
