#pragma once
// Exact sums over all pairs of voxels and samples. See transform.hpp for the transform itself.
#include <string>

#include "recon/array/array.hpp"
#include "recon/domain/scan.hpp"
#include "recon/transform/transform.hpp"

namespace fhd {

/// Size of the periodic grid of voxel differences: 2 N per axis, 1 where N is 1.
std::array<int, 3> difference_grid(std::array<int, 3> matrix_size);

/// The point-spread kernel of F^H W F by direct sum,
///
///     q(D) = sum_m w_m exp(+i 2 pi k_m . D),    D = n / N per axis, |n| <= N - 1,
///
/// as [z][y][x] on the periodic difference grid, element (n mod 2N); the elements n = -N, which no pair of
/// voxels reaches, are zero. Half of it is computed, q(-D) = conj q(D) gives the rest. `weights` is [sample],
/// or null for w = 1. Source: Fessler et al., IEEE Trans. Signal Process. 53:3393 (2005), eq. (22) ff.
template <class T>
Array<Complex<T>> point_spread_direct(const Trajectory& trajectory, std::array<int, 3> matrix_size,
                                      const Array<double>* weights, Device device, DirectChoice choice = {});

/// Sums over arbitrary points, on the CPU: values [coil][source] -> [coil][target],
///
///     out(c, t) = sum_s values(c, s) exp(i 2 pi sign sum_axis source[axis][s] target[axis][t]).
///
/// `sources` and `targets` are [axis][count] with the same axes; an axis may be time (source t, target omega
/// / 2 pi). Phases and sums are in double; the one sum for points that are no Cartesian grid, and the slowest
/// (sin and cos per pair).
template <class T>
Array<Complex<double>> general_sum(const Array<double>& sources, const Array<double>& targets, double sign,
                                   const Array<Complex<T>>& values);

/// The instruction set that the CPU transforms use on this processor: "avx512", "avx2" or "sse2".
std::string instruction_set();
}  // namespace fhd
