#pragma once
// Scans whose samples lie on the Cartesian k-space grid: one FFT is their exact inverse.
#include <array>

#include "recon/array/array.hpp"
#include "recon/domain/scan.hpp"

namespace fhd {

/// True when every sample lies within 1e-3 cycles/FOV of an integer position on every axis.
bool is_cartesian(const Trajectory& trajectory, std::array<int, 3> matrix_size);

/// Inverse FFT of samples [coil][sample] on integer positions -> images [coil][z][y][x], scaled to the
/// intensity of the image: for a fully sampled k-space this solves F rho = d. Repeated positions are
/// averaged, missing ones are zero; -N/2 and +N/2 are the same position. Host arrays. Throws Error when the
/// trajectory is not Cartesian.
template <class T>
Array<Complex<T>> inverse_fft_images(const Trajectory& trajectory, std::array<int, 3> matrix_size,
                                     const Array<Complex<T>>& samples);

/// w of the direct sum F^H (w d) that the inverse FFT equals, [sample]: 1 / (voxels x samples on that
/// position).
Array<double> cartesian_weights(const Trajectory& trajectory, std::array<int, 3> matrix_size);

}  // namespace fhd
