#pragma once
// The direct sums as products of matrices, from sizes alone: how a grid of points is cut into factors, and what the
// matrices take of a device. The arithmetic is that of matrix_adjoint_cuda.cuh and matrix_forward_cuda.cuh.
//
// On a Cartesian grid a point is the centre of the grid + a step along an outer axis + one along another + a place in an
// inner block, and exp(i 2 pi k . r) is the product of their phasors. Steps come in pairs +-a about the centre, whose
// phasors share cos and sin: 4 real products of cos and sin serve the 4 points (+-a, +-b), 2 multiply-adds for each pair
// of a point and a sample.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "recon/array/device.hpp"
#include "recon/transform/direct/pair_arithmetic.hpp"

namespace fhd::matrix_sums {

/// Numbers of half precision that stand for one: the value, and what its rounding left. With two the products
/// high high + high low + low high are taken. whole: numbers of double precision, as they are.
enum class Parts { one = 1, two = 2, whole = 3 };
FHD_HOST_DEVICE constexpr int parts_of(Parts parts) { return static_cast<int>(parts); }
FHD_HOST_DEVICE constexpr int products_of(Parts parts) { return parts == Parts::two ? 3 : 1; }

inline constexpr int tile_points = 64;  // complex columns of a tile
inline constexpr int group_pairs = 8;   // pairs of steps of a group
/// Samples, or cos and sin of pairs of voxels, of a block of a matrix; columns of a tile of the adjoint.
FHD_HOST_DEVICE constexpr int block_length(Parts parts) { return parts == Parts::whole ? 32 : 64; }
FHD_HOST_DEVICE constexpr int adjoint_columns(Parts parts) {
  return parts == Parts::whole ? 32 : tile_points;
}
/// Bytes of a number.
FHD_HOST_DEVICE constexpr int number_bytes(Parts parts) {
  return parts == Parts::whole ? 8 : 2 * parts_of(parts);
}
/// A block of the moving matrix: [2 columns][block_length] numbers. A group's factors for so many samples: cos and sin.
FHD_HOST_DEVICE constexpr int image_bytes(Parts parts, int columns = tile_points) {
  return 2 * columns * block_length(parts) * number_bytes(parts);
}
FHD_HOST_DEVICE constexpr int factor_bytes(Parts parts) {
  return group_pairs * 2 * block_length(parts) * number_bytes(parts);
}

/// A grid as inner blocks at the steps of two outer axes.
struct SeparableGrid {
  VoxelGrid grid;
  int inner[3]{1, 1, 1};      ///< points of a block along x, y, z
  int outer_axis[2]{};        ///< that of the steps of a row of tiles, and of tiles
  int columns = tile_points;  ///< of a tile

  FHD_HOST_DEVICE int steps(int axis) const { return (grid.extent[axis] + inner[axis] - 1) / inner[axis]; }
  FHD_HOST_DEVICE int inner_points() const { return inner[0] * inner[1] * inner[2]; }
  FHD_HOST_DEVICE int inner_tiles() const { return (inner_points() + columns - 1) / columns; }
  /// Groups of pairs of steps along an axis.
  FHD_HOST_DEVICE int groups(int axis) const {
    return (steps(axis) + 2 * group_pairs - 1) / (2 * group_pairs);
  }
  /// The steps +-pair from the centre, by their place; equal for the middle of an odd number.
  FHD_HOST_DEVICE int upper(int axis, int pair) const { return steps(axis) / 2 + pair; }
  FHD_HOST_DEVICE int lower(int axis, int pair) const { return (steps(axis) - 1) / 2 - pair; }
  /// Their distance from the centre, in half voxels.
  FHD_HOST_DEVICE int distance(int axis, int pair) const {
    return inner[axis] * (2 * pair + (steps(axis) % 2 == 0 ? 1 : 0));
  }
  /// The coordinate, in half voxels, of place `inside` of the block at the centre of the steps.
  FHD_HOST_DEVICE int coordinate(int axis, int inside) const {
    return grid.first[axis] + inner[axis] * (steps(axis) - 1) + 2 * inside;
  }
  FHD_HOST_DEVICE std::int64_t points() const {
    return std::int64_t{grid.extent[0]} * grid.extent[1] * grid.extent[2];
  }
  /// Tiles of one image: blocks of the product.
  FHD_HOST_DEVICE int tiles() const { return inner_tiles() * groups(outer_axis[0]) * groups(outer_axis[1]); }
  /// Points that are computed, those beyond the grid with them.
  double computed_points() const { return 4.0 * group_pairs * group_pairs * columns * tiles(); }
};

/// The cut that computes the fewest points beyond the grid; two axes at least have more than one point for a cut to be
/// worth it, else every point is its own block.
inline SeparableGrid separable(const VoxelGrid& grid, Parts parts) {
  const int columns = adjoint_columns(parts);
  SeparableGrid best;
  double fewest = -1;
  const auto consider = [&](std::array<int, 3> inner, int first, int second) {
    SeparableGrid cut{grid, {}, {first, second}, columns};
    for (int axis = 0; axis < 3; ++axis)
      cut.inner[axis] = std::min(inner[static_cast<std::size_t>(axis)], grid.extent[axis]);
    if (fewest < 0 || cut.computed_points() < fewest) best = cut, fewest = cut.computed_points();
  };
  const int nx = grid.extent[0], nz = grid.extent[2];
  for (int planes = 1; planes <= 4; ++planes)
    for (int rows = 1; rows <= 8; ++rows) consider({nx, rows, planes}, 1, 2);
  for (int width = 1; width <= columns; width *= 2) consider({width, columns / width, nz}, 0, 1);
  return best;
}

/// A grid as runs along x, whose voxels at equal distance from the centre of the run share cos and sin, of rows that are
/// taken in tiles of 64.
struct RowGrid {
  VoxelGrid grid;
  int half_run = 1;      ///< a run has so many voxels on each side of its centre
  int tile_rows[2]{};    ///< rows of a tile along y and z: 64 in all
  int block_pairs = 32;  ///< of a block: cos and sin of a pair are two rows of the moving matrix

  FHD_HOST_DEVICE int runs() const { return (grid.extent[0] + 2 * half_run - 1) / (2 * half_run); }
  /// Blocks of the moving matrix to a tile.
  FHD_HOST_DEVICE int blocks() const { return (half_run + block_pairs - 1) / block_pairs; }
  /// Tiles along y and z.
  FHD_HOST_DEVICE int tiles_along(int i) const {
    return (grid.extent[1 + i] + tile_rows[i] - 1) / tile_rows[i];
  }
  /// Returns the tiles of one image, runs one beside the other.
  FHD_HOST_DEVICE std::int64_t tiles() const {
    return std::int64_t{runs()} * tiles_along(0) * tiles_along(1);
  }
  FHD_HOST_DEVICE std::int64_t points() const {
    return std::int64_t{grid.extent[0]} * grid.extent[1] * grid.extent[2];
  }
  /// Points that are computed, those beyond the grid with them.
  double computed_points() const {
    return 2.0 * block_pairs * blocks() * tile_points * static_cast<double>(tiles());
  }
};

/// The cut that computes the fewest points beyond the grid, with at most `most_blocks` to a tile; longer runs where they
/// are equal.
inline RowGrid rows_of(const VoxelGrid& grid, int most_blocks, Parts parts) {
  const int block_pairs = block_length(parts) / 2, longest_half = most_blocks * block_pairs;
  RowGrid best;
  double fewest = -1;
  for (int runs = (grid.extent[0] + 2 * longest_half - 1) / (2 * longest_half), i = 0; i < 3; ++i, ++runs)
    for (int rows = 8; rows <= tile_points; rows *= 2) {
      const RowGrid cut{
          grid, (grid.extent[0] + 2 * runs - 1) / (2 * runs), {rows, tile_points / rows}, block_pairs};
      if (fewest < 0 || cut.computed_points() < fewest) best = cut, fewest = cut.computed_points();
    }
  return best;
}

// --- How the sums are taken on a device: the one rule of matrix_sums_cuda.cu and of what it takes of memory ---

/// The sizes that decide a plan, beside the grid.
struct PlanSizes {
  std::int64_t samples = 1, coils = 1;
  Parts parts = Parts::two;
  int multiprocessors = 1;
  std::size_t shared_bytes = 0;  ///< of memory that a block of threads may share
};
PlanSizes plan_sizes(std::int64_t samples, std::int64_t coils, Parts parts, Device device);

/// The adjoint: coils and samples in passes, a pass in `splits` shares of its samples side by side.
struct AdjointPlan {
  SeparableGrid cut;
  std::int64_t coils = 1;   ///< of a pass
  std::int64_t blocks = 1;  ///< of 64 samples, of a pass
  int splits = 1;
  // Where they begin in the workspace, and its bytes: factors of both axes, moving matrix, sums of the splits.
  std::size_t factors[2]{}, images = 0, partial = 0, bytes = 0;
};
AdjointPlan adjoint_plan(const VoxelGrid& grid, const PlanSizes& sizes);

/// The forward sum: coils and tiles of rows in passes, a pass in `splits` shares of its tiles side by side.
struct ForwardPlan {
  RowGrid cut;
  std::int64_t coils = 1;  ///< of a pass
  std::int64_t tiles = 1;  ///< of a pass, of each coil
  int splits = 1;
  std::size_t images = 0, partial = 0, bytes = 0;  ///< as above
};
/// Samples to a block of threads: with Hopper's instructions, and without.
inline constexpr int forward_hopper_rows = 256, forward_rows = 128;
ForwardPlan forward_plan(const VoxelGrid& grid, const PlanSizes& sizes);

/// Products of a sample with a computed point, of all parts, for one image.
double adjoint_products(const VoxelGrid& grid, std::int64_t samples, Parts parts);
double forward_products(const VoxelGrid& grid, std::int64_t samples, Parts parts);

}  // namespace fhd::matrix_sums
