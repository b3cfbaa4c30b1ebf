#pragma once
// What gridding costs and holds, from sizes alone: the transforms size their scratch by the same figures.
#include "recon/transform/gridded/gridding.hpp"
#include "recon/transform/gridded/run_plan.hpp"
#include "recon/transform/transform_cost.hpp"

namespace fhd {

/// Grids (on a GPU: with their rows of partial sums) of the coils that are gridded side by side stay below so
/// many bytes, as long as one coil's do.
inline constexpr std::size_t default_gridding_bytes = std::size_t{4} << 30,
                             default_gridding_bytes_cpu = std::size_t{1} << 29;

/// How the CPU cuts a grid into tiles: equal to a point, even in number along each axis (or one), so that
/// those of one parity stay apart across the periodic edge.
struct GridTiles {
  explicit GridTiles(const Gridding& gridding);
  /// First grid point of a tile along an axis.
  std::int64_t corner(int axis, std::int64_t tile) const { return tile * grid[axis] / count[axis]; }
  std::int64_t all() const { return count[0] * count[1] * count[2]; }
  /// Coils that a thread grids together, so that their tiles stay in its cache.
  std::int64_t coils_in_cache(std::int64_t coils, std::size_t element) const;

  std::array<std::int64_t, 3> grid, count;
  std::array<int, 3> margin;    ///< points that the kernels of a tile's samples reach beyond it
  std::int64_t largest_volume;  ///< points of a tile with its margin, at most
};

class GriddedCost final : public TransformCost {
 public:
  /// Throws Error where the accuracy is beyond reach. `most_scratch` replaces default_gridding_bytes of the
  /// device unless it is 0.
  GriddedCost(const TransformSizes& sizes, double accuracy, std::size_t most_scratch = 0);
  /// Of density compensation, which spreads and interpolates in single precision without FFTs.
  static GriddedCost of_density(TransformSizes sizes);

  Work making() const override;
  Work forward(std::int64_t coils) const override;
  Work adjoint(std::int64_t coils) const override;
  std::size_t bytes() const override;
  std::size_t scratch_bytes(std::int64_t coils) const override;
  double accuracy() const override { return accuracy_; }
  Work point_spread() const override;
  std::size_t point_spread_scratch_bytes() const override;

  const TransformSizes& sizes() const { return sizes_; }
  const Gridding& gridding() const { return gridding_; }
  const RunSizes& runs() const { return runs_; }  ///< on a GPU
  /// At most so many of them side by side.
  std::int64_t coils_together(std::int64_t coils) const;
  /// On a GPU: complex numbers that hold the rows of partial sums of so many coils, or of as many lines of
  /// tiles as the memory beside the grids allows; FFTs of the grids work there too.
  std::int64_t row_elements(std::int64_t coils) const;
  /// On the CPU: complex numbers of a thread's FFTs, whole cache lines.
  std::int64_t fft_elements() const;
  /// Of one coil, without FFT.
  Work spreading() const;
  Work interpolating() const;
  std::size_t sorted_bytes() const;                   ///< samples and their tables
  std::size_t sweep_bytes(std::int64_t coils) const;  ///< of spreading, beside the grids

 private:
  GriddedCost(const TransformSizes& sizes, double accuracy, std::size_t most_scratch, Gridding gridding);
  std::size_t element() const { return bytes_of_complex(sizes_.precision); }
  std::int64_t most_elements() const { return static_cast<std::int64_t>(most_scratch_ / element()); }
  Work grid_fft() const;
  GriddedCost of_difference_grid() const;

  TransformSizes sizes_;
  double accuracy_;
  Gridding gridding_;
  std::size_t most_scratch_;
  RunSizes runs_;
};

/// Of density_compensation, and the bytes on its device beside the result.
struct DensityCost {
  Work work;
  std::size_t bytes = 0;
};
DensityCost density_cost(const TransformSizes& sizes, int iterations = 15);

}  // namespace fhd
