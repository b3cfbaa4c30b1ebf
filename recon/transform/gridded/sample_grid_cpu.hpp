#pragma once
// Sorted samples on the oversampled grid: spreading and interpolation without Fourier transforms.
#include <omp.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
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
  SampleGridCpu(const Trajectory& trajectory, const GriddedCost& cost)
      : sample_count_(trajectory.sample_count()), tiles_(cost.gridding()), points_(cost.gridding().points) {
    if (sample_count_ >= std::int64_t{1} << 31)
      throw Error("trajectory", "fewer than 2^31 samples", std::to_string(sample_count_));
    const KaiserBessel& kernel = cost.gridding().kernel;
    table_.width = kernel.width;
    table_.degree = static_cast<int>(kernel.coefficients.size()) - 1;
    for (int power = 0; power <= table_.degree; ++power)
      for (int i = 0; i < kernel.width; ++i)
        table_.coefficients[power][i] = static_cast<T>(kernel.coefficients[power][i]);
    Positions positions;
    const auto tile_of = locate(trajectory, cost.gridding().matrix_size, positions);
    list_tiles(sort(tile_of, positions));
  }

  /// grids[coil][z][y][x] = sum of values[coil][sample] times the kernel around the sample; `value_stride`
  /// between coils.
  void spread(const Complex<T>* values, std::int64_t value_stride, std::int64_t coils,
              Complex<T>* grids) const {
    const auto& size = tiles_.grid;
    const std::int64_t at_once = tiles_.coils_in_cache(coils, sizeof(Complex<T>));
    Complex<T>* buffers = thread_buffers(at_once);
#pragma omp parallel
    {
      Complex<T>* tile_values = buffers + omp_get_thread_num() * at_once * tiles_.largest_volume;
#pragma omp for schedule(static)
      for (std::int64_t row = 0; row < coils * size[2] * size[1]; ++row)
        std::fill_n(grids + row * size[0], size[0], Complex<T>());
      for (const auto& tiles : colours_) {
#pragma omp for schedule(dynamic)
        for (const Tile& tile : tiles)
          spread_tile(tile, values, value_stride, coils, at_once, tile_values, grids);
      }
    }
  }

  /// values[coil][sample] = sum of the grid points times the kernel around the sample.
  void interpolate(const Complex<T>* grids, std::int64_t coils, Complex<T>* values,
                   std::int64_t value_stride) const {
    const std::int64_t at_once = tiles_.coils_in_cache(coils, sizeof(Complex<T>));
    Complex<T>* buffers = thread_buffers(at_once);
#pragma omp parallel
    {
      Complex<T>* tile_values = buffers + omp_get_thread_num() * at_once * tiles_.largest_volume;
      for (const auto& tiles : colours_) {
#pragma omp for schedule(dynamic) nowait
        for (const Tile& tile : tiles)
          interpolate_tile(tile, grids, coils, at_once, tile_values, values, value_stride);
      }
    }
  }

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
    void resize(std::int64_t samples) {
      for (int axis = 0; axis < 3; ++axis) first[axis].resize(samples), offset[axis].resize(samples);
    }
  };

  /// Positions of the samples, and their tiles.
  std::vector<std::int32_t> locate(const Trajectory& trajectory, const std::array<int, 3>& matrix_size,
                                   Positions& positions) const {
    std::vector<std::int32_t> tile_of(sample_count_);
    positions.resize(sample_count_);
    const auto &size = tiles_.grid, &count = tiles_.count;
#pragma omp parallel for schedule(static)
    for (std::int64_t m = 0; m < sample_count_; ++m) {
      std::int64_t tile = 0;
      for (int axis = 2; axis >= 0; --axis) {
        std::int64_t index = 0, point = 0;
        if (points_[axis] > 1) {
          const double u =
              trajectory.k[axis * sample_count_ + m] * static_cast<double>(size[axis]) / matrix_size[axis];
          const double begin = u - table_.width / 2.0, up = std::ceil(begin);
          positions.offset[axis][m] = static_cast<T>(2 * (up - begin) - 1);
          point = static_cast<std::int64_t>(up) % size[axis];
          if (point < 0) point += size[axis];
          // The last tile that begins at or before the point.
          index = ((point + 1) * count[axis] - 1) / size[axis];
        }
        positions.first[axis][m] = static_cast<std::int32_t>(point - tiles_.corner(axis, index));
        tile = tile * count[axis] + index;
      }
      tile_of[m] = static_cast<std::int32_t>(tile);
    }
    return tile_of;
  }

  /// Counting sort by tile; samples of one tile stay in their order. Returns where each tile begins.
  std::vector<std::int64_t> sort(const std::vector<std::int32_t>& tile_of, const Positions& positions) {
    std::vector<std::int64_t> begin(tiles_.all() + 1);
    for (auto tile : tile_of) ++begin[tile + 1];
    for (std::int64_t tile = 0; tile < tiles_.all(); ++tile) begin[tile + 1] += begin[tile];
    order_.resize(sample_count_);
    auto next = begin;
    for (std::int64_t m = 0; m < sample_count_; ++m)
      order_[next[tile_of[m]]++] = static_cast<std::int32_t>(m);
    sorted_.resize(sample_count_);
    for (int axis = 0; axis < 3; ++axis) {
#pragma omp parallel for schedule(static)
      for (std::int64_t i = 0; i < sample_count_; ++i) {
        sorted_.first[axis][i] = positions.first[axis][order_[i]];
        sorted_.offset[axis][i] = positions.offset[axis][order_[i]];
      }
    }
    return begin;
  }

  void list_tiles(const std::vector<std::int64_t>& begin) {
    const auto& count = tiles_.count;
    for (std::int64_t index = 0; index < tiles_.all(); ++index) {
      if (begin[index + 1] == begin[index]) continue;
      const std::int64_t at[3] = {index % count[0], index / count[0] % count[1],
                                  index / (count[0] * count[1])};
      Tile tile{};
      int colour = 0;
      for (int axis = 0; axis < 3; ++axis) {
        tile.corner[axis] = tiles_.corner(axis, at[axis]);
        tile.shape.points[axis] = points_[axis];
        tile.shape.size[axis] = tiles_.corner(axis, at[axis] + 1) - tile.corner[axis] + tiles_.margin[axis];
        colour |= static_cast<int>(at[axis] % 2) << axis;
      }
      tile.begin = begin[index];
      tile.count = begin[index + 1] - begin[index];
      colours_[colour].push_back(tile);
    }
    // Long tiles first, so that no thread is left with one at the end.
    for (auto& list : colours_)
      std::stable_sort(list.begin(), list.end(),
                       [](const Tile& a, const Tile& b) { return a.count > b.count; });
  }

  void spread_tile(const Tile& tile, const Complex<T>* values, std::int64_t value_stride, std::int64_t coils,
                   std::int64_t at_once, Complex<T>* tile_values, Complex<T>* grids) const {
    for (std::int64_t first = 0; first < coils; first += at_once) {
      const std::int64_t used = std::min(at_once, coils - first);
      std::fill_n(tile_values, used * tile.shape.volume(), Complex<T>());
      gridded_cpu::kernels<T>().spread(table_, samples_of(tile), tile.shape, static_cast<int>(used),
                                       values + first * value_stride, value_stride, tile_values);
      Complex<T>* part = tile_values;
      for_each_run(tile, first, used, [&](std::int64_t at, std::int64_t count) {
        for (std::int64_t j = 0; j < count; ++j) grids[at + j] += part[j];
        part += count;
      });
    }
  }
  void interpolate_tile(const Tile& tile, const Complex<T>* grids, std::int64_t coils, std::int64_t at_once,
                        Complex<T>* tile_values, Complex<T>* values, std::int64_t value_stride) const {
    for (std::int64_t first = 0; first < coils; first += at_once) {
      const std::int64_t used = std::min(at_once, coils - first);
      Complex<T>* part = tile_values;
      for_each_run(tile, first, used, [&](std::int64_t at, std::int64_t count) {
        std::copy_n(grids + at, count, part);
        part += count;
      });
      gridded_cpu::kernels<T>().interpolate(table_, samples_of(tile), tile.shape, static_cast<int>(used),
                                            tile_values, values + first * value_stride, value_stride);
    }
  }

  gridded_cpu::TileSamples<T> samples_of(const Tile& tile) const {
    gridded_cpu::TileSamples<T> samples{order_.data() + tile.begin, {}, {}, tile.count};
    for (int axis = 0; axis < 3; ++axis) {
      samples.first[axis] = sorted_.first[axis].data() + tile.begin;
      samples.offset[axis] = sorted_.offset[axis].data() + tile.begin;
    }
    return samples;
  }

  /// body(grid offset, count) for the runs of consecutive grid points of a tile, coil by coil, periodic.
  template <class Body>
  void for_each_run(const Tile& tile, std::int64_t first_coil, std::int64_t coils, Body body) const {
    const auto& size = tiles_.grid;
    for (std::int64_t coil = first_coil; coil < first_coil + coils; ++coil)
      for (std::int64_t z = 0; z < tile.shape.size[2]; ++z)
        for (std::int64_t y = 0; y < tile.shape.size[1]; ++y) {
          const std::int64_t grid_z = (tile.corner[2] + z) % size[2], grid_y = (tile.corner[1] + y) % size[1];
          const std::int64_t line = ((coil * size[2] + grid_z) * size[1] + grid_y) * size[0];
          std::int64_t x = tile.corner[0];
          for (std::int64_t left = tile.shape.size[0]; left > 0; x = 0) {
            const std::int64_t count = std::min(left, size[0] - x);
            body(line + x, count);
            left -= count;
          }
        }
  }

  /// A tile of `coils` coils for each thread.
  Complex<T>* thread_buffers(std::int64_t coils) const {
    const std::int64_t wanted = omp_get_max_threads() * coils * tiles_.largest_volume;
    if (buffers_.size() < wanted) buffers_ = Array<Complex<T>>(Shape{wanted});
    return buffers_.data();
  }

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
