#pragma once
// The gridded transform beside its factory (transform.hpp): density compensation, and Q by gridding.
#include "recon/array/array.hpp"
#include "recon/domain/scan.hpp"
#include "recon/transform/gridded/gridding.hpp"

namespace fhd {

/// Density compensation by the fixed-point iteration w <- w / (C w), C = gridding and interpolation back onto
/// the samples, from w = 1. Returned as [sample], scaled such that adjoint(w d) has the intensity of the
/// image: the sum of w over a fully sampled k-space is 1. The result lies in host memory. Source: Pipe and
/// Menon, MRM 41:179 (1999), eq. (6).
Array<double> density_compensation(const Trajectory& trajectory, std::array<int, 3> matrix_size,
                                   Device device = Device::cpu(), int iterations = 15);

/// q of direct.hpp by a gridded adjoint transform onto the difference grid, to the requested accuracy.
template <class T>
Array<Complex<T>> point_spread_gridded(const Trajectory& trajectory, std::array<int, 3> matrix_size,
                                       const Array<double>* weights, double accuracy, Device device,
                                       GriddingChoice choice = GriddingChoice::fastest);

}  // namespace fhd
