#pragma once
// The inner loops of gridding, compiled once per instruction set and chosen at run time.
#include <cstdint>
#include <tuple>

#include "recon/transform/gridded/gridding.hpp"

namespace fhd::gridded_cpu {

/// Polynomial coefficients [power][point] of the kernel in T, padded so that vectors can be loaded.
template <class T>
struct KernelTable {
  int width = 0, degree = 0;
  T coefficients[KaiserBessel::largest_width + 5][KaiserBessel::largest_width] = {};
};

/// Samples of one tile, sorted: grid point `first` relative to the tile's corner and offset z in [-1, 1), per
/// axis.
template <class T>
struct TileSamples {
  const std::int32_t* index;     ///< of the sample in the scan, [sample]
  const std::int32_t* first[3];  ///< x, y, z
  const T* offset[3];
  std::int64_t count;
};

/// A tile of the grid with its margin: [coil][z][y][x], x fastest.
struct TileShape {
  std::int64_t size[3];
  int points[3];  ///< of the kernel along x, y, z: its width, or 1 on an axis without extent
  std::int64_t volume() const { return size[0] * size[1] * size[2]; }
};

template <class T>
struct Kernels {
  /// tile[coil] += values[coil][index] phi(x) phi(y) phi(z)
  void (*spread)(const KernelTable<T>& kernel, const TileSamples<T>& samples, const TileShape& shape,
                 int coils, const Complex<T>* values, std::int64_t value_stride, Complex<T>* tile);
  /// values[coil][index] = sum over the points of tile[coil] phi(x) phi(y) phi(z)
  void (*interpolate)(const KernelTable<T>& kernel, const TileSamples<T>& samples, const TileShape& shape,
                      int coils, const Complex<T>* tile, Complex<T>* values, std::int64_t value_stride);
};

/// The kernels for the processor that the program runs on.
using AllKernels = std::tuple<Kernels<float>, Kernels<double>>;
const AllKernels& all_kernels();
template <class T>
const Kernels<T>& kernels() {
  return std::get<Kernels<T>>(all_kernels());
}

}  // namespace fhd::gridded_cpu
