#pragma once
// The CUDA side of pointwise.hpp: to be included by the .cu file beside a functor, which names it in
// FHD_POINTWISE_KERNEL at file scope.
#include "recon/array/cuda_check.hpp"
#include "recon/array/pointwise.hpp"

namespace fhd::device {

inline constexpr int pointwise_block_size = 256;

// f(i), one thread an index; every index writes what no other touches.
template <class F>
__global__ void pointwise_kernel(std::int64_t count, F f) {
  const std::int64_t i = std::int64_t{blockIdx.x} * pointwise_block_size + threadIdx.x;
  if (i < count) f(i);
}

template <class F>
void for_each_index(std::int64_t count, const F& f) {
  if (count <= 0) return;
  const auto blocks = static_cast<unsigned>((count + pointwise_block_size - 1) / pointwise_block_size);
  pointwise_kernel<<<blocks, pointwise_block_size>>>(count, f);
  check_launch(F::name);
}

}  // namespace fhd::device

#define FHD_POINTWISE_KERNEL(...) \
  template void fhd::device::for_each_index<__VA_ARGS__>(std::int64_t, const __VA_ARGS__&);
