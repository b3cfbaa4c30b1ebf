// The gridded transform and density compensation on the device. Kernel and polynomials: kaiser_bessel.hpp.
//
// Every sample touches width x width columns of the grid. A tile of width + 1 by width + 1 columns with its
// margin is 2 width by 2 width columns, and thread (jx, jy) of a coil owns those at x = jx, jx + width and
// y = jy, jy + width: of any window of width x width columns exactly one. So each thread keeps `width` planes
// of its four columns in registers, sees every sample of the tile with the weight of each column (zero for
// three of the four), and no two threads ever write one point: no atomics, no conflicts, two runs give the
// same bits. Samples are sorted by tile and then by their first plane; the window moves along z with them.
//
// The sorted list is cut into runs of nearly equal length, one thread block each for several coils that share
// the weights, so that a dense centre of k-space is as fast as the rest. A run writes the planes of its tile
// that it reached ("rows"); a second kernel adds the rows over each grid point in their order. Interpolation
// is the same sweep backwards: the window is loaded plane by plane, and the threads' parts of a sample are
// added in shared memory.
//
// Source: gridding of binned samples by the owners of the grid points, Gai et al., J. Parallel Distrib.
// Comput. 73:686 (2013).
#include <algorithm>
#include <cmath>
#include <cub/device/device_radix_sort.cuh>
#include <limits>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "recon/array/cuda_check.hpp"
#include "recon/array/cufft_library.hpp"
#include "recon/transform/gridded/gridded_cuda.hpp"

namespace fhd {
namespace {

constexpr int small_block = 256;
constexpr int warp = 32;
constexpr int most_threads = 256;        // of a block that sweeps a run
constexpr int most_coils_per_block = 8;  // that share the weights of a run
constexpr int longest_run = 384;         // samples
constexpr int shortest_run = 64;         // aimed at, when there are too few samples to fill the device
constexpr int runs_per_multiprocessor = 16;

/// Samples whose weights lie in shared memory; in interpolation, every thread's part of them too.
constexpr int spread_chunk = 32;
template <class T>
constexpr int interpolation_chunk = 128 / sizeof(T);

/// Planes of the window that a thread keeps: all, or half of them where registers end; then the samples are
/// swept twice.
template <class T, int width>
constexpr int planes_at_once = width * sizeof(T) <= 64 ? width : width / 2;
template <int width, int planes>
constexpr bool in_passes = planes > 1 && planes < width;

/// Widths that are compiled. Others are rounded up, with a smaller grid to match.
template <class T>
using Widths = std::conditional_t<std::is_same_v<T, float>, std::integer_sequence<int, 3, 4, 5, 6, 7, 8, 9>,
                                  std::integer_sequence<int, 4, 5, 6, 7, 8, 10, 12, 14>>;

/// Calls f.operator()<W>() for the one compiled width W that equals `width`.
template <class F, int... widths>
void with_width(int width, std::integer_sequence<int, widths...>, F&& f) {
  const bool found = ((width == widths && (f.template operator()<widths>(), true)) || ...);
  if (!found) throw Error("width of the gridding kernel", "a compiled one", std::to_string(width));
}

unsigned blocks_for(std::int64_t threads, int size = small_block) {
  return static_cast<unsigned>((threads + size - 1) / size);
}

// --- What the kernels share ---

template <class T, int width>
struct Polynomials {
  T coefficients[width + KaiserBessel::extra_degree + 1][width];  // [power][point]
};

struct GridShape {
  int size[3];    ///< points along x, y, z
  int points[3];  ///< of the kernel: its width, or 1 on an axis of one voxel
  int tiles[2];   ///< along x and y, width + 1 points each, the last one less
};

/// First grid point of the kernel around a sample, and where its kernel's polynomials are evaluated, in [-1,
/// 1).
template <class T>
struct AxisPosition {
  T offset;
  std::int32_t first;
};

/// Samples sorted by tile and first plane: x and y count from the tile's corner, z from the grid's.
template <class T>
struct SortedSamples {
  const AxisPosition<T>* position;  ///< [axis][sample]
  const std::int32_t* index;        ///< of the sample in the scan
  std::int64_t count;
};

/// Sorted samples of one tile that one thread block sweeps, and the planes that they reach; planes beyond the
/// last of the grid are its first ones again.
struct SampleRun {
  std::int64_t begin;
  std::int32_t count;
  std::int32_t column;  ///< of tiles: y tiles_x + x
  std::int32_t first_plane, plane_count;
  std::int64_t row_list;  ///< where the rows of its planes are listed
};

/// Weights of a chunk. x and y: of the two columns j and j + width of a thread, zero outside the kernel.
template <class T, int width, int planes, int chunk>
struct ChunkWeights {
  struct alignas(2 * sizeof(T)) Pair {
    T of[2];
  };
  static constexpr int vector = 16 / sizeof(T);
  alignas(16) T z[chunk][(planes + vector - 1) / vector * vector];
  Pair columns[2][chunk][width + 1];  // one more: spreads the samples over the banks
  int first_plane[chunk + 1];         // no plane at the end
};

template <class T, int width>
__device__ inline void evaluate(const Polynomials<T, width>& kernel, T z, T (&weights)[width]) {
  constexpr int degree = width + KaiserBessel::extra_degree;
#pragma unroll
  for (int i = 0; i < width; ++i) weights[i] = kernel.coefficients[degree][i];
#pragma unroll
  for (int power = degree - 1; power >= 0; --power)
#pragma unroll
    for (int i = 0; i < width; ++i) weights[i] = weights[i] * z + kernel.coefficients[power][i];
}

/// The weights of samples first ... first + count; along z of the points first_point ... first_point +
/// planes. One thread per sample and axis.
template <class T, int width, int planes, int chunk>
__device__ inline void evaluate_chunk(const Polynomials<T, width>& kernel, const GridShape& shape,
                                      const SortedSamples<T>& samples, std::int64_t first, int count,
                                      int first_point, ChunkWeights<T, width, planes, chunk>& out) {
  constexpr int axes = planes > 1 ? 3 : 2;
  for (int item = threadIdx.x; item < axes * chunk; item += blockDim.x) {
    const int axis = item / chunk, m = item % chunk;
    if (m >= count) continue;
    const AxisPosition<T> position = samples.position[axis * samples.count + first + m];
    T weights[width] = {};
    if (shape.points[axis] > 1)
      evaluate(kernel, position.offset, weights);
    else
      weights[0] = 1;
    if (planes > 1 && axis == 2) {
#pragma unroll
      for (int i = 0; i < width; ++i)
        if (i >= first_point && i < first_point + planes) out.z[m][i - first_point] = weights[i];
      out.first_plane[m] = position.first + first_point;
    } else {
      auto* pairs = out.columns[axis][m];
#pragma unroll
      for (int j = 0; j < width; ++j) pairs[j] = {};
#pragma unroll
      for (int i = 0; i < width; ++i) {
        const int at = position.first + i;  // <= width + width - 1
        pairs[at < width ? at : at - width].of[at < width ? 0 : 1] = weights[i];
      }
    }
  }
  if (threadIdx.x == 0) out.first_plane[count] = -1;
}

// --- Kernels ---

/// A sample on one axis of the grid: k in cycles/FOV.
template <class T>
__device__ inline AxisPosition<T> locate(double k, int size, int matrix_size, int points) {
  if (points == 1) return {T(0), 0};
  const double begin = k * size / matrix_size - points / 2.0, up = ceil(begin);
  std::int64_t first = static_cast<std::int64_t>(up) % size;
  if (first < 0) first += size;
  return {static_cast<T>(2 * (up - begin) - 1), static_cast<std::int32_t>(first)};
}

struct MatrixSize {
  int n[3];
};

// key(m) = tile column of the sample x planes of the grid + first plane; order(m) = m. One thread per sample;
// k is [3][sample].
__global__ void prepare_keys_kernel(const double* k, std::int64_t samples, MatrixSize matrix, GridShape shape,
                                    std::uint32_t* keys, std::int32_t* order) {
  const std::int64_t m = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (m >= samples) return;
  int first[3];
  for (int axis = 0; axis < 3; ++axis)
    first[axis] =
        locate<float>(k[axis * samples + m], shape.size[axis], matrix.n[axis], shape.points[axis]).first;
  const int tile_x = first[0] / (shape.points[0] + 1), tile_y = first[1] / (shape.points[1] + 1);
  keys[m] = (static_cast<std::uint32_t>(tile_y) * shape.tiles[0] + tile_x) * shape.size[2] + first[2];
  order[m] = static_cast<std::int32_t>(m);
}

// position(axis, i) of the sorted samples. One thread per sample.
template <class T>
__global__ void sort_positions_kernel(const double* k, std::int64_t samples, MatrixSize matrix,
                                      GridShape shape, const std::int32_t* order,
                                      AxisPosition<T>* positions) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= samples) return;
  for (int axis = 0; axis < 3; ++axis) {
    auto position =
        locate<T>(k[axis * samples + order[i]], shape.size[axis], matrix.n[axis], shape.points[axis]);
    if (axis < 2) position.first %= shape.points[axis] + 1;
    positions[axis * samples + i] = position;
  }
}

// begin(key) = number of samples with smaller keys, for key = 0 ... key_count. One thread per key, by
// bisection.
__global__ void find_begins_kernel(const std::uint32_t* keys, std::int64_t samples, std::int64_t key_count,
                                   std::int32_t* begins) {
  const std::int64_t key = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (key > key_count) return;
  std::int64_t low = 0, high = samples;
  while (low < high) {
    const std::int64_t middle = (low + high) / 2;
    if (keys[middle] < key)
      low = middle + 1;
    else
      high = middle;
  }
  begins[key] = static_cast<std::int32_t>(low);
}

// Spreading:  row(plane; x, y) = sum over the samples of the run of value phi(x) phi(y) phi(z).
// blockIdx.x is the run, blockIdx.y the group of coils; thread = coil x width^2 + jy x width + jx. `values`
// is [coil][sample] of the scan, `rows` [row][coil][half of y][half of x][jy][jx]. Planes of the kernel
// before `first_point` were written by an earlier launch, which this one adds to. Floor per sample and coil:
// 8 planes width^2 multiply-adds, four times those of the definition.
template <class T, int width, int planes>
__global__ void __launch_bounds__(most_threads)
    spread_runs_kernel(const __grid_constant__ Polynomials<T, width> kernel, const GridShape shape,
                       const SortedSamples<T> samples, const SampleRun* runs, const std::int32_t* row_lists,
                       std::int32_t first_row, int first_point, int coil_count, int coils_per_block,
                       const Complex<T>* values, std::int64_t value_stride, Complex<T>* rows) {
  constexpr int columns = width * width, chunk = spread_chunk;
  __shared__ ChunkWeights<T, width, planes, chunk> weights;
  __shared__ Complex<T> chunk_values[most_coils_per_block][chunk];
  const SampleRun run = runs[blockIdx.x];
  const int first_coil = blockIdx.y * coils_per_block, coils = min(coils_per_block, coil_count - first_coil);
  const bool owner = threadIdx.x < coils * columns;  // the rest of the last warp, and of the last group
  const int coil = owner ? threadIdx.x / columns : 0, column = threadIdx.x % columns;
  const int jx = column % width, jy = column / width;

  Complex<T> sums[4][planes];
  int plane = run.first_plane + first_point;
  const int written = run.first_plane + run.plane_count - shape.points[2] + first_point;  // by a pass before
  const std::int32_t* row_list = row_lists + (run.row_list - run.first_plane);
  const auto write = [&](const Complex<T>(&values_of)[4][planes], int i, int of_plane) {
    const std::int64_t row = row_list[of_plane] - first_row;
    if (!owner) return;
    Complex<T>* out = rows + (row * coil_count + first_coil + coil) * (4 * columns) + column;
#pragma unroll
    for (int half = 0; half < 4; ++half) {
      Complex<T> value = values_of[half][i];
      if constexpr (in_passes<width, planes>)
        if (first_point > 0 && of_plane < written) value += out[half * columns];
      out[half * columns] = value;
    }
  };

  for (int first = 0; first < run.count; first += chunk) {
    const int count = min(chunk, run.count - first);
    __syncthreads();
    evaluate_chunk(kernel, shape, samples, run.begin + first, count, first_point, weights);
    for (int item = threadIdx.x; item < coils * chunk; item += blockDim.x) {
      const int m = item % chunk;
      if (m < count)
        chunk_values[item / chunk][m] =
            values[(first_coil + item / chunk) * value_stride + samples.index[run.begin + first + m]];
    }
    __syncthreads();
    const auto* x_weights = &weights.columns[0][0][jx];
    const auto* y_weights = &weights.columns[1][0][jy];
    const auto* z_weights = &weights.z[0];
    const Complex<T>* value = &chunk_values[coil][0];
    for (int m = 0;;) {
      // The samples that begin at this plane.
#pragma unroll 1
      for (; planes > 1 ? weights.first_plane[m] == plane : m < count; ++m) {
        const auto x = *x_weights, y = *y_weights;
        T z[planes];
#pragma unroll
        for (int i = 0; i < planes; ++i) z[i] = planes > 1 ? (*z_weights)[i] : T(1);
#pragma unroll
        for (int half = 0; half < 4; ++half) {
          const Complex<T> part = (y.of[half / 2] * x.of[half % 2]) * *value;
#pragma unroll
          for (int i = 0; i < planes; ++i) {
            sums[half][i].re += z[i] * part.re;
            sums[half][i].im += z[i] * part.im;
          }
        }
        x_weights += width + 1;
        y_weights += width + 1;
        ++z_weights;
        ++value;
      }
      if (m == count) break;
      write(sums, 0, plane++);
#pragma unroll
      for (int half = 0; half < 4; ++half) {
#pragma unroll
        for (int i = 0; i + 1 < planes; ++i) sums[half][i] = sums[half][i + 1];
        sums[half][planes - 1] = {};
      }
    }
  }
#pragma unroll
  for (int i = 0; i < planes; ++i) write(sums, i, plane + i);
}

// grid(p) = sum of the rows over p, in the order of their tiles and runs (+= with `accumulate`); only of
// tiles first_tile_y ... end_tile_y, for `y_count` lines from first_y on (periodic). One thread per point of
// `planes` planes and `coils` coils; their only writer. rows_begin is [tile column][plane] -> first row;
// `depth` planes per column. Bytes per point: about three rows' points read, one written.
template <class T, int width, int planes, int coils>
__global__ void add_rows_kernel(const GridShape shape, const std::int32_t* rows_begin, int depth,
                                std::int32_t first_row, int first_tile_y, int end_tile_y, int first_y,
                                int y_count, bool accumulate, int coil_count, const Complex<T>* rows,
                                Complex<T>* grid) {
  constexpr int columns = width * width;
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int line_blocks = (y_count + blockDim.y - 1) / blockDim.y;
  const int line = blockIdx.y % line_blocks * blockDim.y + threadIdx.y;
  const int first_coil = blockIdx.y / line_blocks * coils, first_z = blockIdx.z * planes;
  if (x >= shape.size[0] || line >= y_count) return;
  const int y = (first_y + line) % shape.size[1];

  // visit(tile, distance from its corner) for the tiles whose margin reaches a point, the nearest first.
  const auto for_each_tile = [&shape](int axis, int point, auto visit) {
    if (shape.points[axis] == 1) return visit(0, 0);
    int tile = point / (width + 1);
    for (int distance = point - tile * (width + 1); distance < 2 * width;) {
      visit(tile, distance);
      distance =
          tile > 0 ? distance + width + 1 : point + shape.size[axis] - (shape.tiles[axis] - 1) * (width + 1);
      tile = tile > 0 ? tile - 1 : shape.tiles[axis] - 1;
    }
  };
  Complex<T> sums[planes][coils];
  for_each_tile(1, y, [&](int tile_y, int from_y) {
    if (tile_y < first_tile_y || tile_y >= end_tile_y) return;
    for_each_tile(0, x, [&](int tile_x, int from_x) {
      const int half = (from_y >= width ? 2 : 0) + (from_x >= width ? 1 : 0);
      const int column = from_y % width * width + from_x % width;
      const Complex<T>* points = rows + (std::int64_t{first_coil} * 4 + half) * columns + column;
      const std::int32_t* begins = rows_begin + std::int64_t{tile_y * shape.tiles[0] + tile_x} * depth;
#pragma unroll
      for (int p = 0; p < planes; ++p)
        for (int plane = first_z + p; plane < depth && first_z + p < shape.size[2]; plane += shape.size[2])
          for (std::int32_t row = begins[plane], end = begins[plane + 1]; row < end; ++row) {
            const Complex<T>* at = points + std::int64_t{row - first_row} * coil_count * (4 * columns);
#pragma unroll
            for (int c = 0; c < coils; ++c)
              if (c == 0 || first_coil + c < coil_count) sums[p][c] += at[c * 4 * columns];
          }
    });
  });
#pragma unroll
  for (int p = 0; p < planes; ++p)
#pragma unroll
    for (int c = 0; c < coils; ++c)
      if (first_z + p < shape.size[2] && first_coil + c < coil_count) {
        const std::int64_t plane = std::int64_t{first_z + p} * coil_count + first_coil + c;
        Complex<T>& out = grid[(plane * shape.size[1] + y) * shape.size[0] + x];
        out = accumulate ? out + sums[p][c] : sums[p][c];
      }
}

// Interpolation:  value(m) = sum over the grid points of grid(p) phi(x) phi(y) phi(z).
// Blocks and threads as in spread_runs_kernel. `grid` is [z][coil][y][x], `values` [coil][sample] of the
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
  const int first_coil = blockIdx.y * coils_per_block, coils = min(coils_per_block, coil_count - first_coil);
  const bool owner = threadIdx.x < coils * columns;  // the others' parts are not added
  const int coil = owner ? threadIdx.x / columns : 0, column = threadIdx.x % columns;
  const int jx = column % width, jy = column / width;

  const std::int64_t plane_points = std::int64_t{shape.size[1]} * shape.size[0];
  const Complex<T>* at[4];
#pragma unroll
  for (int half = 0; half < 4; ++half) {
    const int x = (run.column % shape.tiles[0] * (width + 1) + jx + half % 2 * width) % shape.size[0];
    const int y = (run.column / shape.tiles[0] * (width + 1) + jy + half / 2 * width) % shape.size[1];
    at[half] = grid + (first_coil + coil) * plane_points + std::int64_t{y} * shape.size[0] + x;
  }
  Complex<T> window[4][planes], next[4];
  const auto load = [&](int plane, int half) {
    if (plane >= shape.size[2]) plane -= shape.size[2];  // at most once: the grid is two windows deep
    return at[half][plane * coil_count * plane_points];
  };
  int plane = run.first_plane + first_point;
#pragma unroll
  for (int half = 0; half < 4; ++half) {
#pragma unroll
    for (int i = 0; i < planes; ++i) window[half][i] = load(plane + i, half);
    if constexpr (planes > 1) next[half] = load(plane + planes, half);
  }

  for (int first = 0; first < run.count; first += chunk) {
    const int count = min(chunk, run.count - first);
    evaluate_chunk(kernel, shape, samples, run.begin + first, count, first_point, weights);
    __syncthreads();
    const auto* x_weights = &weights.columns[0][0][jx];
    const auto* y_weights = &weights.columns[1][0][jy];
    const auto* z_weights = &weights.z[0];
    Complex<T>* part = parts + threadIdx.x;
    for (int m = 0;;) {
      // The samples that begin at this plane.
#pragma unroll 1
      for (; planes > 1 ? weights.first_plane[m] == plane : m < count; ++m) {
        const auto x = *x_weights, y = *y_weights;
        T z[planes];
#pragma unroll
        for (int i = 0; i < planes; ++i) z[i] = planes > 1 ? (*z_weights)[i] : T(1);
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
        *part = total;
        x_weights += width + 1;
        y_weights += width + 1;
        ++z_weights;
        part += pitch;
      }
      if (m == count) break;
      ++plane;
#pragma unroll
      for (int half = 0; half < 4; ++half) {
#pragma unroll
        for (int i = 0; i + 1 < planes; ++i) window[half][i] = window[half][i + 1];
        window[half][planes - 1] = next[half];
        next[half] = load(plane + planes, half);
      }
    }
    __syncthreads();
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
        Complex<T>& out = values[(first_coil + c) * value_stride + samples.index[run.begin + first + m]];
        out = in_passes<width, planes> && first_point > 0 ? out + sum : sum;
      }
    }
  }
}

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
// grid.
template <class T>
__global__ void pad_images_kernel(MatrixSize matrix, GridShape shape, Deapodisation<T> deapodisation,
                                  const Complex<T>* images, Complex<T>* grid) {
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
  for (int grid_x = threadIdx.x; grid_x < shape.size[0]; grid_x += warp) {
    const int x = voxel(0, grid_x);
    grid[grid_line * shape.size[0] + grid_x] =
        inside && x >= 0 ? (factor * deapodisation.factors[0][x]) * images[image_line * matrix.n[0] + x]
                         : Complex<T>{};
  }
}

// w(m) /= (C w)(m), or w = 1 without C w. One thread per sample.
__global__ void update_weights_kernel(std::int64_t samples, const Complex<float>* blurred,
                                      Complex<float>* weights) {
  const std::int64_t m = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (m >= samples) return;
  weights[m] = blurred == nullptr ? Complex<float>(1) : Complex<float>(weights[m].re / blurred[m].re);
}

// q(n mod 2N) = centred(n + floor(2N / 2)) for |n| < N, else 0. One thread per element of q.
template <class T>
__global__ void shift_point_spread_kernel(MatrixSize matrix, MatrixSize grid, const Complex<T>* centred,
                                          Complex<T>* q) {
  std::int64_t rest = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::int64_t element = rest;
  int from[3];
  bool reached = true;
  for (int axis = 0; axis < 3; ++axis) {
    const int size = grid.n[axis], index = static_cast<int>(rest % size);
    rest /= size;
    const int n = index < matrix.n[axis] ? index : index - size;
    reached = reached && n > -matrix.n[axis];
    from[axis] = n + size / 2;
  }
  if (rest > 0) return;
  q[element] =
      reached ? centred[(std::int64_t{from[2]} * grid.n[1] + from[1]) * grid.n[0] + from[0]] : Complex<T>{};
}

// --- The plan ---

template <class T, int width>
Polynomials<T, width> polynomials_of(const KaiserBessel& kernel) {
  Polynomials<T, width> result;
  for (int power = 0; power <= width + KaiserBessel::extra_degree; ++power)
    for (int i = 0; i < width; ++i)
      result.coefficients[power][i] = static_cast<T>(kernel.coefficients[power][i]);
  return result;
}

/// Arrays from std::vector, on the device.
template <class T>
Array<T> on_device(const std::vector<T>& values) {
  Array<T> host({static_cast<std::int64_t>(values.size())});
  std::copy(values.begin(), values.end(), host.begin());
  return host.to(Device::cuda());
}

/// The sorted samples cut into runs, and where the rows of the runs lie: see the head of this file.
struct RunPlan {
  std::vector<SampleRun> runs;
  std::vector<std::int32_t> row_lists;   ///< rows of the planes of each run
  std::vector<std::int32_t> rows_begin;  ///< [tile column][plane] -> its first row; one more at the end
  int depth;                             ///< planes per tile column
  std::vector<std::int64_t> first_run;   ///< [tile along y], one more at the end
  std::vector<std::int32_t> first_row;   ///< likewise

  /// `begins` is [tile column][plane of the grid]: the first sorted sample there; one more at the end.
  RunPlan(const Array<std::int32_t>& begins, const GridShape& shape, int run_length)
      : depth(shape.size[2] + shape.points[2] - 1) {
    const int planes = shape.size[2], reach = shape.points[2];
    const std::int64_t tile_columns = std::int64_t{shape.tiles[0]} * shape.tiles[1];
    rows_begin.assign(tile_columns * depth + 1, 0);
    std::int64_t list_size = 0, row_count = 0;
    for (std::int64_t column = 0; column < tile_columns; ++column) {
      if (column % shape.tiles[0] == 0) {
        first_run.push_back(static_cast<std::int64_t>(runs.size()));
        first_row.push_back(static_cast<std::int32_t>(row_count));
      }
      const std::int32_t* begin = begins.data() + column * planes;
      const std::size_t first_of_column = runs.size();
      // Planes whose samples reach each other are one stretch; a gap in between starts a new run.
      for (int plane = 0; plane < planes; ++plane) {
        if (begin[plane + 1] == begin[plane]) continue;
        int last = plane;
        for (int next = plane + 1; next < planes && next < last + reach; ++next)
          if (begin[next + 1] > begin[next]) last = next;
        cut(begin, plane, last, static_cast<int>(column), reach, run_length, list_size);
        plane = last;
      }
      std::int32_t* rows = rows_begin.data() + column * depth;
      std::vector<std::int32_t> used(depth, 0);
      for (std::size_t i = first_of_column; i < runs.size(); ++i)
        for (int p = 0; p < runs[i].plane_count; ++p) ++used[runs[i].first_plane + p];
      for (int plane = 0; plane < depth; ++plane) {
        rows[plane] = static_cast<std::int32_t>(row_count);
        row_count += used[plane];
      }
      if (row_count >= std::int64_t{1} << 31)
        throw Error("gridded transform", "a trajectory of less than 2^31 rows", "more",
                    "use a smaller matrix");
      row_lists.resize(list_size);
      std::fill(used.begin(), used.end(), 0);
      for (std::size_t i = first_of_column; i < runs.size(); ++i)
        for (int p = 0; p < runs[i].plane_count; ++p) {
          const int plane = runs[i].first_plane + p;
          row_lists[runs[i].row_list + p] = rows[plane] + used[plane]++;
        }
    }
    rows_begin.back() = static_cast<std::int32_t>(row_count);
    first_run.push_back(static_cast<std::int64_t>(runs.size()));
    first_row.push_back(static_cast<std::int32_t>(row_count));
  }

 private:
  /// The samples of planes first ... last into runs of nearly equal length.
  void cut(const std::int32_t* begin, int first, int last, int column, int reach, int run_length,
           std::int64_t& list_size) {
    const std::int64_t from = begin[first], count = begin[last + 1] - from;
    const std::int64_t pieces = (count + run_length - 1) / run_length;
    int plane = first;
    for (std::int64_t piece = 0; piece < pieces; ++piece) {
      SampleRun run{};
      run.begin = from + count * piece / pieces;
      const std::int64_t end = from + count * (piece + 1) / pieces;
      run.count = static_cast<std::int32_t>(end - run.begin);
      run.column = column;
      while (begin[plane + 1] <= run.begin) ++plane;
      run.first_plane = plane;
      while (begin[plane + 1] < end) ++plane;
      run.plane_count = plane - run.first_plane + reach;
      run.row_list = list_size;
      list_size += run.plane_count;
      runs.push_back(run);
    }
  }
};

/// Sorted samples on the oversampled grid: spreading and interpolation without Fourier transforms.
template <class T>
class SampleGridCuda {
 public:
  SampleGridCuda(const Trajectory& trajectory, std::array<int, 3> matrix_size, const KaiserBessel& kernel,
                 std::size_t gridding_bytes)
      : kernel_(kernel), samples_(trajectory.sample_count()), gridding_bytes_(gridding_bytes) {
    if (samples_ >= std::int64_t{1} << 31)
      throw Error("trajectory", "fewer than 2^31 samples", std::to_string(samples_));
    const auto size = kernel.grid_size(matrix_size);
    MatrixSize matrix;
    for (int axis = 0; axis < 3; ++axis) {
      matrix.n[axis] = matrix_size[axis];
      shape_.size[axis] = static_cast<int>(size[axis]);
      shape_.points[axis] = matrix_size[axis] == 1 ? 1 : kernel.width;
      if (axis < 2)
        shape_.tiles[axis] =
            matrix_size[axis] == 1 ? 1 : (shape_.size[axis] + kernel.width) / (kernel.width + 1);
    }
    const Array<std::int32_t> begins = sort(trajectory.k.to(Device::cuda()), matrix).to(Device::cpu());
    int ordinal = 0, multiprocessors = 0;
    device::check(cudaGetDevice(&ordinal), "finding the current device");
    device::check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, ordinal),
                  "reading the number of multiprocessors");
    const int run_length = static_cast<int>(std::clamp<std::int64_t>(
        samples_ / (std::int64_t{runs_per_multiprocessor} * multiprocessors), shortest_run, longest_run));
    RunPlan plan(begins, shape_, run_length);
    runs_ = on_device(plan.runs);
    row_lists_ = on_device(plan.row_lists);
    rows_begin_ = on_device(plan.rows_begin);
    depth_ = plan.depth;
    first_run_ = std::move(plan.first_run);
    first_row_ = std::move(plan.first_row);
  }

  const GridShape& shape() const { return shape_; }
  /// Points of one coil's grid.
  std::int64_t point_count() const { return std::int64_t{shape_.size[0]} * shape_.size[1] * shape_.size[2]; }
  /// As many coils as are best spread together: those whose grids and rows fit, at least one.
  std::int64_t coils_that_fit() const {
    constexpr std::int64_t most = 64;
    const std::int64_t elements =
        point_count() + first_row_.back() * std::int64_t{4} * kernel_.width * kernel_.width;
    return std::clamp<std::int64_t>(
        static_cast<std::int64_t>(gridding_bytes_ / sizeof(Complex<T>)) / elements, 1, most);
  }

  /// grid[z][coil][y][x] = sum of values[coil][sample] times the kernel around the sample; `value_stride`
  /// between coils.
  void spread(const Complex<T>* values, std::int64_t value_stride, int coils, Complex<T>* grid) {
    with_width(kernel_.width, Widths<T>{}, [&]<int width>() {
      if (shape_.points[2] > 1)
        spread_width<width, planes_at_once<T, width>>(values, value_stride, coils, grid);
      else
        spread_width<width, 1>(values, value_stride, coils, grid);
    });
  }

  /// values[coil][sample] = sum of the points of grid[z][coil][y][x] times the kernel around the sample.
  void interpolate(const Complex<T>* grid, int coils, Complex<T>* values, std::int64_t value_stride) const {
    with_width(kernel_.width, Widths<T>{}, [&]<int width>() {
      if (shape_.points[2] > 1)
        interpolate_width<width, planes_at_once<T, width>>(grid, coils, values, value_stride);
      else
        interpolate_width<width, 1>(grid, coils, values, value_stride);
    });
  }

 private:
  Array<std::int32_t> sort(const Array<double>& k, MatrixSize matrix) {
    const std::int64_t key_count = std::int64_t{shape_.tiles[0]} * shape_.tiles[1] * shape_.size[2];
    if (key_count >= std::int64_t{1} << 31)
      throw Error("gridded transform", "a grid of fewer than 2^31 tiles and planes",
                  std::to_string(key_count), "use a smaller matrix");
    Array<std::uint32_t> keys({samples_}, Device::cuda()), sorted_keys({samples_}, Device::cuda());
    Array<std::int32_t> order({samples_}, Device::cuda());
    index_ = Array<std::int32_t>({samples_}, Device::cuda());
    prepare_keys_kernel<<<blocks_for(samples_), small_block>>>(k.data(), samples_, matrix, shape_,
                                                               keys.data(), order.data());
    device::check_launch("prepare_keys_kernel");
    int bits = 1;
    while (bits < 32 && (key_count >> bits) > 0) ++bits;
    // A radix sort keeps the order of equal keys: the sums below have one order, whatever the device.
    std::size_t bytes = 0;
    const auto sort_pairs = [&](void* buffer) {
      device::check(cub::DeviceRadixSort::SortPairs(buffer, bytes, keys.data(), sorted_keys.data(),
                                                    order.data(), index_.data(), samples_, 0, bits),
                    "sorting the samples");
    };
    sort_pairs(nullptr);
    Array<unsigned char> buffer({static_cast<std::int64_t>(std::max<std::size_t>(bytes, 1))}, Device::cuda());
    sort_pairs(buffer.data());
    positions_ = Array<AxisPosition<T>>({3, samples_}, Device::cuda());
    sort_positions_kernel<T><<<blocks_for(samples_), small_block>>>(k.data(), samples_, matrix, shape_,
                                                                    index_.data(), positions_.data());
    device::check_launch("sort_positions_kernel");
    Array<std::int32_t> begins({key_count + 1}, Device::cuda());
    find_begins_kernel<<<blocks_for(key_count + 1), small_block>>>(sorted_keys.data(), samples_, key_count,
                                                                   begins.data());
    device::check_launch("find_begins_kernel");
    return begins;
  }

  SortedSamples<T> sorted() const { return {positions_.data(), index_.data(), samples_}; }

  /// Coils that share a block of at most most_threads, evenly over the blocks.
  static int coils_per_block(int coils, int threads_per_coil) {
    const int most = std::clamp(most_threads / threads_per_coil, 1, most_coils_per_block);
    const int blocks = (coils + most - 1) / most;
    return (coils + blocks - 1) / blocks;
  }

  static int whole_warps(int threads) { return (threads + warp - 1) / warp * warp; }

  template <int width, int planes>
  void spread_width(const Complex<T>* values, std::int64_t value_stride, int coils, Complex<T>* grid) {
    constexpr int columns = width * width;
    const auto polynomials = polynomials_of<T, width>(kernel_);
    const int together = coils_per_block(coils, columns), threads = whole_warps(together * columns);
    const std::int64_t row_size = std::int64_t{4} * columns * coils;
    const int tiles_y = shape_.tiles[1];
    make_room_for_rows(row_size, coils);
    const std::int64_t room = rows_.size() / row_size;
    // As many lines of tiles at once as the buffer holds.
    for (int tile = 0; tile < tiles_y;) {
      int end = tile + 1;
      while (end < tiles_y && first_row_[end + 1] - first_row_[tile] <= room) ++end;
      const bool all = end - tile == tiles_y;
      if (!all && tile == 0)
        device::check(cudaMemsetAsync(grid, 0, point_count() * coils * sizeof(Complex<T>), nullptr),
                      "zeroing a grid");
      const std::int64_t runs = first_run_[end] - first_run_[tile];
      if (runs > 0)
        for (int first_point = 0; first_point < shape_.points[2]; first_point += planes) {
          spread_runs_kernel<T, width, planes>
              <<<dim3(static_cast<unsigned>(runs), blocks_for(coils, together)), threads>>>(
                  polynomials, shape_, sorted(), runs_.data() + first_run_[tile], row_lists_.data(),
                  first_row_[tile], first_point, coils, together, values, value_stride, rows_.data());
          device::check_launch("spread_runs_kernel");
        }
      if (runs > 0 || all) {
        const int first_y = tile * (width + 1);
        const int lines =
            all ? shape_.size[1] : std::min(shape_.size[1], (end - tile) * (width + 1) + width - 1);
        const auto add_rows = [&]<int planes_per_thread, int coils_per_thread>() {
          const dim3 block(warp, small_block / warp);
          const dim3 blocks(blocks_for(shape_.size[0], block.x),
                            blocks_for(lines, block.y) * blocks_for(coils, coils_per_thread),
                            blocks_for(shape_.size[2], planes_per_thread));
          add_rows_kernel<T, width, planes_per_thread, coils_per_thread>
              <<<blocks, block>>>(shape_, rows_begin_.data(), depth_, first_row_[tile], tile, end, first_y,
                                  lines, !all, coils, rows_.data(), grid);
          device::check_launch("add_rows_kernel");
        };
        // Finding the rows of a point costs as much as adding them: done once for several.
        if (coils > 2)
          add_rows.template operator()<1, 4>();
        else if (shape_.size[2] > 1)
          add_rows.template operator()<4, 1>();
        else
          add_rows.template operator()<1, 1>();
      }
      tile = end;
    }
  }

  template <int width, int planes>
  void interpolate_width(const Complex<T>* grid, int coils, Complex<T>* values,
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

  /// The rows of all tiles, or of as many lines of tiles as the memory beside the grids allows, of one at
  /// least.
  void make_room_for_rows(std::int64_t row_size, int coils) {
    std::int64_t longest_line = 1;
    for (std::size_t tile = 0; tile + 1 < first_row_.size(); ++tile)
      longest_line = std::max<std::int64_t>(longest_line, first_row_[tile + 1] - first_row_[tile]);
    const std::int64_t allowed =
        (static_cast<std::int64_t>(gridding_bytes_ / sizeof(Complex<T>)) - point_count() * coils) / row_size;
    const std::int64_t wanted =
        std::max(longest_line, std::min<std::int64_t>(allowed, first_row_.back())) * row_size;
    if (rows_.size() < wanted) {
      rows_ = Array<Complex<T>>();  // not both at once
      rows_ = Array<Complex<T>>({wanted}, Device::cuda());
    }
  }

  KaiserBessel kernel_;
  std::int64_t samples_;
  std::size_t gridding_bytes_;
  GridShape shape_{};
  Array<AxisPosition<T>> positions_;
  Array<std::int32_t> index_, row_lists_, rows_begin_;
  Array<SampleRun> runs_;
  int depth_ = 0;
  std::vector<std::int64_t> first_run_;
  std::vector<std::int32_t> first_row_;
  Array<Complex<T>> rows_;  ///< [row][coil][half of y][half of x][jy][jx]
};

// --- Fourier transforms of the grid ---

class FftPlan {
 public:
  /// `batch` transforms of rank sizes.size(), elements `stride` and transforms `distance` apart.
  FftPlan(std::vector<long long> sizes, long long stride, long long distance, long long batch, cufftType type)
      : type_(type) {
    cufft::check(cufft::library().create(&plan_), "making a plan");
    try {
      cufft::check(cufft::library().set_auto_allocation(plan_, 0), "making a plan");
      cufft::check(cufft::library().make_plan_many(plan_, static_cast<int>(sizes.size()), sizes.data(),
                                                   sizes.data(), stride, distance, sizes.data(), stride,
                                                   distance, type, batch, &work_bytes_),
                   "making a plan");
    } catch (...) {
      cufft::library().destroy(plan_);
      throw;
    }
  }
  FftPlan(FftPlan&& other) noexcept
      : plan_(std::exchange(other.plan_, 0)),
        type_(other.type_),
        work_bytes_(other.work_bytes_),
        owner_(std::exchange(other.owner_, false)) {}
  FftPlan& operator=(FftPlan&&) = delete;
  ~FftPlan() {
    if (owner_) cufft::library().destroy(plan_);
  }

  std::int64_t work_bytes() const { return static_cast<std::int64_t>(work_bytes_); }
  /// In place; sign -1 or +1 of the exponent. `work` has work_bytes() bytes.
  template <class T>
  void execute(Complex<T>* data, int sign, unsigned char* work) const {
    const int direction = sign < 0 ? CUFFT_FORWARD : CUFFT_INVERSE;
    cufft::check(cufft::library().set_work_area(plan_, work), "transforming");
    if constexpr (std::is_same_v<T, float>) {
      auto* at = reinterpret_cast<cufftComplex*>(data);
      cufft::check(cufft::library().execute_c2c(plan_, at, at, direction), "transforming");
    } else {
      auto* at = reinterpret_cast<cufftDoubleComplex*>(data);
      cufft::check(cufft::library().execute_z2z(plan_, at, at, direction), "transforming");
    }
  }

 private:
  cufftHandle plan_ = 0;
  cufftType type_;
  std::size_t work_bytes_ = 0;
  bool owner_ = true;
};

/// FFT of grid[z][coil][y][x] where only the planes of the image are wanted (or not zero): along z first (or
/// last) for all columns, and in the planes of the image alone.
template <class T>
class GridFft {
 public:
  GridFft(const GridShape& shape, std::array<int, 3> matrix_size, int coils)
      : plane_points_(std::int64_t{shape.size[0]} * shape.size[1] * coils) {
    const cufftType type = std::is_same_v<T, float> ? CUFFT_C2C : CUFFT_Z2Z;
    const long long x = shape.size[0], y = shape.size[1], z = shape.size[2];
    int planes = 1;
    starts_ = {0};
    if (z > 1) {
      planes = matrix_size[2] - matrix_size[2] / 2;  // at either end; one too many where N is odd
      starts_.push_back(z - planes);
      plans_along_z_.emplace_back(std::vector<long long>{z}, plane_points_, 1, plane_points_, type);
    }
    std::vector<long long> sizes;
    for (const long long size : {y, x})
      if (size > 1) sizes.push_back(size);
    if (!sizes.empty())
      plans_of_planes_.emplace_back(sizes, 1, x * y, static_cast<long long>(planes) * coils, type);
  }

  std::int64_t work_bytes() const {
    std::int64_t bytes = 0;
    for (const auto* plans : {&plans_along_z_, &plans_of_planes_})
      for (const auto& plan : *plans) bytes = std::max(bytes, plan.work_bytes());
    return bytes;
  }
  void image_to_grid(Complex<T>* grid, unsigned char* work) const {
    in_planes(grid, -1, work);
    for (const auto& plan : plans_along_z_) plan.execute(grid, -1, work);
  }
  void grid_to_image(Complex<T>* grid, unsigned char* work) const {
    for (const auto& plan : plans_along_z_) plan.execute(grid, +1, work);
    in_planes(grid, +1, work);
  }

 private:
  void in_planes(Complex<T>* grid, int sign, unsigned char* work) const {
    for (const auto& plan : plans_of_planes_)
      for (const std::int64_t start : starts_) plan.execute(grid + start * plane_points_, sign, work);
  }

  std::int64_t plane_points_;
  std::vector<std::int64_t> starts_;
  std::vector<FftPlan> plans_along_z_, plans_of_planes_;  ///< one, or none where there is nothing to do
};

// --- The transform ---

/// The kernel whose transforms are predicted to be fastest: a wider one has a smaller grid. 1 / phi^
/// amplifies rounding errors (the more, the smaller the grid); kernels by which they would grow tenfold are
/// left out, so that the adjoint stays the transpose of forward to a few units of rounding.
template <class T>
KaiserBessel choose_kernel(std::array<int, 3> matrix_size, std::int64_t samples, double accuracy) {
  using std::numbers::pi;
  constexpr double smallest_oversampling = 1.2, largest_oversampling = 2.2, largest_amplification = 10;
  // Measured on an H100 (validation/results): of a multiply-add, and of a grid point with its rows and FFT.
  constexpr double multiply_add_ns = 5.5e-5, point_ns = 0.04;
  // The bound of kaiser_bessel.hpp. In a matrix of few voxels all of them lie near the edge, where aliasing
  // is largest (measured for 2 x 2 x 2: 11).
  double bound = 10;
  for (const int n : matrix_size)
    if (n > 1 && n < 8) bound = 15;

  double best = std::numeric_limits<double>::infinity();
  KaiserBessel chosen(accuracy, 2);
  bool found = false;
  const auto consider = [&](int width) {
    const double share = std::log(bound / accuracy) / (pi * width);
    if (share >= 1) return;
    const double oversampling = std::max(1 / (1 - share * share), smallest_oversampling);
    if (oversampling > largest_oversampling) return;
    // The accuracy for which kaiser_bessel.hpp takes exactly this width, with room for rounding.
    const double reached = 10 * std::exp(-pi * width * std::sqrt(1 - 1 / oversampling)) * (1 + 1e-9);
    const KaiserBessel kernel(std::min(reached, 0.1), oversampling);
    if (kernel.width != width) return;
    const auto size = kernel.grid_size(matrix_size);
    double points = 1, amplification = 1;
    for (int axis = 0; axis < 3; ++axis) {
      if (matrix_size[axis] == 1) continue;
      const auto g = static_cast<double>(size[axis]);
      points *= g;
      double grid_power = 0, image_power = 0;
      for (int i = 0; i < size[axis]; ++i)
        grid_power += std::pow(kernel.transform((i - std::floor(g / 2)) / g), 2) / g;
      for (int i = 0; i < matrix_size[axis]; ++i)
        image_power += std::pow(kernel.transform((i - matrix_size[axis] / 2) / g), -2) / matrix_size[axis];
      amplification *= std::sqrt(grid_power * image_power);
    }
    if (amplification > largest_amplification) return;
    const double planes = matrix_size[2] > 1 ? width : 1;
    const double ns = static_cast<double>(samples) * width * width * (8 * planes + 24) * multiply_add_ns +
                      points * point_ns * sizeof(T) / sizeof(float);
    if (ns < best) best = ns, chosen = kernel, found = true;
  };
  [&]<int... widths>(std::integer_sequence<int, widths...>) { (consider(widths), ...); }
  (Widths<T>{});
  if (!found)
    throw Error("accuracy of the gridded transform", "one within reach of this precision",
                std::to_string(accuracy), "use --transform direct or --precision double");
  return chosen;
}

/// forward: image / phi^, zero-padded, FFT, interpolated; adjoint: the transpose of each step in reverse.
template <class T>
class GriddedTransformCuda final : public FourierTransform<T> {
 public:
  GriddedTransformCuda(const Trajectory& trajectory, std::array<int, 3> matrix_size,
                       const KaiserBessel& kernel, std::size_t gridding_bytes)
      : FourierTransform<T>(matrix_size, trajectory.sample_count(), Device::cuda()),
        grid_(trajectory, matrix_size, kernel, gridding_bytes) {
    for (int axis = 0; axis < 3; ++axis) {
      const int n = matrix_size[axis];
      matrix_.n[axis] = n;
      std::vector<T> factors(n, T(1));
      if (n > 1)
        for (int i = 0; i < n; ++i)
          factors[i] =
              static_cast<T>(1 / kernel.transform(static_cast<double>(i - n / 2) / grid_.shape().size[axis]));
      deapodisation_[axis] = on_device(factors);
    }
  }

  void forward(const Array<Complex<T>>& images, Array<Complex<T>>& samples) const override {
    for_each_group(this->check_batch(images, samples), [&](std::int64_t first, int coils, const auto& fft) {
      pad_images_kernel<T><<<line_blocks(grid_.shape().size, coils), line_block>>>(
          matrix_, grid_.shape(), deapodisation(), images.data() + first * voxels(), points_.data());
      device::check_launch("pad_images_kernel");
      fft.image_to_grid(points_.data(), work_.data());
      grid_.interpolate(points_.data(), coils, samples.data() + first * this->sample_count(),
                        this->sample_count());
    });
  }

  void adjoint(const Array<Complex<T>>& samples, Array<Complex<T>>& images) const override {
    for_each_group(this->check_batch(images, samples), [&](std::int64_t first, int coils, const auto& fft) {
      grid_.spread(samples.data() + first * this->sample_count(), this->sample_count(), coils,
                   points_.data());
      fft.grid_to_image(points_.data(), work_.data());
      crop_grid_kernel<T><<<line_blocks(matrix_.n, coils), line_block>>>(
          matrix_, grid_.shape(), deapodisation(), points_.data(), images.data() + first * voxels());
      device::check_launch("crop_grid_kernel");
    });
  }

 private:
  std::int64_t voxels() const { return this->images_shape(1).size(); }
  Deapodisation<T> deapodisation() const {
    return {{deapodisation_[0].data(), deapodisation_[1].data(), deapodisation_[2].data()}};
  }

  static constexpr dim3 line_block{warp, small_block / warp};
  static dim3 line_blocks(const int (&size)[3], int coils) {
    return {blocks_for(std::int64_t{size[1]} * size[2], line_block.y), static_cast<unsigned>(coils)};
  }

  /// body(first coil, coils, FFT) for groups of coils whose grids fit, of nearly equal size.
  template <class Body>
  void for_each_group(std::int64_t coils, Body body) const {
    const std::int64_t fitting = grid_.coils_that_fit(), groups = (coils + fitting - 1) / fitting;
    for (std::int64_t group = 0; group < groups; ++group) {
      const std::int64_t first = coils * group / groups, used = coils * (group + 1) / groups - first;
      body(first, static_cast<int>(used), fft_of(static_cast<int>(used)));
    }
  }

  /// The plan for a group of coils and its buffers, made when first asked for.
  const GridFft<T>& fft_of(int coils) const {
    auto found = std::find_if(ffts_.begin(), ffts_.end(), [&](const auto& f) { return f.first == coils; });
    if (found == ffts_.end()) {
      ffts_.emplace_back(coils, GridFft<T>(grid_.shape(), this->matrix_size(), coils));
      found = std::prev(ffts_.end());
      grow(work_, found->second.work_bytes());
      grow(points_, grid_.point_count() * coils);
    }
    return found->second;
  }
  template <class U>
  static void grow(Array<U>& array, std::int64_t size) {
    if (array.size() >= size) return;
    array = Array<U>();  // not both at once
    array = Array<U>({size}, Device::cuda());
  }

  mutable SampleGridCuda<T> grid_;  // its rows are scratch
  MatrixSize matrix_;
  Array<T> deapodisation_[3];
  mutable std::vector<std::pair<int, GridFft<T>>> ffts_;  ///< by their coils
  mutable Array<unsigned char> work_;
  mutable Array<Complex<T>> points_;  ///< the grids of a group: [z][coil][y][x]
};

}  // namespace

template <class T>
std::unique_ptr<FourierTransform<T>> make_gridded_transform_cuda(const Trajectory& trajectory,
                                                                 std::array<int, 3> matrix_size,
                                                                 double accuracy,
                                                                 std::size_t gridding_bytes) {
  return std::make_unique<GriddedTransformCuda<T>>(
      trajectory, matrix_size, choose_kernel<T>(matrix_size, trajectory.sample_count(), accuracy),
      gridding_bytes);
}

Array<float> density_fixed_point_cuda(const Trajectory& trajectory, std::array<int, 3> matrix_size,
                                      const KaiserBessel& kernel, int iterations) {
  const std::int64_t samples = trajectory.sample_count();
  SampleGridCuda<float> grid(trajectory, matrix_size, kernel, default_gridding_bytes);
  Array<Complex<float>> weights({samples}, Device::cuda()), blurred({samples}, Device::cuda()),
      points({grid.point_count()}, Device::cuda());
  const auto update = [&](const Complex<float>* by) {
    update_weights_kernel<<<blocks_for(samples), small_block>>>(samples, by, weights.data());
    device::check_launch("update_weights_kernel");
  };
  update(nullptr);
  for (int iteration = 0; iteration < iterations; ++iteration) {
    grid.spread(weights.data(), samples, 1, points.data());
    grid.interpolate(points.data(), 1, blurred.data(), samples);
    update(blurred.data());
  }
  const Array<Complex<float>> host = weights.to(Device::cpu());
  Array<float> result({samples});
  for (std::int64_t m = 0; m < samples; ++m) result[m] = host[m].re;
  return result;
}

template <class T>
Array<Complex<T>> periodic_point_spread_cuda(const Array<Complex<T>>& centred,
                                             std::array<int, 3> matrix_size) {
  MatrixSize matrix, size;
  for (int axis = 0; axis < 3; ++axis) {
    matrix.n[axis] = matrix_size[axis];
    size.n[axis] = static_cast<int>(centred.extent(3 - axis));
  }
  Array<Complex<T>> q({size.n[2], size.n[1], size.n[0]}, Device::cuda());
  shift_point_spread_kernel<T><<<blocks_for(q.size()), small_block>>>(matrix, size, centred.data(), q.data());
  device::check_launch("shift_point_spread_kernel");
  return q;
}

#define FHD_INSTANTIATE(T)                                                      \
  template std::unique_ptr<FourierTransform<T>> make_gridded_transform_cuda<T>( \
      const Trajectory&, std::array<int, 3>, double, std::size_t);              \
  template Array<Complex<T>> periodic_point_spread_cuda<T>(const Array<Complex<T>>&, std::array<int, 3>);
FHD_INSTANTIATE(float)
FHD_INSTANTIATE(double)
#undef FHD_INSTANTIATE

}  // namespace fhd
