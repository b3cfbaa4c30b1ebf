#pragma once
// The five passes of sum_c conj(S_c) T (S_c rho) (toeplitz.hpp), for grids of 2n points along every axis,
// single precision.
//
// A spectrum of 2n points of a line of n points and n zeros is two of n: with w(a) = exp(-2 pi i a)
//
//     X[2k]     = sum over e < n of x[e] w(e k / n),    X[2k + 1] = sum over e < n of x[e] w(e / 2n) w(e k / n),
//
// and the first n points of the inverse are the inverse of the even half and w(-e / 2n) times that of the odd
// one. So zeros are neither stored nor transformed, and an axis of a spectrum lies as [half][k].
//
//     rows       image [z][y][x], maps -> a [coil][z][y][half x]       1 V + map -> 2 V
//     columns    a -> b [coil][z][half y][half x]                      2 V -> 4 V
//     convolved  b -> b: along z forth, times the transfer function, back   4 V -> 4 V
//     back       b -> a                                                4 V -> 2 V
//     combined   a, maps -> image, summed over the coils in their order     2 V + map -> 1 V
//
// with V = 8 bytes n_x n_y n_z, of each coil: the floor is the time of these 26 V, of the maps twice and of the
// transfer function, once for all coils that go together. A flat image has no `columns` and `back`: along y it
// is convolved in a.
//
// In all kernels a block has whole lines, and each value in memory one thread that reads it and later, if any,
// writes it: no races.
#include <cstdint>

#include "recon/transform/toeplitz/block_fft_axis.cuh"

namespace fhd::toeplitz {

// transfer [half z][half y][half x] = Re spectrum [gz][gy][gx] / grid points; one thread a point.
__global__ void __launch_bounds__(row_threads)
    store_halves_kernel(const Value* spectrum, std::int64_t gx, std::int64_t gy, std::int64_t gz,
                        float* transfer) {
  const std::int64_t i = std::int64_t{blockIdx.x} * row_threads + threadIdx.x;
  if (i >= gx * gy * gz) return;
  const auto point = [](std::int64_t at, std::int64_t g) {
    return g == 1 ? 0 : 2 * at < g ? 2 * at : 2 * at - g + 1;
  };
  const std::int64_t z = point(i / (gx * gy), gz), y = point(i / gx % gy, gy), x = point(i % gx, gx);
  transfer[i] = spectrum[(z * gy + y) * gx + x].re / static_cast<float>(gx * gy * gz);
}

/// store(half, r, k) of the halves of the spectrum of v, whose odd one is that of `odd`: v times half a turn.
template <class Fft, class Values, class Store>
__device__ __forceinline__ void forward_halves(const Fft& fft, Values& v, Values& odd, const Store& store) {
#pragma unroll 1
  for (int half = 0; half < 2; ++half) {
    fft.forward(v);
    fft.for_spectrum([&](int r, int k) { store(half, r, k); });
#pragma unroll
    for (int r = 0; r < Fft::most; ++r) v[r] = odd[r];
  }
}

// spectra(j, c, row, half, k) = the halves of the spectrum of S_c(row, x) rho_j(row, x) along x. Blocks:
// [rows][coil], so that a row of the image is read from memory once; blockIdx.y = j.
template <class Stages>
__global__ void __launch_bounds__(row_threads, 2)
    rows_kernel(Stages plan, const Value* twiddles, const Value* images, const Value* maps, unsigned rows,
                unsigned coils, Value* spectra) {
  extern __shared__ unsigned char line_memory[];
  const auto fft = row_fft(plan, twiddles, line_memory);
  const unsigned lines = blockDim.x / plan.line_threads(), coil = blockIdx.x % coils,
                 row = blockIdx.x / coils * lines + threadIdx.x / plan.line_threads();
  const bool counts = row < rows;
  const int n = plan.length();
  const std::int64_t at = counts ? std::int64_t{row} * n : 0, voxels = std::int64_t{rows} * n;
  images += blockIdx.y * voxels + at;
  maps += coil * voxels + at;
  spectra += 2 * ((blockIdx.y * coils + coil) * voxels + at);
  Value v[Stages::most_radix], odd[Stages::most_radix];
  fft.for_points([&](int r, int e) {
    v[r] = maps[e] * images[e];
    odd[r] = v[r] * fft.half_turn(e);
  });
  forward_halves(fft, v, odd, [&](int half, int r, int k) {
    if (counts) spectra[half * n + k] = v[r];
  });
}

// Planes [n][width] -> [half][n][width]: the halves of the spectra of all columns. Blocks: [plane][columns].
template <class Stages>
__global__ void __launch_bounds__(ColumnBlock<Stages>::threads, ColumnBlock<Stages>::more)
    columns_kernel(Stages plan, const Value* twiddles, const Value* planes, unsigned width, Value* spectra) {
  extern __shared__ unsigned char line_memory[];
  const auto fft = column_fft(plan, twiddles, line_memory);
  const unsigned columns = columns_of(plan.line_threads()), tiles = (width + columns - 1) / columns,
                 x = blockIdx.x % tiles * columns + threadIdx.x % columns;
  const bool counts = x < width;
  const int n = plan.length();
  const std::int64_t at = std::int64_t{blockIdx.x / tiles} * n * width;
  planes += at + (counts ? x : 0);
  spectra += 2 * at + x;
  Value v[Stages::most_radix], odd[Stages::most_radix];
  fft.for_points([&](int r, int e) { v[r] = planes[e * width]; });
  fft.for_points([&](int r, int e) { odd[r] = v[r] * fft.half_turn(e); });
  forward_halves(fft, v, odd, [&](int half, int r, int k) {
    if (counts) spectra[(half * n + k) * width] = v[r];
  });
}

// Volumes [n][rows][width], in place: spectra along the first axis, times transfer [half][n][rows][width], and back.
// Blocks: [some rows][volume][row][columns]: what volumes share of the transfer function is still in the cache, while
// blocks that run at once are in few pages of memory, of which every point of a column may have another.
template <class Stages>
__global__ void __launch_bounds__(ColumnBlock<Stages>::threads, ColumnBlock<Stages>::blocks)
    convolve_kernel(Stages plan, const Value* twiddles, const float* transfer, unsigned width, unsigned rows,
                    unsigned volumes, Value* values) {
  extern __shared__ unsigned char line_memory[];
  const auto fft = column_fft(plan, twiddles, line_memory);
  const unsigned columns = columns_of(plan.line_threads()), tiles = (width + columns - 1) / columns,
                 some = min(8u, rows & (0u - rows)) * tiles, unit = blockIdx.x / some,
                 row = unit / volumes * (some / tiles) + blockIdx.x % some / tiles,
                 x = blockIdx.x % tiles * columns + threadIdx.x % columns, stride = rows * width;
  const bool counts = x < width;
  const int n = plan.length();
  const std::int64_t at = std::int64_t{row} * width + (counts ? x : 0);
  values += std::int64_t{unit % volumes} * n * stride + at;
  transfer += at;
  Value v[Stages::most_radix], kept[Stages::most_radix];
  fft.for_points([&](int r, int e) { v[r] = values[e * stride]; });
  fft.for_points([&](int r, int e) { kept[r] = v[r] * fft.half_turn(e); });
#pragma unroll 1
  for (int half = 0; half < 2; ++half) {
    fft.forward(v);
    fft.for_spectrum(
        [&](int r, int k) { v[r] = __ldg(transfer + (half * n + k) * stride) * exchanged(v[r]); });
    fft.inverse(v);
    if (half == 1) break;
#pragma unroll
    for (int r = 0; r < Stages::most_radix; ++r) {
      const Value odd = kept[r];
      kept[r] = v[r], v[r] = odd;
    }
  }
  fft.for_points([&](int r, int e) {
    if (counts) values[e * stride] = exchanged(kept[r] + v[r] * fft.half_turn(e));
  });
}

/// The two halves of a spectrum, [half][k] from `spectrum` on, `step` apart; the parts of v stay exchanged.
template <class Fft, class Values>
__device__ __forceinline__ void inverse_of_halves(const Fft& fft, const Value* spectrum, unsigned step,
                                                  Values& v) {
  Values kept;
#pragma unroll 1
  for (int half = 0; half < 2; ++half) {
    fft.for_spectrum(
        [&](int r, int k) { v[r] = exchanged(spectrum[(half * fft.plan.length() + k) * step]); });
    fft.inverse(v);
    if (half == 1) break;
#pragma unroll
    for (int r = 0; r < Fft::most; ++r) kept[r] = v[r];
  }
  fft.for_points([&](int r, int e) { v[r] = kept[r] + v[r] * fft.half_turn(e); });
}

// The way back of columns_kernel.
template <class Stages>
__global__ void __launch_bounds__(ColumnBlock<Stages>::threads, ColumnBlock<Stages>::more)
    back_kernel(Stages plan, const Value* twiddles, const Value* spectra, unsigned width, Value* planes) {
  extern __shared__ unsigned char line_memory[];
  const auto fft = column_fft(plan, twiddles, line_memory);
  const unsigned columns = columns_of(plan.line_threads()), tiles = (width + columns - 1) / columns,
                 x = blockIdx.x % tiles * columns + threadIdx.x % columns;
  const bool counts = x < width;
  const std::int64_t at = std::int64_t{blockIdx.x / tiles} * plan.length() * width;
  Value v[Stages::most_radix];
  inverse_of_halves(fft, spectra + 2 * at + (counts ? x : 0), width, v);
  planes += at + x;
  fft.for_points([&](int r, int e) {
    if (counts) planes[e * width] = exchanged(v[r]);
  });
}

// out_j(row, x) = (out_j(row, x) if `adds`) + sum over c of conj(S_c(row, x)) x_jc(row, x), the inverse along x
// of the halves in spectra(j, c, row). A block takes some rows and `together` coils of each at once; the sums
// go in the order of the coils, whatever these are. blockIdx.y = j.
template <class Stages>
__global__ void __launch_bounds__(row_threads, 2)
    combine_kernel(Stages plan, const Value* twiddles, const Value* spectra, const Value* maps, unsigned rows,
                   unsigned coils, unsigned together, bool adds, Value* images) {
  extern __shared__ unsigned char line_memory[];
  const auto fft = row_fft(plan, twiddles, line_memory);
  const unsigned lines = blockDim.x / plan.line_threads(), line = threadIdx.x / plan.line_threads(),
                 block_rows = lines / together, first_row = blockIdx.x * block_rows,
                 row = min(first_row + line / together, rows - 1), n = plan.length();
  const std::int64_t voxels = std::int64_t{rows} * n;
  const Value* const memory = reinterpret_cast<const Value*>(line_memory);
  images += blockIdx.y * voxels + std::int64_t{first_row} * n;
  for (unsigned first = 0; first < coils; first += together) {
    const unsigned coil = min(first + line % together, coils - 1);
    const std::int64_t at = coil * voxels + std::int64_t{row} * n;
    Value v[Stages::most_radix];
    inverse_of_halves(fft, spectra + 2 * (blockIdx.y * coils * voxels + at), 1, v);
    __syncthreads();  // what was left there is taken
    fft.for_points([&](int r, int e) { fft.place(e) = conj(maps[at + e]) * exchanged(v[r]); });
    __syncthreads();
    const unsigned used = min(block_rows, rows - first_row) * n;
    for (unsigned i = threadIdx.x; i < used; i += blockDim.x) {
      const unsigned e = i % n;
      const Value* of_coils = memory + i / n * together * row_places(n) + e + (e >> 4);
      Value sum = adds || first > 0 ? images[i] : Value();
      for (unsigned c = 0; c < min(together, coils - first); ++c) sum += of_coils[c * row_places(n)];
      images[i] = sum;
    }
  }
}

}  // namespace fhd::toeplitz
