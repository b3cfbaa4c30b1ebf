#pragma once
// Shared by the matrix forms of the direct sums: numbers of half precision in parts, the moving matrix in shared memory,
// and products of it with rows in registers.
#include "recon/array/hopper.cuh"
#include "recon/array/tensor_core.cuh"
#include "recon/transform/direct/separable.hpp"

namespace fhd::matrix_sums {

/// Numbers of data, phasors and sums.
template <Parts parts>
using Number = std::conditional_t<parts == Parts::whole, double, float>;
template <class T>
using Value = std::conditional_t<std::is_same_v<T, float>, float2, double2>;

inline constexpr int consumer_threads = 256;
/// Threads of the Hopper kernels: two groups of four warps that compute, and one that copies.
inline constexpr int hopper_threads = consumer_threads + 128;

#ifdef FHD_HOPPER
/// Stages of shared memory that one thread fills by bulk copies while the others empty them, in turns.
template <int stages>
class StageRing {
 public:
  /// Each thread has its own, over the barriers [2][stages] of the block.
  __device__ __forceinline__ explicit StageRing(std::uint64_t* barriers)
      : full_(barriers), empty_(barriers + stages) {}
  /// Starts the pipeline. All threads call it, before anything else.
  __device__ __forceinline__ void start() const {
    if (threadIdx.x == 0) {
      for (int i = 0; i < stages; ++i)
        device::init_barrier(full_ + i, 1), device::init_barrier(empty_ + i, consumer_threads / 32);
      device::publish_barriers();
    }
    __syncthreads();
  }
  /// Fills `count` stages with `bytes` each; copy(i, stage, barrier) starts the copies of the i-th. By one thread.
  template <class Copy>
  __device__ __forceinline__ void fill(int count, int bytes, const Copy& copy) {
    for (int i = 0; i < count; ++i, next()) {
      device::wait(empty_ + stage_, parity_ ^ 1);
      device::arrive_and_expect(full_ + stage_, bytes);
      copy(i, stage_, full_ + stage_);
    }
  }
  /// Waits for the next stage; its number. By all threads of the consumers' warps.
  __device__ __forceinline__ int wait() const {
    device::wait(full_ + stage_, parity_);
    return stage_;
  }
  __device__ __forceinline__ void next() {
    if (++stage_ == stages) stage_ = 0, parity_ ^= 1;
  }
  /// This warp reads the stage before the present one no more: since then it has waited for products of what its lanes
  /// have read, an instruction of all lanes together. (A __syncwarp here costs a third of the speed of one product.)
  __device__ __forceinline__ void release_before() const {
    if (threadIdx.x % 32 == 0) device::arrive(empty_ + (stage_ == 0 ? stages : stage_) - 1);
  }

 private:
  std::uint64_t *full_, *empty_;
  int stage_ = 0, parity_ = 0;
};
#endif
template <int stages>
inline constexpr int barrier_bytes = 2 * stages * 8;

/// Factors cos and sin are stored times this, so that their low parts are normal numbers of half precision; data times a
/// power of two that leaves their largest part below 2^data_exponent.
inline constexpr float factor_scale = 16;
inline constexpr int data_exponent = 10;

/// The trajectory as a kernel sees it: phases of half a voxel, [axis][sample]; zero beyond the last sample.
template <class T>
struct SamplePhases {
  const Phase<T>* half_voxel;
  std::int64_t samples;
  __device__ Phase<T> at(int axis, std::int64_t sample) const {
    return sample < samples ? half_voxel[axis * samples + sample] : 0;
  }
};

// --- Numbers in parts

/// Part of a value in half precision: the value, or what its rounding left.
__device__ inline std::uint32_t pack_high(float a, float b) {
  const __half2 pair = __floats2half2_rn(a, b);
  return *reinterpret_cast<const std::uint32_t*>(&pair);
}
__device__ inline std::uint32_t pack_low(float a, float b) {
  const __half2 high = __floats2half2_rn(a, b);
  return pack_high(a - __low2float(high), b - __high2float(high));
}
template <int count>
__device__ inline void pack(const float (&values)[count], std::uint32_t (&high)[count / 2],
                            std::uint32_t (&low)[count / 2]) {
#pragma unroll
  for (int i = 0; i < count / 2; ++i) {
    high[i] = pack_high(values[2 * i], values[2 * i + 1]);
    low[i] = pack_low(values[2 * i], values[2 * i + 1]);
  }
}

__device__ inline __half2 as_half2(std::uint32_t v) { return *reinterpret_cast<const __half2*>(&v); }
__device__ inline std::uint32_t as_word(__half2 v) { return *reinterpret_cast<const std::uint32_t*>(&v); }

// --- The moving matrix

/// Where 8 numbers of column `column` (of 128) lie in a block of a matrix: rows of 128 bytes, of which each eight have
/// their sixteenths exchanged, as the tensor cores of Hopper read them (128-byte swizzle) and as ldmatrix finds all banks.
__device__ inline int place_in_image(int column, int eighth) {
  return column * 128 + ((eighth ^ (column & 7)) << 4);
}

/// Where two numbers of a column lie in a block of a matrix in double precision, [column][pair of numbers]: halves of 64
/// bytes change places in odd columns, so that eight lanes read all banks.
__device__ inline int place_of_two(int column, int pair) {
  return column * block_length(Parts::whole) * 8 + ((pair ^ ((column & 1) << 2)) << 4);
}

/// Writes numbers of a complex column, which is two columns, of a block: the `at`-th eight of them, or two of double
/// precision.
template <Parts parts, class T, int count>
__device__ inline void write_column(unsigned char* image, int column, int at, const T (&re)[count],
                                    const T (&im)[count]) {
#pragma unroll
  for (int c = 0; c < 2; ++c) {
    if constexpr (parts == Parts::whole) {
      const T(&v)[count] = c == 0 ? re : im;
      *reinterpret_cast<double2*>(image + place_of_two(2 * column + c, at)) = make_double2(v[0], v[1]);
    } else {
      std::uint32_t high[4], low[4];
      pack(c == 0 ? re : im, high, low);
      unsigned char* to = image + place_in_image(2 * column + c, at);
      *reinterpret_cast<uint4*>(to) = make_uint4(high[0], high[1], high[2], high[3]);
      if (parts == Parts::two)
        *reinterpret_cast<uint4*>(to + image_bytes(Parts::one)) = make_uint4(low[0], low[1], low[2], low[3]);
    }
  }
}

/// Threads that make a block of the adjoint's, or of the rows'.
inline constexpr int moving_threads = 512;
FHD_HOST_DEVICE constexpr int row_makers(Parts parts) { return parts == Parts::whole ? 1024 : 512; }

/// Rows of the other factor for 16 rows of the moving matrix, in the layout of mma_f16; `tiles` of 16 rows to a warp.
template <int tiles>
struct Fragments {
  std::uint32_t high[tiles][4], low[tiles][4];
};

/// sums += fragments x block of the moving matrix, step `step` of 16 of its 64 rows; by mma.sync.
template <Parts parts, int tiles>
__device__ inline void multiply(float (&sums)[tiles][64], const Fragments<tiles>& a,
                                const unsigned char* image, int step) {
  const int lane = threadIdx.x & 31, r = lane & 7, eighth = step * 2 + ((lane >> 3) & 1),
            column = (lane >> 4) * 8 + r;
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    const unsigned char* at = image + place_in_image(j * 16 + column, eighth);
    std::uint32_t b[4], b_low[4];
    device::load_matrix_x4(b, at);
    if constexpr (parts == Parts::two) {
      device::load_matrix_x4(b_low, at + image_bytes(Parts::one));
#pragma unroll
      for (int half = 0; half < 2; ++half)
#pragma unroll
        for (int tile = 0; tile < tiles; ++tile) {
          float* const d = sums[tile] + 8 * j + 4 * half;
          device::mma_f16(d, a.low[tile], b[2 * half], b[2 * half + 1]);
          device::mma_f16(d, a.high[tile], b_low[2 * half], b_low[2 * half + 1]);
        }
    }
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int tile = 0; tile < tiles; ++tile)
        device::mma_f16(sums[tile] + 8 * j + 4 * half, a.high[tile], b[2 * half], b[2 * half + 1]);
  }
}

/// sums += a x block of the moving matrix in double precision, step `step` of 8 of its rows.
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

/// Starts a group of products by wgmma, sums += fragments x block; or sums = fragments x block.
template <Parts parts>
__device__ __forceinline__ void start_products(float (&sums)[2][64], const Fragments<2>& a,
                                               const unsigned char* image, int step, bool add = true) {
#ifdef FHD_HOPPER
  const std::uint64_t b = device::describe_matrix(image + step * 32);
  device::fence_products();
  if constexpr (parts == Parts::two) {
    const std::uint64_t b_low = device::describe_matrix(image + image_bytes(Parts::one) + step * 32);
    device::multiply_64x128(sums[0], a.low[0], b, add);
    device::multiply_64x128(sums[1], a.low[1], b, add);
    add = true;
    device::multiply_64x128(sums[0], a.high[0], b_low);
    device::multiply_64x128(sums[1], a.high[1], b_low);
  }
  device::multiply_64x128(sums[0], a.high[0], b, add);
  device::multiply_64x128(sums[1], a.high[1], b, add);
  device::commit_products();
#endif
}

}  // namespace fhd::matrix_sums
