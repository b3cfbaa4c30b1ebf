#include <omp.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "recon/array/fft.hpp"
#include "recon/transform/direct/direct.hpp"
#include "recon/transform/transform.hpp"
#include "recon/transform/gridded/gridded.hpp"
#include "recon/transform/gridded/gridded_cuda.hpp"
#include "recon/transform/gridded/gridded_kernels_cpu.hpp"
#include "recon/transform/gridded/kaiser_bessel.hpp"

namespace fhd {
namespace {

using gridded_cpu::KernelTable;
using gridded_cpu::TileSamples;
using gridded_cpu::TileShape;

/// Coils are gridded in groups whose grids together stay below this size.
constexpr std::int64_t group_bytes = std::int64_t{1} << 29;
/// Above this many grid points, a smaller oversampling with a wider kernel is cheaper than the larger grid.
constexpr double large_grid = 1 << 25;

/// 1 / phi^ amplifies rounding errors, the more, the smaller the grid and the wider the kernel: with 1.25, a
/// request of 1e-4 on 162^3 voxels is met (1.6e-5, single precision), one of 1e-5 is not (4e-5).
double oversampling_for(const std::array<int, 3>& matrix_size, double accuracy) {
  double points = 1;
  for (int n : matrix_size) points *= n == 1 ? 1 : 2.0 * n;
  if (points <= large_grid) return 2.0;
  return accuracy >= 1e-4 ? 1.25 : 1.5;
}

/// Sorted samples on the oversampled grid: spreading and interpolation without Fourier transforms.
///
/// The grid is cut into tiles. The kernel of a tile's samples reaches at most one kernel width beyond its
/// upper edges, and tiles of one colour (parity of the tile's index along each axis) do not touch each other:
/// threads take the tiles of one colour, colour after colour. No two threads write one point, and the sums do
/// not depend on the number of threads.
template <class T>
class SampleGrid {
 public:
  SampleGrid(const Trajectory& trajectory, std::array<int, 3> matrix_size, const KaiserBessel& kernel)
      : kernel_(kernel), sample_count_(trajectory.sample_count()) {
    if (sample_count_ >= std::int64_t{1} << 31)
      throw Error("trajectory", "fewer than 2^31 samples", std::to_string(sample_count_));
    table_.width = kernel_.width;
    table_.degree = static_cast<int>(kernel_.coefficients.size()) - 1;
    for (int power = 0; power <= table_.degree; ++power)
      for (int i = 0; i < kernel_.width; ++i)
        table_.coefficients[power][i] = static_cast<T>(kernel_.coefficients[power][i]);
    size_ = kernel_.grid_size(matrix_size);
    for (int axis = 0; axis < 3; ++axis)
      if (matrix_size[axis] > 1) points_[axis] = kernel_.width;
    sort(trajectory, matrix_size);
  }

  const KaiserBessel& kernel() const { return kernel_; }
  /// Points of the grid along x, y, z.
  const std::array<std::int64_t, 3>& size() const { return size_; }
  std::int64_t point_count() const { return size_[0] * size_[1] * size_[2]; }

  /// grids[coil][z][y][x] = sum of values[coil][sample] times the kernel around the sample; `value_stride`
  /// between coils.
  void spread(const Complex<T>* values, std::int64_t value_stride, std::int64_t coils,
              Complex<T>* grids) const {
    const std::int64_t at_once = coils_at_once(coils);
    Array<Complex<T>> buffers(Shape{omp_get_max_threads(), at_once * largest_volume_});
#pragma omp parallel
    {
      Complex<T>* tile_values = buffers.data() + omp_get_thread_num() * at_once * largest_volume_;
#pragma omp for schedule(static)
      for (std::int64_t row = 0; row < coils * size_[2] * size_[1]; ++row)
        std::fill_n(grids + row * size_[0], size_[0], Complex<T>());
      for (const auto& tiles : colours_) {
#pragma omp for schedule(dynamic)
        for (const Tile& tile : tiles)
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
    }
  }

  /// values[coil][sample] = sum of the grid points times the kernel around the sample.
  void interpolate(const Complex<T>* grids, std::int64_t coils, Complex<T>* values,
                   std::int64_t value_stride) const {
    const std::int64_t at_once = coils_at_once(coils);
    Array<Complex<T>> buffers(Shape{omp_get_max_threads(), at_once * largest_volume_});
#pragma omp parallel
    {
      Complex<T>* tile_values = buffers.data() + omp_get_thread_num() * at_once * largest_volume_;
      for (const auto& tiles : colours_) {
#pragma omp for schedule(dynamic) nowait
        for (const Tile& tile : tiles)
          for (std::int64_t first = 0; first < coils; first += at_once) {
            const std::int64_t used = std::min(at_once, coils - first);
            Complex<T>* part = tile_values;
            for_each_run(tile, first, used, [&](std::int64_t at, std::int64_t count) {
              std::copy_n(grids + at, count, part);
              part += count;
            });
            gridded_cpu::kernels<T>().interpolate(table_, samples_of(tile), tile.shape,
                                                  static_cast<int>(used), tile_values,
                                                  values + first * value_stride, value_stride);
          }
      }
    }
  }

 private:
  struct Tile {
    std::int64_t corner[3];     ///< its first grid point
    TileShape shape;            ///< with the margin at its upper edges
    std::int64_t begin, count;  ///< its samples, in sorted order
  };

  std::int64_t coils_at_once(std::int64_t coils) const {
    constexpr std::int64_t cache_bytes = 1 << 18;
    return std::clamp<std::int64_t>(cache_bytes / (largest_volume_ * std::int64_t{sizeof(Complex<T>)}), 1,
                                    coils);
  }

  TileSamples<T> samples_of(const Tile& tile) const {
    TileSamples<T> samples{order_.data() + tile.begin, {}, {}, tile.count};
    for (int axis = 0; axis < 3; ++axis) {
      samples.first[axis] = first_[axis].data() + tile.begin;
      samples.offset[axis] = offset_[axis].data() + tile.begin;
    }
    return samples;
  }

  /// body(grid offset, count) for the runs of consecutive grid points of a tile, coil by coil, periodic.
  template <class Body>
  void for_each_run(const Tile& tile, std::int64_t first_coil, std::int64_t coils, Body body) const {
    for (std::int64_t coil = first_coil; coil < first_coil + coils; ++coil)
      for (std::int64_t z = 0; z < tile.shape.size[2]; ++z)
        for (std::int64_t y = 0; y < tile.shape.size[1]; ++y) {
          const std::int64_t grid_z = (tile.corner[2] + z) % size_[2],
                             grid_y = (tile.corner[1] + y) % size_[1];
          const std::int64_t line = ((coil * size_[2] + grid_z) * size_[1] + grid_y) * size_[0];
          std::int64_t x = tile.corner[0];
          for (std::int64_t left = tile.shape.size[0]; left > 0; x = 0) {
            const std::int64_t count = std::min(left, size_[0] - x);
            body(line + x, count);
            left -= count;
          }
        }
  }

  void sort(const Trajectory& trajectory, const std::array<int, 3>& matrix_size) {
    // Even tile counts keep the colours apart across the periodic edge.
    const bool volume = size_[2] > 1;
    const std::int64_t wanted[3] = {volume ? 16 : 64, volume ? 16 : 32, 16};
    std::int64_t tiles[3];
    for (int axis = 0; axis < 3; ++axis)
      tiles[axis] = std::max<std::int64_t>(
          1, size_[axis] / (2 * std::max<std::int64_t>(wanted[axis], kernel_.width)) * 2);

    // Grid point and offset of every sample, and its tile.
    const std::int64_t tile_count = tiles[0] * tiles[1] * tiles[2];
    std::vector<std::int32_t> tile_of(sample_count_);
    std::array<std::vector<std::int32_t>, 3> first;
    std::array<std::vector<T>, 3> offset;
    for (int axis = 0; axis < 3; ++axis)
      first[axis].resize(sample_count_), offset[axis].resize(sample_count_);
#pragma omp parallel for schedule(static)
    for (std::int64_t m = 0; m < sample_count_; ++m) {
      std::int64_t tile = 0;
      for (int axis = 2; axis >= 0; --axis) {
        std::int64_t index = 0, point = 0;
        if (points_[axis] > 1) {
          const double u =
              trajectory.k[axis * sample_count_ + m] * static_cast<double>(size_[axis]) / matrix_size[axis];
          const double begin = u - kernel_.width / 2.0, up = std::ceil(begin);
          offset[axis][m] = static_cast<T>(2 * (up - begin) - 1);
          point = static_cast<std::int64_t>(up) % size_[axis];
          if (point < 0) point += size_[axis];
          index = ((point + 1) * tiles[axis] - 1) /
                  size_[axis];  // the last tile that begins at or before the point
        }
        first[axis][m] = static_cast<std::int32_t>(point - index * size_[axis] / tiles[axis]);
        tile = tile * tiles[axis] + index;
      }
      tile_of[m] = static_cast<std::int32_t>(tile);
    }

    // Counting sort by tile; samples of one tile stay in their order.
    std::vector<std::int64_t> begin(tile_count + 1);
    for (auto tile : tile_of) ++begin[tile + 1];
    for (std::int64_t tile = 0; tile < tile_count; ++tile) begin[tile + 1] += begin[tile];
    order_.resize(sample_count_);
    auto next = begin;
    for (std::int64_t m = 0; m < sample_count_; ++m)
      order_[next[tile_of[m]]++] = static_cast<std::int32_t>(m);
    for (int axis = 0; axis < 3; ++axis) {
      first_[axis].resize(sample_count_);
      offset_[axis].resize(sample_count_);
#pragma omp parallel for schedule(static)
      for (std::int64_t i = 0; i < sample_count_; ++i) {
        first_[axis][i] = first[axis][order_[i]];
        offset_[axis][i] = offset[axis][order_[i]];
      }
    }

    for (std::int64_t index = 0; index < tile_count; ++index) {
      if (begin[index + 1] == begin[index]) continue;
      const std::int64_t at[3] = {index % tiles[0], index / tiles[0] % tiles[1],
                                  index / (tiles[0] * tiles[1])};
      Tile tile{};
      int colour = 0;
      for (int axis = 0; axis < 3; ++axis) {
        tile.corner[axis] = at[axis] * size_[axis] / tiles[axis];
        tile.shape.points[axis] = points_[axis];
        // Lines along x are a kernel wide even where x has one voxel, and their further weights are zero.
        const int margin = (axis == 0 ? kernel_.width : points_[axis]) - 1;
        tile.shape.size[axis] = (at[axis] + 1) * size_[axis] / tiles[axis] - tile.corner[axis] + margin;
        colour |= static_cast<int>(at[axis] % 2) << axis;
      }
      tile.begin = begin[index];
      tile.count = begin[index + 1] - begin[index];
      largest_volume_ = std::max(largest_volume_, tile.shape.volume());
      colours_[colour].push_back(tile);
    }
    // Long tiles first, so that no thread is left with one at the end.
    for (auto& list : colours_)
      std::stable_sort(list.begin(), list.end(),
                       [](const Tile& a, const Tile& b) { return a.count > b.count; });
  }

  KaiserBessel kernel_;
  KernelTable<T> table_;
  std::int64_t sample_count_;
  std::array<std::int64_t, 3> size_{1, 1, 1};
  std::array<int, 3> points_{1, 1, 1};  ///< of the kernel, 1 on an axis without extent
  std::vector<std::int32_t> order_;     ///< sorted -> sample
  std::array<std::vector<std::int32_t>, 3> first_;
  std::array<std::vector<T>, 3> offset_;
  std::array<std::vector<Tile>, 8> colours_;
  std::int64_t largest_volume_ = 1;
};

/// forward: image / phi^, zero-padded, FFT, interpolated; adjoint: the transpose of each step in reverse.
template <class T>
class GriddedTransformCpu final : public FourierTransform<T> {
 public:
  GriddedTransformCpu(const Trajectory& trajectory, std::array<int, 3> matrix_size, double accuracy)
      : FourierTransform<T>(matrix_size, trajectory.sample_count(), Device::cpu()),
        grid_(trajectory, matrix_size, KaiserBessel(accuracy, oversampling_for(matrix_size, accuracy))),
        fft_{Fft1d<T>(static_cast<int>(grid_.size()[0]), 1),
             Fft1d<T>(static_cast<int>(grid_.size()[1]), Fft1d<T>::wide),
             Fft1d<T>(static_cast<int>(grid_.size()[2]), Fft1d<T>::wide)} {
    for (int axis = 0; axis < 3; ++axis) {
      const int n = matrix_size[axis], g = static_cast<int>(grid_.size()[axis]);
      for (int i = 0; i < n; ++i) {
        const int from_centre = i - n / 2;
        place_[axis].push_back(from_centre < 0 ? from_centre + g : from_centre);
        deapodisation_[axis].push_back(
            n == 1 ? T(1)
                   : static_cast<T>(1 / grid_.kernel().transform(static_cast<double>(from_centre) / g)));
      }
      for (int i = 0; i < g; ++i) every_[axis].push_back(i);
    }
  }

  void forward(const Array<Complex<T>>& images, Array<Complex<T>>& samples) const override {
    const std::int64_t coils = this->check_batch(images, samples);
    for_each_group(coils, [&](std::int64_t first, std::int64_t used) {
      for (std::int64_t coil = 0; coil < used; ++coil)
        image_to_grid(images.data() + (first + coil) * voxels(), grids_.data() + coil * grid_.point_count());
      grid_.interpolate(grids_.data(), used, samples.data() + first * this->sample_count(),
                        this->sample_count());
    });
  }

  void adjoint(const Array<Complex<T>>& samples, Array<Complex<T>>& images) const override {
    const std::int64_t coils = this->check_batch(images, samples);
    for_each_group(coils, [&](std::int64_t first, std::int64_t used) {
      grid_.spread(samples.data() + first * this->sample_count(), this->sample_count(), used, grids_.data());
      for (std::int64_t coil = 0; coil < used; ++coil)
        grid_to_image(grids_.data() + coil * grid_.point_count(), images.data() + (first + coil) * voxels());
    });
  }

 private:
  std::int64_t voxels() const { return this->images_shape(1).size(); }

  template <class Body>
  void for_each_group(std::int64_t coils, Body body) const {
    const std::int64_t bytes = grid_.point_count() * std::int64_t{sizeof(Complex<T>)};
    const std::int64_t group = std::clamp<std::int64_t>(group_bytes / bytes, 1, coils);
    if (grids_.size() < group * grid_.point_count())
      grids_ = Array<Complex<T>>(Shape{group, grid_.point_count()});
    for (std::int64_t first = 0; first < coils; first += group) body(first, std::min(group, coils - first));
  }

  /// FFTs of `wide` columns of the grid: the rows `from` are read (the others are zero), the rows `to` are
  /// written.
  void columns(const Fft1d<T>& fft, int sign, Complex<T>* at, std::int64_t stride, std::int64_t used,
               const std::vector<int>& from, const std::vector<int>& to, Complex<T>* buffer) const {
    constexpr std::int64_t wide = Fft1d<T>::wide;
    std::fill_n(buffer, fft.size() * wide, Complex<T>());
    for (int i : from) std::copy_n(at + i * stride, used, buffer + i * wide);
    sign < 0 ? fft.forward(buffer) : fft.backward(buffer);
    for (int i : to) std::copy_n(buffer + i * wide, used, at + i * stride);
  }

  void pass_y(int sign, Complex<T>* grid, Complex<T>* buffer) const {
    const auto [gx, gy, gz] = grid_.size();
    if (gy == 1) return;
    constexpr std::int64_t wide = Fft1d<T>::wide;
    const std::int64_t chunks = (gx + wide - 1) / wide;
#pragma omp for schedule(static)
    for (std::int64_t unit = 0; unit < static_cast<std::int64_t>(place_[2].size()) * chunks; ++unit) {
      const std::int64_t first = unit % chunks * wide;
      columns(fft_[1], sign, grid + place_[2][unit / chunks] * gy * gx + first, gx,
              std::min(wide, gx - first), sign < 0 ? place_[1] : every_[1], sign < 0 ? every_[1] : place_[1],
              buffer);
    }
  }
  void pass_z(int sign, Complex<T>* grid, Complex<T>* buffer) const {
    const auto [gx, gy, gz] = grid_.size();
    if (gz == 1) return;
    constexpr std::int64_t wide = Fft1d<T>::wide;
    const std::int64_t columns_in_plane = gy * gx, chunks = (columns_in_plane + wide - 1) / wide;
#pragma omp for schedule(static)
    for (std::int64_t unit = 0; unit < chunks; ++unit) {
      const std::int64_t first = unit * wide;
      columns(fft_[2], sign, grid + first, columns_in_plane, std::min(wide, columns_in_plane - first),
              sign < 0 ? place_[2] : every_[2], sign < 0 ? every_[2] : place_[2], buffer);
    }
  }

  void image_to_grid(const Complex<T>* image, Complex<T>* grid) const {
    const auto [nx, ny, nz] = this->matrix_size();
    const auto [gx, gy, gz] = grid_.size();
#pragma omp parallel
    {
      Array<Complex<T>> buffer(Shape{std::max(gx, std::max(gy, gz) * Fft1d<T>::wide)});
#pragma omp for schedule(static)
      for (int row = 0; row < nz * ny; ++row) {
        const int y = row % ny, z = row / ny;
        std::fill_n(buffer.data(), gx, Complex<T>());
        const T weight = deapodisation_[1][y] * deapodisation_[2][z];
        for (int x = 0; x < nx; ++x)
          buffer.data()[place_[0][x]] = (weight * deapodisation_[0][x]) * image[std::int64_t{row} * nx + x];
        fft_[0].forward(buffer.data());
        std::copy_n(buffer.data(), gx, grid + (place_[2][z] * gy + place_[1][y]) * gx);
      }
      pass_y(-1, grid, buffer.data());
      pass_z(-1, grid, buffer.data());
    }
  }

  void grid_to_image(Complex<T>* grid, Complex<T>* image) const {
    const auto [nx, ny, nz] = this->matrix_size();
    const auto [gx, gy, gz] = grid_.size();
#pragma omp parallel
    {
      Array<Complex<T>> buffer(Shape{std::max(gx, std::max(gy, gz) * Fft1d<T>::wide)});
      pass_z(+1, grid, buffer.data());
      pass_y(+1, grid, buffer.data());
#pragma omp for schedule(static)
      for (int row = 0; row < nz * ny; ++row) {
        const int y = row % ny, z = row / ny;
        std::copy_n(grid + (place_[2][z] * gy + place_[1][y]) * gx, gx, buffer.data());
        fft_[0].backward(buffer.data());
        const T weight = deapodisation_[1][y] * deapodisation_[2][z];
        for (int x = 0; x < nx; ++x)
          image[std::int64_t{row} * nx + x] = (weight * deapodisation_[0][x]) * buffer.data()[place_[0][x]];
      }
    }
  }

  SampleGrid<T> grid_;
  std::array<Fft1d<T>, 3> fft_;
  std::array<std::vector<int>, 3> place_;  ///< grid index of each voxel: (n - floor(N/2)) mod G
  std::array<std::vector<int>, 3> every_;
  std::array<std::vector<T>, 3> deapodisation_;
  mutable Array<Complex<T>> grids_;  ///< [coil of a group][z][y][x]
};

Array<float> density_fixed_point_cpu(const Trajectory& trajectory, std::array<int, 3> matrix_size,
                                     const KaiserBessel& kernel, int iterations) {
  const SampleGrid<float> grid(trajectory, matrix_size, kernel);
  const std::int64_t samples = trajectory.sample_count();
  Array<Complex<float>> weights(Shape{1, samples}), blurred(Shape{1, samples}),
      points(Shape{1, grid.point_count()});
  for (auto& w : weights) w = 1.0f;
  for (int iteration = 0; iteration < iterations; ++iteration) {
    grid.spread(weights.data(), samples, 1, points.data());
    grid.interpolate(points.data(), 1, blurred.data(), samples);
    for (std::int64_t m = 0; m < samples; ++m)
      weights[m].re /= blurred[m].re;  // > 0: every sample blurs onto itself
  }
  Array<float> result(Shape{samples});
  for (std::int64_t m = 0; m < samples; ++m) result[m] = weights[m].re;
  return result;
}

void require_trajectory(const Trajectory& trajectory) {
  if (trajectory.k.shape().rank() != 2 || trajectory.k.extent(0) != 3 || trajectory.sample_count() < 1)
    throw Error("trajectory", "[3][sample] with at least one sample", trajectory.k.shape().text());
}

}  // namespace

template <class T>
std::unique_ptr<FourierTransform<T>> make_gridded_transform(const Trajectory& trajectory,
                                                            std::array<int, 3> matrix_size, double accuracy,
                                                            Device device) {
  require_trajectory(trajectory);
  constexpr double floor = sizeof(T) == 4 ? 1e-6 : 1e-12;
  if (!(accuracy >= floor && accuracy <= 0.1))
    throw Error("--accuracy",
                sizeof(T) == 4 ? "1e-6 ... 0.1 in single precision" : "1e-12 ... 0.1 in double precision",
                std::to_string(accuracy), "use --transform direct or --precision double");
  if (device.is_cuda()) return make_gridded_transform_cuda<T>(trajectory, matrix_size, accuracy);
  return std::make_unique<GriddedTransformCpu<T>>(trajectory, matrix_size, accuracy);
}

Array<double> density_compensation(const Trajectory& trajectory, std::array<int, 3> matrix_size,
                                   Device device, int iterations) {
  require_trajectory(trajectory);
  // Weights are estimates: a kernel of 4 points resolves them, and single precision carries them.
  constexpr double accuracy = 1e-3;
  const KaiserBessel kernel(accuracy, oversampling_for(matrix_size, accuracy));
  const Array<float> weights = device.is_cuda()
                                   ? density_fixed_point_cuda(trajectory, matrix_size, kernel, iterations)
                                   : density_fixed_point_cpu(trajectory, matrix_size, kernel, iterations);
  // C w = 1 means a density of w of 1 / A per grid point, A = integral of the kernel of C = (phi^(0))^2 per
  // axis; an image of the right intensity needs the density 1 / (points of the grid), that is 1 / (voxels)
  // per (cycle/FOV)^d.
  double scale = 1;
  for (const std::int64_t points : kernel.grid_size(matrix_size))
    if (points > 1) scale *= std::pow(kernel.transform(0), 2) / static_cast<double>(points);
  const std::int64_t samples = trajectory.sample_count();
  Array<double> result(Shape{samples});
  for (std::int64_t m = 0; m < samples; ++m) result[m] = scale * weights[m];
  return result;
}

template <class T>
Array<Complex<T>> point_spread_gridded(const Trajectory& trajectory, std::array<int, 3> matrix_size,
                                       const Array<double>* weights, double accuracy, Device device) {
  require_trajectory(trajectory);
  const std::int64_t samples = trajectory.sample_count();
  if (weights != nullptr) require_shape(*weights, {samples}, "weights");
  // k . n / N with n = -N ... N-1 is (2 k) . n / (2 N): a trajectory of twice the extent on twice the matrix.
  const auto grid = difference_grid(matrix_size);
  Trajectory doubled{trajectory.k};
  for (auto& k : doubled.k) k *= 2;
  const auto transform = make_gridded_transform<T>(doubled, grid, accuracy, device);
  Array<Complex<T>> ones(Shape{1, samples});
  for (std::int64_t m = 0; m < samples; ++m)
    ones[m] = weights != nullptr ? static_cast<T>((*weights)[m]) : T(1);
  Array<Complex<T>> centred(transform->images_shape(1), device);
  transform->adjoint(ones.to(device), centred);
  if (device.is_cuda()) return periodic_point_spread_cuda(centred, matrix_size);

  Array<Complex<T>> q(Shape{grid[2], grid[1], grid[0]});
  for (int z = 0; z < grid[2]; ++z)
    for (int y = 0; y < grid[1]; ++y)
      for (int x = 0; x < grid[0]; ++x) {
        const int n[3] = {x - grid[0] / 2, y - grid[1] / 2, z - grid[2] / 2};
        std::int64_t at = 0;
        bool reached = true;
        for (int axis = 2; axis >= 0; --axis) {
          reached = reached && n[axis] > -matrix_size[axis];
          at = at * grid[axis] + (n[axis] + grid[axis]) % grid[axis];
        }
        if (reached) q[at] = centred[(std::int64_t{z} * grid[1] + y) * grid[0] + x];
      }
  return q;
}

#define FHD_INSTANTIATE(T)                                                                  \
  template std::unique_ptr<FourierTransform<T>> make_gridded_transform<T>(                  \
      const Trajectory&, std::array<int, 3>, double, Device);                              \
  template Array<Complex<T>> point_spread_gridded<T>(const Trajectory&, std::array<int, 3>, \
                                                     const Array<double>*, double, Device);
FHD_INSTANTIATE(float)
FHD_INSTANTIATE(double)
#undef FHD_INSTANTIATE

}  // namespace fhd
