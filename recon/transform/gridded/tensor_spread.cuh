#pragma once
// Spreading of tensor_products.cuh, which has the picture.
#include "recon/transform/gridded/tensor_products.cuh"

namespace fhd::tensor_gridding {

/// Weights of a group, [pair of entries][x high 8, low 8 | z high 8, low 8 | y high 4, low 4]: words of two
/// entries. The pitch, 8 mod 32, spreads what a product reads over the banks.
struct SpreadTable {
  static constexpr int pitch = 40, z = 16, y = 32;
  alignas(16) std::uint32_t words[8][pitch];
};

/// What a lane reads of a group, a group ahead: of two entries the distances along x or z, and along y; of four
/// entries the value of its coil.
template <bool split>
struct SpreadInput {
  float along[2], y[2];
  SplitPair values[4];  ///< (re, im)
};

template <bool split>
__device__ __forceinline__ SpreadInput<split> read_group(const TileEntries& entries, TensorGroup group,
                                                         const ScatteredValue<split>* values, int slots,
                                                         int coils, Lane lane) {
  constexpr float far = -1000;  // where no kernel is
  SpreadInput<split> input;
  const int count = group.zone_count % 32;
  const float* along = (lane.index < 16 ? entries.distance[0] : entries.distance[2]);
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int s = lane.index % 8 * 2 + i;
    input.along[i] = s < count ? along[group.begin + s] : far;
    input.y[i] = s < count ? entries.distance[1][group.begin + s] : far;
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int s = i / 2 * 8 + 2 * lane.t + i % 2;
    input.values[i] = s < count && lane.g < coils
                          ? values[std::int64_t{group.begin + s} * slots + lane.g].pair()
                          : SplitPair{0u, 0u};
  }
  return input;
}

/// Quarter q of the warp evaluates of entries 2 p and 2 p + 1 (p = lane % 8): the columns 4 q ... of x (q < 2),
/// or the slots 4 (q - 2) ... of z, which lie at places[] of the window; and y's column q.
template <bool split>
__device__ __forceinline__ void evaluate_pairs(const TileKernel<kernel_terms<split>>& kernel,
                                               const SpreadInput<split>& input, const float (&places)[4],
                                               Lane lane, SpreadTable& table) {
  const int p = lane.index % 8, q = lane.index / 8;
  const bool of_x = q < 2;
  const float per_point = of_x ? kernel.per_point[0] : kernel.per_point[2],
              scale = of_x ? scale_of_weights : 1.0f;
  std::uint32_t* row = table.words[p];
  std::uint32_t high[4], low[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const SplitPair pair = split_pair(scale * weight(kernel, per_point, places[i] - input.along[0]),
                                      scale * weight(kernel, per_point, places[i] - input.along[1]));
    high[i] = pair.high;
    low[i] = pair.low;
  }
  const int at = (of_x ? 0 : SpreadTable::z) + 4 * (q % 2);
  store_four(row + at, high);
  store_four(row + at + 8, low);
  const SplitPair y = split_pair(scale_of_weights * weight(kernel, kernel.per_point[1], q - input.y[0]),
                                 scale_of_weights * weight(kernel, kernel.per_point[1], q - input.y[1]));
  row[SpreadTable::y + q] = y.high;
  row[SpreadTable::y + 4 + q] = y.low;
}

/// (phi_x phi_y)(column, entry): fragments of columns 16 m + g and 16 m + 8 + g, which lie at x = g, y = 2 m
/// and 2 m + 1.
template <bool split>
__device__ __forceinline__ void columns_by_entries(const SpreadTable& table, Lane lane, TileFactor& factor) {
#pragma unroll
  for (int k = 0; k < 2; ++k) {
    const std::uint32_t* row = table.words[lane.t + 4 * k];
    const SplitPair x{row[lane.g], row[8 + lane.g]};
    const FourPairs y(row + SpreadTable::y, 4);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const SplitPair pair = product<split>(x, y[j]);
      factor.high[j / 2][2 * k + j % 2] = pair.high;
      factor.low[j / 2][2 * k + j % 2] = pair.low;
    }
  }
}

/// Sums of a tile's window: [slot][re, im][half of the tile][fragment: columns by coils].
using WindowSums = float[TensorShape::window][2][2][4];

/// sums += left right of one plane, [re, im][half of the tile]: products that wait for each other lie apart.
template <bool split>
__device__ __forceinline__ void add_products(const TileFactor& left, const SplitPair (&right)[2][2],
                                             float (&sums)[2][2][4]) {
#pragma unroll
  for (int i = 0; i < 4; ++i)
    device::mma_f16(sums[i / 2][i % 2], left.high[i % 2], right[i / 2][0].high, right[i / 2][1].high);
  if constexpr (split) {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      device::mma_f16(sums[i / 2][i % 2], left.low[i % 2], right[i / 2][0].high, right[i / 2][1].high);
#pragma unroll
    for (int i = 0; i < 4; ++i)
      device::mma_f16(sums[i / 2][i % 2], left.high[i % 2], right[i / 2][0].low, right[i / 2][1].low);
  }
}

/// sums += (phi_x phi_y) (phi_z d), for all slots.
template <bool split>
__device__ __forceinline__ void add_group(const SpreadTable& table, const SpreadInput<split>& input,
                                          Lane lane, WindowSums& sums) {
  TileFactor factor;
  columns_by_entries<split>(table, lane, factor);
  SplitPair values[2][2];  // [entries 2 t ..., 2 t + 8 ...][re, im], words of two entries
#pragma unroll
  for (int k = 0; k < 2; ++k) {
    const SplitPair a = input.values[2 * k], b = input.values[2 * k + 1];
    values[k][0] = {(a.high & 0xffffu) | b.high << 16, (a.low & 0xffffu) | b.low << 16};
    values[k][1] = {a.high >> 16 | (b.high & 0xffff0000u), a.low >> 16 | (b.low & 0xffff0000u)};
  }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const FourPairs z[2] = {{table.words[lane.t] + SpreadTable::z + 4 * half, 8},
                            {table.words[lane.t + 4] + SpreadTable::z + 4 * half, 8}};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      SplitPair right[2][2];  // [re, im][k]
#pragma unroll
      for (int k = 0; k < 2; ++k)
#pragma unroll
        for (int part = 0; part < 2; ++part)
          right[part][k] = split ? product<true>(values[k][part], z[k][i])
                                 : SplitPair{product_of_half(z[k][i], values[k][part].high), 0u};
      add_products<split>(factor, right, sums[4 * half + i]);
    }
  }
}

/// Where spreading writes: the grid; rows [row][coil][column]. Values were scaled by scale_of(largest[coil]).
struct SpreadOutput {
  const float* largest;
  Complex<float>* rows;
  Complex<float>* grid;
};

/// The sums of one plane, unscaled, to the grid or to the run's row of it.
__device__ __forceinline__ void write_plane(const float (&sums)[2][2][4], int plane, const GridLayout& grid,
                                            const TileEntries& entries, const Sweep& sweep, int all_coils,
                                            Lane lane, SpreadOutput out) {
  const std::int32_t row = entries.row_lists[sweep.run.row_list + plane - sweep.first_plane];
  const bool to_grid = row < 0;
  const std::int64_t of_coil = to_grid ? grid.stride_coil : TensorShape::tile_columns,
                     of_y = to_grid ? grid.stride_y : TensorShape::tile_x;
  Complex<float>* at =
      to_grid ? out.grid + plane % grid.size[2] * grid.stride_z + sweep.y * grid.stride_y + sweep.x
              : out.rows + std::int64_t{row} * all_coils * TensorShape::tile_columns;
  at += (sweep.first_coil + 2 * lane.t) * of_coil + lane.g;
  if (sweep.x + lane.g >= grid.size[0]) return;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    if (2 * lane.t + i >= sweep.coils) return;
    const float unscale = 1 / (scale_of(out.largest[sweep.first_coil + 2 * lane.t + i]) *
                               (scale_of_weights * scale_of_weights));
#pragma unroll
    for (int y = 0; y < TensorShape::tile_y; ++y) {
      const int m = y / 2, of_fragment = y % 2 * 2 + i;
      if (sweep.y + y < grid.size[1])
        at[y * of_y + i * of_coil] = {unscale * sums[0][m][of_fragment], unscale * sums[1][m][of_fragment]};
    }
  }
}

/// Writes the first `planes` planes of the window that begins at `plane`, and begins their sums anew.
__device__ __forceinline__ void leave_planes(WindowSums& sums, int plane, int planes, const GridLayout& grid,
                                             const TileEntries& entries, const Sweep& sweep, int all_coils,
                                             Lane lane, SpreadOutput out) {
#pragma unroll 1
  for (const int end = plane + planes; plane < end; ++plane) {
    float of_plane[2][2][4];
    // A mask, of which the compiler does not make an index, and a branch, which it does not make 256
    // selections: sums stay in registers. The same in all lanes.
    const unsigned of_slot = 1u << plane % TensorShape::window;
#pragma unroll
    for (int slot = 0; slot < TensorShape::window; ++slot)
      if (of_slot >> slot & 1) {
        device::keep_branch();
#pragma unroll
        for (int i = 0; i < 16; ++i) {
          float& sum = sums[slot][i / 8][i / 4 % 2][i % 4];
          of_plane[i / 8][i / 4 % 2][i % 4] = sum;
          sum = 0;
        }
      }
    write_plane(of_plane, plane, grid, entries, sweep, all_coils, lane, out);
  }
}

// One warp per run (blockIdx.x, warp of the block) and block of coils (blockIdx.y). `values` is [block of
// coils][entry] [slot].
template <bool split>
__global__ void __launch_bounds__(warps_of_block* warp_size, 2)
    spread_tiles_kernel(const __grid_constant__ TileKernel<kernel_terms<split>> kernel, const GridLayout grid,
                        const TileEntries entries, const CoilBlocks blocks,
                        const ScatteredValue<split>* values, const SpreadOutput out) {
  __shared__ SpreadTable tables[warps_of_block];
  const Lane lane;
  const int warp = threadIdx.x / warp_size, run_index = blockIdx.x * warps_of_block + warp;
  if (run_index >= entries.run_count) return;
  const Sweep sweep(grid, entries, blocks, run_index);
  values += blockIdx.y * entries.entry_count * blocks.slots;
  WindowSums sums = {};
  const TensorGroup* groups = entries.groups + sweep.run.first_group;
  TensorGroup group = groups[0], next = groups[sweep.run.group_count > 1 ? 1 : 0];
  int zone = group.zone_count / 32;
  float places[4];
  const auto enter_zone = [&] {
    const int q = lane.index / 8;
#pragma unroll
    for (int i = 0; i < 4; ++i)
      places[i] =
          static_cast<float>(q < 2 ? 4 * q + i : place_of_slot(4 * (q - 2) + i, zone * grid.zone_planes));
  };
  enter_zone();
  auto input = read_group<split>(entries, group, values, blocks.slots, sweep.coils, lane);
  for (int i = 0;; ++i) {
    const bool at_end = i == sweep.run.group_count;
    if (at_end || group.zone_count / 32 != zone) {
      leave_planes(sums, zone * grid.zone_planes,
                   at_end ? grid.window_planes : planes_between(grid, zone, group.zone_count / 32), grid,
                   entries, sweep, blocks.coils, lane, out);
      if (at_end) return;
      zone = group.zone_count / 32;
      enter_zone();
    }
    const TensorGroup after_next = groups[min(i + 2, sweep.run.group_count - 1)];
    evaluate_pairs<split>(kernel, input, places, lane, tables[warp]);
    __syncwarp();
    const auto input_of_next = read_group<split>(entries, next, values, blocks.slots, sweep.coils, lane);
    add_group<split>(tables[warp], input, lane, sums);
    __syncwarp();
    input = input_of_next;
    group = next;
    next = after_next;
  }
}

}  // namespace fhd::tensor_gridding
