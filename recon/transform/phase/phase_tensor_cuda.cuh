#pragma once
// Kernels of the phase sums on tensor cores: phases as products of half-precision limbs (phase_limbs.hpp), sine and cosine by the
// special units, coils by a second product.
#include <cuda_fp16.h>

#include <cstdint>

#include "recon/array/complex.hpp"
#include "recon/array/tensor_core.cuh"
#include "recon/transform/phase/phase_limbs.hpp"

namespace fhd::phase_tensor {

inline constexpr int tile = 16;            // voxels, or samples, of a fragment
inline constexpr int warps = 4;            // of a block
inline constexpr int stage = 64;           // columns in shared memory at once; two stages take turns
inline constexpr int flush = 256;          // columns after which sums leave the tensor cores, which truncate
inline constexpr int padding = 256;        // voxels and samples are padded with zeros to a multiple of it
inline constexpr int value_exponent = 10;  // values of coils are below 2^10

/// mma.sync m16n8k16 as device::mma_f16: d = a b + c, with one c for all.
__device__ inline void mma_f16_from(float* d, const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1,
                                    float c) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%10,%10,%10,%10};"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "f"(c));
}

/// The tiles of 16 columns times 4 coils that hold so many coils; 0: one coil, on the multiply-add units.
__host__ __device__ constexpr int coils_of(int coil_tiles) { return coil_tiles == 0 ? 1 : 4 * coil_tiles; }
/// Bytes of the values of 16 columns: pairs of single precision, or fragments in two parts for cosines and sines.
__host__ __device__ constexpr int value_bytes(int coil_tiles) {
  return coil_tiles == 0 ? tile * 8 : coil_tiles * 1024;
}
__host__ __device__ constexpr int limb_bytes(int steps) { return steps * 512; }  ///< of a tile
__host__ __device__ constexpr int coil_sums(int coil_tiles) { return coil_tiles == 0 ? 1 : coil_tiles; }
template <int steps, int row_tiles, int coil_tiles>
constexpr int shared_bytes = 2 * (stage / tile) * (limb_bytes(steps) + value_bytes(coil_tiles)) +
                             warps * row_tiles * coil_sums(coil_tiles) * 4 * 32 * int(sizeof(float));
/// Blocks that a multiprocessor shall hold: as many as hide the special units' waiting, without spilling.
template <int steps, int coil_tiles>
constexpr int resident_blocks = coil_tiles == 0 && steps == 6 ? 4
                                : coil_tiles <= 4             ? 3
                                                              : 2;

// limbs[tile][step][lane] = the fragment a of mma_f16 of 16 items: row r, product k in lane 4 (r % 8) + k % 8 / 2, half
// 2 (r / 8 + 2 (k / 8)) + k % 2. factors [term][count]; is_basis: voxels, else samples. One thread an item and product.
static __global__ void make_limbs_kernel(const double* factors, std::int64_t count, std::int64_t padded,
                                         phase_limbs::Plan plan, bool is_basis, __half* limbs) {
  const std::int64_t thread = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x, item = thread / tile;
  const int k = static_cast<int>(thread % tile), r = static_cast<int>(item % tile);
  if (item >= padded) return;
  const int lane = r % 8 * 4 + k % 8 / 2, half = 2 * (r / 8 + 2 * (k / 8)) + k % 2;
  for (int s = 0; s < plan.steps; ++s) {
    const phase_limbs::Slot slot = plan.slots[s * phase_limbs::step + k];
    double value = 0;
    if (slot.basis != phase_limbs::Limb::none && item < count) {
      const phase_limbs::TermBits bits = plan.bits[slot.term];
      const double factor = factors[slot.term * count + item];
      value =
          is_basis
              ? ldexp(phase_limbs::basis_limb(factor, bits.basis, slot.basis), -slot.exponent)
              : ldexp(phase_limbs::coefficient_limb(factor, bits.coefficient, slot.coefficient, slot.basis),
                      slot.exponent);
    }
    limbs[((item / tile * plan.steps + s) * 32 + lane) * 8 + half] =
        __float2half_rn(static_cast<float>(value));
  }
}

/// The value of a column, turned by the column's phasor where there is one; zero beyond the last.
__device__ inline Complex<float> column_value(const Complex<float>* values, const Complex<float>* phasors,
                                              bool is_conjugate, std::int64_t column, std::int64_t columns) {
  if (column >= columns) return {};
  Complex<float> value = values[column];
  if (is_conjugate) value = conj(value);
  return phasors == nullptr ? value : phasors[column] * value;
}

// One coil: out[column] for columns up to `padded`. One thread a column.
static __global__ void pack_values_kernel(const Complex<float>* values, const Complex<float>* phasors,
                                          bool is_conjugate, std::int64_t columns, std::int64_t padded,
                                          Complex<float>* out) {
  const std::int64_t column = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (column < padded) out[column] = column_value(values, phasors, is_conjugate, column, columns);
}

// Coils: out[16 columns][coil tile][cosines, sines][lane] = fragments b of mma_f16, {first part b0, b1, second part b0, b1}. Of a
// coil's two columns n one gives the real part of the sum, with re cos - im sin, and one the imaginary, with im cos + re sin.
// values [coil][column] times scale[coil]; coils beyond the last are zero. One thread a lane.
static __global__ void pack_coils_kernel(const Complex<float>* values, const float* scale,
                                         const Complex<float>* phasors, bool is_conjugate, int coils,
                                         int coil_tiles, std::int64_t columns, std::int64_t padded,
                                         uint4* out) {
  const std::int64_t thread = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x,
                     group = thread / 32 / coil_tiles;
  if (group >= padded / tile) return;
  const int lane = static_cast<int>(thread % 32), coil_tile = static_cast<int>(thread / 32 % coil_tiles);
  const int coil = coil_tile * 4 + lane / 8, t = lane % 4;
  const bool is_imaginary = lane / 4 % 2 == 1;
  alignas(16) __half parts[2][2][4];  // [cosines, sines][part][column]
  for (int e = 0; e < 4; ++e) {
    Complex<float> value;
    if (coil < coils)
      value = scale[coil] * column_value(values + coil * columns, phasors, is_conjugate,
                                         group * tile + 2 * t + e % 2 + e / 2 * 8, columns);
    const float factors[2] = {is_imaginary ? value.im : value.re, is_imaginary ? value.re : -value.im};
    for (int of_sine = 0; of_sine < 2; ++of_sine) {
      const __half first = __float2half_rn(factors[of_sine]);
      parts[of_sine][0][e] = first;
      parts[of_sine][1][e] = __float2half_rn(factors[of_sine] - __half2float(first));
    }
  }
  for (int of_sine = 0; of_sine < 2; ++of_sine)
    out[((group * coil_tiles + coil_tile) * 2 + of_sine) * 32 + lane] =
        *reinterpret_cast<const uint4*>(parts[of_sine]);
}

/// Sums in registers of each row tile: with 8 coils those of cosines and of sines apart, so that more products do not wait for each
/// other.
__host__ __device__ constexpr int sums_of(int coil_tiles) {
  return coil_tiles == 2 ? 4 : coil_sums(coil_tiles);
}

/// Sines and cosines as fragments a of the second product: [cosine, its rest, sine, its rest].
using PhasorFragments = std::uint32_t[4][4];
__device__ __forceinline__ void set_fragment(PhasorFragments& fragments, int word, int part, float x,
                                             float y) {
  const __half2 first = __floats2half2_rn(x, y);
  const float2 of_first = __half22float2(first);
  const __half2 rest = __floats2half2_rn(x - of_first.x, y - of_first.y);
  fragments[part][word] = *reinterpret_cast<const std::uint32_t*>(&first);
  fragments[part + 1][word] = *reinterpret_cast<const std::uint32_t*>(&rest);
}

/// The arrays of a launch, which sums over rows times columns; results [part][coil][row].
struct Sums {
  const uint4* row_limbs;
  const unsigned char* column_limbs;
  const unsigned char* values;
  const float* scale;                 ///< [coil]; of one coil: null
  const Complex<float>* row_phasors;  ///< [row], by which sums are multiplied; null: 1
  std::int64_t rows, columns, columns_of_part;
  int coils, fraction_bits;
  bool is_conjugate;
  Complex<float>* results;

  __device__ void store(int coil, std::int64_t row, Complex<float> sum) const {
    if (row >= rows || coil >= coils) return;
    if (scale != nullptr) sum *= 1 / scale[coil];
    if (row_phasors != nullptr) sum = row_phasors[row] * sum;
    results[(blockIdx.y * coils + coil) * rows + row] = is_conjugate ? conj(sum) : sum;
  }
};

/// Cosines and sines of 16 row_tiles rows and the columns 8 h ... 8 h + 7 of a tile; places as mma_f16
/// holds d.
template <int steps, int row_tiles>
__device__ __forceinline__ void pair_phasors(const std::uint32_t (&rows)[row_tiles][steps][4],
                                             const uint4 (&columns)[steps], int h, float start, int shift,
                                             float (&cosines)[row_tiles][4], float (&sines)[row_tiles][4]) {
  float turns[row_tiles][4], rest[row_tiles][4];
  const auto b0 = [&](int s) { return h == 0 ? columns[s].x : columns[s].y; };
  const auto b1 = [&](int s) { return h == 0 ? columns[s].z : columns[s].w; };
#pragma unroll
  for (int m = 0; m < row_tiles; ++m) {
    mma_f16_from(turns[m], rows[m][0], b0(0), b1(0), start);
    mma_f16_from(rest[m], rows[m][1], b0(1), b1(1), 0.0f);
  }
#pragma unroll
  for (int s = 2; s < steps; ++s)
#pragma unroll
    for (int m = 0; m < row_tiles; ++m) device::mma_f16(rest[m], rows[m][s], b0(s), b1(s));
#pragma unroll
  for (int m = 0; m < row_tiles; ++m)
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const unsigned bits = (__float_as_uint(turns[m][e]) << shift & 0x7fffffu) | 0x3f800000u;
      const float angle = fmaf(__uint_as_float(bits), 6.2831853f, rest[m][e]);
      sines[m][e] = __sinf(angle);
      cosines[m][e] = __cosf(angle);
    }
}

/// sums[row tile][re, im of row g; of row g + 8] += values of one coil at the columns 8 h + 2 t, 2 t + 1 times their phasors.
template <int row_tiles>
__device__ __forceinline__ void add_one_coil(float4 two, const float (&c)[row_tiles][4],
                                             const float (&s)[row_tiles][4], float (&sums)[row_tiles][4]) {
#pragma unroll
  for (int m = 0; m < row_tiles; ++m)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float &re = sums[m][2 * half], &im = sums[m][2 * half + 1];
      re = fmaf(two.x, c[m][2 * half], fmaf(-two.y, s[m][2 * half], re));
      im = fmaf(two.y, c[m][2 * half], fmaf(two.x, s[m][2 * half], im));
      re = fmaf(two.z, c[m][2 * half + 1], fmaf(-two.w, s[m][2 * half + 1], re));
      im = fmaf(two.w, c[m][2 * half + 1], fmaf(two.z, s[m][2 * half + 1], im));
    }
}

/// sums[row tile][coil tile] += phasors times the values of 16 columns, in three products of parts, the small ones first.
template <int row_tiles, int coil_tiles>
__device__ __forceinline__ void add_coils(const PhasorFragments (&phasors)[row_tiles], const uint4* values,
                                          int lane, float (&sums)[row_tiles][sums_of(coil_tiles)][4]) {
  constexpr int together = 2;  // more products that do not wait for each other
  static_assert(coil_tiles % together == 0);
#pragma unroll
  for (int first = 0; first < coil_tiles; first += together) {
    uint4 v[together][2];
#pragma unroll
    for (int n = 0; n < together; ++n)
#pragma unroll
      for (int of_sine = 0; of_sine < 2; ++of_sine)
        v[n][of_sine] = values[((first + n) * 2 + of_sine) * 32 + lane];
#pragma unroll
    for (int product = 0; product < 6; ++product) {
      const int of_sine = product % 2;
      const bool rest_of_phasor = product < 2, rest_of_value = product == 2 || product == 3;
#pragma unroll
      for (int n = 0; n < together; ++n)
#pragma unroll
        for (int m = 0; m < row_tiles; ++m)
          device::mma_f16(sums[m][of_sine * (sums_of(coil_tiles) - coil_tiles) + first + n],
                          phasors[m][2 * of_sine + rest_of_phasor],
                          rest_of_value ? v[n][of_sine].z : v[n][of_sine].x,
                          rest_of_value ? v[n][of_sine].w : v[n][of_sine].y);
    }
  }
}

template <int steps, int row_tiles>
__device__ __forceinline__ void load_rows(const uint4* limbs, std::int64_t row_tile, int lane,
                                          std::uint32_t (&rows)[row_tiles][steps][4]) {
#pragma unroll
  for (int m = 0; m < row_tiles; ++m)
#pragma unroll
    for (int s = 0; s < steps; ++s) {
      const uint4 of_lane = limbs[((row_tile + m) * steps + s) * 32 + lane];
      rows[m][s][0] = of_lane.x, rows[m][s][1] = of_lane.y, rows[m][s][2] = of_lane.z,
      rows[m][s][3] = of_lane.w;
    }
}

/// Starts the copy of a stage of columns, from tile `first` on: limbs, then values.
template <int steps, int coil_tiles>
__device__ __forceinline__ void load_stage(const Sums& sums, std::int64_t first, unsigned char* to) {
  constexpr int tiles = stage / tile, limbs = limb_bytes(steps), of_values = value_bytes(coil_tiles);
  for (int i = threadIdx.x * 16; i < tiles * limbs; i += warps * 32 * 16)
    device::copy_async_16(to + i, sums.column_limbs + first * limbs + i);
  for (int i = threadIdx.x * 16; i < tiles * of_values; i += warps * 32 * 16)
    device::copy_async_16(to + tiles * limbs + i, sums.values + first * of_values + i);
  device::commit_copies();
}

/// Adds the columns of one tile to the sums in registers.
template <int steps, int row_tiles, int coil_tiles>
__device__ __forceinline__ void add_columns(const std::uint32_t (&rows)[row_tiles][steps][4],
                                            const uint4* limbs, const unsigned char* values, int lane,
                                            int fraction_bits,
                                            float (&acc)[row_tiles][sums_of(coil_tiles)][4]) {
  const float start = static_cast<float>(3 << (22 - fraction_bits));
  uint4 columns[steps];
#pragma unroll
  for (int s = 0; s < steps; ++s) columns[s] = limbs[s * 32 + lane];
  [[maybe_unused]] PhasorFragments fragments[row_tiles];
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    float c[row_tiles][4], s[row_tiles][4];
    pair_phasors<steps, row_tiles>(rows, columns, h, start, 23 - fraction_bits, c, s);
    if constexpr (coil_tiles == 0) {
      float(&of_rows)[row_tiles][4] = reinterpret_cast<float(&)[row_tiles][4]>(acc);
      add_one_coil<row_tiles>(reinterpret_cast<const float4*>(values)[h * 4 + lane % 4], c, s, of_rows);
    } else {
#pragma unroll
      for (int m = 0; m < row_tiles; ++m)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          set_fragment(fragments[m], 2 * h + half, 0, c[m][2 * half], c[m][2 * half + 1]);
          set_fragment(fragments[m], 2 * h + half, 2, s[m][2 * half], s[m][2 * half + 1]);
        }
    }
  }
  if constexpr (coil_tiles > 0)
    add_coils<row_tiles, coil_tiles>(fragments, reinterpret_cast<const uint4*>(values), lane, acc);
}

/// Moves the sums in registers to the lane's totals in shared memory, [row tile][coil tile][4][lane].
template <int row_tiles, int coil_tiles>
__device__ __forceinline__ void flush_sums(float (&acc)[row_tiles][sums_of(coil_tiles)][4], float* totals) {
  constexpr int of_coils = coil_sums(coil_tiles);
#pragma unroll
  for (int m = 0; m < row_tiles; ++m)
#pragma unroll
    for (int n = 0; n < of_coils; ++n)
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        float sum = 0;
#pragma unroll
        for (int part = n; part < sums_of(coil_tiles); part += of_coils)
          sum += acc[m][part][e], acc[m][part][e] = 0;
        totals[((m * of_coils + n) * 4 + e) * 32] += sum;
      }
}

template <int row_tiles, int coil_tiles>
__device__ __forceinline__ void store_totals(const Sums& sums, const float* totals, std::int64_t row_tile,
                                             int lane) {
  const int g = lane / 4, t = lane % 4;
#pragma unroll
  for (int m = 0; m < row_tiles; ++m) {
    const std::int64_t row = (row_tile + m) * tile + g;
    if constexpr (coil_tiles == 0) {  // four lanes have each their columns
      float sum[4];
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        sum[e] = totals[(m * 4 + e) * 32];
        sum[e] += __shfl_xor_sync(~0u, sum[e], 1);
        sum[e] += __shfl_xor_sync(~0u, sum[e], 2);
      }
      if (t == 0) {
        sums.store(0, row, {sum[0], sum[1]});
        sums.store(0, row + 8, {sum[2], sum[3]});
      }
    } else {
#pragma unroll
      for (int n = 0; n < coil_tiles; ++n) {
        const float* of = totals + (m * coil_tiles + n) * 4 * 32;
        sums.store(4 * n + t, row, {of[0], of[32]});
        sums.store(4 * n + t, row + 8, {of[64], of[96]});
      }
    }
  }
}

// result_c(row) = sum over columns of value_c(column) exp(i phi(row, column)), rows and columns being voxels and samples or
// samples and voxels. A warp owns 16 row_tiles rows, whose limbs stay in registers, and takes 16 columns at a time: the first
// product gives the phases of 8 columns in the registers (places of d), in which the second wants its factors (places of a).
// Columns come through shared memory, 64 at a time, the next ones beside the work on these. blockIdx.y takes a part of the
// columns. Every sum has one owner and one order: no atomics, the same bits each time.
// Floor a pair: 2 special functions (2.07e12 pairs/s on an H100); about 12 further operations with one coil, 16 with eight (of
// the 16 that the special functions leave), and 16 steps + 12 coils multiply-adds of tensor cores. Accuracy: phase_limbs.hpp for
// phases; sine and cosine 2^-21, and 2^-22 of their parts; sums of 256 columns truncated to 2^-24 at each step.
// Source of the method: Markidis et al., IPDPSW 2018, 10.1109/IPDPSW.2018.00091 (products of split numbers).
template <int steps, int row_tiles, int coil_tiles>
__global__ void __launch_bounds__(warps * 32, resident_blocks<steps, coil_tiles>)
    add_phases_kernel(const Sums sums) {
  constexpr int tiles = stage / tile, limbs = limb_bytes(steps), of_values = value_bytes(coil_tiles),
                stage_bytes = tiles * (limbs + of_values),
                of_warp = row_tiles * coil_sums(coil_tiles) * 4 * 32;
  extern __shared__ __align__(16) unsigned char shared[];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const std::int64_t row_tile = (std::int64_t{blockIdx.x} * warps + warp) * row_tiles;
  auto* const totals = reinterpret_cast<float*>(shared + 2 * stage_bytes) + warp * of_warp + lane;
  std::uint32_t rows[row_tiles][steps][4];
  load_rows<steps, row_tiles>(sums.row_limbs, row_tile, lane, rows);
  float acc[row_tiles][sums_of(coil_tiles)][4] = {};
  for (int i = 0; i < of_warp; i += 32) totals[i] = 0;

  const std::int64_t first = blockIdx.y * sums.columns_of_part / tile,
                     end =
                         min(first + sums.columns_of_part / tile, (sums.columns + stage - 1) / stage * tiles);
  const int stages = static_cast<int>((end - first) / tiles);
  if (stages > 0) load_stage<steps, coil_tiles>(sums, first, shared);
  for (int number = 0; number < stages; ++number) {
    device::wait_copies<0>();
    __syncthreads();
    if (number + 1 < stages)
      load_stage<steps, coil_tiles>(sums, first + std::int64_t{number + 1} * tiles,
                                    shared + (number + 1) % 2 * stage_bytes);
    const unsigned char* const at = shared + number % 2 * stage_bytes;
#pragma unroll 4
    for (int i = 0; i < tiles; ++i)
      add_columns<steps, row_tiles, coil_tiles>(rows, reinterpret_cast<const uint4*>(at + i * limbs),
                                                at + tiles * limbs + i * of_values, lane, sums.fraction_bits,
                                                acc);
    if ((number + 1) % (flush / stage) == 0 || number + 1 == stages)
      flush_sums<row_tiles, coil_tiles>(acc, totals);
  }
  store_totals<row_tiles, coil_tiles>(sums, totals, row_tile, lane);
}

}  // namespace fhd::phase_tensor
