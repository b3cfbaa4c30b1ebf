// The gridded transform and the sums of density compensation on the device: what stands around the sweeps
// of sample_grid_cuda.cuh.
#include <algorithm>
#include <cmath>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "recon/array/cufft.hpp"
#include "recon/array/pointwise_cuda.cuh"
#include "recon/transform/gridded/grid_passes.hpp"
#include "recon/transform/gridded/gridded.hpp"
#include "recon/transform/gridded/sample_grid_cuda.cuh"
#include "recon/transform/gridded/tensor_grid_cuda.cuh"

namespace fhd {

using namespace gridded_cuda;

namespace {

// --- Kernels ---

/// Where voxels lie on the grid, and 1 / phi^ for them: [axis][voxel of the axis].
template <class T>
struct Deapodisation {
  const T* factors[3];
};

// image(c, n) = grid(c, (n - floor(N/2)) mod G) / phi^(n). One warp per line of voxels along x (threadIdx.y,
// blockIdx.x); blockIdx.y is the coil. images is [coil][z][y][x], grid [z][coil][y][x].
template <class T>
__global__ void crop_grid_kernel(MatrixSize matrix, GridShape shape, Deapodisation<T> deapodisation,
                                 const Complex<T>* grid, Complex<T>* images) {
  const int line = blockIdx.x * blockDim.y + threadIdx.y;
  if (line >= matrix.n[1] * matrix.n[2]) return;
  const int z = line / matrix.n[1], y = line % matrix.n[1];
  const auto point = [&](int axis, int n) {
    const int from_centre = n - matrix.n[axis] / 2;
    return from_centre < 0 ? from_centre + shape.size[axis] : from_centre;
  };
  const std::int64_t grid_line =
      (std::int64_t{point(2, z)} * gridDim.y + blockIdx.y) * shape.size[1] + point(1, y);
  const std::int64_t image_line = std::int64_t{blockIdx.y} * matrix.n[1] * matrix.n[2] + line;
  const T factor = deapodisation.factors[1][y] * deapodisation.factors[2][z];
  for (int x = threadIdx.x; x < matrix.n[0]; x += warp)
    images[image_line * matrix.n[0] + x] =
        (factor * deapodisation.factors[0][x]) * grid[grid_line * shape.size[0] + point(0, x)];
}

// The transpose: grid(c, p) = image(c, n) / phi^(n) at the voxels, zero elsewhere. One warp per line of the
// grid. Where `bounds` is not null: bounds(c, line of the image) = sum of |re| + |im| of what is written.
template <class T>
__global__ void pad_images_kernel(MatrixSize matrix, GridShape shape, Deapodisation<T> deapodisation,
                                  const Complex<T>* images, Complex<T>* grid, T* bounds) {
  const int line = blockIdx.x * blockDim.y + threadIdx.y;
  if (line >= shape.size[1] * shape.size[2]) return;
  // The voxel at a point of an axis, or a negative number.
  const auto voxel = [&](int axis, int point) {
    const int half = matrix.n[axis] / 2;
    return point < matrix.n[axis] - half ? point + half : point - shape.size[axis] + half;
  };
  const int grid_z = line / shape.size[1], grid_y = line % shape.size[1];
  const int z = voxel(2, grid_z), y = voxel(1, grid_y);
  const bool inside = z >= 0 && y >= 0;
  const T factor = inside ? deapodisation.factors[1][y] * deapodisation.factors[2][z] : T(0);
  const std::int64_t grid_line = (std::int64_t{grid_z} * gridDim.y + blockIdx.y) * shape.size[1] + grid_y;
  const std::int64_t image_line = (std::int64_t{blockIdx.y} * matrix.n[2] + z) * matrix.n[1] + y;
  T sum = 0;
  for (int grid_x = threadIdx.x; grid_x < shape.size[0]; grid_x += warp) {
    const int x = voxel(0, grid_x);
    const auto value = inside && x >= 0
                           ? (factor * deapodisation.factors[0][x]) * images[image_line * matrix.n[0] + x]
                           : Complex<T>{};
    grid[grid_line * shape.size[0] + grid_x] = value;
    sum += std::abs(value.re) + std::abs(value.im);
  }
  if (bounds == nullptr || !inside) return;
  for (int apart = warp / 2; apart > 0; apart /= 2) sum += __shfl_xor_sync(~0u, sum, apart);
  if (threadIdx.x == 0) bounds[image_line] = sum;
}

// --- Fourier transforms of the grid ---

/// FFT of grid[z][coil][y][x] where only the planes of the image are wanted (or not zero): along z first (or
/// last) for all columns, and in the planes of the image alone.
template <class T>
class GridFft {
 public:
  GridFft(const GridShape& shape, std::array<int, 3> matrix_size, int coils, Device device)
      : plane_points_(std::int64_t{shape.size[0]} * shape.size[1] * coils) {
    const long long x = shape.size[0], y = shape.size[1], z = shape.size[2];
    int planes = 1;
    starts_ = {0};
    if (z > 1) {
      planes = matrix_size[2] - matrix_size[2] / 2;  // at either end; one too many where N is odd
      starts_.push_back(z - planes);
      const cufft::Layout columns{plane_points_, 1};
      plans_along_z_.emplace_back(std::vector<long long>{z}, columns, columns, plane_points_, device);
    }
    std::vector<long long> sizes;
    for (const long long size : {y, x})
      if (size > 1) sizes.push_back(size);
    const cufft::Layout plane{1, x * y};
    if (!sizes.empty())
      plans_of_planes_.emplace_back(sizes, plane, plane, std::int64_t{planes} * coils, device);
  }

  std::size_t work_bytes() const {
    std::size_t bytes = 0;
    for (const auto* plans : {&plans_along_z_, &plans_of_planes_})
      for (const auto& plan : *plans) bytes = std::max(bytes, plan.work_bytes());
    return bytes;
  }
  /// In place; `work` has work_bytes() bytes.
  void image_to_grid(Complex<T>* grid, void* work) const {
    in_planes(grid, CUFFT_FORWARD, work);
    along_z(grid, CUFFT_FORWARD, work);
  }
  void grid_to_image(Complex<T>* grid, void* work) const {
    along_z(grid, CUFFT_INVERSE, work);
    in_planes(grid, CUFFT_INVERSE, work);
  }

 private:
  void along_z(Complex<T>* grid, int direction, void* work) const {
    for (const auto& plan : plans_along_z_) plan.execute(grid, grid, direction, work);
  }
  void in_planes(Complex<T>* grid, int direction, void* work) const {
    for (const auto& plan : plans_of_planes_)
      for (const std::int64_t start : starts_)
        plan.execute(grid + start * plane_points_, grid + start * plane_points_, direction, work);
  }

  std::int64_t plane_points_;
  std::vector<std::int64_t> starts_;
  std::vector<cufft::Plan<T>> plans_along_z_,
      plans_of_planes_;  ///< one, or none where there is nothing to do
};

// --- The transform ---

/// forward: image / phi^, zero-padded, FFT, interpolated; adjoint: the transpose of each step in reverse. One
/// call at a time: grids and scratch are kept. Grid: SampleGridCuda<T>, TensorGridCuda.
template <class T, class Grid>
class GriddedTransformCuda final : public FourierTransform<T> {
 public:
  GriddedTransformCuda(const Trajectory& trajectory, const GriddedCost& cost)
      : FourierTransform<T>(cost.sizes().matrix_size, trajectory.sample_count(), cost.sizes().device),
        cost_(cost),
        shape_(grid_shape(cost.gridding())),
        grid_(trajectory, cost) {
    const Gridding& gridding = cost.gridding();
    for (int axis = 0; axis < 3; ++axis) {
      matrix_.n[axis] = gridding.matrix_size[axis];
      const auto factors = gridding.deapodisation(axis);
      deapodisation_[axis] = on_device(std::vector<T>(factors.begin(), factors.end()), this->device());
    }
    if (std::is_same_v<T, float> && GridPasses::take(gridding)) passes_.emplace(gridding, this->device());
  }

  void forward(const Array<Complex<T>>& images, Array<Complex<T>>& samples) const override {
    for_each_group(this->check_batch(images, samples), [&](std::int64_t first, int coils) {
      T* bounds = on_tensor_cores ? reinterpret_cast<T*>(scratch_.data()) : nullptr;
      const Complex<T>* of_group = images.data() + first * voxels();
      if (passes_) {
        if constexpr (std::is_same_v<T, float>)
          passes_->image_to_grid(of_group, coils, points_.data(), bounds);
      } else {
        pad_images_kernel<T><<<line_blocks(shape_.size, coils), line_block>>>(
            matrix_, shape_, deapodisation(), of_group, points_.data(), bounds);
        device::check_launch("pad_images_kernel");
      }
      if constexpr (on_tensor_cores) grid_.set_bounds(bounds, matrix_.n[1] * matrix_.n[2], coils);
      if (!passes_) fft_of(coils).image_to_grid(points_.data(), scratch_.data());
      Complex<T>* values = samples.data() + first * this->sample_count();
      if constexpr (on_tensor_cores)
        grid_.interpolate(points_.data(), coils, scratch_.data(), values, this->sample_count());
      else
        grid_.interpolate(points_.data(), coils, values, this->sample_count());
    });
  }

  void adjoint(const Array<Complex<T>>& samples, Array<Complex<T>>& images) const override {
    const std::int64_t all = this->check_batch(images, samples);
    [[maybe_unused]] const std::int64_t row_elements = cost_.row_elements(cost_.coils_together(all));
    for_each_group(all, [&](std::int64_t first, int coils) {
      const Complex<T>* values = samples.data() + first * this->sample_count();
      if constexpr (on_tensor_cores)
        grid_.spread(values, this->sample_count(), coils, scratch_.data(), points_.data());
      else
        grid_.spread(values, this->sample_count(), coils, scratch_.data(), row_elements, points_.data());
      Complex<T>* of_group = images.data() + first * voxels();
      if (passes_) {
        if constexpr (std::is_same_v<T, float>) passes_->grid_to_image(points_.data(), coils, of_group);
        return;
      }
      fft_of(coils).grid_to_image(points_.data(), scratch_.data());
      crop_grid_kernel<T><<<line_blocks(matrix_.n, coils), line_block>>>(matrix_, shape_, deapodisation(),
                                                                         points_.data(), of_group);
      device::check_launch("crop_grid_kernel");
    });
  }

  const TransformCost& cost() const override { return cost_; }

 private:
  static constexpr bool on_tensor_cores = std::is_same_v<Grid, TensorGridCuda>;

  std::int64_t voxels() const { return this->images_shape(1).size(); }
  Deapodisation<T> deapodisation() const {
    return {{deapodisation_[0].data(), deapodisation_[1].data(), deapodisation_[2].data()}};
  }

  static constexpr dim3 line_block{warp, small_block / warp};
  static dim3 line_blocks(const int (&size)[3], int coils) {
    return {blocks_for(std::int64_t{size[1]} * size[2], line_block.y), static_cast<unsigned>(coils)};
  }

  /// body(first coil, coils) for groups of coils whose grids fit, of nearly equal size.
  template <class Body>
  void for_each_group(std::int64_t coils, Body body) const {
    const CurrentDevice guard(this->device());
    const std::int64_t together = cost_.coils_together(coils), groups = (coils + together - 1) / together;
    memory_for(points_, cost_.gridding().grid_points() * together, this->device());
    std::int64_t scratch = cost_.row_elements(together);
    if constexpr (
        on_tensor_cores)  // as many as there are of this trajectory, where the cost says what is expected
      scratch = std::max(grid_.scratch_elements(together), cost_.gridding().grid_points() * together);
    memory_for(scratch_, scratch, this->device());
    for (std::int64_t group = 0; group < groups; ++group) {
      const std::int64_t first = coils * group / groups, used = coils * (group + 1) / groups - first;
      body(first, static_cast<int>(used));
    }
  }

  /// The plan for a group of coils, made when first asked for.
  const GridFft<T>& fft_of(int coils) const {
    auto found = std::find_if(ffts_.begin(), ffts_.end(), [&](const auto& f) { return f.first == coils; });
    if (found == ffts_.end()) {
      ffts_.emplace_back(coils, GridFft<T>(shape_, this->matrix_size(), coils, this->device()));
      found = std::prev(ffts_.end());
      // Room enough as a rule: the rows take several times as much as the grids.
      memory_for(scratch_, static_cast<std::int64_t>(found->second.work_bytes() / sizeof(Complex<T>)) + 1,
                 this->device());
    }
    return found->second;
  }

  GriddedCost cost_;
  GridShape shape_;
  Grid grid_;
  MatrixSize matrix_;
  Array<T> deapodisation_[3];
  std::optional<GridPasses> passes_;                      ///< of single precision, where they take the grid
  mutable std::vector<std::pair<int, GridFft<T>>> ffts_;  ///< else, by their coils
  mutable Array<Complex<T>> points_;                      ///< the grids of a group: [z][coil][y][x]
  mutable Array<Complex<T>> scratch_;                     ///< of spreading and interpolating, or cuFFT's
};

}  // namespace

template <class T>
std::unique_ptr<FourierTransform<T>> make_gridded_transform_cuda(const Trajectory& trajectory,
                                                                 const GriddedCost& cost) {
  const CurrentDevice guard(cost.sizes().device);
  if constexpr (std::is_same_v<T, float>)
    if (cost.tensors())
      return std::make_unique<GriddedTransformCuda<float, TensorGridCuda>>(trajectory, cost);
  return std::make_unique<GriddedTransformCuda<T, SampleGridCuda<T>>>(trajectory, cost);
}

Blur make_blur_cuda(const Trajectory& trajectory, const GriddedCost& cost) {
  const Device device = cost.sizes().device;
  const CurrentDevice guard(device);
  auto grid = std::make_shared<const SampleGridCuda<float>>(trajectory, cost);
  auto points = std::make_shared<Array<Complex<float>>>(Shape{cost.gridding().grid_points()}, device),
       rows = std::make_shared<Array<Complex<float>>>(Shape{cost.row_elements(1)}, device);
  return [=](const Array<Complex<float>>& in, Array<Complex<float>>& out) {
    const CurrentDevice current(device);
    grid->spread(in.data(), in.size(), 1, rows->data(), rows->size(), points->data());
    grid->interpolate(points->data(), 1, out.data(), out.size());
  };
}

template std::unique_ptr<FourierTransform<float>> make_gridded_transform_cuda<float>(const Trajectory&,
                                                                                     const GriddedCost&);
template std::unique_ptr<FourierTransform<double>> make_gridded_transform_cuda<double>(const Trajectory&,
                                                                                       const GriddedCost&);

}  // namespace fhd

FHD_POINTWISE_KERNEL(fhd::UpdateWeights)
