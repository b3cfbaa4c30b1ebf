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

}  // namespace gridded_cuda

/// Every entry expects its device to be the current one.
template <class T>
class SampleGridCuda {
 public:
  SampleGridCuda(const Trajectory& trajectory, const GriddedCost& cost);

  const GridShape& shape() const { return shape_; }
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

}  // namespace fhd
