#include <omp.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "recon/array/fft.hpp"
#include "recon/array/interruption.hpp"
#include "recon/domain/option_words.hpp"
#include "recon/transform/gridded/gridded.hpp"
#include "recon/transform/gridded/gridded_kernels_cpu.hpp"

namespace fhd {
namespace {

/// Sorted samples on the oversampled grid: spreading and interpolation without Fourier transforms, of a block of coils
/// that lie side by side in the grid, [z][y][x][coil of the block].
///
/// The grid is cut into tiles. The kernel of a tile's samples reaches at most one kernel width beyond its
/// upper edges, and tiles of one colour (parity of the tile's index along each axis) do not touch each other:
/// threads take the tiles of one colour, colour after colour. No two threads write one point, and the sums do
/// not depend on the number of threads. One call at a time: the threads' buffers are kept.
///
/// Floor: a load, a multiply-add and (spreading) a store for every vector of a sample's kernel.
template <class T>
class SampleGridCpu {
 public:
  SampleGridCpu(const Trajectory& trajectory, const GriddedCost& cost)
      : sample_count_(trajectory.sample_count()),
        width_(cost.gridding().kernel.width),
        tiles_(cost.gridding()),
        points_(cost.gridding().points) {
    if (sample_count_ >= std::int64_t{1} << 31)
      throw Error("trajectory", "fewer than 2^31 samples", std::to_string(sample_count_));
    for (std::int64_t block = 1; block <= most_coils; block *= 2)
      tables_.emplace_back(cost.gridding().kernel, block, points_[0] > 1);
    Positions positions;
    const auto tile_of = locate(trajectory, cost.gridding().matrix_size, positions);
    list_tiles(sort(tile_of, positions));
  }

  /// grid[z][y][x][coil] = sum of values[coil][sample] times the kernel around the sample, for `coils` of a block;
  /// `value_stride` between coils. Those that the block lacks become zero.
  void spread(const Complex<T>* values, std::int64_t value_stride, std::int64_t coils, std::int64_t block,
              Complex<T>* grid) const {
    const std::int64_t row = tiles_.grid[0] * block;
    const auto& size = tiles_.grid;
    const auto& table = table_of(block);
    for_blocks(size[2] * size[1], 64, [&](std::int64_t line, std::int64_t end) {
      std::fill_n(grid + line * row, (end - line) * row, Complex<T>());
    });
    for_each_tile(block, true, [&](const Tile& tile, Complex<T>* part, Complex<T>* chunk) {
      std::fill_n(part, tile.shape.volume() * block, Complex<T>());
      for (std::int64_t first = 0; first < tile.count; first += chunk_samples) {
        const auto samples = samples_of(tile, first);
        const std::int32_t* index = order_.data() + tile.begin + first;
        for (std::int64_t i = 0; i < samples.count; ++i)
          for (std::int64_t coil = 0; coil < block; ++coil)
            chunk[i * block + coil] = coil < coils ? values[coil * value_stride + index[i]] : Complex<T>();
        gridded_cpu::kernels<T>().spread(table, samples, tile.shape, chunk, part);
      }
      for_each_run(tile, block, [&](std::int64_t at, std::int64_t count) {
        for (std::int64_t j = 0; j < count; ++j) grid[at + j] += part[j];
        part += count;
      });
    });
  }

  /// values[coil][sample] = sum of the grid points times the kernel around the sample.
  void interpolate(const Complex<T>* grid, std::int64_t coils, std::int64_t block, Complex<T>* values,
                   std::int64_t value_stride) const {
    const auto& table = table_of(block);
    for_each_tile(block, false, [&](const Tile& tile, Complex<T>* part, Complex<T>* chunk) {
      Complex<T>* to = part;
      for_each_run(tile, block, [&](std::int64_t at, std::int64_t count) {
        std::copy_n(grid + at, count, to);
        to += count;
      });
      for (std::int64_t first = 0; first < tile.count; first += chunk_samples) {
        const auto samples = samples_of(tile, first);
        const std::int32_t* index = order_.data() + tile.begin + first;
        gridded_cpu::kernels<T>().interpolate(table, samples, tile.shape, part, chunk);
        for (std::int64_t i = 0; i < samples.count; ++i)
          for (std::int64_t coil = 0; coil < coils; ++coil)
            values[coil * value_stride + index[i]] = chunk[i * block + coil];
      }
    });
  }

 private:
  static constexpr std::int64_t most_coils = bytes_of_coils / sizeof(Complex<T>);
  /// Samples whose values are brought together at a time.
  static constexpr std::int64_t chunk_samples = GridTiles::chunk_samples;
  /// Samples that are sorted between two looks at whether the caller wants to end.
  static constexpr std::int64_t sorted_together = 1 << 15;

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

  const gridded_cpu::KernelTable<T>& table_of(std::int64_t block) const {
    return tables_[static_cast<std::size_t>(std::countr_zero(static_cast<std::uint64_t>(block)))];
  }

  /// Positions of the samples, and their tiles.
  std::vector<std::int32_t> locate(const Trajectory& trajectory, const std::array<int, 3>& matrix_size,
                                   Positions& positions) const {
    std::vector<std::int32_t> tile_of(sample_count_);
    positions.resize(sample_count_);
    const auto &size = tiles_.grid, &count = tiles_.count;
    const auto locate_one = [&](std::int64_t m) {
      std::int64_t tile = 0;
      for (int axis = 2; axis >= 0; --axis) {
        std::int64_t index = 0, point = 0;
        if (points_[axis] > 1) {
          const double u =
              trajectory.k[axis * sample_count_ + m] * static_cast<double>(size[axis]) / matrix_size[axis];
          const double begin = u - width_ / 2.0, up = std::ceil(begin);
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
    };
    for_blocks(sample_count_, sorted_together, [&](std::int64_t m, std::int64_t end) {
      for (; m < end; ++m) locate_one(m);
    });
    return tile_of;
  }

  /// Counting sort by tile; samples of one tile stay in their order. Returns where each tile begins.
  std::vector<std::int64_t> sort(const std::vector<std::int32_t>& tile_of, const Positions& positions) {
    std::vector<std::int64_t> begin(tiles_.all() + 1);
    for (auto tile : tile_of) ++begin[tile + 1];
    for (std::int64_t tile = 0; tile < tiles_.all(); ++tile) begin[tile + 1] += begin[tile];
    order_.resize(sample_count_);
    auto next = begin;
    const Checkpoint checkpoint;
    for (std::int64_t m = 0; m < sample_count_; ++m) {
      if (m % sorted_together == 0 && checkpoint.is_ended()) break;
      order_[next[tile_of[m]]++] = static_cast<std::int32_t>(m);
    }
    checkpoint.rethrow();
    sorted_.resize(sample_count_);
    for_blocks(sample_count_, sorted_together, [&](std::int64_t i, std::int64_t end) {
      for (; i < end; ++i)
        for (int axis = 0; axis < 3; ++axis) {
          sorted_.first[axis][i] = positions.first[axis][order_[i]];
          sorted_.offset[axis][i] = positions.offset[axis][order_[i]];
        }
    });
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

  /// work(tile, memory for its points, memory for a chunk of samples), in parallel; the tiles of one colour after those
  /// of another where they write to the grid.
  template <class Work>
  void for_each_tile(std::int64_t block, bool writes, const Work& work) const {
    const std::int64_t of_tile = tiles_.tile_elements(block),
                       of_thread = of_tile + GridTiles::chunk_elements(block);
    memory_for(buffers_, omp_get_max_threads() * of_thread);
    const Checkpoint checkpoint;
#pragma omp parallel
    {
      Complex<T>* const part = buffers_.data() + omp_get_thread_num() * of_thread;
      // The points behind a tile are read with weights of zero.
      std::fill_n(part, of_thread, Complex<T>());
      for (const auto& tiles : colours_) {
#pragma omp for schedule(dynamic) nowait
        for (const Tile& tile : tiles)
          if (!checkpoint.is_ended()) work(tile, part, part + of_tile);
        if (writes) {
#pragma omp barrier
        }
      }
    }
    checkpoint.rethrow();
  }

  /// Returns the samples of a chunk, from sample `first` of the tile on.
  gridded_cpu::TileSamples<T> samples_of(const Tile& tile, std::int64_t first) const {
    gridded_cpu::TileSamples<T> samples{{}, {}, std::min(chunk_samples, tile.count - first)};
    for (int axis = 0; axis < 3; ++axis) {
      samples.first[axis] = sorted_.first[axis].data() + tile.begin + first;
      samples.offset[axis] = sorted_.offset[axis].data() + tile.begin + first;
    }
    return samples;
  }

  /// body(grid offset, count) for the runs of consecutive numbers of a tile, periodic.
  template <class Body>
  void for_each_run(const Tile& tile, std::int64_t block, Body body) const {
    const auto& size = tiles_.grid;
    for (std::int64_t z = 0; z < tile.shape.size[2]; ++z)
      for (std::int64_t y = 0; y < tile.shape.size[1]; ++y) {
        const std::int64_t grid_z = (tile.corner[2] + z) % size[2], grid_y = (tile.corner[1] + y) % size[1];
        const std::int64_t line = (grid_z * size[1] + grid_y) * size[0];
        std::int64_t x = tile.corner[0];
        for (std::int64_t left = tile.shape.size[0]; left > 0; x = 0) {
          const std::int64_t count = std::min(left, size[0] - x);
          body((line + x) * block, count * block);
          left -= count;
        }
      }
  }

  std::int64_t sample_count_;
  int width_;                                        ///< of the kernel
  std::vector<gridded_cpu::KernelTable<T>> tables_;  ///< for blocks of 1, 2, 4 ... coils
  GridTiles tiles_;
  std::array<int, 3> points_;        ///< of the kernel, 1 on an axis without extent
  std::vector<std::int32_t> order_;  ///< sorted -> sample
  Positions sorted_;
  std::array<std::vector<Tile>, 8> colours_;
  mutable Array<Complex<T>> buffers_;  ///< [thread], points of a tile and samples of a chunk
};

/// forward: image / phi^, zero-padded, FFT, interpolated; adjoint: the transpose of each step in reverse, a block of
/// coils at a time. Lines of voxels that are zero, or not wanted, are left out of the FFTs. One call at a time: grids and
/// buffers are kept.
template <class T>
class GriddedTransformCpu final : public FourierTransform<T> {
 public:
  GriddedTransformCpu(const Trajectory& trajectory, const GriddedCost& cost)
      : FourierTransform<T>(cost.sizes().matrix_size, trajectory.sample_count(), Device::cpu()),
        cost_(cost),
        samples_(trajectory, cost),
        size_(cost.gridding().grid),
        fft_{Fft1d<T>(static_cast<int>(size_[0]), wide), Fft1d<T>(static_cast<int>(size_[1]), wide),
             Fft1d<T>(static_cast<int>(size_[2]), wide)} {
    const Gridding& gridding = cost.gridding();
    for (int axis = 0; axis < 3; ++axis) {
      const int n = gridding.matrix_size[axis], g = static_cast<int>(size_[axis]);
      for (int i = 0; i < n; ++i) place_[axis].push_back((i - n / 2 + g) % g);
      const auto factors = gridding.deapodisation(axis);
      deapodisation_[axis].assign(factors.begin(), factors.end());
      for (int i = 0; i < g; ++i) every_[axis].push_back(i);
    }
  }

  void forward(const Array<Complex<T>>& images, Array<Complex<T>>& samples) const override {
    for_each_block(this->check_batch(images, samples), [&](std::int64_t first, Block block) {
      image_to_grid(images.data() + first * voxels(), block);
      samples_.interpolate(grid_.data(), block.coils, block.size,
                           samples.data() + first * this->sample_count(), this->sample_count());
    });
  }

  void adjoint(const Array<Complex<T>>& samples, Array<Complex<T>>& images) const override {
    for_each_block(this->check_batch(images, samples), [&](std::int64_t first, Block block) {
      samples_.spread(samples.data() + first * this->sample_count(), this->sample_count(), block.coils,
                      block.size, grid_.data());
      grid_to_image(block, images.data() + first * voxels());
    });
  }

  const TransformCost& cost() const override { return cost_; }

 private:
  static constexpr std::int64_t wide = Fft1d<T>::wide;
  std::int64_t voxels() const { return this->images_shape(1).size(); }

  /// Coils that lie side by side in the grid: `size` places, the first `coils` of them used.
  struct Block {
    std::int64_t size, coils;
  };
  template <class Body>
  void for_each_block(std::int64_t coils, Body body) const {
    const std::int64_t size = cost_.coils_together(coils);
    checkpoint_ = {};
    checkpoint_.rethrow();  // before so much memory is taken
    memory_for(grid_, size * cost_.gridding().grid_points());
    memory_for(buffers_, omp_get_max_threads() * cost_.fft_elements());
    for (std::int64_t first = 0; first < coils && !checkpoint_.is_ended(); first += size)
      body(first, Block{size, std::min(size, coils - first)});
    checkpoint_.rethrow();
  }
  /// Returns the buffer of the calling thread.
  Complex<T>* buffer() const { return buffers_.data() + omp_get_thread_num() * cost_.fft_elements(); }

  /// FFTs along y in the planes of the image, or along z of all columns, `wide` columns at a time: of the grid, what
  /// lies at voxels is read (the rest is zero) and all is written, or the reverse.
  void transform_columns(int axis, int sign, std::int64_t block) const {
    if (size_[axis] == 1) return;
    const std::int64_t row = size_[0] * block, stride = axis == 1 ? row : size_[1] * row,
                       planes = axis == 1 ? static_cast<std::int64_t>(place_[2].size()) : 1,
                       chunks = (stride + wide - 1) / wide;
    const auto &from = sign < 0 ? place_[axis] : every_[axis], &to = sign < 0 ? every_[axis] : place_[axis];
    Complex<T>*const rows = buffer(), *const scratch = rows + cost_.fft_elements() / 2;
#pragma omp for schedule(static)
    for (std::int64_t unit = 0; unit < planes * chunks; ++unit) {
      if (checkpoint_.is_ended()) continue;
      const std::int64_t first = unit % chunks * wide, used = std::min(wide, stride - first);
      const std::int64_t plane = axis == 1 ? place_[2][unit / chunks] : 0;
      Complex<T>* at = grid_.data() + plane * size_[1] * row + first;
      if (sign < 0 || used < wide) std::fill_n(rows, size_[axis] * wide, Complex<T>());
      for (int i : from) std::copy_n(at + i * stride, used, rows + i * wide);
      sign < 0 ? fft_[axis].forward(rows, scratch) : fft_[axis].backward(rows, scratch);
      for (int i : to) std::copy_n(rows + i * wide, used, at + i * stride);
    }
  }

  /// body(first row of the image along y, its z, rows) for as many rows of a plane as fill `wide` columns with the
  /// coils of a block.
  template <class Body>
  void for_row_groups(std::int64_t block, const Body& body) const {
    const std::int64_t ny = this->matrix_size()[1], nz = this->matrix_size()[2], rows = wide / block,
                       groups = (ny + rows - 1) / rows;
#pragma omp for schedule(static)
    for (std::int64_t unit = 0; unit < nz * groups; ++unit) {
      if (checkpoint_.is_ended()) continue;
      const std::int64_t y = unit % groups * rows;
      body(y, unit / groups, std::min(rows, ny - y));
    }
  }
  std::int64_t grid_row(std::int64_t y, std::int64_t z) const {
    return (place_[2][z] * size_[1] + place_[1][y]) * size_[0];
  }

  void image_to_grid(const Complex<T>* images, Block block) const {
    const std::int64_t nx = this->matrix_size()[0], ny = this->matrix_size()[1], size = block.size;
#pragma omp parallel
    {
      Complex<T>* const columns = buffer();
      for_row_groups(size, [&](std::int64_t y, std::int64_t z, std::int64_t rows) {
        std::fill_n(columns, size_[0] * wide, Complex<T>());
        for (std::int64_t row = 0; row < rows; ++row) {
          const T weight = deapodisation_[1][y + row] * deapodisation_[2][z];
          for (std::int64_t coil = 0; coil < block.coils; ++coil) {
            const Complex<T>* from = images + coil * voxels() + (z * ny + y + row) * nx;
            Complex<T>* const to = columns + row * size + coil;
            for (std::int64_t x = 0; x < nx; ++x)
              to[place_[0][x] * wide] = (weight * deapodisation_[0][x]) * from[x];
          }
        }
        if (size_[0] > 1) fft_[0].forward(columns, columns + cost_.fft_elements() / 2);
        for (std::int64_t row = 0; row < rows; ++row) {
          Complex<T>* const to = grid_.data() + grid_row(y + row, z) * size;
          for (std::int64_t x = 0; x < size_[0]; ++x)
            std::copy_n(columns + x * wide + row * size, size, to + x * size);
        }
      });
      transform_columns(1, -1, size);
      transform_columns(2, -1, size);
    }
  }

  void grid_to_image(Block block, Complex<T>* images) const {
    const std::int64_t nx = this->matrix_size()[0], ny = this->matrix_size()[1], size = block.size;
#pragma omp parallel
    {
      transform_columns(2, +1, size);
      transform_columns(1, +1, size);
      Complex<T>* const columns = buffer();
      for_row_groups(size, [&](std::int64_t y, std::int64_t z, std::int64_t rows) {
        for (std::int64_t row = 0; row < wide / size; ++row) {
          const Complex<T>* from = grid_.data() + grid_row(y + std::min(row, rows - 1), z) * size;
          for (std::int64_t x = 0; x < size_[0]; ++x)
            std::copy_n(from + x * size, size, columns + x * wide + row * size);
        }
        if (size_[0] > 1) fft_[0].backward(columns, columns + cost_.fft_elements() / 2);
        for (std::int64_t row = 0; row < rows; ++row) {
          const T weight = deapodisation_[1][y + row] * deapodisation_[2][z];
          for (std::int64_t coil = 0; coil < block.coils; ++coil) {
            const Complex<T>* from = columns + row * size + coil;
            Complex<T>* const to = images + coil * voxels() + (z * ny + y + row) * nx;
            for (std::int64_t x = 0; x < nx; ++x)
              to[x] = (weight * deapodisation_[0][x]) * from[place_[0][x] * wide];
          }
        }
      });
    }
  }

  GriddedCost cost_;
  SampleGridCpu<T> samples_;
  std::array<std::int64_t, 3> size_;  ///< of the grid
  std::array<Fft1d<T>, 3> fft_;
  std::array<std::vector<int>, 3> place_;  ///< grid index of each voxel: (n - floor(N/2)) mod G
  std::array<std::vector<int>, 3> every_;
  std::array<std::vector<T>, 3> deapodisation_;
  mutable Array<Complex<T>> grid_;     ///< [z][y][x][coil of a block]
  mutable Array<Complex<T>> buffers_;  ///< [thread], `wide` columns, twice
  mutable Checkpoint checkpoint_;
};

}  // namespace

template <class T>
std::unique_ptr<FourierTransform<T>> make_gridded_transform(const Trajectory& trajectory,
                                                            std::array<int, 3> matrix_size, double accuracy,
                                                            Device device, GriddingChoice choice) {
  require_trajectory(trajectory);
  constexpr double floor = sizeof(T) == 4 ? 1e-6 : 1e-12;
  if (!(accuracy >= floor && accuracy <= 0.1))
    throw Error(Field{"accuracy"},
                sizeof(T) == 4 ? "1e-6 ... 0.1 in single precision" : "1e-12 ... 0.1 in double precision",
                std::to_string(accuracy),
                "use " + option_words("transform", "direct") + " or " + option_words("precision", "double"));
  const GriddedCost cost({matrix_size, {trajectory.sample_count()}, precision_of<T>(), device}, accuracy, 0,
                         choice);
  if (device.is_cpu()) return std::make_unique<GriddedTransformCpu<T>>(trajectory, cost);
  if constexpr (built_with_cuda) return make_gridded_transform_cuda<T>(trajectory, cost);
  refuse_cuda();
}
template std::unique_ptr<FourierTransform<float>> make_gridded_transform<float>(const Trajectory&,
                                                                                std::array<int, 3>, double,
                                                                                Device, GriddingChoice);
template std::unique_ptr<FourierTransform<double>> make_gridded_transform<double>(const Trajectory&,
                                                                                  std::array<int, 3>, double,
                                                                                  Device, GriddingChoice);

Blur make_blur_cpu(const Trajectory& trajectory, const GriddedCost& cost) {
  auto grid = std::make_shared<const SampleGridCpu<float>>(trajectory, cost);
  auto points = std::make_shared<Array<Complex<float>>>(Shape{cost.gridding().grid_points()});
  return [=](const Array<Complex<float>>& in, Array<Complex<float>>& out) {
    grid->spread(in.data(), in.size(), 1, 1, points->data());
    grid->interpolate(points->data(), 1, 1, out.data(), out.size());
  };
}

}  // namespace fhd
