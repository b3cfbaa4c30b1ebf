#pragma once
// Images and their Fourier transforms on the oversampled grid of a GPU, in single precision, by passes that take and leave
// what is not zero and wanted: grid_passes_cuda.cu.
#include <memory>

#include "recon/array/array.hpp"
#include "recon/transform/gridded/gridding.hpp"

namespace fhd {

/// Every entry expects its device to be the current one.
class GridPasses {
 public:
  /// Returns whether the passes take lines of this grid.
  static bool take(const Gridding& gridding);
  explicit GridPasses(const Gridding& gridding, Device device);
  GridPasses(GridPasses&&) noexcept;
  ~GridPasses();

  /// grid[z][coil][y][x] = FFT of images[coil][z][y][x] / phi^, exponent -1, whose centre is point 0. bounds[coil][z, y] =
  /// sum over x of |re| + |im| of images / phi^, unless it is null.
  void image_to_grid(const Complex<float>* images, int coils, Complex<float>* grid, float* bounds) const;
  /// The transpose; the grid is overwritten.
  void grid_to_image(Complex<float>* grid, int coils, Complex<float>* images) const;

 private:
  struct Axes;
  std::unique_ptr<Axes> axes_;
};

}  // namespace fhd
