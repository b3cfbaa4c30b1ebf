#pragma once
// How gridding is shared out over tensor cores; the picture is in tensor_products.cuh. From sizes alone: what
// there will be of everything (TensorSizes); from the sorted samples: who does what (TensorPlan).
#include <cstdint>
#include <vector>

#include "recon/array/array.hpp"
#include "recon/transform/gridded/gridding.hpp"

namespace fhd {

/// The grid as it is swept: along z, of a plane along y, and in tiles of columns across.
struct TensorShape {
  static constexpr int tile_x = 8, tile_y = 4, tile_columns = tile_x * tile_y;
  static constexpr int window = 8;  ///< planes that a warp keeps
  static constexpr int group = 16;  ///< entries of a product

  explicit TensorShape(const Gridding& gridding);
  std::int64_t columns() const { return std::int64_t{tiles[0]} * tiles[1]; }
  std::int64_t keys() const { return columns() * zones; }

  // The two axes of tiles and the one that is swept:
  int axis[3];    ///< 0, 1, 2 for x, y, z; -1: none
  int size[3];    ///< points of the grid
  int points[3];  ///< of the kernel; 1 on an axis without extent
  int tiles[2];
  int zones;          ///< in which windows begin, zone_planes apart
  int zone_planes;    ///< a sample's first plane is one of them
  int window_planes;  ///< that the kernels of a zone's samples reach: at most `window`
};

/// Coils in blocks of at most 8, which share the weights: `together` in each but the last; `slots` places for the
/// values of an entry, a power of two.
struct CoilBlocks {
  explicit CoilBlocks(int coil_count) : coils(coil_count), blocks((coils + most - 1) / most) {
    together = (coils + blocks - 1) / blocks;
    while (slots < together) slots *= 2;
  }
  static constexpr int most = 8;
  int coils, blocks, together, slots = 1;
};

/// Up to 16 entries of one tile and zone.
struct TensorGroup {
  std::int32_t begin;       ///< its first entry
  std::int32_t zone_count;  ///< zone 32 + entries
};

/// Groups of one tile column, which one warp goes through.
struct TensorRun {
  std::int32_t first_group, group_count;
  std::int32_t column;    ///< of tiles: y tiles_x + x
  std::int32_t row_list;  ///< where the rows of its planes are listed
};

/// A plane of a tile column that no run writes to the grid: it has no rows, or several to be added in their order.
struct TensorSum {
  std::int32_t column, plane;
  std::int32_t first_row, row_count;
};

/// The sizes that are known before the samples are, as if they lay at random: expected numbers.
struct TensorSizes {
  TensorSizes(const TensorShape& shape, std::int64_t samples, int multiprocessors);

  double entries;  ///< samples, once for every tile that their kernels reach
  double groups, runs, listed_rows, rows, sums;
  int longest_run;  ///< groups

  /// Bytes of the samples' tables; complex numbers of scratch for so many coils: values of the entries, and rows.
  double bytes(std::int64_t samples) const;
  double scratch_elements(std::int64_t coils) const;
};

/// The entries in groups, the groups in runs, and where the runs write. A row is what a run sums up on one
/// plane of its tile: written to the grid where no other run has one there, else kept to be added.
struct TensorPlan {
  /// `begins` is [tile column][zone]: the first sorted entry there; one more at the end. Throws Error where
  /// there are 2^31 groups or rows.
  TensorPlan(const std::int32_t* begins, const TensorShape& shape, int longest_run);

  Array<TensorGroup> groups;
  Array<TensorRun> runs;
  Array<std::int32_t> row_lists;  ///< of each run, for each of its planes: the row; -1: the grid itself
  Array<TensorSum> sums;
  std::int64_t row_count = 0;

 private:
  struct Part;
  void join(const std::vector<Part>& parts);
};

}  // namespace fhd
