#include "recon/transform/gridded/gridded_cpu.hpp"

#include <omp.h>

#include <algorithm>
#include <vector>

#include "recon/array/fft.hpp"
#include "recon/transform/gridded/sample_grid_cpu.hpp"

namespace fhd {
namespace {

/// forward: image / phi^, zero-padded, FFT, interpolated; adjoint: the transpose of each step in reverse.
/// Lines of voxels that are zero, or not wanted, are left out of the FFTs. One call at a time: grids and
/// buffers are kept.
template <class T>
class GriddedTransformCpu final : public FourierTransform<T> {
 public:
  GriddedTransformCpu(const Trajectory& trajectory, const GriddedCost& cost)
      : FourierTransform<T>(cost.sizes().matrix_size, trajectory.sample_count(), Device::cpu()),
        cost_(cost),
        samples_(trajectory, cost),
        size_(cost.gridding().grid),
        fft_{Fft1d<T>(static_cast<int>(size_[0]), 1), Fft1d<T>(static_cast<int>(size_[1]), wide),
             Fft1d<T>(static_cast<int>(size_[2]), wide)} {
    const Gridding& gridding = cost.gridding();
    for (int axis = 0; axis < 3; ++axis) {
      const int n = gridding.matrix_size[axis], g = static_cast<int>(size_[axis]);
      for (int i = 0; i < n; ++i) {
        const int from_centre = i - n / 2;
        place_[axis].push_back(from_centre < 0 ? from_centre + g : from_centre);
        deapodisation_[axis].push_back(
            n == 1 ? T(1)
                   : static_cast<T>(1 / gridding.kernel.transform(static_cast<double>(from_centre) / g)));
      }
      for (int i = 0; i < g; ++i) every_[axis].push_back(i);
    }
  }

  void forward(const Array<Complex<T>>& images, Array<Complex<T>>& samples) const override {
    const std::int64_t coils = this->check_batch(images, samples);
    for_each_group(coils, [&](std::int64_t first, std::int64_t used) {
      for (std::int64_t coil = 0; coil < used; ++coil)
        image_to_grid(images.data() + (first + coil) * voxels(), grids_.data() + coil * points());
      samples_.interpolate(grids_.data(), used, samples.data() + first * this->sample_count(),
                           this->sample_count());
    });
  }

  void adjoint(const Array<Complex<T>>& samples, Array<Complex<T>>& images) const override {
    const std::int64_t coils = this->check_batch(images, samples);
    for_each_group(coils, [&](std::int64_t first, std::int64_t used) {
      samples_.spread(samples.data() + first * this->sample_count(), this->sample_count(), used,
                      grids_.data());
      for (std::int64_t coil = 0; coil < used; ++coil)
        grid_to_image(grids_.data() + coil * points(), images.data() + (first + coil) * voxels());
    });
  }

  const TransformCost& cost() const override { return cost_; }

 private:
  static constexpr std::int64_t wide = Fft1d<T>::wide;
  std::int64_t voxels() const { return this->images_shape(1).size(); }
  std::int64_t points() const { return cost_.gridding().grid_points(); }

  template <class Body>
  void for_each_group(std::int64_t coils, Body body) const {
    const std::int64_t group = cost_.coils_together(coils), buffers = omp_get_max_threads() * buffer_size();
    if (grids_.size() < group * points()) grids_ = Array<Complex<T>>(Shape{group * points()});
    if (buffers_.size() < buffers) buffers_ = Array<Complex<T>>(Shape{buffers});
    for (std::int64_t first = 0; first < coils; first += group) body(first, std::min(group, coils - first));
  }
  std::int64_t buffer_size() const { return cost_.fft_elements(); }
  /// Of the calling thread.
  Complex<T>* buffer() const { return buffers_.data() + omp_get_thread_num() * buffer_size(); }

  /// FFTs of `wide` columns of the grid: the rows `from` are read (the others are zero), the rows `to` are
  /// written.
  void transform_columns(const Fft1d<T>& fft, int sign, Complex<T>* at, std::int64_t stride,
                         std::int64_t used, const std::vector<int>& from, const std::vector<int>& to) const {
    Complex<T>* rows = buffer();
    std::fill_n(rows, fft.size() * wide, Complex<T>());
    for (int i : from) std::copy_n(at + i * stride, used, rows + i * wide);
    sign < 0 ? fft.forward(rows) : fft.backward(rows);
    for (int i : to) std::copy_n(rows + i * wide, used, at + i * stride);
  }

  void pass_y(int sign, Complex<T>* grid) const {
    const auto [gx, gy, gz] = size_;
    if (gy == 1) return;
    const std::int64_t chunks = (gx + wide - 1) / wide;
#pragma omp for schedule(static)
    for (std::int64_t unit = 0; unit < static_cast<std::int64_t>(place_[2].size()) * chunks; ++unit) {
      const std::int64_t first = unit % chunks * wide;
      transform_columns(fft_[1], sign, grid + place_[2][unit / chunks] * gy * gx + first, gx,
                        std::min(wide, gx - first), sign < 0 ? place_[1] : every_[1],
                        sign < 0 ? every_[1] : place_[1]);
    }
  }
  void pass_z(int sign, Complex<T>* grid) const {
    const auto [gx, gy, gz] = size_;
    if (gz == 1) return;
    const std::int64_t columns_in_plane = gy * gx, chunks = (columns_in_plane + wide - 1) / wide;
#pragma omp for schedule(static)
    for (std::int64_t unit = 0; unit < chunks; ++unit) {
      const std::int64_t first = unit * wide;
      transform_columns(fft_[2], sign, grid + first, columns_in_plane,
                        std::min(wide, columns_in_plane - first), sign < 0 ? place_[2] : every_[2],
                        sign < 0 ? every_[2] : place_[2]);
    }
  }

  void image_to_grid(const Complex<T>* image, Complex<T>* grid) const {
    const auto [nx, ny, nz] = this->matrix_size();
    const auto [gx, gy, gz] = size_;
#pragma omp parallel
    {
      Complex<T>* line = buffer();
#pragma omp for schedule(static)
      for (int row = 0; row < nz * ny; ++row) {
        const int y = row % ny, z = row / ny;
        std::fill_n(line, gx, Complex<T>());
        const T weight = deapodisation_[1][y] * deapodisation_[2][z];
        for (int x = 0; x < nx; ++x)
          line[place_[0][x]] = (weight * deapodisation_[0][x]) * image[std::int64_t{row} * nx + x];
        fft_[0].forward(line);
        std::copy_n(line, gx, grid + (place_[2][z] * gy + place_[1][y]) * gx);
      }
      pass_y(-1, grid);
      pass_z(-1, grid);
    }
  }

  void grid_to_image(Complex<T>* grid, Complex<T>* image) const {
    const auto [nx, ny, nz] = this->matrix_size();
    const auto [gx, gy, gz] = size_;
#pragma omp parallel
    {
      Complex<T>* line = buffer();
      pass_z(+1, grid);
      pass_y(+1, grid);
#pragma omp for schedule(static)
      for (int row = 0; row < nz * ny; ++row) {
        const int y = row % ny, z = row / ny;
        std::copy_n(grid + (place_[2][z] * gy + place_[1][y]) * gx, gx, line);
        fft_[0].backward(line);
        const T weight = deapodisation_[1][y] * deapodisation_[2][z];
        for (int x = 0; x < nx; ++x)
          image[std::int64_t{row} * nx + x] = (weight * deapodisation_[0][x]) * line[place_[0][x]];
      }
    }
  }

  GriddedCost cost_;
  SampleGridCpu<T> samples_;
  std::array<std::int64_t, 3> size_;  ///< of the grid
  std::array<Fft1d<T>, 3> fft_;
  std::array<std::vector<int>, 3> place_;  ///< grid index of each voxel: (n - floor(N/2)) mod G
  std::array<std::vector<int>, 3> every_;
  std::array<std::vector<T>, 3> deapodisation_;
  mutable Array<Complex<T>> grids_;    ///< [coil of a group][z][y][x]
  mutable Array<Complex<T>> buffers_;  ///< [thread], a line or `wide` columns
};

}  // namespace

template <class T>
std::unique_ptr<FourierTransform<T>> make_gridded_transform_cpu(const Trajectory& trajectory,
                                                                const GriddedCost& cost) {
  return std::make_unique<GriddedTransformCpu<T>>(trajectory, cost);
}
template std::unique_ptr<FourierTransform<float>> make_gridded_transform_cpu<float>(const Trajectory&,
                                                                                    const GriddedCost&);
template std::unique_ptr<FourierTransform<double>> make_gridded_transform_cpu<double>(const Trajectory&,
                                                                                      const GriddedCost&);

Array<float> density_fixed_point_cpu(const Trajectory& trajectory, const GriddedCost& cost, int iterations) {
  const SampleGridCpu<float> grid(trajectory, cost);
  const std::int64_t samples = trajectory.sample_count();
  Array<Complex<float>> weights(Shape{samples}), blurred(Shape{samples}),
      points(Shape{cost.gridding().grid_points()});
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

}  // namespace fhd
