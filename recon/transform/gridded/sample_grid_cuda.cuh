#pragma once
// Sorted samples on the oversampled grid of a GPU: spreading and interpolation without Fourier transforms.
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
#include <string>
#include <utility>
#include <vector>

#include "recon/array/array.hpp"
#include "recon/array/cuda_check.hpp"
#include "recon/domain/scan.hpp"
#include "recon/transform/gridded/gridded_cost.hpp"

namespace fhd {
namespace gridded_cuda {

constexpr int small_block = 256;
constexpr int warp = 32;
constexpr int most_threads = 256;        // of a block that sweeps a run
constexpr int most_coils_per_block = 8;  // that share the weights of a run

inline unsigned blocks_for(std::int64_t threads, int size = small_block) {
  return static_cast<unsigned>((threads + size - 1) / size);
}

struct MatrixSize {
  int n[3];
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

/// Arrays from std::vector, on the device.
template <class T>
Array<T> on_device(const std::vector<T>& values, Device device) {
  Array<T> host({static_cast<std::int64_t>(values.size())});
  std::copy(values.begin(), values.end(), host.begin());
  return host.to(device);
}

/// `order` sorted by its keys, those of equal keys as they were; and where each key < key_count begins, with one more
/// at the end.
struct SortedKeys {
  Array<std::int32_t> order, begins;
};
SortedKeys sort_keys(Array<std::uint32_t> keys, Array<std::int32_t> order, std::int64_t key_count);

}  // namespace gridded_cuda

/// Every entry expects its device to be the current one.
template <class T>
class SampleGridCuda {
 public:
  SampleGridCuda(const Trajectory& trajectory, const GriddedCost& cost);

  /// grid[z][coil][y][x] = sum of values[coil][sample] times the kernel around the sample; `value_stride`
  /// between coils. `rows` is scratch for `row_elements` numbers: those of the rows of all tiles, or of as
  /// many lines of tiles as fit, of one at least (GriddedCost::row_elements).
  void spread(const Complex<T>* values, std::int64_t value_stride, int coils, Complex<T>* rows,
              std::int64_t row_elements, Complex<T>* grid) const;
  /// values[coil][sample] = sum of the points of grid[z][coil][y][x] times the kernel around the sample.
  void interpolate(const Complex<T>* grid, int coils, Complex<T>* values, std::int64_t value_stride) const;

 private:
  Array<std::int32_t> sort(const Array<double>& k);
  gridded_cuda::SortedSamples<T> sorted() const { return {positions_.data(), index_.data(), samples_}; }
  template <int width, int planes>
  void spread_width(const Complex<T>* values, std::int64_t value_stride, int coils, Complex<T>* rows,
                    std::int64_t row_elements, Complex<T>* grid) const;
  template <int width>
  void add_rows(int tile, int end, int coils, const Complex<T>* rows, Complex<T>* grid) const;
  template <int width, int planes>
  void interpolate_width(const Complex<T>* grid, int coils, Complex<T>* values,
                         std::int64_t value_stride) const;

  Device device_;
  KaiserBessel kernel_;
  std::int64_t samples_;
  gridded_cuda::MatrixSize matrix_;
  GridShape shape_;
  Array<gridded_cuda::AxisPosition<T>> positions_;
  Array<std::int32_t> index_, row_lists_, rows_begin_;
  Array<SampleRun> runs_;
  int depth_ = 0;
  std::vector<std::int64_t> first_run_;
  std::vector<std::int32_t> first_row_;
};

// --- What the sweeps over runs share: spread_cuda.cu and interpolate_cuda.cu ---

namespace gridded_cuda {

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

/// The column that a thread of a sweep owns: blockIdx.y is the group of coils; thread = coil x width^2 + jy x width +
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

}  // namespace gridded_cuda
}  // namespace fhd
