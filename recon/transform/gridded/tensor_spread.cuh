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

/// The distances that a lane reads of a group: of two entries along x or z, and along y.
struct SpreadDistances {
  float along[2], y[2];
};
/// The values of a lane's coil in four entries, (re, im).
using SpreadValues = SplitPair[4];

__device__ __forceinline__ SpreadDistances read_distances(const TileEntries& entries, TensorGroup group,
                                                          Lane lane) {
  constexpr float far = -1000;  // where no kernel is
  SpreadDistances distances;
  const float* along = lane.index < 16 ? entries.distance[0] : entries.distance[2];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int s = lane.index % 8 * 2 + i;
    const bool there = s < group.zone_count % 32;
    distances.along[i] = there ? along[group.begin + s] : far;
    distances.y[i] = there ? entries.distance[1][group.begin + s] : far;
  }
  return distances;
}

/// The samples of these entries; -1: none.
using SpreadSamples = std::int32_t[4];
__device__ __forceinline__ void read_samples(const TileEntries& entries, TensorGroup group, Lane lane,
                                             SpreadSamples& samples) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int s = i / 2 * 8 + 2 * lane.t + i % 2;
    samples[i] = s < group.zone_count % 32 ? entries.sample[group.begin + s] : -1;
  }
}
template <bool split>
__device__ __forceinline__ void read_values(const PackedValue<split>* values, const SpreadSamples& samples,
                                            int slots, int coils, Lane lane, SpreadValues& read) {
#pragma unroll
  for (int i = 0; i < 4; ++i)
    read[i] = samples[i] >= 0 && lane.g < coils ? values[std::int64_t{samples[i]} * slots + lane.g].pair()
                                                : SplitPair{0u, 0u};
}

/// Quarter q of the warp evaluates of entries 2 p and 2 p + 1 (p = lane % 8): the columns 4 q ... of x (q < 2),
/// or the slots 4 (q - 2) ... of z, which lie at places[] of the window; and y's column q.
struct SpreadWeights {
  std::uint32_t high[4], low[4];
  SplitPair y;

  template <int terms>
  __device__ __forceinline__ SpreadWeights(const TileKernel<terms>& kernel, const SpreadDistances& distances,
                                           const float (&places)[4], Lane lane) {
    const int q = lane.index / 8;
    const float per_point = q < 2 ? kernel.per_point[0] : kernel.per_point[2],
                scale = q < 2 ? scale_of_weights : 1.0f;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const SplitPair pair = split_pair(scale * weight(kernel, per_point, places[i] - distances.along[0]),
                                        scale * weight(kernel, per_point, places[i] - distances.along[1]));
      high[i] = pair.high;
      low[i] = pair.low;
    }
    y = split_pair(scale_of_weights * weight(kernel, kernel.per_point[1], q - distances.y[0]),
                   scale_of_weights * weight(kernel, kernel.per_point[1], q - distances.y[1]));
  }
  __device__ __forceinline__ void store(Lane lane, SpreadTable& table) const {
    const int q = lane.index / 8, at = (q < 2 ? 0 : SpreadTable::z) + 4 * (q % 2);
    std::uint32_t* row = table.words[lane.index % 8];
    store_four(row + at, high);
    store_four(row + at + 8, low);
    row[SpreadTable::y + q] = y.high;
    row[SpreadTable::y + 4 + q] = y.low;
  }
};

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
__device__ __forceinline__ void add_group(const SpreadTable& table, const SpreadValues& of_entries, Lane lane,
                                          WindowSums& sums) {
  TileFactor factor;
  columns_by_entries<split>(table, lane, factor);
  SplitPair values[2][2];  // [entries 2 t ..., 2 t + 8 ...][re, im], words of two entries
#pragma unroll
  for (int k = 0; k < 2; ++k) {
    const SplitPair a = of_entries[2 * k], b = of_entries[2 * k + 1];
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
      to_grid ? out.grid + wrapped(plane, grid) * grid.stride_z + sweep.y * grid.stride_y + sweep.x
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

// One warp per run (blockIdx.x) and block of coils (blockIdx.y). `values` is [block of coils][sample] [slot]. Where registers
// allow it the weights of the next group are made while this one's products are under way.
template <bool split>
__global__ void __launch_bounds__(warp_size, 8)
    spread_tiles_kernel(const __grid_constant__ TileKernel<kernel_terms<split>> kernel, const GridLayout grid,
                        const TileEntries entries, const CoilBlocks blocks, const PackedValue<split>* values,
                        const SpreadOutput out) {
  constexpr bool ahead = !split;
  __shared__ SpreadTable tables[2];
  const Lane lane;
  const Sweep sweep(grid, entries, blocks, blockIdx.x);
  values += blockIdx.y * entries.sample_count * blocks.slots;
  const int last = sweep.run.group_count - 1;
  const TensorGroup* groups = entries.groups + sweep.run.first_group;
  float places[4];
  const auto enter_zone = [&](int zone) {
    const int q = lane.index / 8;
#pragma unroll
    for (int i = 0; i < 4; ++i)
      places[i] =
          static_cast<float>(q < 2 ? 4 * q + i : place_of_slot(4 * (q - 2) + i, zone * grid.zone_planes));
  };
  TensorGroup group = groups[0], next = groups[min(1, last)], second = groups[min(2, last)];
  enter_zone(group.zone_count / 32);
  SpreadDistances distances = read_distances(entries, group, lane);
  if constexpr (ahead) {
    SpreadWeights(kernel, distances, places, lane).store(lane, tables[0]);
    distances = read_distances(entries, next, lane);
  }
  SpreadValues of_group;
  SpreadSamples samples;
  read_samples(entries, group, lane, samples);
  read_values<split>(values, samples, blocks.slots, sweep.coils, lane, of_group);
  read_samples(entries, next, lane, samples);
  WindowSums sums = {};
  for (int i = 0;; ++i) {
    if constexpr (!ahead) SpreadWeights(kernel, distances, places, lane).store(lane, tables[i % 2]);
    __syncwarp();
    const int zone = group.zone_count / 32, next_zone = next.zone_count / 32;
    const TensorGroup third = groups[min(i + 3, last)];
    const SpreadDistances later = read_distances(entries, ahead ? second : next, lane);
    SpreadValues of_next;
    read_values<split>(values, samples, blocks.slots, sweep.coils, lane, of_next);
    read_samples(entries, second, lane, samples);
    if (next_zone != zone) enter_zone(next_zone);
    add_group<split>(tables[i % 2], of_group, lane, sums);
    if constexpr (ahead) SpreadWeights(kernel, distances, places, lane).store(lane, tables[(i + 1) % 2]);
    if (i == last || next_zone != zone)
      leave_planes(sums, zone * grid.zone_planes,
                   i == last ? grid.window_planes : planes_between(grid, zone, next_zone), grid, entries,
                   sweep, blocks.coils, lane, out);
    if (i == last) return;
#pragma unroll
    for (int j = 0; j < 4; ++j) of_group[j] = of_next[j];
    distances = later;
    group = next, next = second, second = third;
  }
}

}  // namespace fhd::tensor_gridding
