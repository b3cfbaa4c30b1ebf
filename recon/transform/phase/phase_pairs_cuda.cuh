#pragma once
// Phase sums pair by pair on a device: any number of terms, decay, single and double precision.
//
// Phases are summed in double, which GPUs for computing do at half the rate of single: 17 terms cost as much as 34 operations,
// three products of split single-precision numbers would cost 51, and one of unsplit numbers would err by 4e-6 at 300 rad.
// In single precision the sum starts at 3/2 2^20: then the last 32 bits of a double are the fraction of a turn, so that the
// phase is reduced without an operation.
#include <algorithm>

#include "recon/array/cuda_check.hpp"
#include "recon/array/pointwise_cuda.cuh"
#include "recon/transform/direct/direct_backends.hpp"

namespace fhd::phase_cuda {

inline constexpr int block = 128, targets_of_thread = 2, targets_of_block = block * targets_of_thread;
inline constexpr int tile = 32;             // sources in shared memory at once
inline constexpr int sources_at_once = 16;  // phases of so many lie in registers
inline constexpr int chunk = 1024;          // sources summed in T before the sum is added to the result

/// Factors of voxels or samples on the device, zero beyond the last.
struct Factors {
  const double* turns = nullptr;  ///< [term][padded]
  const double* decay = nullptr;  ///< [padded]; null: none
  std::int64_t count = 0, padded = 0;
};

/// In single precision with 1/2 turn, because the fraction is read as f - 1/2, and with half of the last bit that is kept.
template <class T>
inline constexpr double start_of_phase = std::is_same_v<T, float> ? 0x1.8p20 + 0.5 + 0x1p-24 : 0.0;

/// exp(2 pi i u) of a sum u of turns that began at start_of_phase.
template <class T>
__device__ __forceinline__ Complex<T> phasor_of(double turns) {
  if constexpr (std::is_same_v<T, float>) {
    const unsigned fraction = static_cast<unsigned>(__double2loint(turns));
    const float angle = 6.2831853f * (__uint_as_float(fraction >> 9 | 0x3f800000u) - 1.5f);
    return {__cosf(angle), __sinf(angle)};
  } else {
    double sine, cosine;
    sincospi(2 * (turns - rint(turns)), &sine, &cosine);
    return {cosine, sine};
  }
}

template <class T>
__device__ __forceinline__ T exponential(double x) {
  if constexpr (std::is_same_v<T, float>)
    return __expf(static_cast<float>(x));
  else
    return exp(x);
}

/// Bytes of shared memory: factors [term][tile], decay [tile], values [tile][coil].
template <class T, int coils>
std::size_t shared_bytes(int terms) {
  return static_cast<std::size_t>(tile) * ((terms + 1) * sizeof(double) + coils * sizeof(Complex<T>));
}

/// A tile of sources in shared memory: factors [term][source], decay [source], values [source][coil].
template <class T, int coils>
struct SharedSources {
  double *turns, *decay;
  Complex<T>* values;

  __device__ SharedSources(unsigned char* shared, int terms)
      : turns(reinterpret_cast<double*>(shared)),
        decay(turns + terms * tile),
        values(reinterpret_cast<Complex<T>*>(decay + tile)) {}
  /// Loads the sources from `first` on by all threads; values from `end` on are zero.
  __device__ __forceinline__ void load(const Factors& sources, int terms, const Complex<T>* from,
                                       std::int64_t first, std::int64_t end, bool is_conjugate) {
    __syncthreads();
    for (int i = threadIdx.x; i < terms * tile; i += block)
      turns[i] = sources.turns[i / tile * sources.padded + first + i % tile];
    for (int i = threadIdx.x; i < coils * tile; i += block) {
      const std::int64_t source = first + i % tile;
      const Complex<T> value = source < end ? from[i / tile * sources.count + source] : Complex<T>{};
      values[i % tile * coils + i / tile] = is_conjugate ? conj(value) : value;
    }
    if (sources.decay != nullptr && threadIdx.x < tile)
      decay[threadIdx.x] = sources.decay[first + threadIdx.x];
    __syncthreads();
  }
};

/// The phases of two targets, whose factors begin at `f`, and the sources whose factors begin at `g`.
template <class T>
__device__ __forceinline__ void sum_turns(const double* f, std::int64_t padded, const double* g, int terms,
                                          double (&turns)[targets_of_thread][sources_at_once]) {
#pragma unroll
  for (int j = 0; j < sources_at_once; ++j) turns[0][j] = turns[1][j] = start_of_phase<T>;
  for (int term = 0; term < terms; ++term, f += padded, g += tile) {
    const double2 of_targets = __ldg(reinterpret_cast<const double2*>(f));
#pragma unroll
    for (int j = 0; j < sources_at_once; j += 2) {
      const double2 two = *reinterpret_cast<const double2*>(g + j);
      turns[0][j] = fma(of_targets.x, two.x, turns[0][j]);
      turns[1][j] = fma(of_targets.y, two.x, turns[1][j]);
      turns[0][j + 1] = fma(of_targets.x, two.y, turns[0][j + 1]);
      turns[1][j + 1] = fma(of_targets.y, two.y, turns[1][j + 1]);
    }
  }
}

// result_c(t) = sum_s value_c(s) exp(i 2 pi u(t, s) - a(t) b(s)), u = sum_l f_l(t) g_l(s); with exp(-i 2 pi u) where
// is_conjugate, by conjugating values and results. values [coil][source], results [part][coil][target]; blockIdx.y takes
// a part of the sources, `sources_of_part` (a multiple of chunk). A thread owns two neighbouring targets for all coils of
// the pass and is the only one to write them; it adds its sources in order: no atomics, the same bits each time.
// Floor a pair: as many double-precision multiply-adds as terms (half rate), 2 special functions, 4 multiply-adds a coil;
// with 17 terms and one coil 9.9e11 pairs/s on an H100, of which half is reached (validation/results).
// Method: Stone et al., J. Parallel Distrib. Comput. 68:1307 (2008), with the tile in shared memory.
template <class T, int coils, bool decays>
__global__ void __launch_bounds__(block)
    add_pairs_kernel(Factors targets, Factors sources, int terms, const Complex<T>* __restrict__ values,
                     std::int64_t sources_of_part, bool is_conjugate, std::int64_t part_stride,
                     Complex<T>* __restrict__ results) {
  extern __shared__ __align__(16) unsigned char shared[];
  SharedSources<T, coils> tile_of(shared, terms);
  const std::int64_t target = (std::int64_t{blockIdx.x} * block + threadIdx.x) * targets_of_thread;
  double rate[targets_of_thread] = {};
  if constexpr (decays)
    for (int v = 0; v < targets_of_thread; ++v) rate[v] = -targets.decay[target + v];
  const std::int64_t begin = blockIdx.y * sources_of_part, end = min(begin + sources_of_part, sources.count);

  for (std::int64_t first = begin; first < end; first += chunk) {
    Complex<T> sums[targets_of_thread][coils];
    for (std::int64_t at = first; at < min(first + chunk, end); at += tile) {
      tile_of.load(sources, terms, values, at, end, is_conjugate);
#pragma unroll 1
      for (int s = 0; s < tile; s += sources_at_once) {
        double turns[targets_of_thread][sources_at_once];
        sum_turns<T>(targets.turns + target, targets.padded, tile_of.turns + s, terms, turns);
#pragma unroll
        for (int j = 0; j < sources_at_once; ++j)
#pragma unroll
          for (int v = 0; v < targets_of_thread; ++v) {
            Complex<T> e = phasor_of<T>(turns[v][j]);
            if constexpr (decays) e = exponential<T>(rate[v] * tile_of.decay[s + j]) * e;
#pragma unroll
            for (int coil = 0; coil < coils; ++coil)
              multiply_add(tile_of.values[(s + j) * coils + coil], e, sums[v][coil]);
          }
      }
    }
    for (int v = 0; v < targets_of_thread; ++v)
      for (int coil = 0; coil < coils; ++coil) {
        if (target + v >= targets.count) continue;
        Complex<T>& out = results[blockIdx.y * part_stride + coil * targets.count + target + v];
        const Complex<T> sum = is_conjugate ? conj(sums[v][coil]) : sums[v][coil];
        out = first == begin ? sum : out + sum;
      }
  }
}

}  // namespace fhd::phase_cuda
