#pragma once
// The direct sums as products of matrices in double precision, on tensor cores: the same cuts and the same rows and columns
// as in single precision (matrix_adjoint_cuda.cuh, matrix_forward_cuda.cuh), numbers as they are, blocks of half the length.
// Additions are those of IEEE 754, so sums stay where they are until the end of a pass.
// Floor: 2 double-precision multiply-adds of a tensor core per pair of point and sample.
#include "recon/transform/direct/matrix_adjoint_cuda.cuh"
#include "recon/transform/direct/matrix_forward_cuda.cuh"

namespace fhd::matrix_sums {

inline constexpr Parts whole = Parts::whole;
/// Samples, or cos and sin of 4 pairs, of one step of a product; steps of a block.
inline constexpr int double_step = 8, double_steps = block_length(whole) / double_step;

/// Where two numbers of a column lie in a block of the moving matrix, [column][pair of numbers]: halves of 64 bytes change
/// places in odd columns, so that eight lanes read all banks.
__device__ inline int place_of_two(int column, int pair) {
  return column * block_length(whole) * 8 + ((pair ^ ((column & 1) << 2)) << 4);
}

// --- The matrices in memory

// factors[group][block][step][cos, sin][pair][t][2]: of steps +-a, for samples 2t, 2t + 1. One thread writes a t.
__device__ inline void make_double_factor(std::int64_t i, const SeparableGrid& cut, int axis,
                                          const SamplePhases<double>& phases, std::int64_t first,
                                          std::int64_t count, std::int64_t blocks, unsigned char* factors) {
  const int t = i & 3, pair = (i >> 2) & 7, step = (i >> 5) & 3;
  const std::int64_t block = (i >> 7) % blocks;
  const int group = static_cast<int>((i >> 7) / blocks);
  if (group >= cut.groups(axis)) return;
  const auto distance = static_cast<std::uint64_t>(cut.distance(axis, group * group_pairs + pair));
  Complex<double> phasor[2];
#pragma unroll
  for (int j = 0; j < 2; ++j) {
    const std::int64_t m = block * block_length(whole) + step * double_step + t * 2 + j;
    phasor[j] =
        unit_phasor<double>(half_turns<double>(m < count ? distance * phases.at(axis, first + m) : 0));
  }
  auto* row = reinterpret_cast<double2*>(factors + (static_cast<std::int64_t>(group) * blocks + block) *
                                                       factor_bytes(whole)) +
              step * 2 * group_pairs * 4 + pair * 4 + t;
  row[0] = make_double2(phasor[0].re, phasor[1].re);
  row[group_pairs * 4] = make_double2(phasor[0].im, phasor[1].im);
}

// images[coil][tile][block]: beta of 32 samples and 32 columns. One thread makes a column of 2 samples.
__device__ inline void make_double_moving(std::int64_t i, const SeparableGrid& cut,
                                          const SamplePhases<double>& phases, const double2* data,
                                          std::int64_t first, std::int64_t count, std::int64_t blocks,
                                          int coils, unsigned char* images) {
  const int two = i & 15, column = (i >> 4) & 31;
  const std::int64_t block = (i >> 9) % blocks, image = (i >> 9) / blocks;
  const int tiles = cut.inner_tiles(), coil = static_cast<int>(image / tiles);
  if (coil >= coils) return;
  const int place = static_cast<int>(image % tiles) * cut.columns + column;
  const int inside[3] = {place % cut.inner[0], place / cut.inner[0] % cut.inner[1],
                         place / cut.inner[0] / cut.inner[1]};
  Complex<double> beta[2];
#pragma unroll
  for (int j = 0; j < 2; ++j) {
    const std::int64_t m = block * block_length(whole) + two * 2 + j;
    if (m >= count || place >= cut.inner_points()) continue;
    std::uint64_t phase = 0;
#pragma unroll
    for (int axis = 0; axis < 3; ++axis)
      phase += phases.at(axis, first + m) *
               static_cast<std::uint64_t>(std::int64_t{cut.coordinate(axis, inside[axis])});
    const double2 d = data[coil * phases.samples + first + m];
    beta[j] = Complex<double>(d.x, d.y) * unit_phasor<double>(half_turns<double>(phase));
  }
  unsigned char* to = images + (image * blocks + block) * image_bytes(whole, adjoint_columns(whole));
  *reinterpret_cast<double2*>(to + place_of_two(2 * column, two)) = make_double2(beta[0].re, beta[1].re);
  *reinterpret_cast<double2*>(to + place_of_two(2 * column + 1, two)) = make_double2(beta[0].im, beta[1].im);
}

// Makes the matrices in double precision: see make_matrices_kernel.
__global__ void make_double_matrices_kernel(const __grid_constant__ SeparableGrid cut,
                                            SamplePhases<double> phases, const double2* data,
                                            std::int64_t first, std::int64_t count, int coils,
                                            unsigned char* factors_0, unsigned char* factors_1,
                                            unsigned char* images) {
  const std::int64_t blocks = (count + block_length(whole) - 1) / block_length(whole);
  const auto thread_blocks = [&](std::int64_t threads) { return (threads + blockDim.x - 1) / blockDim.x; };
  const std::int64_t of_0 = thread_blocks(cut.groups(cut.outer_axis[0]) * blocks * factor_threads),
                     of_1 = thread_blocks(cut.groups(cut.outer_axis[1]) * blocks * factor_threads);
  const std::int64_t at = blockIdx.x;
  if (at < of_0)
    make_double_factor(at * blockDim.x + threadIdx.x, cut, cut.outer_axis[0], phases, first, count, blocks,
                       factors_0);
  else if (at < of_0 + of_1)
    make_double_factor((at - of_0) * blockDim.x + threadIdx.x, cut, cut.outer_axis[1], phases, first, count,
                       blocks, factors_1);
  else
    make_double_moving((at - of_0 - of_1) * blockDim.x + threadIdx.x, cut, phases, data, first, count, blocks,
                       coils, images);
}

/// Threads that make a block of these.
inline constexpr int double_row_threads = 1024;

// images[coil][tile of the range][block of 16 pairs]: total and difference of 64 rows. One thread makes a column of a pair.
__global__ void make_double_rows_kernel(const __grid_constant__ RowGrid cut, TileRange tiles,
                                        const double2* voxels, int coils, unsigned char* images) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const int of_block = i & 15, column = (i >> 4) & 63;
  const std::int64_t image = i >> 10;
  const RowOfTile row(cut, tiles, image, column);
  if (row.coil >= coils) return;
  const int pair = row.block * cut.block_pairs + of_block, centre = (2 * row.run + 1) * cut.half_run;
  const auto voxel = [&](int x) {
    return row.inside && x < cut.grid.extent[0] ? voxels[row.voxel(cut) + x] : make_double2(0, 0);
  };
  const bool of_run = pair < cut.half_run;
  const double2 upper = of_run ? voxel(centre + pair) : make_double2(0, 0),
                lower = of_run ? voxel(centre - 1 - pair) : make_double2(0, 0);
  unsigned char* to = images + image * image_bytes(whole);
  *reinterpret_cast<double2*>(to + place_of_two(2 * column, of_block)) =
      make_double2(upper.x + lower.x, upper.y - lower.y);
  *reinterpret_cast<double2*>(to + place_of_two(2 * column + 1, of_block)) =
      make_double2(upper.y + lower.y, lower.x - upper.x);
}

// --- Products

/// sums += a x block of the moving matrix, step `step`, of all its columns.
template <int tiles, int size>
__device__ __forceinline__ void multiply_double(double (&sums)[tiles][size], const double (&a)[tiles][4],
                                                const unsigned char* image, int step) {
  const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
  for (int j = 0; j < size / 4; ++j) {
    const double2 b = *reinterpret_cast<const double2*>(image + place_of_two(8 * j + g, step * 4 + t));
#pragma unroll
    for (int tile = 0; tile < tiles; ++tile) device::mma_f64(sums[tile] + 4 * j, a[tile], b.x, b.y);
  }
}

// See adjoint_matrix_kernel: images[split][coil][z][y][x] += the sums. Grid {tiles x coils, splits}, 256 threads, stages x
// double_stage_bytes + column_table_bytes of shared memory.
inline constexpr int double_stage_bytes =
    image_bytes(whole, adjoint_columns(whole)) + 2 * factor_bytes(whole);
template <int stages>
__global__ void __launch_bounds__(consumer_threads, 1)
    adjoint_double_kernel(const __grid_constant__ SeparableGrid cut, std::int64_t blocks, int coils,
                          const unsigned char* images_in, const unsigned char* factors_0,
                          const unsigned char* factors_1, double2* images) {
  extern __shared__ __align__(1024) unsigned char stage_memory[];
  constexpr int image = image_bytes(whole, adjoint_columns(whole)), factor = factor_bytes(whole);
  const int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
  const BlockOfSums block(cut, blocks);
  const StageSource<whole> source(cut, block, blocks, images_in, factors_0, factors_1);
  const int count = static_cast<int>(block.end - block.begin);
  const auto fetch = [&](int i) {
    if (i < count) source.copy(i, stage_memory + i % stages * double_stage_bytes);
    device::commit_copies();
  };
  for (int i = 0; i < stages - 1; ++i) fetch(i);
  auto* columns = reinterpret_cast<int4*>(stage_memory + stages * double_stage_bytes);
  make_column_table(cut, block.tile, columns);
  const PointsOfThread<double> points(cut, block, block.group[0] * group_pairs + warp,
                                      block.group[1] * group_pairs + g,
                                      images + blockIdx.y * coils * cut.points(), columns);
  double sums[2][adjoint_columns(whole)] = {};
  for (int i = 0; i < count; ++i) {
    device::wait_copies<stages - 2>();
    __syncthreads();  // stage i is there, and nobody reads stage i - 1 any more
    fetch(i + stages - 1);
    const unsigned char* stage = stage_memory + i % stages * double_stage_bytes;
#pragma unroll
    for (int step = 0; step < double_steps; ++step) {
      const auto* of_0 =
          reinterpret_cast<const double2*>(stage + image) + step * 2 * group_pairs * 4 + warp * 4 + t;
      const auto* of_1 =
          reinterpret_cast<const double2*>(stage + image + factor) + step * 2 * group_pairs * 4 + g * 4 + t;
      const double2 cos_a = of_0[0], sin_a = of_0[group_pairs * 4], cos_b = of_1[0],
                    sin_b = of_1[group_pairs * 4];
      const double fragments[2][4] = {
          {cos_a.x * cos_b.x, sin_a.x * sin_b.x, cos_a.y * cos_b.y, sin_a.y * sin_b.y},
          {cos_a.x * sin_b.x, sin_a.x * cos_b.x, cos_a.y * sin_b.y, sin_a.y * cos_b.y}};
      multiply_double(sums, fragments, stage, step);
    }
  }
  if (count > 0) points.add(sums, 1.0);
}

/// Shared memory of the phasors of a block of threads: [tile of 16 samples][step of 4 pairs][two of the lane][lane][2].
constexpr int double_phasor_bytes(int blocks) { return forward_rows / 16 * blocks * double_steps * 1024; }

/// Every thread of a warp makes its own phasors: cos and sin of pair 4 step + t of rows g and g + 8.
__device__ inline void make_double_phasors(const SamplePhases<double>& phases, std::int64_t sample, int steps,
                                           double2* table) {
  const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  for (int row = 0; row < 2; ++row) {
    const std::uint64_t half_voxel = phases.at(0, sample + g + 8 * row);
    for (int step = 0; step < steps; ++step) {
      const auto distance = static_cast<std::uint64_t>(2 * (4 * step + t) + 1);
      const auto phasor = unit_phasor<double>(half_turns<double>(distance * half_voxel));
      table[(step * 2 + row) * 32 + lane] = make_double2(phasor.re, phasor.im);
    }
  }
}

// See forward_matrix_kernel: data[split][coil][sample] (+)= the sums over a share of the tiles. Grid {blocks of forward_rows
// samples, splits, coils}, 256 threads, double_phasor_bytes + stages x image_bytes of shared memory.
template <int stages>
__global__ void __launch_bounds__(consumer_threads, 1)
    forward_double_kernel(const __grid_constant__ RowGrid cut, TileRange tiles, SamplePhases<double> phases,
                          const unsigned char* images_in, bool add, double2* data) {
  extern __shared__ __align__(1024) unsigned char stage_memory[];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4,
            blocks = cut.blocks();
  const ShareOfRows share(cut, tiles, forward_rows);
  const unsigned char* source = images_in + share.first_block * image_bytes(whole);
  const int count = static_cast<int>(share.end - share.begin) * blocks;
  const auto fetch = [&](int i) {
    unsigned char* to = stage_memory + i % stages * image_bytes(whole);
    if (i < count)
      for (int at = threadIdx.x * 16; at < image_bytes(whole); at += consumer_threads * 16)
        device::copy_async_16(to + at, source + std::int64_t{i} * image_bytes(whole) + at);
    device::commit_copies();
  };
  for (int i = 0; i < stages - 1; ++i) fetch(i);
  const std::int64_t first_sample = share.sample + warp * 16;
  auto* table = reinterpret_cast<double2*>(stage_memory + stages * image_bytes(whole)) +
                warp * blocks * double_steps * 64;
  make_double_phasors(phases, first_sample, double_steps * blocks, table);
  SampleSum<double> of_row[2];
  for (int row = 0; row < 2; ++row) of_row[row].start(cut, phases, first_sample + g + 8 * row);
  TilePlace tile(cut, share.begin);
  for (int i = 0; i < count; tile.next(cut)) {
    // Zero where they begin: a condition within one loop becomes one of the products, and ptxas 13.0 then mixes up sums.
    double sums[1][64] = {};
#pragma unroll 1
    for (int block = 0; block < blocks; ++block, ++i) {
      device::wait_copies<stages - 2>();
      __syncthreads();  // stage i is there, and nobody reads stage i - 1 any more
      fetch(i + stages - 1);
      const unsigned char* stage = stage_memory + i % stages * image_bytes(whole);
#pragma unroll
      for (int step = 0; step < double_steps; ++step) {
        const double2* of_step = table + (block * double_steps + step) * 64 + lane;
        const double2 upper = of_step[0], lower = of_step[32];
        const double fragment[1][4] = {{upper.x, lower.x, upper.y, lower.y}};
        multiply_double(sums, fragment, stage, step);
      }
    }
#pragma unroll
    for (int row = 0; row < 2; ++row) of_row[row].add(cut, tile, sums[0] + 2 * row, t);
  }
  for (int row = 0; row < 2; ++row)
    write_sample(of_row[row], first_sample + g + 8 * row, phases, share.coil, 1.0, add, data);
}

}  // namespace fhd::matrix_sums
