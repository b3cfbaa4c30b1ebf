#pragma once
// Samples of a phantom with phases of any form and with decay (recon/domain/scan.hpp), by quadrature in double precision:
//
//   d_c(m) = (1/M) sum over M points p of S_c(p) rho(p) exp(-i phi(p, m) - R(p) t_m),
//
// where rho is the phantom at three times the matrix, smoothed beyond 0.9 N cycles/FOV, so that its edges do not ring across the
// field of view. The sum is the integral to 1e-3 (24 voxels along an axis), 1e-4 (48) and 1e-5 (128), as long as phases beside
// k . r move by less than 0.4 N cycles/FOV: what is beyond that band reaches no sample.
#include "data/coils.hpp"
#include "data/off_resonance.hpp"
#include "recon/domain/scan.hpp"

namespace fhd::data {

/// Returns `factor` times the samples, [coil][sample], of a phantom in the geometry, with the positions and fields of `scan`,
/// off-resonance of `field`, decay of decay_of(largest_decay_per_s), at times t in s. Throws Error where lengths of the FOV are
/// missing.
Array<Complex<float>> sampled_with_fields(const Phantom& phantom, const CoilArray& coils, const Scan& scan,
                                          const WaveField& field, double largest_decay_per_s,
                                          const Array<double>& time_s, double factor);

/// Returns R, 1/s, [z][y][x]: one wave over the field of view from 0 to `largest`.
Array<float> decay_of(double largest, const std::array<int, 3>& matrix_size);

}  // namespace fhd::data
