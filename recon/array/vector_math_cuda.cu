// Vector operations on a GPU: the dot product, whose sums cross the threads. All else is pointwise.
#include "recon/array/cuda_check.hpp"
#include "recon/array/device_cuda.hpp"
#include "recon/array/pointwise_cuda.cuh"
#include "recon/array/vector_math.hpp"

namespace fhd::device {
namespace {

constexpr int block_size = 256, dot_blocks = 528;  // 4 blocks for each multiprocessor of an H100

__device__ std::int64_t thread_index() { return std::int64_t{blockIdx.x} * block_size + threadIdx.x; }

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

// partial_sums[block] = sum of Re conj(a_i) b_i over i = thread, thread + all threads, ... in double. The
// number of blocks is fixed, so the order of the additions depends on the size alone. Floor: the bytes of both
// vectors over the bandwidth of the memory.
template <class T>
__global__ void dot_blocks_kernel(const Complex<T>* a, const Complex<T>* b, std::int64_t size,
                                  double* partial_sums) {
  double sum = 0;
  for (std::int64_t i = thread_index(); i < size; i += std::int64_t{dot_blocks} * block_size)
    sum += double(a[i].re) * b[i].re + double(a[i].im) * b[i].im;
  sum = block_sum(sum);
  if (threadIdx.x == 0) partial_sums[blockIdx.x] = sum;
}

// result = sum of partial_sums, by one block.
__global__ void dot_finish_kernel(const double* partial_sums, double* result) {
  double sum = 0;
  for (int i = threadIdx.x; i < dot_blocks; i += block_size) sum += partial_sums[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) *result = sum;
}

}  // namespace

template <class T>
void dot(const Array<Complex<T>>& a, const Array<Complex<T>>& b, double* result) {
  const CurrentDevice current(a.device());
  State& state = state_of(a.device());
  const std::lock_guard lock(state.dot_mutex);
  if (state.dot_sums == nullptr)
    check(cudaMalloc(&state.dot_sums, dot_blocks * sizeof(double)), "allocating the sums of a dot product");
  dot_blocks_kernel<<<dot_blocks, block_size>>>(a.data(), b.data(), a.size(), state.dot_sums);
  check_launch("dot_blocks_kernel");
  dot_finish_kernel<<<1, block_size>>>(state.dot_sums, result);
  check_launch("dot_finish_kernel");
}
template void dot(const Array<Complex<float>>&, const Array<Complex<float>>&, double*);
template void dot(const Array<Complex<double>>&, const Array<Complex<double>>&, double*);

}  // namespace fhd::device

#define FHD_VECTOR_KERNELS(T)                                       \
  FHD_POINTWISE_KERNEL(fhd::AddScaled<T, fhd::ConstantFactor<T>>)   \
  FHD_POINTWISE_KERNEL(fhd::AddScaled<T, fhd::QuotientFactor<T>>)   \
  FHD_POINTWISE_KERNEL(fhd::ScaleAndAdd<T, fhd::ConstantFactor<T>>) \
  FHD_POINTWISE_KERNEL(fhd::ScaleAndAdd<T, fhd::QuotientFactor<T>>) \
  FHD_POINTWISE_KERNEL(fhd::Scale<T>)
FHD_VECTOR_KERNELS(float)
FHD_VECTOR_KERNELS(double)
#undef FHD_VECTOR_KERNELS
