// The FFTs of the oversampled grid with padding, cropping and 1 / phi^ in them, one pass an axis:
//
//     to the grid   x: images -> rows of the planes and lines that hold voxels; y: of these planes; z: all
//     to images     z: all, of which the planes that hold voxels are kept; y: of these planes; x: -> images
//
// With g points and n voxels of an axis and G = 8 bytes g_x g_y g_z of a coil, N = n / g: bytes read and written are G (1 + N)
// along z, G N (1 + N) along y and G N^2 (1 + N) along x, against 2 G (1 + 2 N) of whole FFTs and G (1 + N^3) of padding.
// In all kernels a block has whole lines, and each value in memory one thread that reads it and later, if any, writes
// it: no races.
#include <algorithm>
#include <vector>

#include "recon/array/cuda_check.hpp"
#include "recon/transform/gridded/grid_passes.hpp"
#include "recon/transform/toeplitz/block_fft_axis.cuh"

namespace fhd {

using toeplitz::Value;

namespace {

/// Which points of an axis hold voxels: those before `upper`, and `skipped` points later the others.
struct CutAxis {
  int voxels = 1, upper = 1, skipped = 0;
  __device__ int voxel(int point) const {  // negative: none
    const int below = voxels - upper;
    return point < upper ? point + below : point - (upper + skipped);
  }
  __device__ int point(int voxel) const {
    const int from_centre = voxel - (voxels - upper);
    return from_centre < 0 ? from_centre + voxels + skipped : from_centre;
  }
};

/// Lines of the grid along x that hold voxels, and 1 / phi^ of every axis.
struct ImageLines {
  CutAxis axis[3];
  const float* factors[3];
  int grid_y, coils;
};

/// The line of an image that some threads have: where it lies in the images and on the grid, and 1 / phi^ along y and z.
struct ImageLine {
  std::int64_t in_images, in_grid;
  float factor;
  bool counts;

  __device__ ImageLine(const ImageLines& lines, int line, int coil) {
    const int ny = lines.axis[1].voxels, all = ny * lines.axis[2].voxels;
    counts = line < all;
    if (!counts) line = 0;
    const int y = line % ny, z = line / ny;
    in_images = std::int64_t{coil} * all + line;
    in_grid =
        (std::int64_t{lines.axis[2].point(z)} * lines.coils + coil) * lines.grid_y + lines.axis[1].point(y);
    factor = lines.factors[1][y] * lines.factors[2][z];
  }
};

// grid(line) = FFT of image(line) / phi^, padded; bounds(coil, line) = sum of |re| + |im| of what is transformed.
// blockIdx.y is the coil.
template <class Stages>
__global__ void __launch_bounds__(toeplitz::row_threads, 3)
    transform_image_rows_kernel(Stages plan, const Value* twiddles, const ImageLines lines,
                                const Value* images, Value* grid, float* bounds) {
  extern __shared__ unsigned char line_memory[];
  __shared__ float sums[toeplitz::row_threads];
  const auto fft = toeplitz::row_fft(plan, twiddles, line_memory);
  const int threads = plan.line_threads();
  const ImageLine line(lines, (blockIdx.x * blockDim.x + threadIdx.x) / threads, blockIdx.y);
  images += line.in_images * lines.axis[0].voxels;
  grid += line.in_grid * plan.length();
  Value v[Stages::most_radix];
  float sum = 0;
  fft.for_points([&](int r, int e) {
    const int x = lines.axis[0].voxel(e);
    v[r] = line.counts && x >= 0 ? (line.factor * lines.factors[0][x]) * images[x] : Value();
    sum += fabsf(v[r].re) + fabsf(v[r].im);
  });
  sums[threadIdx.x] = sum;
  fft.forward(v);
  fft.for_spectrum([&](int r, int k) {
    if (line.counts) grid[k] = v[r];
  });
  if (bounds == nullptr || fft.t > 0 || !line.counts) return;
  for (int i = 1; i < threads; ++i) sum += sums[threadIdx.x + i];  // after the barriers of the transform
  bounds[line.in_images] = sum;
}

// The transpose: image(line) = inverse FFT of grid(line), cropped, / phi^.
template <class Stages>
__global__ void __launch_bounds__(toeplitz::row_threads, 3)
    transform_grid_rows_kernel(Stages plan, const Value* twiddles, const ImageLines lines, const Value* grid,
                               Value* images) {
  extern __shared__ unsigned char line_memory[];
  const auto fft = toeplitz::row_fft(plan, twiddles, line_memory);
  const ImageLine line(lines, (blockIdx.x * blockDim.x + threadIdx.x) / plan.line_threads(), blockIdx.y);
  images += line.in_images * lines.axis[0].voxels;
  grid += line.in_grid * plan.length();
  Value v[Stages::most_radix];
  fft.for_points([&](int r, int e) { v[r] = toeplitz::exchanged(grid[e]); });
  fft.forward(v);
  fft.for_spectrum([&](int r, int k) {
    if (const int x = lines.axis[0].voxel(k); line.counts && x >= 0)
      images[x] = (line.factor * lines.factors[0][x]) * toeplitz::exchanged(v[r]);
  });
}

// Planes [n][width], in place: FFT along the first axis, of which `cut` says which points hold voxels. To the grid: of what
// they hold, to all points; else the inverse, of all points, to these. Blocks: [plane][columns]; the planes are `inner` to
// each voxel of the axis `outer`.
template <class Stages, bool to_grid>
__global__ void __launch_bounds__(toeplitz::ColumnBlock<Stages>::threads, toeplitz::ColumnBlock<Stages>::more)
    transform_columns_kernel(Stages plan, const Value* twiddles, const CutAxis cut, unsigned width,
                             const CutAxis outer, int inner, Value* planes) {
  extern __shared__ unsigned char line_memory[];
  const auto fft = toeplitz::column_fft(plan, twiddles, line_memory);
  const unsigned columns = toeplitz::columns_of(plan.line_threads()), tiles = (width + columns - 1) / columns,
                 x = blockIdx.x % tiles * columns + threadIdx.x % columns;
  const int unit = blockIdx.x / tiles;
  const bool counts = x < width;
  planes += (std::int64_t{outer.point(unit / inner)} * inner + unit % inner) * plan.length() * width +
            (counts ? x : 0);
  Value v[Stages::most_radix];
  fft.for_points([&](int r, int e) {
    if (to_grid)
      v[r] = cut.voxel(e) >= 0 ? planes[std::int64_t{e} * width] : Value();
    else
      v[r] = toeplitz::exchanged(planes[std::int64_t{e} * width]);
  });
  fft.forward(v);
  fft.for_spectrum([&](int r, int k) {
    if (!counts) return;
    if (to_grid)
      planes[std::int64_t{k} * width] = v[r];
    else if (cut.voxel(k) >= 0)
      planes[std::int64_t{k} * width] = toeplitz::exchanged(v[r]);
  });
}

}  // namespace

struct GridPasses::Axes {
  toeplitz::Axis axis[3];
  CutAxis cut[3];
  Array<float> factors[3];

  ImageLines lines(int coils) const {
    return {{cut[0], cut[1], cut[2]},
            {factors[0].data(), factors[1].data(), factors[2].data()},
            axis[1].plan.points,
            coils};
  }
  std::int64_t block_lines() const { return std::max(1, toeplitz::row_threads / axis[0].plan.threads); }
  dim3 row_blocks(int coils) const {
    const std::int64_t lines = block_lines();
    return {static_cast<unsigned>((std::int64_t{cut[1].voxels} * cut[2].voxels + lines - 1) / lines),
            static_cast<unsigned>(coils)};
  }

  /// Along y (1) or z (2), unless there is one point.
  template <bool to_grid>
  void transform_columns(int i, int coils, Value* grid) const {
    const toeplitz::Axis& along = axis[i];
    if (along.plan.points == 1) return;
    const bool in_planes = i == 1;
    const std::int64_t width =
                           std::int64_t{axis[0].plan.points} * (in_planes ? 1 : axis[1].plan.points * coils),
                       planes = in_planes ? std::int64_t{cut[2].voxels} * coils : 1;
    toeplitz::FastStages::with(along.plan, [&](auto stages) {
      transform_columns_kernel<decltype(stages), to_grid>
          <<<static_cast<unsigned>(along.column_tiles(width) * planes), along.column_threads(),
             along.column_bytes()>>>(stages, along.twiddles.data(), cut[i], static_cast<unsigned>(width),
                                     in_planes ? cut[2] : CutAxis(), in_planes ? coils : 1, grid);
    });
    device::check_launch("transform_columns_kernel");
  }
};

bool GridPasses::take(const Gridding& gridding) {
  bool taken = gridding.grid[0] > 1;
  for (const std::int64_t points : gridding.grid)
    taken = taken && (points == 1 || (points <= BlockFftPlan::most_points &&
                                      BlockFftPlan(static_cast<int>(points)).is_taken()));
  return taken;
}

GridPasses::GridPasses(const Gridding& gridding, Device device)
    : axes_(new Axes{
          {{gridding.grid[0], device}, {gridding.grid[1], device}, {gridding.grid[2], device}}, {}, {}}) {
  for (int i = 0; i < 3; ++i) {
    const int n = gridding.matrix_size[i];
    axes_->cut[i] = {n, n - n / 2, static_cast<int>(gridding.grid[i]) - n};
    const auto factors = gridding.deapodisation(i);
    std::vector<float> single(factors.begin(), factors.end());
    axes_->factors[i] = Array<float>::view(single.data(), {n}, Device::cpu()).to(device);
  }
}
GridPasses::GridPasses(GridPasses&&) noexcept = default;
GridPasses::~GridPasses() = default;

void GridPasses::image_to_grid(const Value* images, int coils, Value* grid, float* bounds) const {
  const toeplitz::Axis& x = axes_->axis[0];
  const std::int64_t lines = axes_->block_lines();
  toeplitz::FastStages::with(x.plan, [&](auto stages) {
    transform_image_rows_kernel<<<axes_->row_blocks(coils), static_cast<unsigned>(lines * x.plan.threads),
                                  x.row_bytes(lines)>>>(stages, x.twiddles.data(), axes_->lines(coils),
                                                        images, grid, bounds);
  });
  device::check_launch("transform_image_rows_kernel");
  axes_->transform_columns<true>(1, coils, grid);
  axes_->transform_columns<true>(2, coils, grid);
}

void GridPasses::grid_to_image(Value* grid, int coils, Value* images) const {
  axes_->transform_columns<false>(2, coils, grid);
  axes_->transform_columns<false>(1, coils, grid);
  const toeplitz::Axis& x = axes_->axis[0];
  const std::int64_t lines = axes_->block_lines();
  toeplitz::FastStages::with(x.plan, [&](auto stages) {
    transform_grid_rows_kernel<<<axes_->row_blocks(coils), static_cast<unsigned>(lines * x.plan.threads),
                                 x.row_bytes(lines)>>>(stages, x.twiddles.data(), axes_->lines(coils), grid,
                                                       images);
  });
  device::check_launch("transform_grid_rows_kernel");
}

}  // namespace fhd
