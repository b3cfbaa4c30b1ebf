#pragma once
// Noise of a Cartesian scan with regular gaps, from the matrices of its aliases: noise_map.hpp.
#include "recon/domain/scan.hpp"

namespace fhd {

/// Throws Error where the samples are no lattice of whole cycles/FOV with as many at each position, or where the
/// scan corrects off-resonance, or has several coils and no maps.
void require_lattice(const Scan& scan, bool has_maps);

/// Returns the standard deviation of the real part of least squares with lambda |rho|^2 (absolute, in the unit of the
/// maps of the scan), [z][y][x] on its matrix; 0 where no coil sees anything. `covariance` [coil][coil] is that of
/// its samples, E n n^H. Throws Error as require_lattice, and where its coils cannot tell the aliases apart.
Array<double> sense_noise(const Scan& scan, const Array<Complex<double>>& covariance, double lambda);

}  // namespace fhd
