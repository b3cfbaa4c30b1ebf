#pragma once
// How a GPU shares out the samples on a grid: tiles, runs of samples in a tile, and the rows of partial sums
// that the runs write; spread_cuda.cu has the picture. Host arithmetic, free of CUDA.
#include <cstdint>
#include <vector>

#include "recon/transform/gridded/gridding.hpp"

namespace fhd {

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

/// What is known of the runs before the samples are. Of a tile column with S samples on P planes, k stretches
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

}  // namespace fhd
