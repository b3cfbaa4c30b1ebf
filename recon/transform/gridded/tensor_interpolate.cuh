#pragma once
// Interpolation of tensor_products.cuh, which has the picture.
#include "recon/transform/gridded/tensor_products.cuh"

namespace fhd::tensor_gridding {

/// Weights of a group, [entry][x high: pairs of columns, 4; x low 4 | z in single precision, 8 | y high: twice
/// each, 4; y low 4]; the pitch spreads what a product reads over the banks.
struct InterpolateTable {
  static constexpr int pitch = 28, z = 8, y = 16;
  alignas(16) std::uint32_t words[TensorShape::group][pitch];
};

/// The window of a tile as right factors: [slot][re, im][y]: columns x = 2 t, 2 t + 1 of coil g.
template <bool split>
struct WindowFactor {
  std::uint32_t high[TensorShape::window][2][TensorShape::tile_y],
      low[split ? TensorShape::window : 1][2][TensorShape::tile_y];
};

/// One plane of the grid into its slot; zeros beyond the grid.
template <bool split>
__device__ __forceinline__ void read_plane(const Complex<float>* grid_of_coil, int plane,
                                           const GridLayout& grid, const Sweep& sweep, float scale, Lane lane,
                                           int slot, WindowFactor<split>& window) {
  const Complex<float>* at = grid_of_coil + wrapped(plane, grid) * grid.stride_z;
  Complex<float> points[TensorShape::tile_y][2];
#pragma unroll
  for (int y = 0; y < TensorShape::tile_y; ++y)
#pragma unroll
    for (int i = 0; i < 2; ++i)
      if (lane.g < sweep.coils && sweep.y + y < grid.size[1] && sweep.x + 2 * lane.t + i < grid.size[0])
        points[y][i] = at[y * grid.stride_y + i];
#pragma unroll
  for (int y = 0; y < TensorShape::tile_y; ++y) {
    const SplitPair re = split_pair(scale * points[y][0].re, scale * points[y][1].re),
                    im = split_pair(scale * points[y][0].im, scale * points[y][1].im);
    window.high[slot][0][y] = re.high;
    window.high[slot][1][y] = im.high;
    if constexpr (split) {
      window.low[slot][0][y] = re.low;
      window.low[slot][1][y] = im.low;
    }
  }
}

/// The window that begins at `plane`, of which only the planes from `known` on have to be read.
template <bool split>
__device__ __forceinline__ void read_planes(const Complex<float>* grid_of_coil, int plane, int known,
                                            const GridLayout& grid, const Sweep& sweep, float scale,
                                            Lane lane, WindowFactor<split>& window) {
#pragma unroll
  for (int slot = 0; slot < TensorShape::window; ++slot) {
    const int place = place_of_slot(slot, plane);
    if (place >= known && place < grid.window_planes)
      read_plane<split>(grid_of_coil, plane + place, grid, sweep, scale, lane, slot, window);
  }
}

/// The planes behind the window on their way: the next zone's, as a rule.
__device__ __forceinline__ void prefetch_planes(const Complex<float>* grid_of_coil, int plane,
                                                const GridLayout& grid, const Sweep& sweep, Lane lane) {
  if (lane.g >= sweep.coils || sweep.y + lane.t >= grid.size[1]) return;
  for (int i = 0; i < grid.zone_planes; ++i)
    device::prefetch_l2(grid_of_coil + wrapped(plane + grid.window_planes + i, grid) * grid.stride_z +
                        lane.t * grid.stride_y);
}

/// Half h of the warp evaluates of entry lane % 16: x (h = 0), or z at the slots' places (h = 1); and y at 2 h,
/// 2 h + 1.
template <bool split>
__device__ __forceinline__ void evaluate_entries(const TileKernel<kernel_terms<split>>& kernel, float along,
                                                 float of_y, const float (&places)[8], Lane lane,
                                                 InterpolateTable& table) {
  const bool of_x = lane.index < 16;
  const float per_point = of_x ? kernel.per_point[0] : kernel.per_point[2],
              scale = of_x ? scale_of_weights : 1.0f;
  std::uint32_t* row = table.words[lane.index % 16];
  float weights[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) weights[i] = scale * weight(kernel, per_point, places[i] - along);
  std::uint32_t first[4], second[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const SplitPair x = split_pair(weights[2 * i], weights[2 * i + 1]);
    first[i] = of_x ? x.high : __float_as_uint(weights[i]);
    second[i] = of_x ? x.low : __float_as_uint(weights[4 + i]);
  }
  store_four(row + (of_x ? 0 : InterpolateTable::z), first);
  store_four(row + (of_x ? 4 : InterpolateTable::z + 4), second);
  const int first_y = of_x ? 0 : 2;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const float y = scale_of_weights * weight(kernel, kernel.per_point[1], first_y + i - of_y);
    const SplitPair twice = split_pair(y, y);
    row[InterpolateTable::y + first_y + i] = twice.high;
    row[InterpolateTable::y + 4 + first_y + i] = twice.low;
  }
}

/// (phi_x phi_y)(entry, column): fragments of entries g and g + 8; step j has the columns of y = 2 j and 2 j + 1.
template <bool split>
__device__ __forceinline__ void entries_by_columns(const InterpolateTable& table, Lane lane,
                                                   TileFactor& factor) {
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const std::uint32_t* row = table.words[lane.g + 8 * h];
    const SplitPair x{row[lane.t], row[4 + lane.t]};
    const FourPairs y(row + InterpolateTable::y, 4);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const SplitPair pair = product<split>(x, y[i]);
      factor.high[i / 2][2 * (i % 2) + h] = pair.high;
      factor.low[i / 2][2 * (i % 2) + h] = pair.low;
    }
  }
}

/// sums[i] = left grid of the planes in slots slot + i / 2, re and im in turn: products that wait for each
/// other lie apart.
template <bool split>
__device__ __forceinline__ void multiply_planes(const TileFactor& left, const WindowFactor<split>& window,
                                                int slot, float (&sums)[4][4]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const auto& high = window.high[slot + i / 2][i % 2];
    device::mma_f16_from_zero(sums[i], left.high[0], high[0], high[1]);
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const auto& high = window.high[slot + i / 2][i % 2];
    device::mma_f16(sums[i], left.high[1], high[2], high[3]);
  }
  if constexpr (split)
#pragma unroll
    for (int step = 0; step < 2; ++step) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const auto& high = window.high[slot + i / 2][i % 2];
        device::mma_f16(sums[i], left.low[step], high[2 * step], high[2 * step + 1]);
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const auto& low = window.low[slot + i / 2][i % 2];
        device::mma_f16(sums[i], left.high[step], low[2 * step], low[2 * step + 1]);
      }
    }
}

/// result[entry g or g + 8][re, im][coil 2 t or 2 t + 1]
template <bool split>
__device__ __forceinline__ void interpolate_group(const InterpolateTable& table,
                                                  const WindowFactor<split>& window, Lane lane,
                                                  float (&result)[2][2][2]) {
  TileFactor factor;
  entries_by_columns<split>(table, lane, factor);
#pragma unroll
  for (int slot = 0; slot < TensorShape::window; slot += 2) {
    float z[2][2];  // [entry][slot]
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const float2 pair =
          *reinterpret_cast<const float2*>(table.words[lane.g + 8 * h] + InterpolateTable::z + slot);
      z[h][0] = pair.x, z[h][1] = pair.y;
    }
    float sums[4][4];
    multiply_planes<split>(factor, window, slot, sums);
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j)
        result[j / 2][i % 2][j % 2] = fmaf(z[j / 2][i / 2], sums[i][j], result[j / 2][i % 2][j % 2]);
  }
}

/// A lane's results of a coil or two, of the last one, too, where their number is odd.
__device__ __forceinline__ void store(const float (&result)[2][2], int slots, Complex<float>* at) {
  constexpr float unscale = 1 / (scale_of_weights * scale_of_weights);
  if (slots > 1)
    *reinterpret_cast<float4*>(at) = make_float4(unscale * result[0][0], unscale * result[1][0],
                                                 unscale * result[0][1], unscale * result[1][1]);
  else
    *at = {unscale * result[0][0], unscale * result[1][0]};
}
__device__ __forceinline__ void store(const float (&result)[2][2], int slots, __half2* at) {
  constexpr float unscale = scale_of_parts / (scale_of_weights * scale_of_weights);
  const std::uint32_t first = bits(__floats2half2_rn(unscale * result[0][0], unscale * result[1][0])),
                      second = bits(__floats2half2_rn(unscale * result[0][1], unscale * result[1][1]));
  if (slots > 1)
    *reinterpret_cast<uint2*>(at) = make_uint2(first, second);
  else
    *at = halves(first);
}

/// A group's results, [entry][slot].
template <class Part>
__device__ __forceinline__ void write_group(const float (&result)[2][2][2], TensorGroup group,
                                            const Sweep& sweep, int slots, Lane lane, Part* parts) {
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int s = lane.g + 8 * h, coil = 2 * lane.t;
    if (s >= group.zone_count % 32 || coil >= sweep.coils) continue;
    store(result[h], slots, parts + std::int64_t{group.begin + s} * slots + coil);
  }
}

// One warp per run (blockIdx.x) and block of coils (blockIdx.y). `parts` is [block of coils][entry][slot]. |grid| <= largest[coil]. The weights of the next group are made while this one's products are
// under way.
template <bool split>
__global__ void __launch_bounds__(warp_size, split ? 8 : 12)
    interpolate_tiles_kernel(const __grid_constant__ TileKernel<kernel_terms<split>> kernel,
                             const GridLayout grid, const TileEntries entries, const CoilBlocks blocks,
                             const Complex<float>* points, const float* largest, SamplePart<split>* parts) {
  __shared__ InterpolateTable tables[2];
  const Lane lane;
  const Sweep sweep(grid, entries, blocks, blockIdx.x);
  parts += blockIdx.y * entries.entry_count * blocks.slots;
  const float scale = scale_of(lane.g < sweep.coils ? largest[sweep.first_coil + lane.g] : 1.0f);
  const Complex<float>* grid_of_coil = points + (sweep.first_coil + lane.g) * grid.stride_coil +
                                       sweep.y * grid.stride_y + sweep.x + 2 * lane.t;
  const int last = sweep.run.group_count - 1;
  const TensorGroup* groups = entries.groups + sweep.run.first_group;
  const float* along_axis = (lane.index < 16 ? entries.distance[0] : entries.distance[2]) + lane.index % 16;
  const float* along_y = entries.distance[1] + lane.index % 16;
  constexpr float far = -1000;
  const auto distance = [&](const float* of_entries, TensorGroup group) {
    return lane.index % 16 < group.zone_count % 32 ? of_entries[group.begin] : far;
  };
  float places[8];
  const auto enter_zone = [&](int zone) {
#pragma unroll
    for (int j = 0; j < 8; ++j)
      places[j] = static_cast<float>(lane.index < 16 ? j : place_of_slot(j, zone * grid.zone_planes));
  };
  TensorGroup group = groups[0], next = groups[min(1, last)], second = groups[min(2, last)];
  int zone = -1;
  enter_zone(group.zone_count / 32);
  evaluate_entries<split>(kernel, distance(along_axis, group), distance(along_y, group), places, lane,
                          tables[0]);
  float along = distance(along_axis, next), of_y = distance(along_y, next);
  WindowFactor<split> window = {};
  for (int i = 0; i <= last; ++i) {
    __syncwarp();
    const int here = group.zone_count / 32;
    if (here != zone) {
      const int known = zone < 0 ? 0 : grid.window_planes - planes_between(grid, zone, here);
      zone = here;
      read_planes<split>(grid_of_coil, zone * grid.zone_planes, known, grid, sweep, scale, lane, window);
      prefetch_planes(grid_of_coil - 2 * lane.t, zone * grid.zone_planes, grid, sweep, lane);
    }
    if (next.zone_count / 32 != zone) enter_zone(next.zone_count / 32);
    const TensorGroup third = groups[min(i + 3, last)];
    const float later = distance(along_axis, second), later_y = distance(along_y, second);
    float result[2][2][2] = {};
    interpolate_group<split>(tables[i % 2], window, lane, result);
    evaluate_entries<split>(kernel, along, of_y, places, lane, tables[(i + 1) % 2]);
    write_group(result, group, sweep, blocks.slots, lane, parts);
    along = later, of_y = later_y;
    group = next, next = second, second = third;
  }
}

}  // namespace fhd::tensor_gridding
