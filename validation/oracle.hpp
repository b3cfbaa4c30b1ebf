#pragma once
// The reference that everything else is measured against: the defining sums of the transforms as plain loops
// in double precision, and dense least squares. It shares no code with recon/ beyond the array type, is
// written to be read rather than to be fast (about 5e7 pairs/s per core), and is meant for small problems.
//
//   forward   d_c(m)   = sum_p v_c(p) exp(-i [2 pi k_m . r_p + omega(p) t_m])
//   adjoint   v_c(p)   = sum_m d_c(m) exp(+i [2 pi k_m . r_p + omega(p) t_m])
//   q         q(delta) = sum_m w_m exp(+i 2 pi k_m . delta)
//
// Phases are formed in long double turns and reduced to half a turn before sin and cos, so that the phase of
// every pair is right to 2e-16 turns for |k . r| <= 1e3.
#include <array>
#include <optional>

#include "recon/array/array.hpp"

namespace fhd::oracle {

using Values = Array<Complex<double>>;

struct OffResonance {
  Array<double> omega_rad_per_s;  ///< [point]
  Array<double> time_s;           ///< [sample]
};

/// Positions of the voxels of a matrix, r = (n - floor(N/2)) / N, as [axis][voxel] with x fastest.
Array<double> voxel_positions(std::array<int, 3> matrix_size);
/// Positions of the voxel differences that Q needs, n / N with n = 0 ... N-1, -N ... -1 per axis (n = 0 only
/// where N is 1), as [axis][difference] with x fastest: the order of a periodic grid of 2N.
Array<double> difference_positions(std::array<int, 3> matrix_size);

/// `k` [axis][sample] in cycles/FOV, `r` [axis][point] in fractions of the FOV, any three-axis positions.
/// values: coils x points, returns [coil][sample].
Values forward(const Array<double>& k, const Array<double>& r, const Values& values,
               const std::optional<OffResonance>& off_resonance = {});
/// samples: coils x samples, returns [coil][point].
Values adjoint(const Array<double>& k, const Array<double>& r, const Values& samples,
               const std::optional<OffResonance>& off_resonance = {});
/// weights [sample]; returns [1][point], one value for each column of `differences` [axis][point].
Values q(const Array<double>& k, const Array<double>& differences, const Array<double>& weights);

/// Phases of any form and decay, phi(p, m) = sum_l coefficients(l, m) basis(l, p) in rad and D = exp(-R(p) t_m), or
/// f exp(-R t) + (1 - f) exp(-R' t).
struct AnyPhase {
  Array<double> coefficients;                      ///< [term][sample]
  Array<double> basis;                             ///< [term][point]
  Array<double> decay_per_s{};                     ///< R, [point]; empty: none
  Array<double> time_s{};                          ///< t, [sample]
  Array<double> second_decay_per_s{}, fraction{};  ///< R' and f, [point]; empty: one component
};
/// d_c(m) = sum_p v_c(p) exp(-i phi(p, m)) D(p, t_m); values: coils x points, returns [coil][sample].
Values forward(const AnyPhase& phase, const Values& values);
/// v_c(p) = sum_m d_c(m) exp(+i phi(p, m)) D(p, t_m); samples: coils x samples, returns [coil][point].
Values adjoint(const AnyPhase& phase, const Values& samples);

/// SENSE: coil c sees maps(c, p) times the image. image: points, maps: coils x points; returns
/// [coil][sample].
Values sense_forward(const Array<double>& k, const Array<double>& r, const Values& image, const Values& maps,
                     const std::optional<OffResonance>& off_resonance = {});
/// The conjugate transpose; returns [point].
Values sense_adjoint(const Array<double>& k, const Array<double>& r, const Values& samples,
                     const Values& maps, const std::optional<OffResonance>& off_resonance = {});

/// The SENSE encoding as a dense matrix, [coil x sample][point].
Values encoding_matrix(const Array<double>& k, const Array<double>& r, const Values& maps,
                       const std::optional<OffResonance>& off_resonance = {});
/// W = identity, [voxel][voxel].
Values identity_matrix(std::array<int, 3> matrix_size);
/// W = finite differences, [difference][voxel]: rho(n + 1) - rho(n) along every axis, for each pair of
/// neighbours inside the matrix (no wrap-around).
Values finite_difference_matrix(std::array<int, 3> matrix_size);

/// argmin |A x - b|^2 + lambda |W x|^2 by Householder QR of the stacked matrix [A; sqrt(lambda) W], which
/// never forms A^H A and so keeps the accuracy of A. A [row][column], b: rows, W [any][column] (empty where
/// lambda is 0). Returns [column]. Throws Error when the stacked matrix has not full column rank.
Values least_squares(const Values& a, const Values& b, double lambda = 0, const Values& w = {});

}  // namespace fhd::oracle
