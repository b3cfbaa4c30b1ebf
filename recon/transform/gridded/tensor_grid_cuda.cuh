#pragma once
// Sorted samples on the oversampled grid of a GPU whose tensor cores form the products: what SampleGridCuda
// does, in single precision. The picture is in tensor_products.cuh.
#include <vector>

#include "recon/array/array.hpp"
#include "recon/domain/scan.hpp"
#include "recon/transform/gridded/gridded_cost.hpp"

namespace fhd::tensor_gridding {
struct TileEntries;
}
namespace fhd {

/// Every entry expects its device to be the current one.
class TensorGridCuda {
 public:
  TensorGridCuda(const Trajectory& trajectory, const GriddedCost& cost);

  /// Complex numbers of scratch that spread and interpolate take for so many coils.
  std::int64_t scratch_elements(std::int64_t coils) const;
  /// grid[z][coil][y][x] = sum of values[coil][sample] times the kernel around the sample; `value_stride` between
  /// coils.
  void spread(const Complex<float>* values, std::int64_t value_stride, int coils, Complex<float>* scratch,
              Complex<float>* grid) const;
  /// To be called before the FFT whose result `interpolate` takes: lines[coil][line] are sums of |re| + |im|, of
  /// `line_count` lines of what is transformed.
  void set_bounds(const float* lines, int line_count, int coils) const;
  /// values[coil][sample] = sum of the points of grid[z][coil][y][x] times the kernel around the sample.
  void interpolate(const Complex<float>* grid, int coils, Complex<float>* scratch, Complex<float>* values,
                   std::int64_t value_stride) const;

 private:
  void enter_samples(const Array<double>& k, const GriddedCost& cost);
  template <bool split>
  void spread_products(const Complex<float>* values, std::int64_t value_stride, const CoilBlocks& coils,
                       Complex<float>* scratch, Complex<float>* grid) const;
  float* bounds(int coils) const;
  tensor_gridding::TileEntries entries() const;

  Device device_;
  Gridding gridding_;
  TensorShape shape_;
  std::int64_t samples_, entries_ = 0, rows_ = 0;
  Array<std::int32_t> first_entry_, place_;  ///< of the samples' entries; where those were sorted to
  Array<float> distances_;                   ///< [axis][entry]
  Array<std::int32_t> sample_;               ///< of an entry
  Array<TensorGroup> groups_;
  Array<TensorRun> runs_;
  Array<std::int32_t> row_lists_;
  Array<TensorSum> sums_;
  mutable Array<float> bounds_;  ///< [coil], of what is gridded next
};

}  // namespace fhd
