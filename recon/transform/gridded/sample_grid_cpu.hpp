#pragma once
// Sorted samples on the oversampled grid: spreading and interpolation without Fourier transforms.
#include <array>
#include <cstdint>
#include <vector>

#include "recon/array/array.hpp"
#include "recon/domain/scan.hpp"
#include "recon/transform/gridded/gridded_cost.hpp"
#include "recon/transform/gridded/gridded_kernels_cpu.hpp"

namespace fhd {

/// The grid is cut into tiles. The kernel of a tile's samples reaches at most one kernel width beyond its
/// upper edges, and tiles of one colour (parity of the tile's index along each axis) do not touch each other:
/// threads take the tiles of one colour, colour after colour. No two threads write one point, and the sums do
/// not depend on the number of threads. One call at a time: the threads' buffers are kept.
template <class T>
class SampleGridCpu {
 public:
  SampleGridCpu(const Trajectory& trajectory, const GriddedCost& cost);

  /// grids[coil][z][y][x] = sum of values[coil][sample] times the kernel around the sample; `value_stride`
  /// between coils.
  void spread(const Complex<T>* values, std::int64_t value_stride, std::int64_t coils,
              Complex<T>* grids) const;
  /// values[coil][sample] = sum of the grid points times the kernel around the sample.
  void interpolate(const Complex<T>* grids, std::int64_t coils, Complex<T>* values,
                   std::int64_t value_stride) const;

 private:
  struct Tile {
    std::int64_t corner[3];        ///< its first grid point
    gridded_cpu::TileShape shape;  ///< with the margin at its upper edges
    std::int64_t begin, count;     ///< its samples, in sorted order
  };
  /// Where samples lie, in their order: first grid point of the kernel, counted from the corner of its tile,
  /// and offset z in [-1, 1), per axis.
  struct Positions {
    std::array<std::vector<std::int32_t>, 3> first;
    std::array<std::vector<T>, 3> offset;
    void resize(std::int64_t samples);
  };

  std::vector<std::int32_t> locate(const Trajectory& trajectory, const std::array<int, 3>& matrix_size,
                                   Positions& positions) const;
  std::vector<std::int64_t> sort(const std::vector<std::int32_t>& tile_of, const Positions& positions);
  void list_tiles(const std::vector<std::int64_t>& begin);

  gridded_cpu::TileSamples<T> samples_of(const Tile& tile) const;
  template <class Body>
  void for_each_run(const Tile& tile, std::int64_t first_coil, std::int64_t coils, Body body) const;
  Complex<T>* thread_buffers(std::int64_t coils) const;

  std::int64_t sample_count_;
  GridTiles tiles_;
  std::array<int, 3> points_;  ///< of the kernel, 1 on an axis without extent
  gridded_cpu::KernelTable<T> table_;
  std::vector<std::int32_t> order_;  ///< sorted -> sample
  Positions sorted_;
  std::array<std::vector<Tile>, 8> colours_;
  mutable Array<Complex<T>> buffers_;  ///< [thread][coil][point of a tile]
};

}  // namespace fhd
