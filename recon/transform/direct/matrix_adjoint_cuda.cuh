#pragma once
// The adjoint direct sum as a product of matrices, on tensor cores.
//
//   image_c(p) = sum_m d_c(m) exp(+i 2 pi k_m . r_p),   p = (+-a, +-b, n): outer steps a, b and place n of the inner block
//
// (separable.hpp). With beta_c(m, n) = d_c(m) exp(i 2 pi k_m . (centre + n)), A and B the phases of the steps,
//
//   P1 = cos A cos B, P2 = sin A sin B, P3 = cos A sin B, P4 = sin A cos B,    S_i(n) = sum_m P_i(m) beta(m, n),
//   image(s a, t b, n) = S1 - s t S2 + i (t S3 + s S4),   s, t = +-1.
//
// The matrix P [rows][samples] is made where it is used, in registers, from tables of cos A, sin A and cos B, sin B (the
// `factors`); beta [samples][columns], real and imaginary parts beside each other, streams through shared memory in blocks
// of 64 samples and 64 complex columns. Numbers are of half precision, one or two to a value; sums of single precision
// leave the tensor cores every `flush_samples` samples, because additions there are truncated.
//
// A block of threads owns 64 pairs (a, b), 256 rows, and one tile of columns of a coil, over one share of the samples; two
// groups of four warps take half of the rows each. Each warp has one step a and all steps b of its group. No other thread
// adds to what a thread adds to: two runs give the same bits. In double precision numbers are as they are, blocks half as
// long and wide.
// Floor: 2 half-precision multiply-adds of a tensor core per pair of point and sample and product of parts, or 2 of double
// precision.
// Source of the form: the factors of a separable sum as a Khatri-Rao product; splitting as in Markidis et al., IPDPSW 2018.
#include <climits>

#include "recon/transform/direct/matrix_product_cuda.cuh"

namespace fhd::matrix_sums {

/// Sums stay so many samples in the tensor cores, whose additions are truncated: a relative error of 2^-24 a step of 16.
template <Parts parts>
inline constexpr int flush_blocks = parts == Parts::two ? 16 : 128;

// --- The matrices in memory

/// Sample 0 ... 15 of a step at place `place` of the sum: lane 4 g + t of a warp holds places {2t, 2t+1, 2t+8, 2t+9} of a
/// row, and reads samples 4t ... 4t + 3 at once.
__device__ inline int sample_at(int place) {
  const int r = place % 8;
  return 4 * (r / 2) + r % 2 + (place < 8 ? 0 : 2);
}

// factors[group][block][step of 16][pair][part][t][cos x 4, sin x 4]: of steps +-a, for samples 4t ... 4t + 3. Parts change
// places in odd rows, so that eight lanes read all banks. In double precision [step of 8][cos, sin][pair][t][2], for samples
// 2t, 2t + 1. One thread writes a t.
template <Parts parts>
__device__ inline void make_factor(std::int64_t i, const SeparableGrid& cut, int axis,
                                   const SamplePhases<Number<parts>>& phases, std::int64_t first,
                                   std::int64_t count, std::int64_t blocks, unsigned char* factors) {
  using T = Number<parts>;
  constexpr int samples = block_length(parts) / 16;  // of a thread
  constexpr T scale = parts == Parts::whole ? 1 : factor_scale;
  const int t = i & 3, pair = (i >> 2) & 7, step = (i >> 5) & 3;
  const std::int64_t block = (i >> 7) % blocks;
  const int group = static_cast<int>((i >> 7) / blocks);
  if (group >= cut.groups(axis)) return;
  const auto distance = static_cast<Phase<T>>(cut.distance(axis, group * group_pairs + pair));
  T values[2 * samples];
#pragma unroll
  for (int j = 0; j < samples; ++j) {
    const std::int64_t m = block * block_length(parts) + step * 4 * samples + t * samples + j;
    const Phase<T> phase = m < count ? distance * phases.at(axis, first + m) : 0;
    const Complex<T> phasor = unit_phasor<T>(half_turns<T>(phase));
    values[j] = scale * phasor.re, values[samples + j] = scale * phasor.im;
  }
  factors += (static_cast<std::int64_t>(group) * blocks + block) * factor_bytes(parts);
  if constexpr (parts == Parts::whole) {
    auto* row = reinterpret_cast<double2*>(factors) + step * 2 * group_pairs * 4 + pair * 4 + t;
    row[0] = make_double2(values[0], values[1]);
    row[group_pairs * 4] = make_double2(values[2], values[3]);
  } else {
    std::uint32_t high[4], low[4];
    pack(values, high, low);
    unsigned char* row = factors + (step * group_pairs + pair) * 64 * parts_of(parts);
    const int turned = parts == Parts::two && pair % 2 == 1 ? 64 : 0;
    *reinterpret_cast<uint4*>(row + (0 ^ turned) + t * 16) = make_uint4(high[0], high[1], high[2], high[3]);
    if (parts == Parts::two)
      *reinterpret_cast<uint4*>(row + (64 ^ turned) + t * 16) = make_uint4(low[0], low[1], low[2], low[3]);
  }
}

// images[coil][tile][block]: beta of 64 samples and 64 columns, or 32 and 32 in double precision. One thread makes a column
// of 8 samples, or of 2.
template <Parts parts>
__device__ inline void make_moving(std::int64_t i, const SeparableGrid& cut,
                                   const SamplePhases<Number<parts>>& phases,
                                   const Value<Number<parts>>* data, const float* scale, std::int64_t first,
                                   std::int64_t count, std::int64_t blocks, int coils,
                                   unsigned char* images) {
  using T = Number<parts>;
  constexpr int samples = parts == Parts::whole ? 2 : 8, per_column = block_length(parts) / samples;
  const int part = i & (per_column - 1), column = (i / per_column) & (adjoint_columns(parts) - 1);
  const std::int64_t block = (i >> 9) % blocks, image = (i >> 9) / blocks;
  const int tiles = cut.inner_tiles(), coil = static_cast<int>(image / tiles);
  if (coil >= coils) return;
  const int place = static_cast<int>(image % tiles) * adjoint_columns(parts) + column;
  const int inside[3] = {place % cut.inner[0], place / cut.inner[0] % cut.inner[1],
                         place / cut.inner[0] / cut.inner[1]};
  T re[samples], im[samples];
#pragma unroll
  for (int j = 0; j < samples; ++j) {
    const int in_block = part * samples + j;
    const std::int64_t m = block * block_length(parts) +
                           (parts == Parts::whole ? in_block : in_block / 16 * 16 + sample_at(in_block % 16));
    re[j] = im[j] = 0;
    if (m >= count || place >= cut.inner_points()) continue;
    Phase<T> phase = 0;
#pragma unroll
    for (int axis = 0; axis < 3; ++axis)
      phase += phases.at(axis, first + m) *
               static_cast<Phase<T>>(static_cast<SignedPhase<T>>(cut.coordinate(axis, inside[axis])));
    const Complex<T> phasor = unit_phasor<T>(half_turns<T>(phase));
    const Value<T> d = data[coil * phases.samples + first + m];
    const T s = parts == Parts::whole ? T(1) : T(scale[coil]);
    re[j] = s * (d.x * phasor.re - d.y * phasor.im), im[j] = s * (d.x * phasor.im + d.y * phasor.re);
  }
  write_column<parts>(images + (image * blocks + block) * image_bytes(parts, adjoint_columns(parts)), column,
                      part, re, im);
}

/// Threads that make the factors of a group for 64 samples.
inline constexpr int factor_threads = 128;

// The matrices of `count` samples from `first` on, in whole blocks: the first thread blocks make the factors of the
// first outer axis, then of the second, the rest the moving matrix. Floor: their bytes.
template <Parts parts>
__global__ void make_matrices_kernel(const __grid_constant__ SeparableGrid cut,
                                     SamplePhases<Number<parts>> phases, const Value<Number<parts>>* data,
                                     const float* scale, std::int64_t first, std::int64_t count, int coils,
                                     unsigned char* factors_0, unsigned char* factors_1,
                                     unsigned char* images) {
  const std::int64_t blocks = (count + block_length(parts) - 1) / block_length(parts);
  const auto thread_blocks = [&](std::int64_t threads) { return (threads + blockDim.x - 1) / blockDim.x; };
  const std::int64_t of_0 = thread_blocks(cut.groups(cut.outer_axis[0]) * blocks * factor_threads),
                     of_1 = thread_blocks(cut.groups(cut.outer_axis[1]) * blocks * factor_threads);
  const std::int64_t at = blockIdx.x;
  if (at < of_0)
    make_factor<parts>(at * blockDim.x + threadIdx.x, cut, cut.outer_axis[0], phases, first, count, blocks,
                       factors_0);
  else if (at < of_0 + of_1)
    make_factor<parts>((at - of_0) * blockDim.x + threadIdx.x, cut, cut.outer_axis[1], phases, first, count,
                       blocks, factors_1);
  else
    make_moving<parts>((at - of_0 - of_1) * blockDim.x + threadIdx.x, cut, phases, data, scale, first, count,
                       blocks, coils, images);
}

// --- Fragments of P

/// x y of numbers in two parts: `high` is the product of the high parts, `low` its rounding error and the mixed products.
__device__ inline void multiply_parts(std::uint32_t x, std::uint32_t x_low, std::uint32_t y,
                                      std::uint32_t y_low, std::uint32_t& high, std::uint32_t& low) {
  const __half2 product = __hmul2_rn(as_half2(x), as_half2(y));
  __half2 rest = __hfma2(as_half2(x), as_half2(y), __hneg2(product));
  rest = __hfma2(as_half2(x), as_half2(y_low), rest);
  rest = __hfma2(as_half2(x_low), as_half2(y), rest);
  high = as_word(product), low = as_word(rest);
}

/// Rows of P for a warp's step a and the steps b of its lanes, 16 samples: P1 and P2 in rows g and g + 8 of one fragment,
/// P3 and P4 of the other; of each part.
template <Parts parts>
struct FactorFragments : Fragments<2> {
  /// a, b: the rows of the factors in shared memory; t: of the lane.
  __device__ inline void make(const unsigned char* a, int a_turned, const unsigned char* b, int b_turned,
                              int t) {
    const uint4 x = *reinterpret_cast<const uint4*>(a + a_turned + t * 16),
                y = *reinterpret_cast<const uint4*>(b + b_turned + t * 16);
    if constexpr (parts == Parts::one) {
      high[0][0] = as_word(__hmul2_rn(as_half2(x.x), as_half2(y.x)));
      high[0][2] = as_word(__hmul2_rn(as_half2(x.y), as_half2(y.y)));
      high[0][1] = as_word(__hmul2_rn(as_half2(x.z), as_half2(y.z)));
      high[0][3] = as_word(__hmul2_rn(as_half2(x.w), as_half2(y.w)));
      high[1][0] = as_word(__hmul2_rn(as_half2(x.x), as_half2(y.z)));
      high[1][2] = as_word(__hmul2_rn(as_half2(x.y), as_half2(y.w)));
      high[1][1] = as_word(__hmul2_rn(as_half2(x.z), as_half2(y.x)));
      high[1][3] = as_word(__hmul2_rn(as_half2(x.w), as_half2(y.y)));
    } else {
      const uint4 u = *reinterpret_cast<const uint4*>(a + (64 ^ a_turned) + t * 16),
                  v = *reinterpret_cast<const uint4*>(b + (64 ^ b_turned) + t * 16);
      multiply_parts(x.x, u.x, y.x, v.x, high[0][0], low[0][0]);
      multiply_parts(x.y, u.y, y.y, v.y, high[0][2], low[0][2]);
      multiply_parts(x.z, u.z, y.z, v.z, high[0][1], low[0][1]);
      multiply_parts(x.w, u.w, y.w, v.w, high[0][3], low[0][3]);
      multiply_parts(x.x, u.x, y.z, v.z, high[1][0], low[1][0]);
      multiply_parts(x.y, u.y, y.w, v.w, high[1][2], low[1][2]);
      multiply_parts(x.z, u.z, y.x, v.x, high[1][1], low[1][1]);
      multiply_parts(x.w, u.w, y.y, v.y, high[1][3], low[1][3]);
    }
  }
};

// --- Where sums go

/// The part of a block of threads: which tile of which coil, which groups of steps, which share of the samples.
struct BlockOfSums {
  int tile, coil, group[2];
  std::int64_t begin, end;  ///< blocks of 64 samples

  __device__ BlockOfSums(const SeparableGrid& cut, std::int64_t blocks) {
    const int tiles = cut.inner_tiles(), groups_0 = cut.groups(cut.outer_axis[0]);
    int rest = static_cast<int>(blockIdx.x);
    tile = rest % tiles, rest /= tiles;
    group[0] = rest % groups_0, rest /= groups_0;
    const int groups_1 = cut.groups(cut.outer_axis[1]);
    group[1] = rest % groups_1, coil = rest / groups_1;
    begin = blocks * blockIdx.y / gridDim.y, end = blocks * (blockIdx.y + 1) / gridDim.y;
  }
};

/// The columns of a tile in shared memory: {place in the image from the point of the steps on, along x, y, z; along the first
/// outer axis; along the second}. A column beyond the block lies beyond every limit.
inline constexpr int column_table_bytes = tile_points * 16;
__device__ inline void make_column_table(const SeparableGrid& cut, int tile, int4* columns) {
  if (threadIdx.x >= cut.columns) return;
  const int place = tile * cut.columns + static_cast<int>(threadIdx.x);
  const int at[3] = {place % cut.inner[0], place / cut.inner[0] % cut.inner[1],
                     place / cut.inner[0] / cut.inner[1]};
  const bool inside = place < cut.inner_points();
  columns[threadIdx.x] =
      make_int4((at[2] * cut.grid.extent[1] + at[1]) * cut.grid.extent[0] + at[0],
                inside ? at[cut.outer_axis[0]] : INT_MAX, inside ? at[cut.outer_axis[1]] : INT_MAX, 0);
}

/// The four points of this thread's steps, to which the sums of its columns are added.
template <class T>
class PointsOfThread {
 public:
  /// images [coil][z][y][x] of this share of the samples; columns: make_column_table.
  __device__ PointsOfThread(const SeparableGrid& cut, const BlockOfSums& block, int pair_0, int pair_1,
                            Value<T>* images, const int4* columns)
      : columns_(columns + (threadIdx.x & 3)) {
    const std::int64_t stride[3] = {1, cut.grid.extent[0],
                                    std::int64_t{cut.grid.extent[0]} * cut.grid.extent[1]};
    const int pair[2] = {pair_0, pair_1};
    std::int64_t origin[2][2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int axis = cut.outer_axis[i];
      const int step[2] = {cut.upper(axis, pair[i]), cut.lower(axis, pair[i])};
#pragma unroll
      for (int sign = 0; sign < 2; ++sign) {
        const int begin = step[sign] * cut.inner[axis];
        origin[i][sign] = begin * stride[axis];
        // The middle step of an odd number is one point, not two.
        const bool counts = begin >= 0 && (sign == 0 || step[1] != step[0]);
        limit_[i][sign] = counts ? cut.grid.extent[axis] - begin : 0;
      }
    }
    for (int i = 0; i < 4; ++i)
      points_[i / 2][i % 2] = images + block.coil * cut.points() + origin[0][i / 2] + origin[1][i % 2];
  }
  /// sums: [P1 P2, P3 P4] as the fragments of an mma hold them; `unscale` gives the units back. Leaves zeros.
  template <int size>
  __device__ inline void add(T (&sums)[2][size], T unscale) const {
#pragma unroll
    for (int j = 0; j < size / 4; ++j) {
      T s[8];  // re and im of S1, S2, S3, S4
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        s[i] = sums[0][4 * j + i] * unscale, s[4 + i] = sums[1][4 * j + i] * unscale;
        sums[0][4 * j + i] = sums[1][4 * j + i] = 0;
      }
      const int4 column = columns_[4 * j];
      add_point(0, 0, column, s[0] - s[2] - (s[5] + s[7]), s[1] - s[3] + (s[4] + s[6]));
      add_point(0, 1, column, s[0] + s[2] + (s[5] - s[7]), s[1] + s[3] + (s[6] - s[4]));
      add_point(1, 0, column, s[0] + s[2] - (s[5] - s[7]), s[1] + s[3] + (s[4] - s[6]));
      add_point(1, 1, column, s[0] - s[2] + (s[5] + s[7]), s[1] - s[3] - (s[4] + s[6]));
    }
  }

 private:
  __device__ inline void add_point(int first, int second, int4 column, T re, T im) const {
    if (column.y >= limit_[0][first] || column.z >= limit_[1][second]) return;
    Value<T>* const point = points_[first][second] + column.x;
    if constexpr (std::is_same_v<T, float>)
      device::add_in_memory(point, re, im);
    else
      point->x += re, point->y += im;
  }

  const int4* columns_;
  Value<T>* points_[2][2];  ///< of the steps +-a along the first outer axis, +-b along the second
  int limit_[2][2];         ///< so many places from the step on are of the grid
};

// --- The product

/// A stage of the pipeline: a block of the moving matrix, and of the factors of both axes.
template <Parts parts>
inline constexpr int stage_bytes = image_bytes(parts, adjoint_columns(parts)) + 2 * factor_bytes(parts);

/// The source of the stages of a block, one after the other in memory for each of three matrices.
template <Parts parts>
struct StageSource {
  static constexpr int moving_bytes = image_bytes(parts, adjoint_columns(parts));
  const unsigned char *image, *factors[2];
  __device__ StageSource(const SeparableGrid& cut, const BlockOfSums& block, std::int64_t blocks,
                         const unsigned char* images, const unsigned char* factors_0,
                         const unsigned char* factors_1)
      : image(images + ((std::int64_t{block.coil} * cut.inner_tiles() + block.tile) * blocks + block.begin) *
                           moving_bytes),
        factors{factors_0 + (block.group[0] * blocks + block.begin) * factor_bytes(parts),
                factors_1 + (block.group[1] * blocks + block.begin) * factor_bytes(parts)} {}
  /// Copies the i-th to a stage, by all threads.
  __device__ __forceinline__ void copy(int i, unsigned char* to) const {
    for (int at = threadIdx.x * 16; at < moving_bytes; at += consumer_threads * 16)
      device::copy_async_16(to + at, image + std::int64_t{i} * moving_bytes + at);
    to += moving_bytes;
    for (int at = threadIdx.x * 16; at < 2 * factor_bytes(parts); at += consumer_threads * 16) {
      const int axis = at >= factor_bytes(parts), rest = at - axis * factor_bytes(parts);
      device::copy_async_16(to + at, factors[axis] + std::int64_t{i} * factor_bytes(parts) + rest);
    }
  }
#ifdef FHD_HOPPER
  /// Copies a stage in bulk, by one thread.
  __device__ __forceinline__ void copy(int i, unsigned char* to, std::uint64_t* barrier) const {
    device::copy_bulk(to, image + std::int64_t{i} * moving_bytes, moving_bytes, barrier);
    to += moving_bytes;
    for (int axis = 0; axis < 2; ++axis, to += factor_bytes(parts))
      device::copy_bulk(to, factors[axis] + std::int64_t{i} * factor_bytes(parts), factor_bytes(parts),
                        barrier);
  }
#endif
};

/// Rows of the factors of this thread within a stage; as they are in double precision.
template <Parts parts>
struct FactorRows {
  static constexpr int row_bytes = 64 * parts_of(parts), step_bytes = group_pairs * row_bytes;
  int a, b, a_turned, b_turned;
  /// warp and lane / 4: the pair of steps of either axis.
  __device__ FactorRows(int warp, int g)
      : a(image_bytes(parts) + warp * row_bytes),
        b(image_bytes(parts) + factor_bytes(parts) + g * row_bytes),
        a_turned(parts == Parts::two && warp % 2 == 1 ? 64 : 0),
        b_turned(parts == Parts::two && g % 2 == 1 ? 64 : 0) {}
  __device__ inline void fragments(const unsigned char* stage, int step, int t,
                                   FactorFragments<parts>& made) const {
    made.make(stage + a + step * step_bytes, a_turned, stage + b + step * step_bytes, b_turned, t);
  }
};
template <>
struct FactorRows<Parts::whole> {
  static constexpr int sine = group_pairs * 4;  // behind the cosines
  int a, b;
  __device__ FactorRows(int warp, int g)
      : a(image_bytes(Parts::whole, adjoint_columns(Parts::whole)) + warp * 64),
        b(image_bytes(Parts::whole, adjoint_columns(Parts::whole)) + factor_bytes(Parts::whole) + g * 64) {}
  __device__ inline void fragments(const unsigned char* stage, int step, int t, double (&made)[2][4]) const {
    const auto *x = reinterpret_cast<const double2*>(stage + a) + step * 2 * sine + t,
               *y = reinterpret_cast<const double2*>(stage + b) + step * 2 * sine + t;
    const double2 cos_a = x[0], sin_a = x[sine], cos_b = y[0], sin_b = y[sine];
    made[0][0] = cos_a.x * cos_b.x, made[0][1] = sin_a.x * sin_b.x;
    made[0][2] = cos_a.y * cos_b.y, made[0][3] = sin_a.y * sin_b.y;
    made[1][0] = cos_a.x * sin_b.x, made[1][1] = sin_a.x * cos_b.x;
    made[1][2] = cos_a.y * sin_b.y, made[1][3] = sin_a.y * cos_b.y;
  }
};

// images[split][coil][z][y][x] += the sums over the samples of the matrices. Grid: {tiles x coils, splits}, 256 threads,
// stages x stage_bytes + column_table_bytes of shared memory. mma.sync and cp.async: from compute capability 8.0 on. Sums
// of double precision, whose additions are those of IEEE 754, stay where they are until the end. `scale` is not of these.
template <Parts parts, int stages>
__global__ void __launch_bounds__(consumer_threads, 1)
    adjoint_matrix_kernel(const __grid_constant__ SeparableGrid cut, std::int64_t blocks, int coils,
                          const unsigned char* images_in, const unsigned char* factors_0,
                          const unsigned char* factors_1, const float* scale, Value<Number<parts>>* images) {
  using T = Number<parts>;
  constexpr bool is_whole = parts == Parts::whole;
  extern __shared__ __align__(1024) unsigned char stage_memory[];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const BlockOfSums block(cut, blocks);
  const StageSource<parts> source(cut, block, blocks, images_in, factors_0, factors_1);
  const int count = static_cast<int>(block.end - block.begin);
  const auto fetch = [&](int i) {
    if (i < count) source.copy(i, stage_memory + i % stages * stage_bytes<parts>);
    device::commit_copies();
  };
  for (int i = 0; i < stages - 1; ++i) fetch(i);
  auto* columns = reinterpret_cast<int4*>(stage_memory + stages * stage_bytes<parts>);
  make_column_table(cut, block.tile, columns);
  const FactorRows<parts> rows(warp, g);
  const PointsOfThread<T> points(cut, block, block.group[0] * group_pairs + warp,
                                 block.group[1] * group_pairs + g, images + blockIdx.y * coils * cut.points(),
                                 columns);
  const T unscale = is_whole ? T(1) : T(1 / (factor_scale * factor_scale * scale[block.coil]));
  T sums[2][adjoint_columns(parts)] = {};
  for (int i = 0; i < count; ++i) {
    device::wait_copies<stages - 2>();
    __syncthreads();  // stage i is there, and nobody reads stage i - 1 any more
    fetch(i + stages - 1);
    const unsigned char* stage = stage_memory + i % stages * stage_bytes<parts>;
#pragma unroll
    for (int step = 0; step < 4; ++step) {
      if constexpr (is_whole) {
        double fragments[2][4];
        rows.fragments(stage, step, t, fragments);
        multiply_double(sums, fragments, stage, step);
      } else {
        FactorFragments<parts> fragments;
        rows.fragments(stage, step, t, fragments);
        multiply<parts>(sums, fragments, stage, step);
      }
    }
    if constexpr (!is_whole)
      if ((i + 1) % flush_blocks<parts> == 0 || i + 1 == count) points.add(sums, unscale);
  }
  if constexpr (is_whole)
    if (count > 0) points.add(sums, unscale);
}

#ifdef FHD_HOPPER
/// sums += the products of stages begin ... end, as they come.
template <Parts parts, int stages>
__device__ __forceinline__ void multiply_stages(StageRing<stages>& ring, const FactorRows<parts>& rows, int t,
                                                int begin, int end, const unsigned char* stage_memory,
                                                float (&sums)[2][64]) {
  FactorFragments<parts> fragments[2];
#pragma unroll 1
  for (int i = begin; i < end; ++i, ring.next()) {
    const unsigned char* stage = stage_memory + ring.wait() * stage_bytes<parts>;
#pragma unroll
    for (int step = 0; step < 4; ++step) {
      rows.fragments(stage, step, t, fragments[step % 2]);
      start_products<parts>(sums, fragments[step % 2], stage, step);
      device::wait_products<1>();
      if (step == 0 && i > 0) ring.release_before();  // its products have ended with that
    }
  }
  device::wait_products<0>();
}
#endif

// Computes the sums by Hopper's own instructions: a warp copies ahead in bulk, each group of warps multiplies while it makes the next
// fragments. Grid as above, hopper_threads threads, barrier_bytes
// of shared memory more.
template <Parts parts, int stages>
__global__ void __launch_bounds__(hopper_threads, 1)
    adjoint_matrix_hopper_kernel(const __grid_constant__ SeparableGrid cut, std::int64_t blocks, int coils,
                                 const unsigned char* images_in, const unsigned char* factors_0,
                                 const unsigned char* factors_1, const float* scale, float2* images) {
#ifdef FHD_HOPPER
  extern __shared__ __align__(1024) unsigned char stage_memory[];
  const BlockOfSums block(cut, blocks);
  auto* columns = reinterpret_cast<int4*>(stage_memory + stages * stage_bytes<parts>);
  make_column_table(cut, block.tile, columns);
  StageRing<stages> ring(reinterpret_cast<std::uint64_t*>(columns + tile_points));
  ring.start();
  const int warp = __shfl_sync(~0u, threadIdx.x / 32, 0), g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
  const int count = static_cast<int>(block.end - block.begin);
  if (warp >= consumer_threads / 32) {
    device::leave_registers<40>();
    const StageSource<parts> source(cut, block, blocks, images_in, factors_0, factors_1);
    if (threadIdx.x == consumer_threads)
      ring.fill(count, stage_bytes<parts>, [&](int i, int stage, std::uint64_t* barrier) {
        source.copy(i, stage_memory + stage * stage_bytes<parts>, barrier);
      });
  } else {
    device::take_registers<232>();
    const FactorRows<parts> rows(warp, g);
    const PointsOfThread<float> points(cut, block, block.group[0] * group_pairs + warp,
                                       block.group[1] * group_pairs + g,
                                       images + blockIdx.y * coils * cut.points(), columns);
    const float unscale = 1 / (factor_scale * factor_scale * scale[block.coil]);
    // The groups of warps leave the tensor cores in turns, so that these always have work.
    const int turn = warp < 4 ? 0 : flush_blocks<parts> / 2;
    float sums[2][64] = {};
    for (int begin = 0, end = flush_blocks<parts> - turn; begin < count;
         begin = end, end += flush_blocks<parts>) {
      end = min(end, count);
      multiply_stages<parts>(ring, rows, t, begin, end, stage_memory, sums);
      points.add(sums, unscale);
    }
  }
#endif
}

}  // namespace fhd::matrix_sums
