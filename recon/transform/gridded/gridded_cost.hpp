#pragma once
// The cost of gridding, from sizes alone: the transforms size their scratch by the same figures. And how the
// work is shared out: on the CPU by tiles; on a GPU by tiles, runs of samples in a tile, and the rows of partial sums
// that the runs write (sample_grid_cuda.cuh has the picture; tensor_products.cuh that of tensor cores).
#include <cstdint>
#include <optional>
#include <vector>

#include "recon/transform/gridded/gridding.hpp"
#include "recon/transform/gridded/tensor_plan.hpp"
#include "recon/transform/transform.hpp"

namespace fhd {

/// Grids (on a GPU: with their rows of partial sums) of the coils that are gridded side by side stay below so
/// many bytes, as long as one coil's do.
inline constexpr std::size_t default_gridding_bytes = std::size_t{4} << 30,
                             default_gridding_bytes_cpu = std::size_t{1} << 30;

/// The CPU lays coils side by side in every point of the grid, of a block so many bytes at most: a cache line.
inline constexpr std::size_t bytes_of_coils = 64;

/// How the CPU cuts a grid into tiles: equal to a point, even in number along each axis (or one), so that
/// those of one parity stay apart across the periodic edge.
struct GridTiles {
  explicit GridTiles(const Gridding& gridding);
  /// First grid point of a tile along an axis.
  std::int64_t corner(int axis, std::int64_t tile) const { return tile * grid[axis] / count[axis]; }
  std::int64_t all() const { return count[0] * count[1] * count[2]; }
  /// Numbers of a thread for a tile with a block of coils, whole cache lines, and room behind it.
  std::int64_t tile_elements(std::int64_t block) const { return (largest_volume * block + 31) / 16 * 16; }
  /// Samples whose values a thread brings together, and its numbers for them.
  static constexpr std::int64_t chunk_samples = 512;
  static constexpr std::int64_t chunk_elements(std::int64_t block) { return chunk_samples * block + 16; }

  std::array<std::int64_t, 3> grid, count;
  std::array<int, 3> margin;    ///< points that the kernels of a tile's samples reach beyond it
  std::int64_t largest_volume;  ///< points of a tile with its margin, at most
};

struct GridShape {
  int size[3];    ///< points along x, y, z
  int points[3];  ///< of the kernel: its width, or 1 on an axis of one voxel
  int tiles[2];   ///< along x and y, width + 1 points each, the last one less
};
GridShape grid_shape(const Gridding& gridding);

/// Sorted samples of one tile that one thread block sweeps, and the planes that they reach; planes beyond the
/// last of the grid are its first ones again.
struct SampleRun {
  std::int64_t begin;
  std::int32_t count;
  std::int32_t column;  ///< of tiles: y tiles_x + x
  std::int32_t first_plane, plane_count;
  std::int64_t row_list;  ///< where the rows of its planes are listed
};

/// Bounds the runs before the samples are known. In a tile column with S samples on P planes, k stretches
/// of runs are at least r - 1 empty planes apart, r the points of the kernel along z, and a stretch of s
/// planes has rows <= s - 1 + r (1 + S / length). With sum s + (k - 1) (r - 1) <= P this is, for any k,
///
///     rows of a column <= P + r - 1 + r S / length
struct RunSizes {
  RunSizes(const GridShape& shape, std::int64_t samples, int multiprocessors);

  int length;                   ///< samples of a run at most
  std::int64_t runs;            ///< about so many, when every tile column is one stretch
  std::int64_t rows;            ///< of all tiles, at most
  std::int64_t rows_of_a_line;  ///< of the tiles of one y, at most
};

/// The sorted samples cut into runs, and where the rows of the runs lie.
struct RunPlan {
  std::vector<SampleRun> runs;
  std::vector<std::int32_t> row_lists;   ///< rows of the planes of each run
  std::vector<std::int32_t> rows_begin;  ///< [tile column][plane] -> its first row; one more at the end
  int depth;                             ///< planes per tile column
  std::vector<std::int64_t> first_run;   ///< [tile along y], one more at the end
  std::vector<std::int32_t> first_row;   ///< likewise

  /// `begins` is [tile column][plane of the grid]: the first sorted sample there; one more at the end.
  RunPlan(const std::int32_t* begins, const GridShape& shape, int run_length);

 private:
  void cut_column(const std::int32_t* begin, int planes, int column, int reach, int run_length);
  void cut_stretch(const std::int32_t* begin, int first, int last, int column, int reach, int run_length);
  void place_rows(std::int64_t column, std::size_t first_of_column);

  std::int64_t row_count_ = 0;
};

class GriddedCost final : public TransformCost {
 public:
  /// Throws Error where the accuracy is beyond reach. `most_scratch` replaces default_gridding_bytes of the
  /// device unless it is 0.
  GriddedCost(const TransformSizes& sizes, double accuracy, std::size_t most_scratch = 0,
              GriddingChoice choice = GriddingChoice::fastest);
  /// Returns the cost of density compensation, which spreads and interpolates in single precision without FFTs.
  static GriddedCost of_density(TransformSizes sizes);

  Work making() const override;
  Work forward(std::int64_t coils) const override { return adjoint(coils); }
  Work adjoint(std::int64_t coils) const override;
  std::size_t bytes() const override;
  std::size_t scratch_bytes(std::int64_t coils) const override;
  double accuracy() const override { return accuracy_; }
  Work point_spread() const override;
  std::size_t point_spread_scratch_bytes() const override;

  const TransformSizes& sizes() const { return sizes_; }
  const Gridding& gridding() const { return gridding_; }
  const RunSizes& runs() const { return runs_; }  ///< on a GPU
  /// On a GPU whose tensor cores form the products; nothing else.
  const std::optional<TensorSizes>& tensors() const { return tensors_; }
  /// At most so many of them side by side; on the CPU the places of a block of coils, a power of two.
  std::int64_t coils_together(std::int64_t coils) const;
  /// On a GPU: complex numbers that hold the rows of partial sums of so many coils, or of as many lines of
  /// tiles as the memory beside the grids allows; with tensor cores the values of entries, too. FFTs of the grids
  /// work there as well.
  std::int64_t row_elements(std::int64_t coils) const;
  /// On the CPU: complex numbers of a thread's FFTs, columns and as much scratch, whole cache lines.
  std::int64_t fft_elements() const;
  /// Spreading or interpolating without the FFT: samples and points of the kernel; on the CPU as many as whole vectors
  /// hold, with what the weights of a sample cost once for a block of coils.
  Work sweep(std::int64_t coils) const;
  std::size_t sorted_bytes() const;                   ///< samples and their tables
  std::size_t sweep_bytes(std::int64_t coils) const;  ///< of spreading, beside the grids

 private:
  GriddedCost(const TransformSizes& sizes, double accuracy, std::size_t most_scratch, Gridding gridding);
  std::size_t element() const { return bytes_of_complex(sizes_.precision); }
  std::int64_t most_elements() const { return static_cast<std::int64_t>(most_scratch_ / element()); }
  Work grid_fft() const;
  double kernel_points(std::int64_t coils) const;
  double grids(std::int64_t coils) const;
  GriddedCost of_difference_grid() const;

  TransformSizes sizes_;
  double accuracy_;
  Gridding gridding_;
  std::size_t most_scratch_;
  GriddingChoice choice_ = GriddingChoice::fastest;
  RunSizes runs_;
  std::optional<TensorSizes> tensors_;
};

inline constexpr int density_iterations = 15;
/// The cost of density_compensation, and the bytes on its device in addition to the result.
struct DensityCost {
  Work work;
  std::size_t bytes = 0;
};
DensityCost density_cost(const TransformSizes& sizes);

}  // namespace fhd
