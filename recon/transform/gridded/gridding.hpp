#pragma once
// Which kernel on which grid: the one rule of oversampling, for the CPU, for GPUs and for plans.
#include <algorithm>
#include <array>
#include <cstdint>

#include "recon/transform/gridded/kaiser_bessel.hpp"
#include "recon/transform/transform_cost.hpp"

namespace fhd {

struct Gridding {
  std::array<int, 3> matrix_size;
  KaiserBessel kernel;
  std::array<std::int64_t, 3> grid;  ///< points of the oversampled grid along x, y, z
  std::array<int, 3> points;         ///< of the kernel: its width, or 1 on an axis of one voxel

  Gridding(std::array<int, 3> matrix_size, KaiserBessel kernel);
  /// More than any machine holds count as that.
  std::int64_t grid_points() const {
    return static_cast<std::int64_t>(
        std::min(1e15, static_cast<double>(grid[0] * grid[1]) * double(grid[2])));
  }
  std::int64_t kernel_points() const { return std::int64_t{points[0]} * points[1] * points[2]; }
};

/// For a relative l2 error of `accuracy`. On the CPU the grid is oversampled by 2, large ones by less; on a
/// GPU the compiled width is taken whose transforms are predicted to be fastest. Throws Error where no kernel
/// reaches the accuracy.
Gridding choose_gridding(const TransformSizes& sizes, double accuracy);

/// Of density compensation, the same on every device: its weights are estimates, which a kernel of 5 points
/// resolves and single precision carries.
inline constexpr double density_accuracy = 1e-3;
Gridding density_gridding(std::array<int, 3> matrix_size);

/// Kernel widths that are compiled for GPUs.
template <class T>
inline constexpr std::array<int, 8> compiled_widths{4, 5, 6, 7, 8, 10, 12, 14};
template <>
inline constexpr std::array<int, 7> compiled_widths<float>{3, 4, 5, 6, 7, 8, 9};

}  // namespace fhd
