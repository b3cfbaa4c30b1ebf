#pragma once
// The forward direct sum as a product of matrices, on tensor cores.
//
//   d_c(m) = sum_p rho_c(p) exp(-i 2 pi k_m . r_p),   p = (+-j of a run along x, row (y, z))
//
// (separable.hpp). With theta_j the phase from the centre of a run to its voxels +-(j + 1/2), the same for all runs,
//
//   T(m, row) = sum_j cos theta_j(m) total(j, row) - i sin theta_j(m) difference(j, row),
//   d(m) = sum_rows exp(-i 2 pi k_m . centre(row)) T(m, row),      total, difference = rho(+j) +- rho(-j).
//
// The first line is a product of matrices: cos and sin [samples][2 j] stay in shared memory for all runs and images; total
// and difference, real and imaginary parts beside each other, stream through it in blocks of 64 of these and 64 complex
// columns, the rows of a tile. The second is Horner's rule over the columns of a thread, as their phases are equally
// spaced: 4 multiply-adds for 128 pairs.
//
// A block of threads owns some samples and a share of the tiles of one image. Each sample belongs to four lanes of one
// warp, who add their columns up in one order: two runs give the same bits.
// Floor: 2 half-precision multiply-adds of a tensor core per pair of point and sample and product of parts, or 2 of double
// precision.
#include "recon/transform/direct/matrix_product_cuda.cuh"
#include "recon/transform/direct/separable.hpp"

namespace fhd::matrix_sums {

/// Tiles that are taken together.
struct TileRange {
  std::int64_t first, count;
};

/// Decodes column `column` of block `image` of the moving matrix: [coil][tile of the range][block].
struct RowOfTile {
  int block, run, y, z, coil;
  bool inside;  ///< the row is one of the grid
  __device__ __forceinline__ RowOfTile(const RowGrid& cut, TileRange tiles, std::int64_t image, int column)
      : block(static_cast<int>(image % cut.blocks())),
        coil(static_cast<int>(image / cut.blocks() / tiles.count)) {
    std::int64_t tile = tiles.first + image / cut.blocks() % tiles.count;
    run = static_cast<int>(tile % cut.runs()), tile /= cut.runs();
    y = static_cast<int>(tile % cut.tiles_along(0)) * cut.tile_rows[0] + column % cut.tile_rows[0];
    z = static_cast<int>(tile / cut.tiles_along(0)) * cut.tile_rows[1] + column / cut.tile_rows[0];
    inside = y < cut.grid.extent[1] && z < cut.grid.extent[2];
  }
  /// Where the row begins.
  __device__ __forceinline__ std::int64_t voxel(const RowGrid& cut) const {
    return coil * cut.points() + (std::int64_t{z} * cut.grid.extent[1] + y) * cut.grid.extent[0];
  }
};

// images[coil][tile of the range][block of 32 pairs]: total and difference of 64 rows; blocks of 16 in double precision. One
// thread makes a column of 4 pairs, or of one.
template <Parts parts>
__global__ void make_rows_kernel(const __grid_constant__ RowGrid cut, TileRange tiles,
                                 const Value<Number<parts>>* voxels, const float* scale, int coils,
                                 unsigned char* images) {
  using T = Number<parts>;
  constexpr int pairs = parts == Parts::whole ? 1 : 4, per_column = block_length(parts) / 2 / pairs;
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const int part = i & (per_column - 1), column = (i / per_column) & 63;
  const std::int64_t image = i / row_makers(parts);
  const RowOfTile row(cut, tiles, image, column);
  if (row.coil >= coils) return;
  const T s = parts == Parts::whole ? T(1) : T(scale[row.coil]);
  const Value<T>* const line = voxels + row.voxel(cut);
  const auto voxel = [&](int x) {
    return row.inside && x < cut.grid.extent[0] ? Value<T>{s * line[x].x, s * line[x].y} : Value<T>{0, 0};
  };
  T re[2 * pairs], im[2 * pairs];
#pragma unroll
  for (int j = 0; j < pairs; ++j) {
    const int pair = row.block * cut.block_pairs + part * pairs + j,
              centre = (2 * row.run + 1) * cut.half_run;
    const bool of_run = pair < cut.half_run;
    const Value<T> upper = of_run ? voxel(centre + pair) : Value<T>{0, 0},
                   lower = of_run ? voxel(centre - 1 - pair) : Value<T>{0, 0};
    re[2 * j] = upper.x + lower.x, re[2 * j + 1] = upper.y - lower.y;
    im[2 * j] = upper.y + lower.y, im[2 * j + 1] = lower.x - upper.x;
  }
  write_column<parts>(images + image * image_bytes(parts), column, part, re, im);
}

/// Phasors of the pairs of a run for 16 samples to a tile, in shared memory as the lanes of mma_f16 hold them:
/// [tile of 16 samples][step of 8 pairs][part][lane][4 words]; places 2j and 2j + 1 of the sum are cos and sin of pair j. In
/// double precision [tile][step of 4 pairs][row g or g + 8][lane][cos, sin of pair t].
template <Parts parts>
struct PhasorTable {
  static constexpr int step_bytes = parts == Parts::whole ? 1024 : 512 * parts_of(parts);
  unsigned char* table;
  int steps;

  __device__ unsigned char* at(int tile, int step, int lane) const {
    return table + (tile * steps + step) * step_bytes + lane * 16;
  }
  /// Every thread of a warp makes its own words of a tile; `sample` is that of row 0 of tile 0.
  __device__ void make(const SamplePhases<float>& phases, std::int64_t sample, int tile) const {
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    const std::uint32_t half_voxel[2] = {phases.at(0, sample + tile * 16 + g),
                                         phases.at(0, sample + tile * 16 + g + 8)};
    for (int step = 0; step < steps; ++step) {
      std::uint32_t high[4], low[4];
#pragma unroll
      for (int word = 0; word < 4; ++word) {
        const auto distance = static_cast<std::uint32_t>(2 * (step * 8 + t + word / 2 * 4) + 1);
        const Complex<float> phasor = unit_phasor<float>(half_turns<float>(distance * half_voxel[word % 2]));
        high[word] = pack_high(factor_scale * phasor.re, factor_scale * phasor.im);
        low[word] = pack_low(factor_scale * phasor.re, factor_scale * phasor.im);
      }
      *reinterpret_cast<uint4*>(at(tile, step, lane)) = make_uint4(high[0], high[1], high[2], high[3]);
      if (parts == Parts::two)
        *reinterpret_cast<uint4*>(at(tile, step, lane) + 512) = make_uint4(low[0], low[1], low[2], low[3]);
    }
  }
  __device__ void make(const SamplePhases<double>& phases, std::int64_t sample, int tile) const {
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    for (int row = 0; row < 2; ++row) {
      const std::uint64_t half_voxel = phases.at(0, sample + tile * 16 + g + 8 * row);
      for (int step = 0; step < steps; ++step) {
        const auto distance = static_cast<std::uint64_t>(2 * (4 * step + t) + 1);
        const auto phasor = unit_phasor<double>(half_turns<double>(distance * half_voxel));
        *reinterpret_cast<double2*>(at(tile, step, lane) + 512 * row) = make_double2(phasor.re, phasor.im);
      }
    }
  }
  template <int tiles>
  __device__ __forceinline__ void load(int first, int tile_stride, int step,
                                       Fragments<tiles>& fragments) const {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < tiles; ++i) {
      const unsigned char* from = at(first + i * tile_stride, step, lane);
      const uint4 high = *reinterpret_cast<const uint4*>(from);
      fragments.high[i][0] = high.x, fragments.high[i][1] = high.y, fragments.high[i][2] = high.z,
      fragments.high[i][3] = high.w;
      if constexpr (parts == Parts::two) {
        const uint4 low = *reinterpret_cast<const uint4*>(from + 512);
        fragments.low[i][0] = low.x, fragments.low[i][1] = low.y, fragments.low[i][2] = low.z,
        fragments.low[i][3] = low.w;
      }
    }
  }
};

/// The part of a block of threads: samples, an image, a share of its tiles.
struct ShareOfRows {
  std::int64_t sample, begin, end;  ///< its first sample; its tiles
  int coil;
  std::int64_t first_block;  ///< of the moving matrix
  __device__ ShareOfRows(const RowGrid& cut, TileRange tiles, int block_rows)
      : sample(std::int64_t{blockIdx.x} * block_rows),
        begin(tiles.first + tiles.count * blockIdx.y / gridDim.y),
        end(tiles.first + tiles.count * (blockIdx.y + 1) / gridDim.y),
        coil(static_cast<int>(blockIdx.z)),
        first_block((coil * tiles.count + begin - tiles.first) * cut.blocks()) {}
};

/// Where a tile lies; tiles in their order.
struct TilePlace {
  int run, y, z;
  __device__ __forceinline__ TilePlace(const RowGrid& cut, std::int64_t tile)
      : run(static_cast<int>(tile % cut.runs())),
        y(static_cast<int>(tile / cut.runs() % cut.tiles_along(0))),
        z(static_cast<int>(tile / cut.runs() / cut.tiles_along(0))) {}
  __device__ __forceinline__ void next(const RowGrid& cut) {
    if (++run < cut.runs()) return;
    run = 0;
    if (++y == cut.tiles_along(0)) y = 0, ++z;
  }
};

/// One of the samples of a thread: its phases, and the sum of its columns.
template <class T>
struct SampleSum {
  Phase<T> half_voxel[3];
  /// From a column of the thread to its next; from two of them to the next two in the plane, or of the next plane.
  Complex<T> next_column, next_two, next_plane;
  Complex<T> sum;

  static __device__ __forceinline__ Complex<T> turned_back(Phase<T> phase) {
    return unit_phasor<T>(half_turns<T>(0 - phase));
  }
  __device__ __forceinline__ void start(const RowGrid& cut, const SamplePhases<T>& phases,
                                        std::int64_t sample) {
    for (int axis = 0; axis < 3; ++axis) half_voxel[axis] = phases.at(axis, sample);
    const Phase<T> across = 8 * (static_cast<Phase<T>>(cut.tile_rows[0]) / 4 - 2);
    next_column = turned_back(8 * half_voxel[1]);
    next_two = turned_back(16 * half_voxel[1]);
    next_plane = turned_back(2 * half_voxel[2] - across * half_voxel[1]);
    sum = {};
  }
  /// Adds the columns of a tile: sums[4 j + re, im] of columns 4 j + t. A plane has 2, 4, 8 or 16 of a thread.
  __device__ __forceinline__ void add(const RowGrid& cut, const TilePlace& tile, const T* sums, int t) {
    const int twos = cut.tile_rows[0] / 8;
    Complex<T> horner{};
#pragma unroll
    for (int two = 7; two >= 0; --two) {
      Complex<T> here{sums[8 * two], sums[8 * two + 1]};
      multiply_add(Complex<T>{sums[8 * two + 4], sums[8 * two + 5]}, next_column, here);
      if (two < 7) multiply_add(horner, (two + 1 & twos - 1) == 0 ? next_plane : next_two, here);
      horner = here;
    }
    const int x = cut.grid.first[0] + 4 * tile.run * cut.half_run + 2 * cut.half_run - 1,
              y = cut.grid.first[1] + 2 * (tile.y * cut.tile_rows[0] + t),
              z = cut.grid.first[2] + 2 * tile.z * cut.tile_rows[1];
    const Phase<T> phase = 0 - phase_at<T>(half_voxel, x, y, z);
    if constexpr (std::is_same_v<T, float>)
      multiply_add(horner, unit_phasor_fast(phase), sum);
    else
      multiply_add(horner, unit_phasor<T>(half_turns<T>(phase)), sum);
  }
  /// The sum of the four lanes of a sample, in the first of them.
  __device__ __forceinline__ Complex<T> of_four_lanes() const {
    T re = sum.re, im = sum.im;
#pragma unroll
    for (int distance = 1; distance < 4; distance *= 2) {
      re += __shfl_xor_sync(~0u, re, distance);
      im += __shfl_xor_sync(~0u, im, distance);
    }
    return {re, im};
  }
};

/// Writes, or adds, the sum of a sample to data [split][coil][sample].
template <class T>
__device__ inline void write_sample(const SampleSum<T>& sum, std::int64_t sample,
                                    const SamplePhases<T>& phases, int coil, T unscale, bool add,
                                    Value<T>* data) {
  const Complex<T> all = sum.of_four_lanes();
  if (threadIdx.x % 4 != 0 || sample >= phases.samples) return;
  Value<T>& out = data[(std::int64_t{blockIdx.y} * gridDim.z + coil) * phases.samples + sample];
  const Value<T> before = add ? out : Value<T>{0, 0};
  out = Value<T>{before.x + all.re * unscale, before.y + all.im * unscale};
}

/// Shared memory: the phasors, then the stages.
template <Parts parts>
FHD_HOST_DEVICE constexpr int phasor_bytes(int rows, int blocks) {
  return rows / 16 * blocks * 4 * PhasorTable<parts>::step_bytes;
}

// data[split][coil][sample] (+)= the sums over a share of the tiles. Grid: {blocks of forward_rows samples, splits, coils},
// 256 threads, phasor_bytes + stages x image_bytes of shared memory. mma.sync and cp.async: compute capability 8.0 on.
template <Parts parts, int stages>
__global__ void __launch_bounds__(consumer_threads, 1)
    forward_matrix_kernel(const __grid_constant__ RowGrid cut, TileRange tiles,
                          SamplePhases<Number<parts>> phases, const unsigned char* images_in,
                          const float* scale, bool add, Value<Number<parts>>* data) {
  using T = Number<parts>;
  extern __shared__ __align__(1024) unsigned char stage_memory[];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4,
            blocks = cut.blocks();
  const ShareOfRows share(cut, tiles, forward_rows);
  const unsigned char* source = images_in + share.first_block * image_bytes(parts);
  const int count = static_cast<int>(share.end - share.begin) * blocks;
  const auto fetch = [&](int i) {
    unsigned char* to = stage_memory + i % stages * image_bytes(parts);
    if (i < count)
      for (int at = threadIdx.x * 16; at < image_bytes(parts); at += consumer_threads * 16)
        device::copy_async_16(to + at, source + std::int64_t{i} * image_bytes(parts) + at);
    device::commit_copies();
  };
  for (int i = 0; i < stages - 1; ++i) fetch(i);
  const PhasorTable<parts> table{stage_memory + stages * image_bytes(parts), 4 * blocks};
  table.make(phases, share.sample, warp);
  SampleSum<T> of_row[2];
  for (int row = 0; row < 2; ++row) of_row[row].start(cut, phases, share.sample + warp * 16 + g + 8 * row);
  TilePlace tile(cut, share.begin);
  for (int i = 0; i < count; tile.next(cut)) {
    // Zero where they begin: a condition within one loop becomes one of the products, and ptxas 13.0 then mixes up sums.
    T sums[1][64] = {};
#pragma unroll 1
    for (int block = 0; block < blocks; ++block, ++i) {
      device::wait_copies<stages - 2>();
      __syncthreads();  // stage i is there, and nobody reads stage i - 1 any more
      fetch(i + stages - 1);
      const unsigned char* stage = stage_memory + i % stages * image_bytes(parts);
#pragma unroll
      for (int step = 0; step < 4; ++step) {
        if constexpr (parts == Parts::whole) {
          const auto* of_step = reinterpret_cast<const double2*>(table.at(warp, 4 * block + step, lane));
          const double2 upper = of_step[0], lower = of_step[32];
          const double fragment[1][4] = {{upper.x, lower.x, upper.y, lower.y}};
          multiply_double(sums, fragment, stage, step);
        } else {
          Fragments<1> fragments;
          table.template load<1>(warp, 0, 4 * block + step, fragments);
          multiply<parts, 1>(sums, fragments, stage, step);
        }
      }
    }
#pragma unroll
    for (int row = 0; row < 2; ++row) of_row[row].add(cut, tile, sums[0] + 2 * row, t);
  }
  const T unscale = parts == Parts::whole ? T(1) : T(1 / (factor_scale * scale[share.coil]));
  for (int row = 0; row < 2; ++row)
    write_sample(of_row[row], share.sample + warp * 16 + g + 8 * row, phases, share.coil, unscale, add, data);
}

#ifdef FHD_HOPPER
/// The two groups of warps multiply in turns, a tile each: one adds up what it has while the tensor cores work for the
/// other. Of 2 x 128 threads at a barrier, the group whose turn it is waits.
struct Turns {
  static constexpr int threads = 256;
  int group;
  __device__ __forceinline__ void begin() const {
    if (group == 1) device::arrive_named(1, threads);  // the first turn is the other group's
  }
  __device__ __forceinline__ void take() const { device::sync_named(1 + group, threads); }
  /// To the other group; its last turn, where it has one, was taken by then.
  __device__ __forceinline__ void pass(bool last) const {
    if (group == 0 || !last) device::arrive_named(2 - group, threads);
  }
};

/// sums = the products of a tile: all blocks of its moving matrix, as they come. After all are under way the turn passes.
template <Parts parts, int stages>
__device__ __forceinline__ void multiply_tile(StageRing<stages>& ring, const PhasorTable<parts>& table,
                                              int first_tile, const unsigned char* stage_memory, Turns turns,
                                              bool last_tile, float (&sums)[2][64]) {
  Fragments<2> fragments[2];
#pragma unroll 1
  for (int begin = 0; begin < table.steps; begin += 4, ring.next()) {
    const unsigned char* stage = stage_memory + ring.wait() * image_bytes(parts);
#pragma unroll
    for (int step = 0; step < 4; ++step) {
      table.template load<2>(first_tile, 4, begin + step, fragments[step % 2]);
      start_products<parts>(sums, fragments[step % 2], stage, step, begin > 0 || step > 0);
      device::wait_products<1>();
      if (step == 0 && begin > 0) ring.release_before();  // its products have ended with that
    }
  }
  turns.pass(last_tile);
  device::wait_products<0>();
  ring.release_before();
}
#endif

// Computes the sums by Hopper's own instructions, with twice as many samples to a block: a warp copies ahead in bulk; of the two
// groups of warps one multiplies while the other adds up a tile. Grid {blocks of forward_hopper_rows samples, splits,
// coils}, hopper_threads threads, phasor_bytes + stages x image_bytes + barrier_bytes of shared memory.
template <Parts parts, int stages>
__global__ void __launch_bounds__(hopper_threads, 1)
    forward_matrix_hopper_kernel(const __grid_constant__ RowGrid cut, TileRange tiles,
                                 SamplePhases<float> phases, const unsigned char* images_in,
                                 const float* scale, bool add, float2* data) {
#ifdef FHD_HOPPER
  extern __shared__ __align__(1024) unsigned char stage_memory[];
  const int warp = __shfl_sync(~0u, threadIdx.x / 32, 0), g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
  const int blocks = cut.blocks();
  const ShareOfRows share(cut, tiles, forward_hopper_rows);
  const PhasorTable<parts> table{stage_memory + stages * image_bytes(parts), 4 * blocks};
  StageRing<stages> ring(
      reinterpret_cast<std::uint64_t*>(table.table + phasor_bytes<parts>(forward_hopper_rows, blocks)));
  ring.start();
  if (warp >= consumer_threads / 32) {
    device::leave_registers<40>();
    const unsigned char* source = images_in + share.first_block * image_bytes(parts);
    if (threadIdx.x == consumer_threads)
      ring.fill(static_cast<int>(share.end - share.begin) * blocks, image_bytes(parts),
                [&](int i, int stage, std::uint64_t* barrier) {
                  device::copy_bulk(stage_memory + stage * image_bytes(parts),
                                    source + std::int64_t{i} * image_bytes(parts), image_bytes(parts),
                                    barrier);
                });
  } else {
    device::take_registers<232>();
    // Four warps have tiles 4 apart of 16 samples each: 64 samples to a product.
    const int first_tile = warp / 4 * 8 + warp % 4;
    const auto sample_of = [&](int row) {
      return share.sample + (first_tile + row / 2 * 4) * 16 + g + 8 * (row % 2);
    };
    for (int tile = first_tile; tile <= first_tile + 4; tile += 4) table.make(phases, share.sample, tile);
    __syncwarp();
    SampleSum<float> of_row[4];
#pragma unroll
    for (int row = 0; row < 4; ++row) of_row[row].start(cut, phases, sample_of(row));
    const Turns turns{warp / 4};
    if (share.begin < share.end) turns.begin();
    float sums[2][64];
    TilePlace place(cut, share.begin);
    for (std::int64_t tile = share.begin; tile < share.end; ++tile, place.next(cut)) {
      turns.take();
      multiply_tile<parts>(ring, table, first_tile, stage_memory, turns, tile + 1 == share.end, sums);
#pragma unroll
      for (int row = 0; row < 4; ++row) of_row[row].add(cut, place, sums[row / 2] + 2 * (row % 2), t);
    }
    const float unscale = 1 / (factor_scale * scale[share.coil]);
#pragma unroll
    for (int row = 0; row < 4; ++row)
      write_sample(of_row[row], sample_of(row), phases, share.coil, unscale, add, data);
  }
#endif
}

}  // namespace fhd::matrix_sums
