#pragma once
// Makes the entries of tensor_products.cuh from samples, and moves values between both.
#include <cstdint>

#include "recon/transform/gridded/tensor_products.cuh"

namespace fhd::tensor_gridding {

/// A grid beside the matrix of an image, for k in cycles/FOV.
struct TileGeometry {
  int axis[3], size[3], points[3], tiles[2];
  int zones, zone_planes;
  int matrix_size[3];  ///< of the axes above
};

/// A sample on an axis: the first grid point of its kernel, and how far from it the sample is.
struct AxisPlace {
  int first;
  double distance;
};
__device__ inline AxisPlace place_on_axis(const double* k, std::int64_t samples, std::int64_t m, int i,
                                          const TileGeometry& geometry) {
  if (geometry.points[i] == 1) return {0, 0.0};
  const double half = geometry.points[i] / 2.0,
               begin = k[geometry.axis[i] * samples + m] * geometry.size[i] / geometry.matrix_size[i] - half,
               up = ceil(begin);
  std::int64_t first = static_cast<std::int64_t>(up) % geometry.size[i];
  if (first < 0) first += geometry.size[i];
  return {static_cast<int>(first), half - (up - begin)};
}

/// Calls visit(tile, distance of the sample from the tile's first column) for each part of the kernel that lies
/// in one tile, in their order around the periodic axis i.
template <class Visit>
__device__ inline void for_each_tile(AxisPlace place, int i, const TileGeometry& geometry, Visit visit) {
  const int columns = i == 0 ? TensorShape::tile_x : TensorShape::tile_y;
  for (int done = 0, point = place.first; done < geometry.points[i];) {
    const int tile = point / columns, end = min((tile + 1) * columns, geometry.size[i]),
              here = min(end - point, geometry.points[i] - done);
    visit(tile, place.distance + (point - done - tile * columns));
    done += here;
    point = (point + here) % geometry.size[i];
  }
}

// counts(m) = entries of sample m; counts(samples) = 0. One thread per sample and one more; k is [3][sample].
__global__ void count_entries_kernel(const double* k, std::int64_t samples, const TileGeometry geometry,
                                     std::int32_t* counts) {
  const std::int64_t m = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (m > samples) return;
  int tiles[2] = {0, 0};
  if (m < samples)
    for (int i = 0; i < 2; ++i)
      for_each_tile(place_on_axis(k, samples, m, i, geometry), i, geometry, [&](int, double) { ++tiles[i]; });
  counts[m] = tiles[0] * tiles[1];
}

/// Calls visit(number, tile column, zone, distances) for the entries of sample m.
template <class Visit>
__device__ inline void for_each_entry(const double* k, std::int64_t samples, std::int64_t m,
                                      const TileGeometry& geometry, Visit visit) {
  const AxisPlace along = place_on_axis(k, samples, m, 2, geometry);
  const int zone = along.first / geometry.zone_planes;
  float distance[3];
  distance[2] = static_cast<float>(along.distance + (along.first - zone * geometry.zone_planes));
  int number = 0;
  for_each_tile(place_on_axis(k, samples, m, 1, geometry), 1, geometry, [&](int tile_y, double of_y) {
    distance[1] = static_cast<float>(of_y);
    for_each_tile(place_on_axis(k, samples, m, 0, geometry), 0, geometry, [&](int tile_x, double of_x) {
      distance[0] = static_cast<float>(of_x);
      visit(number++, tile_y * geometry.tiles[0] + tile_x, zone, distance);
    });
  });
}

// key(e) = tile column x zones + zone, order(e) = e. One thread per sample.
__global__ void prepare_entry_keys_kernel(const double* k, std::int64_t samples, const TileGeometry geometry,
                                          const std::int32_t* first_entry, std::uint32_t* keys,
                                          std::int32_t* order) {
  const std::int64_t m = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (m >= samples) return;
  for_each_entry(k, samples, m, geometry, [&](int number, int column, int zone, const float*) {
    const std::int32_t e = first_entry[m] + number;
    keys[e] = static_cast<std::uint32_t>(column) * geometry.zones + zone;
    order[e] = e;
  });
}

// place(order(i)) = i. One thread per entry.
__global__ void invert_order_kernel(const std::int32_t* order, std::int64_t entries, std::int32_t* place) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < entries) place[order[i]] = static_cast<std::int32_t>(i);
}

// distance(axis, place(e)) of the entries of a sample, [axis][entry]; sample(place(e)) = m. One thread per sample.
__global__ void write_entries_kernel(const double* k, std::int64_t samples, const TileGeometry geometry,
                                     const std::int32_t* first_entry, const std::int32_t* place,
                                     std::int64_t entries, float* distances, std::int32_t* sample) {
  const std::int64_t m = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (m >= samples) return;
  for_each_entry(k, samples, m, geometry, [&](int number, int, int, const float* distance) {
    const std::int32_t at = place[first_entry[m] + number];
    for (int i = 0; i < 3; ++i) distances[i * entries + at] = distance[i];
    sample[at] = static_cast<std::int32_t>(m);
  });
}

// largest(coil) = max |re|, |im| of its values. blockIdx.y is the coil; the threads of a coil go over its samples
// together. The order of maxima does not matter; not a number is larger than all.
__global__ void find_largest_kernel(const Complex<float>* values, std::int64_t stride, std::int64_t samples,
                                    unsigned* largest) {
  unsigned found = 0;
  for (std::int64_t m = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; m < samples;
       m += std::int64_t{gridDim.x} * blockDim.x) {
    const Complex<float> value = values[blockIdx.y * stride + m];
    found = max(found, max(__float_as_uint(value.re) & 0x7fffffffu, __float_as_uint(value.im) & 0x7fffffffu));
  }
  for (int apart = warp_size / 2; apart > 0; apart /= 2)
    found = max(found, __shfl_xor_sync(~0u, found, apart));
  if (threadIdx.x % warp_size == 0) atomicMax(largest + blockIdx.y, found);
}

// out(block of coils, m, slot) = values(coil, m), scaled, in halves. One thread per sample and slot, so that the slots of a
// sample are written together; blockIdx.y is the block of coils.
template <bool split>
__global__ void pack_values_kernel(const Complex<float>* values, std::int64_t stride, std::int64_t samples,
                                   const CoilBlocks blocks, const float* largest, PackedValue<split>* out) {
  const std::int64_t thread = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x, m = thread / blocks.slots;
  const int slot = static_cast<int>(thread % blocks.slots), coil = blockIdx.y * blocks.together + slot;
  if (m >= samples || slot >= blocks.together || coil >= blocks.coils) return;
  const float scale = scale_of(largest[coil]);
  const Complex<float> value = values[coil * stride + m];
  const SplitPair pair = split_pair(scale * value.re, scale * value.im);
  PackedValue<split> word;
  word.high = pair.high;
  if constexpr (split) word.low = pair.low;
  out[blockIdx.y * samples * blocks.slots + thread] = word;
}

// values(coil, m) = sum of parts(block of coils, place(e), slot) over the entries e of sample m, in their order, unscaled.
// Threads as in pack_values_kernel.
template <bool split>
__global__ void gather_values_kernel(const SamplePart<split>* parts, std::int64_t samples,
                                     const CoilBlocks blocks, const std::int32_t* first_entry,
                                     const std::int32_t* place, std::int64_t entries, const float* largest,
                                     Complex<float>* values, std::int64_t stride) {
  const std::int64_t thread = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x, m = thread / blocks.slots;
  const int slot = static_cast<int>(thread % blocks.slots), coil = blockIdx.y * blocks.together + slot;
  if (m >= samples || slot >= blocks.together || coil >= blocks.coils) return;
  parts += blockIdx.y * entries * blocks.slots + slot;
  Complex<float> sum;
#pragma unroll 4
  for (std::int32_t e = first_entry[m]; e < first_entry[m + 1]; ++e)
    sum += load(parts[std::int64_t{place[e]} * blocks.slots]);
  values[coil * stride + m] = (1 / scale_of(largest[coil])) * sum;
}

// grid(plane of a tile; c, coil) = sum of its rows in their order, or 0 where it has none. One warp per plane
// (blockIdx.x, threadIdx.y) and coil (blockIdx.y), one lane per column; rows are [row][coil][column].
__global__ void add_tile_rows_kernel(const TensorSum* sums, std::int64_t sum_count, const GridLayout grid,
                                     const Complex<float>* rows, Complex<float>* points) {
  const std::int64_t index = std::int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (index >= sum_count) return;
  const TensorSum plane = sums[index];
  const int x = plane.column % grid.tiles_x * TensorShape::tile_x + threadIdx.x % TensorShape::tile_x,
            y = plane.column / grid.tiles_x * TensorShape::tile_y + threadIdx.x / TensorShape::tile_x;
  if (x >= grid.size[0] || y >= grid.size[1]) return;
  const std::int64_t row_size = std::int64_t{gridDim.y} * TensorShape::tile_columns;
  rows += plane.first_row * row_size + blockIdx.y * TensorShape::tile_columns + threadIdx.x;
  Complex<float> sum;
#pragma unroll 8
  for (std::int32_t row = 0; row < plane.row_count; ++row) sum += rows[row * row_size];
  points[plane.plane * grid.stride_z + blockIdx.y * grid.stride_coil + y * grid.stride_y + x] = sum;
}

// largest(coil) = sum of the parts of its lines, which bounds every point of their transform. One block per
// coil, whose threads' sums are added in their order.
__global__ void add_line_bounds_kernel(const float* lines, int line_count, float* largest) {
  __shared__ float of_warps[warp_size];
  float sum = 0;
  for (int line = threadIdx.x; line < line_count; line += blockDim.x)
    sum += lines[blockIdx.x * line_count + line];
  for (int apart = warp_size / 2; apart > 0; apart /= 2) sum += __shfl_xor_sync(~0u, sum, apart);
  if (threadIdx.x % warp_size == 0) of_warps[threadIdx.x / warp_size] = sum;
  __syncthreads();
  if (threadIdx.x > 0) return;
  float all = 0;
  for (unsigned warp = 0; warp < blockDim.x / warp_size; ++warp) all += of_warps[warp];
  largest[blockIdx.x] = all;
}

}  // namespace fhd::tensor_gridding
