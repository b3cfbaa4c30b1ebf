#pragma once
// Powers of two that bring the values of each coil into the range of half precision.
#include <algorithm>

#include "recon/array/array.hpp"
#include "recon/array/cuda_check.hpp"
#include "recon/array/device_cuda.hpp"

namespace fhd {

// largest[coil] = bits of the largest |re|, |im| of the coil; the bits of numbers >= 0 are in their order, NaN beyond all.
// Maxima do not depend on their order. One thread per value, in turns.
static __global__ void find_largest_kernel(const float2* values, std::int64_t size, unsigned* largest) {
  const float2* of_coil = values + blockIdx.y * size;
  unsigned bits = 0;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < size;
       i += std::int64_t{gridDim.x} * blockDim.x)
    bits = max(bits, max(__float_as_uint(fabsf(of_coil[i].x)), __float_as_uint(fabsf(of_coil[i].y))));
  bits = __reduce_max_sync(~0u, bits);
  if (threadIdx.x % 32 == 0) atomicMax(largest + blockIdx.y, bits);
}

// scale[coil]: the power of two that brings the largest value below 2^wanted; 1 for zeros and for what is not finite.
static __global__ void make_scales_kernel(const unsigned* largest, std::int64_t coils, int wanted,
                                          float* scale) {
  const std::int64_t coil = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (coil >= coils) return;
  const float value = __uint_as_float(largest[coil]);
  constexpr int most = 120;  // a power of two and its inverse are normal numbers
  int exponent = 0;
  frexpf(value, &exponent);
  scale[coil] = value > 0 && isfinite(value) ? ldexpf(1, max(-most, min(most, wanted - exponent))) : 1;
}

/// Returns the scales [coil] of values [coil][size] on the current device: the largest |re| or |im| of a coil times its scale is
/// below 2^exponent. They lie in `scale`.
static inline const float* coil_scales(Array<float>& scale, Device device, const float2* values,
                                       std::int64_t coils, std::int64_t size, int exponent) {
  constexpr int block = 256;
  const auto blocks_for = [](std::int64_t threads) {
    return static_cast<unsigned>((threads + block - 1) / block);
  };
  float* made = memory_for(scale, 2 * coils, device);
  auto* largest = reinterpret_cast<unsigned*>(made + coils);
  device::check(cudaMemsetAsync(largest, 0, static_cast<std::size_t>(coils) * sizeof(unsigned),
                                device::cuda::default_stream()),
                "clearing an array");
  const unsigned blocks = std::min(blocks_for(size), 1024u);
  find_largest_kernel<<<dim3(blocks, static_cast<unsigned>(coils)), block>>>(values, size, largest);
  device::check_launch("find_largest_kernel");
  make_scales_kernel<<<blocks_for(coils), block>>>(largest, coils, exponent, made);
  device::check_launch("make_scales_kernel");
  return made;
}

}  // namespace fhd
