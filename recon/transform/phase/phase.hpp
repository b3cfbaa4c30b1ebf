#pragma once
// Exact sums with any phase: the full signal equation of fields that are not linear in space, of off-resonance and of decay,
//
//     forward  d_c(m) = sum_p x_c(p) exp(-i phi(p, m) - R(p) t_m)
//     adjoint  x_c(p) = sum_m d_c(m) exp(+i phi(p, m) - R(p) t_m)        phi(p, m) = sum_l kappa_l(m) b_l(p)
//
// k . r is three of the terms (kappa = 2 pi k in rad per unit of r, b = r), off-resonance is one (kappa = t, b = omega), each
// harmonic of a field one more. No factor separates: every pair of voxel and sample takes its own sine and cosine, which all
// coils share. The adjoint is the exact conjugate transpose. E^H E has no Toeplitz form: encoding/sense.hpp, explicit_normal.
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "recon/array/array.hpp"
#include "recon/array/device.hpp"
#include "recon/transform/transform.hpp"

namespace fhd {

/// The phases and the decay of a scan. Decay of two components is f exp(-R t) + (1 - f) exp(-R' t): the sums of the components,
/// whose phases are the same, of f x and of (1 - f) x. Units of kappa and b are free as long as their product is in radians.
struct PhaseTerms {
  Array<double> coefficients;                      ///< kappa, [term][sample]
  Array<double> basis;                             ///< b, [term][voxel], x fastest
  Array<double> decay_per_s;                       ///< R >= 0, [voxel]; empty: none
  Array<double> sample_time_s;                     ///< t, [sample]; only with decay
  Array<double> second_decay_per_s{}, fraction{};  ///< R' >= 0 and f, 0 ... 1, [voxel]; empty: one component
  /// Ascending numbers of the voxels that are summed; empty: all. forward takes images for zero elsewhere, adjoint gives zero:
  /// where no coil sees anything, pairs need no sine and cosine.
  std::vector<std::int64_t> summed_voxels{};
};

/// Bounds |phi| from above by the largest sum over terms of |kappa_l(m)| max_p |b_l(p)|, in radians.
double largest_phase(const PhaseTerms& terms);

/// Throws Error unless the terms have the shapes of that matrix, all values are finite, decay is not negative and does not
/// grow beyond exp(60) at times before zero, and largest_phase is at most 1e5 rad.
void require_phase_terms(const PhaseTerms& terms, std::array<int, 3> matrix_size);

/// Makes the transform of these terms. Relative l2 error against sums in long double: single precision <= 5e-6 for phases up to
/// 300 rad, double <= 1e-12. The same bits whatever the number of threads. On the CPU any number of threads may call it at
/// once. On a GPU tensor cores take single precision without decay, unless `choice` is fast or accurate: pair by pair, <= 1e-6.
/// Throws as require_phase_terms.
template <class T>
std::unique_ptr<FourierTransform<T>> make_phase_transform(const PhaseTerms& terms,
                                                          std::array<int, 3> matrix_size, Device device,
                                                          GpuSums choice = GpuSums::automatic);

}  // namespace fhd
