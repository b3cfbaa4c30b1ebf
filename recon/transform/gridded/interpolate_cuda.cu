// Interpolation on the device, the sweep of spread_cuda.cu backwards. The picture is in sample_grid_cuda.cuh.
#include <algorithm>

#include "recon/transform/gridded/sample_grid_cuda.cuh"

namespace fhd {

using namespace gridded_cuda;

namespace {

/// Samples whose weights, and every thread's part of them, lie in shared memory.
template <class T>
constexpr int interpolation_chunk = 128 / sizeof(T);

/// The planes of a thread's four columns that samples reach, and the next one on its way from memory.
template <class T, int planes>
struct GridWindow {
  const Complex<T>* at[4];    ///< the first plane of the columns
  std::int64_t plane_stride;  ///< between their planes
  int plane_count;
  Complex<T> values[4][planes], next[4];

  __device__ __forceinline__ Complex<T> load(int plane, int half) const {
    if (plane >= plane_count) plane -= plane_count;  // at most once: the grid is two windows deep
    return at[half][plane * plane_stride];
  }
  __device__ __forceinline__ void begin(int plane) {
#pragma unroll
    for (int half = 0; half < 4; ++half) {
#pragma unroll
      for (int i = 0; i < planes; ++i) values[half][i] = load(plane + i, half);
      if constexpr (planes > 1) next[half] = load(plane + planes, half);
    }
  }
  /// To the window that begins at `plane`, the one after its own.
  __device__ __forceinline__ void advance(int plane) {
#pragma unroll
    for (int half = 0; half < 4; ++half) {
#pragma unroll
      for (int i = 0; i + 1 < planes; ++i) values[half][i] = values[half][i + 1];
      values[half][planes - 1] = next[half];
      next[half] = load(plane + planes, half);
    }
  }
};

/// Returns the part of a sample that the four columns of a thread give.
template <class T, int planes, class Pair>
__device__ __forceinline__ Complex<T> part_of(const Pair x, const Pair y, const T (&z)[planes],
                                              const Complex<T> (&window)[4][planes]) {
  Complex<T> total;
#pragma unroll
  for (int half = 0; half < 4; ++half) {
    Complex<T> line;
#pragma unroll
    for (int i = 0; i < planes; ++i) {
      line.re += z[i] * window[half][i].re;
      line.im += z[i] * window[half][i].im;
    }
    const T weight = y.of[half / 2] * x.of[half % 2];
    total.re += weight * line.re;
    total.im += weight * line.im;
  }
  return total;
}

/// values(coil, index(m)) = sum of parts(m, column of the coil) for the `count` samples of a chunk, `share`
/// threads each, or added to what an earlier launch wrote.
template <class T, int columns, int chunk, bool in_passes>
__device__ __forceinline__ void add_parts(const Complex<T>* parts, int pitch, int share, int coils, int count,
                                          int first_point, Complex<T>* values, std::int64_t value_stride,
                                          const std::int32_t* index) {
  for (int begin = 0; begin < coils * chunk; begin += blockDim.x / share) {
    const int item = begin + threadIdx.x / share, m = item % chunk, c = item / chunk;
    const bool wanted = c < coils && m < count;
    Complex<T> sum;
    if (wanted)
#pragma unroll 8
      for (int j = threadIdx.x % share; j < columns; j += share) sum += parts[m * pitch + c * columns + j];
    for (int step = share / 2; step > 0; step /= 2) {
      sum.re += __shfl_xor_sync(~0u, sum.re, step);
      sum.im += __shfl_xor_sync(~0u, sum.im, step);
    }
    if (wanted && threadIdx.x % share == 0) {
      Complex<T>& out = values[c * value_stride + index[m]];
      out = in_passes && first_point > 0 ? out + sum : sum;
    }
  }
}

// Interpolation:  value(m) = sum over the grid points of grid(p) phi(x) phi(y) phi(z).
// blockIdx.x is the run; threads as in ColumnOwner. `grid` is [z][coil][y][x], `values` [coil][sample] of the
// scan; each sample has one run, so one writer. The parts of the threads of a coil are added by `share`
// threads per sample; parts[sample of the chunk][thread] has the pitch of the block and one. With first_point
// > 0 the sum is added to that of an earlier launch.
template <class T, int width, int planes>
__global__ void __launch_bounds__(most_threads)
    interpolate_runs_kernel(const __grid_constant__ Polynomials<T, width> kernel, const GridShape shape,
                            const SortedSamples<T> samples, const SampleRun* runs, int first_point,
                            int coil_count, int coils_per_block, int share, const Complex<T>* grid,
                            Complex<T>* values, std::int64_t value_stride) {
  constexpr int columns = width * width, chunk = interpolation_chunk<T>;
  __shared__ ChunkWeights<T, width, planes, chunk> weights;
  extern __shared__ __align__(16) unsigned char dynamic_shared[];
  auto* parts = reinterpret_cast<Complex<T>*>(dynamic_shared);
  const int pitch = blockDim.x + 1;
  const SampleRun run = runs[blockIdx.x];
  const ColumnOwner<width> owner(coil_count, coils_per_block);  // the parts of others are not added

  const std::int64_t plane_points = std::int64_t{shape.size[1]} * shape.size[0];
  GridWindow<T, planes> window;
  window.plane_stride = coil_count * plane_points;
  window.plane_count = shape.size[2];
#pragma unroll
  for (int half = 0; half < 4; ++half) {
    const int x = (run.column % shape.tiles[0] * (width + 1) + owner.jx + half % 2 * width) % shape.size[0];
    const int y = (run.column / shape.tiles[0] * (width + 1) + owner.jy + half / 2 * width) % shape.size[1];
    window.at[half] =
        grid + (owner.first_coil + owner.coil) * plane_points + std::int64_t{y} * shape.size[0] + x;
  }
  int plane = run.first_plane + first_point;
  window.begin(plane);

  for (int first = 0; first < run.count; first += chunk) {
    const int count = min(chunk, run.count - first);
    evaluate_chunk(kernel, shape, samples, run.begin + first, count, first_point, weights);
    __syncthreads();
    const auto* x_weights = &weights.columns[0][0][owner.jx];
    const auto* y_weights = &weights.columns[1][0][owner.jy];
    const auto* z_weights = &weights.z[0];
    Complex<T>* part = parts + threadIdx.x;
    for (int m = 0;;) {
      // The samples that begin at this plane.
#pragma unroll 1
      for (; planes > 1 ? weights.first_plane[m] == plane : m < count; ++m) {
        T z[planes];
#pragma unroll
        for (int i = 0; i < planes; ++i) z[i] = planes > 1 ? (*z_weights)[i] : T(1);
        *part = part_of(*x_weights, *y_weights, z, window.values);
        x_weights += width + 1;
        y_weights += width + 1;
        ++z_weights;
        part += pitch;
      }
      if (m == count) break;
      window.advance(++plane);
    }
    __syncthreads();
    add_parts<T, columns, chunk, in_passes<width, planes>>(
        parts, pitch, share, owner.coils, count, first_point, values + owner.first_coil * value_stride,
        value_stride, samples.index + run.begin + first);
  }
}

}  // namespace

template <class T>
template <int width, int planes>
void SampleGridCuda<T>::interpolate_width(const Complex<T>* grid, int coils, Complex<T>* values,
                                          std::int64_t value_stride) const {
  constexpr int columns = width * width, chunk = interpolation_chunk<T>;
  const int together = coils_per_block(coils, columns), threads = whole_warps(together * columns);
  int share = 1;
  while (share < 8 && 2 * share * together * chunk <= threads) share *= 2;
  const std::size_t shared_bytes = chunk * (threads + 1) * sizeof(Complex<T>);
  for (int first_point = 0; first_point < shape_.points[2]; first_point += planes) {
    device::check(
        cudaFuncSetAttribute(interpolate_runs_kernel<T, width, planes>,
                             cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes)),
        "asking for shared memory");
    interpolate_runs_kernel<T, width, planes>
        <<<dim3(static_cast<unsigned>(runs_.size()), blocks_for(coils, together)), threads, shared_bytes>>>(
            polynomials_of<T, width>(kernel_), shape_, sorted(), runs_.data(), first_point, coils, together,
            share, grid, values, value_stride);
    device::check_launch("interpolate_runs_kernel");
  }
}

template <class T>
void SampleGridCuda<T>::interpolate(const Complex<T>* grid, int coils, Complex<T>* values,
                                    std::int64_t value_stride) const {
  with_width<T>(kernel_.width, [&]<int width>() {
    if (shape_.points[2] > 1)
      interpolate_width<width, planes_at_once<T, width>>(grid, coils, values, value_stride);
    else
      interpolate_width<width, 1>(grid, coils, values, value_stride);
  });
}

template void SampleGridCuda<float>::interpolate(const Complex<float>*, int, Complex<float>*,
                                                 std::int64_t) const;
template void SampleGridCuda<double>::interpolate(const Complex<double>*, int, Complex<double>*,
                                                  std::int64_t) const;

}  // namespace fhd
