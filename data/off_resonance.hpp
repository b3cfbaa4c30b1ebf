#pragma once
// Off-resonance that keeps a phantom's k-space in closed form: one wave over the field of view,
//
//   omega(r) = Omega cos(theta),  theta = 2 pi q . r + phase
//   exp(-i omega t) = sum_n (-i)^n J_n(Omega t) exp(i n theta)                (Jacobi and Anger)
//     =>  d_c(k, t) = sum_n (-i)^n J_n(Omega t) exp(i n phase) d_c(k - n q)
#include <cstdint>
#include <span>

#include "data/coils.hpp"
#include "recon/domain/scan.hpp"

namespace fhd::data {

/// From -`largest_hz` to almost `largest_hz` within the field of view.
struct WaveField {
  double largest_hz = 0;
  Vector3 frequency{0.45, 0.35, 0.3};  ///< q, cycles/FOV; the third has no meaning in 2D
  double phase_rad = 1.2;
  /// Returns the field in a slice at height z, in fractions of the FOV.
  WaveField section(double z) const;
};

/// rad/s at the voxels, [z][y][x].
Array<float> map_of(const WaveField& field, const std::array<int, 3>& matrix_size);

/// J_n(x) for n = 0 ... values.size() - 1 and any x, by Miller's backward recurrence (Abramowitz and Stegun 9.12).
void bessel_functions(double x, std::span<double> values);

/// `factor` times the k-space of a phantom in the field, [coil][sample], at positions k and times t in s.
Array<Complex<float>> sampled_in_field(const CoilKSpace& kspace, const WaveField& field,
                                       const Trajectory& trajectory, const Array<double>& time_s,
                                       std::int64_t coil_count, double factor);

}  // namespace fhd::data
