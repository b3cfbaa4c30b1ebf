#pragma once
// The weights of the gridding kernel in the sweeps over runs: spread_cuda.cu and interpolate_cuda.cu.
#include "recon/transform/gridded/sample_grid_cuda.cuh"

namespace fhd::gridded_cuda {

/// Planes of the window that a thread keeps: all, or half of them where registers end; then the samples are
/// swept twice.
template <class T, int width>
constexpr int planes_at_once = width * sizeof(T) <= 64 ? width : width / 2;
template <int width, int planes>
constexpr bool in_passes = planes > 1 && planes < width;

/// Calls f.operator()<W>() for the one compiled width W that equals `width`.
template <class T, class F>
void with_width(int width, F f) {
  const bool found = [&]<std::size_t... i>(std::index_sequence<i...>) {
    return ((width == compiled_widths<T>[i] && (f.template operator()<compiled_widths<T>[i]>(), true)) ||
            ...);
  }
  (std::make_index_sequence<compiled_widths<T>.size()>{});
  if (!found) throw Error("width of the gridding kernel", "a compiled one", std::to_string(width));
}

/// Coils that share a block of at most most_threads, evenly over the blocks.
inline int coils_per_block(int coils, int threads_per_coil) {
  const int most = std::clamp(most_threads / threads_per_coil, 1, most_coils_per_block);
  const int blocks = (coils + most - 1) / most;
  return (coils + blocks - 1) / blocks;
}
inline int whole_warps(int threads) { return (threads + warp - 1) / warp * warp; }

template <class T, int width>
struct Polynomials {
  T coefficients[width + KaiserBessel::extra_degree + 1][width];  // [power][point]
};

template <class T, int width>
Polynomials<T, width> polynomials_of(const KaiserBessel& kernel) {
  Polynomials<T, width> result;
  for (int power = 0; power <= width + KaiserBessel::extra_degree; ++power)
    for (int i = 0; i < width; ++i)
      result.coefficients[power][i] = static_cast<T>(kernel.coefficients[power][i]);
  return result;
}

/// What a thread of a sweep owns: blockIdx.y is the group of coils; thread = coil x width^2 + jy x width +
/// jx.
template <int width>
struct ColumnOwner {
  int first_coil, coils;  ///< of the block
  bool is_one;            ///< the rest of the last warp, and of the last group, own nothing
  int coil, column, jx, jy;

  __device__ ColumnOwner(int coil_count, int coils_per_block)
      : first_coil(blockIdx.y * coils_per_block), coils(min(coils_per_block, coil_count - first_coil)) {
    constexpr int columns = width * width;
    is_one = threadIdx.x < coils * columns;
    coil = is_one ? threadIdx.x / columns : 0;
    column = threadIdx.x % columns;
    jx = column % width;
    jy = column / width;
  }
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

}  // namespace fhd::gridded_cuda
