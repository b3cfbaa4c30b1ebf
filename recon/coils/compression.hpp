#pragma once
// Fewer virtual coils: the principal components of the coils' samples. Source: Huang et al., Magn. Reson.
// Imaging 26:133 (2008); Buehrer et al., MRM 57:1131 (2007).
#include <cstdint>

#include "recon/array/array.hpp"

namespace fhd {

struct Compression {
  /// [virtual coil][coil], orthonormal rows, largest energy first; the largest component of each row is real
  /// and > 0. For apply_mixing (noise.hpp), of k-space and of maps alike.
  Array<Complex<double>> matrix;
  double kept_energy = 1;  ///< share of sum |d|^2 that the virtual coils hold
};

/// Returns the matrix of `count` virtual coils, 1 ... coils, of samples [coil][sample].
Compression compress_to_count(const Array<Complex<float>>& samples, std::int64_t count);
/// Returns that of the fewest virtual coils that keep the share `energy` of sum |d|^2, in (0, 1].
Compression compress_to_energy(const Array<Complex<float>>& samples, double energy);

}  // namespace fhd
