#pragma once
// Spreading and interpolation as small matrix products of tensor cores, for single precision.
//
// The grid is cut into tiles of 8 x 4 columns, which overlap nowhere. A sample is entered once for every tile
// that its kernel reaches; entries are sorted by tile and by zone, a few planes in which their kernels begin,
// so that the kernels of a zone lie in a window of 8 planes. A warp goes through the entries of a run in groups
// of 16 and keeps the window of its tile in registers, for up to 8 coils: the window moves along z with the
// zones. With c the columns of the tile, s the entries of a group and p the planes of the window,
//
//   spreading      grid(p; c, coil) += sum_s (phi_x phi_y)(c, s) . (phi_z(p, s) d(s, coil))
//   interpolation  d(s, coil)        = sum_p phi_z(p, s) sum_c (phi_x phi_y)(c, s) . grid(p; c, coil)
//
// are products of 16 x 16 by 16 x 8 halves with sums in single precision: 32 a group and 8 coils.
//
// Halves have 11 bits. Products::split_half keeps of every factor the rest after rounding, too, and adds three
// products, high high + low high + high low, to what 22 bits carry. Products::half takes one product of factors
// rounded once or twice: (phi_x phi_y), the grid and what a tile gives to a sample once, (phi_z d) twice. Weights are scaled by 16 along x and
// y, values by a power of two that brings the largest one below 2^14, so that neither leaves the range of
// halves.
//
// Plane p of the grid stays in register slot p mod 8: windows move without moves of registers.
//
// No races: a tile has its points for itself; where runs share planes of a tile, each keeps its row, and
// add_tile_rows_kernel adds them in their order. Of interpolation every entry has one warp, and
// gather_values_kernel adds the entries of a sample in their order. So two runs give the same bits.
//
// Floor of a group and 8 coils, of either sweep: 32 products (96 split) and about 370 (480 split) other
// instructions, of which 170 evaluate weights; bytes of an entry: 16 for its place and sample, 64 for its values
// (32 where halves are multiplied). Besides, every point of the grid once.
//
// Sources: gridding of binned samples by the owners of grid points, Gai et al., J. Parallel Distrib. Comput.
// 73:686 (2013); numbers as sums of halves, Ootomo and Yokota, Int. J. High Perform. Comput. Appl. 36:475 (2022).
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#include "recon/array/complex.hpp"
#include "recon/array/tensor_core.cuh"
#include "recon/transform/gridded/tensor_plan.hpp"

namespace fhd::tensor_gridding {

constexpr int warp_size = 32;
constexpr int warps_of_block = 4;
constexpr float scale_of_weights = 16;  ///< along x, and along y

/// phi(t) = sum_i coefficients[i] v^i, v = 1 - (t per_point[axis])^2, -1 <= t per_point < 1.
template <int terms>
struct TileKernel {
  float coefficients[terms];
  float per_point[3];  ///< 2 / width; 2 on an axis without extent, where phi is 1 at one point
};
template <bool split>
constexpr int kernel_terms = split ? 12 : 9;  ///< to 3e-7, and 1e-4, of kernels on a grid twice as fine

/// Where a grid's points lie: [z][coil][y][x] of TensorShape's axes.
struct GridLayout {
  int size[3];
  int tiles_x;
  int zone_planes, window_planes;
  std::int64_t stride_y, stride_z, stride_coil;
};

/// Entries, their groups and runs, on the device. Distances count from the tile's first column, along z from
/// the zone's first plane.
struct TileEntries {
  const float* distance[3];
  const TensorGroup* groups;
  const TensorRun* runs;
  const std::int32_t* row_lists;
  const std::int32_t* sample;  ///< of an entry
  std::int64_t entry_count, sample_count;
};

__device__ __forceinline__ std::uint32_t bits(__half2 value) {
  return *reinterpret_cast<const std::uint32_t*>(&value);
}
__device__ __forceinline__ __half2 halves(std::uint32_t word) {
  return *reinterpret_cast<const __half2*>(&word);
}
__device__ __forceinline__ __half2 minus(__half2 value) { return halves(bits(value) ^ 0x80008000u); }

/// Two numbers as halves, and what rounding left of them.
struct SplitPair {
  std::uint32_t high, low;
};
__device__ __forceinline__ SplitPair split_pair(float a, float b) {
  const __half2 high = __floats2half2_rn(a, b);
  const float2 rounded = __half22float2(high);
  return {bits(high), bits(__floats2half2_rn(a - rounded.x, b - rounded.y))};
}

/// a b. Split: to 22 bits. Else rounded once, as far as the low parts of a and b are there; low is 0.
template <bool split>
__device__ __forceinline__ SplitPair product(SplitPair a, SplitPair b) {
  const __half2 a_high = halves(a.high), b_high = halves(b.high);
  if constexpr (split) {
    const __half2 high = __hmul2(a_high, b_high);
    __half2 low = __hfma2(a_high, b_high, minus(high));
    low = __hfma2(a_high, halves(b.low), low);
    low = __hfma2(halves(a.low), b_high, low);
    return {bits(high), bits(low)};
  } else {
    const __half2 rest = __hfma2(a_high, halves(b.low), __hmul2(halves(a.low), b_high));
    return {bits(__hfma2(a_high, b_high, rest)), 0u};
  }
}
/// Computes the product where b has no low part.
__device__ __forceinline__ std::uint32_t product_of_half(SplitPair a, std::uint32_t b) {
  return bits(__hfma2(halves(a.high), halves(b), __hmul2(halves(a.low), halves(b))));
}

/// Four words at a multiple of 16 bytes of shared memory.
__device__ __forceinline__ void store_four(std::uint32_t* to, const std::uint32_t (&words)[4]) {
  *reinterpret_cast<uint4*>(to) = make_uint4(words[0], words[1], words[2], words[3]);
}
__device__ __forceinline__ void load_four(const std::uint32_t* from, std::uint32_t (&words)[4]) {
  const uint4 all = *reinterpret_cast<const uint4*>(from);
  words[0] = all.x, words[1] = all.y, words[2] = all.z, words[3] = all.w;
}

/// A power of two that brings numbers up to `largest` below 2^14.
__device__ __forceinline__ float scale_of(float largest) {
  const int exponent = static_cast<int>(__float_as_uint(largest) >> 23 & 0xff) - 127;
  const int power = min(13 - exponent, 118);
  return __uint_as_float(static_cast<unsigned>(power + 127) << 23);
}

template <int terms>
__device__ __forceinline__ float weight(const TileKernel<terms>& kernel, float per_point, float t) {
  const float u = t * per_point, v = fmaf(-u, u, 1.0f);
  float sum = kernel.coefficients[terms - 1];
#pragma unroll
  for (int i = terms - 2; i >= 0; --i) sum = fmaf(sum, v, kernel.coefficients[i]);
  return u >= -1.0f && u < 1.0f ? sum : 0.0f;
}

/// A lane's place in the fragments of a product, and in the table of weights.
struct Lane {
  int index, g, t;
  __device__ Lane() : index(threadIdx.x % warp_size), g(index / 4), t(index % 4) {}
};

/// The run that a warp goes through, and its place on the grid.
struct Sweep {
  TensorRun run;
  int first_plane;  ///< of the run
  int x, y;         ///< the tile's first column
  int first_coil, coils;

  __device__ Sweep(const GridLayout& grid, const TileEntries& entries, CoilBlocks blocks, int run_index)
      : run(entries.runs[run_index]) {
    first_plane = entries.groups[run.first_group].zone_count / 32 * grid.zone_planes;
    x = run.column % grid.tiles_x * TensorShape::tile_x;
    y = run.column / grid.tiles_x * TensorShape::tile_y;
    first_coil = blockIdx.y * blocks.together;
    coils = min(blocks.together, blocks.coils - first_coil);
  }
};

/// Planes by which the window moves from one zone to another.
__device__ __forceinline__ int planes_between(const GridLayout& grid, int zone, int next) {
  return min((next - zone) * grid.zone_planes, grid.window_planes);
}
/// Where a plane beyond the last lies on the periodic grid: most often at once, without a division.
__device__ __forceinline__ int wrapped(int plane, const GridLayout& grid) {
  while (plane >= grid.size[2]) plane -= grid.size[2];
  return plane;
}
/// Where slot `slot` lies in a window that begins at `plane`.
__device__ __forceinline__ int place_of_slot(int slot, int plane) {
  return (slot - plane) & (TensorShape::window - 1);
}

/// Four words that neighbour in a table, as pairs with those `apart` behind them.
struct FourPairs {
  std::uint32_t high[4], low[4];
  __device__ __forceinline__ FourPairs(const std::uint32_t* words, int apart) {
    load_four(words, high);
    load_four(words + apart, low);
  }
  __device__ __forceinline__ SplitPair operator[](int i) const { return {high[i], low[i]}; }
};

/// The left factor of one direction of sums, high and low: two halves of a tile.
struct TileFactor {
  std::uint32_t high[2][4], low[2][4];
};

/// Values of a sample and a coil, as pack_values_kernel writes them.
template <bool split>
struct PackedValue {
  std::uint32_t high, low;
  __device__ SplitPair pair() const { return {high, low}; }
};
template <>
struct PackedValue<false> {
  std::uint32_t high;
  __device__ SplitPair pair() const { return {high, 0u}; }
};

/// The part of a sample that one tile gives, as interpolate_tiles_kernel writes it: times scale_of(largest[coil]); in halves
/// times scale_of_parts, too, which keeps the sum of the grid's points, up to 2^14 each, times their weights below 2^16.
template <bool split>
using SamplePart = std::conditional_t<split, Complex<float>, __half2>;
constexpr float scale_of_parts = 0.125f;

__device__ __forceinline__ Complex<float> load(Complex<float> part) { return part; }
__device__ __forceinline__ Complex<float> load(__half2 part) {
  const float2 both = __half22float2(part);
  return {both.x / scale_of_parts, both.y / scale_of_parts};
}

}  // namespace fhd::tensor_gridding
