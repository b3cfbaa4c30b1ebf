#pragma once
// The blocks of llr (terms.hpp), and what is done to each: on the CPU low_rank.cpp, on a GPU low_rank_cuda.cu (not in a
// build without CUDA).
#include <cstdint>

#include "recon/array/array.hpp"

namespace fhd {

/// Voxels first ... first + size - 1 along z, y, x, of one of the grids.
struct LowRankBlock {
  std::int64_t grid, first[3], size[3];
  FHD_HOST_DEVICE std::int64_t voxels() const { return size[0] * size[1] * size[2]; }
};

/// Blocks of the image [z][y][x], numbered through both grids. Along each axis a grid is cut every `side` voxels, the
/// second half a side earlier.
struct LowRankBlocks {
  static constexpr int grids = 2;
  static constexpr double share = 0.70710678118654752;  ///< 1 / sqrt(grids)
  static constexpr std::int64_t most_voxels = 64;

  std::int64_t image[3], frames, side;

  LowRankBlocks(const Shape& shape, std::int64_t frame_count)
      : image{shape[0], shape[1], shape[2]},
        frames(frame_count),
        side(shape[0] > 1 && shape[1] > 1 && shape[2] > 1 ? 4 : 8) {}

  /// Where the second block of a grid begins.
  FHD_HOST_DEVICE std::int64_t first_cut(std::int64_t grid) const { return grid == 0 ? side : side / 2; }
  FHD_HOST_DEVICE std::int64_t count(std::int64_t grid, int axis) const {
    const std::int64_t rest = image[axis] - first_cut(grid);
    return rest <= 0 ? 1 : 1 + (rest + side - 1) / side;
  }
  FHD_HOST_DEVICE std::int64_t count(std::int64_t grid) const {
    return count(grid, 0) * count(grid, 1) * count(grid, 2);
  }
  FHD_HOST_DEVICE std::int64_t count() const { return count(0) + count(1); }
  /// The largest of them on one side of its matrix, the shorter.
  std::int64_t most_rows() const { return frames < most_voxels ? frames : most_voxels; }

  FHD_HOST_DEVICE LowRankBlock block(std::int64_t i) const {
    LowRankBlock block{};
    block.grid = i < count(0) ? 0 : 1;
    std::int64_t rest = block.grid == 0 ? i : i - count(0);
    for (int axis = 2; axis >= 0; --axis) {
      const std::int64_t n = count(block.grid, axis), at = rest % n,
                         begin = at == 0 ? 0 : first_cut(block.grid) + (at - 1) * side,
                         end = first_cut(block.grid) + at * side;
      rest /= n;
      block.first[axis] = begin;
      block.size[axis] = (end < image[axis] ? end : image[axis]) - begin;
    }
    return block;
  }
  /// Returns the place of the block's voxel in a frame, among coefficients [grid][frame and z][y][x].
  FHD_HOST_DEVICE std::int64_t place(const LowRankBlock& block, std::int64_t frame,
                                     std::int64_t voxel) const {
    const std::int64_t x = block.first[2] + voxel % block.size[2],
                       y = block.first[1] + voxel / block.size[2] % block.size[1],
                       z = block.first[0] + voxel / (block.size[2] * block.size[1]);
    return (((block.grid * frames + frame) * image[0] + z) * image[1] + y) * image[2] + x;
  }
  /// Returns the weight of its nuclear norm in the value of the term.
  double weight(const LowRankBlock& block) const;
};

/// Returns whether the blocks of threads of a GPU have the memory for these.
bool fits_low_rank_cuda(const LowRankBlocks& blocks, Device device);
/// Singular values s of each block -> max(s - threshold weight, 0).
template <class T>
void shorten_singular_values_cuda(const LowRankBlocks& blocks, double threshold,
                                  Array<Complex<T>>& coefficients);
/// sum over blocks of weight |block|_*
template <class T>
double weighted_nuclear_norm_cuda(const LowRankBlocks& blocks, const Array<Complex<T>>& coefficients);

}  // namespace fhd
