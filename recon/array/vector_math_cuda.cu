// Vector operations on a GPU: the dot product, whose sums cross the threads. All else is pointwise.
#include <algorithm>
#include <map>
#include <memory>
#include <shared_mutex>

#include "recon/array/cuda_check.hpp"
#include "recon/array/device_cuda.hpp"
#include "recon/array/pointwise_cuda.cuh"
#include "recon/array/vector_math.hpp"
#include "recon/error.hpp"

namespace fhd::device {
namespace {

constexpr int block_size = 256;

/// Returns the blocks of one vector's sums: as many as its size fills, at most 4 for each multiprocessor of an H100. The order of
/// the additions follows from it, and so depends on the size alone.
int dot_blocks_for(std::int64_t size) {
  constexpr std::int64_t elements_of_block = 4 * block_size, most = 528;
  return static_cast<int>(
      std::clamp((size + elements_of_block - 1) / elements_of_block, std::int64_t{1}, most));
}

/// The sum of `value` over a block in thread 0: always in the same order.
__device__ double block_sum(double value) {
  __shared__ double sums[block_size];
  sums[threadIdx.x] = value;
  for (int half = block_size / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  return sums[0];
}

// partial_sums(j, block) = sum of Re conj(a_i) b_i over the elements i = thread, thread + all threads, ... of vector
// j = blockIdx.y, in double. Floor: the bytes of both stacks over the bandwidth of the memory.
template <class T>
__global__ void dot_blocks_kernel(const Complex<T>* a, const Complex<T>* b, std::int64_t size,
                                  double* partial_sums) {
  a += blockIdx.y * size, b += blockIdx.y * size;
  double sum = 0;
  for (std::int64_t i = std::int64_t{blockIdx.x} * block_size + threadIdx.x; i < size;
       i += std::int64_t{gridDim.x} * block_size)
    sum += double(a[i].re) * b[i].re + double(a[i].im) * b[i].im;
  sum = block_sum(sum);
  if (threadIdx.x == 0) partial_sums[std::int64_t{blockIdx.y} * gridDim.x + blockIdx.x] = sum;
}

// results(j) = sum of partial_sums(j, ...), by block j.
__global__ void dot_finish_kernel(const double* partial_sums, int blocks, double* results) {
  double sum = 0;
  for (int i = threadIdx.x; i < blocks; i += block_size)
    sum += partial_sums[std::int64_t{blockIdx.x} * blocks + i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) results[blockIdx.x] = sum;
}

/// Frees the sums of the blocks of a dot product, which are not counted as an array.
struct FreeSums {
  Device device;
  void operator()(double* sums) const noexcept {
    try {
      const CurrentDevice current(device);
      const std::shared_lock lock(state_of(device).recording);  // it waits for the whole device
      cudaFree(sums);
    } catch (const Error&) {  // a failure here was reported by the work that caused it
    }
  }
};

/// Returns sums that a thread keeps on each device; the order of its default stream keeps one product at a time in them.
double* sums_of(std::int64_t count, Device device) {
  thread_local std::map<int, std::pair<std::int64_t, std::unique_ptr<double, FreeSums>>> sums_on;
  auto& [capacity, sums] = sums_on[device.number()];
  if (capacity < count) {
    sums.reset(), capacity = 0;
    const std::shared_lock lock(state_of(device).recording);
    double* made = nullptr;
    check(cudaMalloc(&made, static_cast<std::size_t>(count) * sizeof(double)),
          "allocating the sums of a dot product");
    sums = {made, FreeSums{device}};
    capacity = count;
  }
  return sums.get();
}

}  // namespace

template <class T>
void dot(const Array<Complex<T>>& a, const Array<Complex<T>>& b, double* results, std::int64_t count) {
  const CurrentDevice current(a.device());
  const std::int64_t size = a.size() / count;
  const int blocks = dot_blocks_for(size);
  double* const sums = sums_of(blocks * count, a.device());
  const auto vectors = static_cast<unsigned>(count);
  dot_blocks_kernel<<<dim3(static_cast<unsigned>(blocks), vectors), block_size>>>(a.data(), b.data(), size,
                                                                                  sums);
  check_launch("dot_blocks_kernel");
  dot_finish_kernel<<<vectors, block_size>>>(sums, blocks, results);
  check_launch("dot_finish_kernel");
}
template void dot(const Array<Complex<float>>&, const Array<Complex<float>>&, double*, std::int64_t);
template void dot(const Array<Complex<double>>&, const Array<Complex<double>>&, double*, std::int64_t);

}  // namespace fhd::device

#define FHD_VECTOR_KERNELS(T)                                       \
  FHD_POINTWISE_KERNEL(fhd::AddScaled<T, fhd::ConstantFactor<T>>)   \
  FHD_POINTWISE_KERNEL(fhd::AddScaled<T, fhd::QuotientFactor<T>>)   \
  FHD_POINTWISE_KERNEL(fhd::ScaleAndAdd<T, fhd::ConstantFactor<T>>) \
  FHD_POINTWISE_KERNEL(fhd::ScaleAndAdd<T, fhd::QuotientFactor<T>>) \
  FHD_POINTWISE_KERNEL(fhd::RealPart<T>)                            \
  FHD_POINTWISE_KERNEL(fhd::CombineImages<T>)                       \
  FHD_POINTWISE_KERNEL(fhd::Scale<T>)
FHD_POINTWISE_KERNEL(fhd::ZeroWhereSmall)
FHD_VECTOR_KERNELS(float)
FHD_VECTOR_KERNELS(double)
#undef FHD_VECTOR_KERNELS
