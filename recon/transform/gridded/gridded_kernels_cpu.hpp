#pragma once
// The inner loops of gridding, compiled once per instruction set and chosen at run time.
//
// Coils lie side by side, a block of them in every point of a grid and in every sample: a row of a sample's kernel is
// then one stretch of memory, (points along x) x (coils of a block) complex numbers, that whole vectors run over.
#include <cstdint>
#include <tuple>
#include <vector>

#include "recon/transform/gridded/gridding.hpp"

namespace fhd::gridded_cpu {

/// Numbers that a row is read and written beyond its end, at most.
inline constexpr std::int64_t overhang = 16;

/// Polynomials of the kernel in T: phi at the points of an axis, [power][point], padded with zeros; and [power][point]
/// [number of a block], every point as often as a block has real and imaginary parts.
template <class T>
struct KernelTable {
  static constexpr int pitch = KaiserBessel::largest_width;

  KernelTable(const KaiserBessel& kernel, std::int64_t block, bool along_x);

  int width, degree;
  int row;  ///< numbers of a row: 2 x block x points along x
  std::int64_t block;
  std::vector<T> once;     ///< [power][pitch]
  std::vector<T> widened;  ///< [power][widened_pitch]
  std::int64_t widened_pitch;
};

/// Samples of one tile, sorted: grid point `first` relative to the tile's corner and offset z in [-1, 1), per
/// axis.
template <class T>
struct TileSamples {
  const std::int32_t* first[3];  ///< x, y, z
  const T* offset[3];
  std::int64_t count;
};

/// A tile of the grid with its margin: [z][y][x][coil of the block], with `overhang` numbers behind it.
struct TileShape {
  std::int64_t size[3];
  int points[3];  ///< of the kernel along x, y, z: its width, or 1 on an axis without extent
  std::int64_t volume() const { return size[0] * size[1] * size[2]; }
};

template <class T>
struct Kernels {
  /// tile += values phi(x) phi(y) phi(z); values: [sample][coil of the block], with `overhang` numbers behind them.
  void (*spread)(const KernelTable<T>& kernel, const TileSamples<T>& samples, const TileShape& shape,
                 const Complex<T>* values, Complex<T>* tile);
  /// values = sum over the points of tile phi(x) phi(y) phi(z)
  void (*interpolate)(const KernelTable<T>& kernel, const TileSamples<T>& samples, const TileShape& shape,
                      const Complex<T>* tile, Complex<T>* values);
};

/// The kernels for the processor that the program runs on.
using AllKernels = std::tuple<Kernels<float>, Kernels<double>>;
const AllKernels& all_kernels();
template <class T>
const Kernels<T>& kernels() {
  return std::get<Kernels<T>>(all_kernels());
}

}  // namespace fhd::gridded_cpu
