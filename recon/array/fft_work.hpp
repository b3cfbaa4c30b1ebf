#pragma once
// What FFTs of Cartesian grids cost, counted as WorkUnit counts them.
#include <algorithm>
#include <array>
#include <cmath>

#include "recon/array/device.hpp"
#include "recon/array/work.hpp"

namespace fhd {

/// Operations of FFTs of `count` sequences of length n: 5 n log2 n each. Lengths with large prime factors
/// take some three times as many.
inline double fft_operations(double n, double count) {
  double rest = n;
  for (const double factor : {2.0, 3.0, 5.0, 7.0})
    while (rest > 1 && std::fmod(rest, factor) == 0) rest /= factor;
  return 5 * n * std::log2(std::max(n, 2.0)) * count * (rest > 1 ? 3 : 1);
}

/// Of a whole grid, every row along every axis.
inline double full_fft_operations(const std::array<double, 3>& size) {
  double operations = 0;
  for (const double n : size)
    if (n > 1) operations += fft_operations(n, size[0] * size[1] * size[2] / n);
  return operations;
}

/// What FFTs of a grid of `bytes` take longer because it comes from memory, forth and back on every axis: the
/// rates of a CPU are those of a grid in the caches; a GPU is measured with large ones.
inline Work beyond_cache(double bytes, Device device) {
  constexpr double cached = 8 << 20;
  return {WorkUnit::copied_byte, device.is_cuda() ? 0.0 : 6 * std::max(0.0, bytes - cached)};
}

}  // namespace fhd
