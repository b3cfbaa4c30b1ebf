// Vector operations on the device. Every kernel moves each element once: the floor is the bytes of the
// vectors over the bandwidth of the memory. All run on the default stream, and nothing waits for the host.
#include <mutex>

#include "recon/array/cuda_check.hpp"
#include "recon/array/vector_math_cuda.hpp"

namespace fhd::device {
namespace {

constexpr int block_size = 256, dot_blocks = 528;  // 4 blocks for each multiprocessor of an H100

unsigned blocks_for(std::int64_t size) { return static_cast<unsigned>((size + block_size - 1) / block_size); }

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

// The sums of the blocks of a dot product. Global, because no operation may allocate: `dot_mutex` and the
// order of the default stream keep one product at a time in it.
__device__ double partial_sums[dot_blocks];
std::mutex dot_mutex;

// partial_sums[block] = sum of Re conj(a_i) b_i over i = thread, thread + all threads, ... in double. The
// number of blocks is fixed, so the order of the additions depends on the size alone.
template <class T>
__global__ void dot_blocks_kernel(const Complex<T>* a, const Complex<T>* b, std::int64_t size) {
  double sum = 0;
  for (std::int64_t i = thread_index(); i < size; i += std::int64_t{dot_blocks} * block_size)
    sum += double(a[i].re) * b[i].re + double(a[i].im) * b[i].im;
  sum = block_sum(sum);
  if (threadIdx.x == 0) partial_sums[blockIdx.x] = sum;
}

// result = sum of partial_sums, by one block.
__global__ void dot_finish_kernel(double* result) {
  double sum = 0;
  for (int i = threadIdx.x; i < dot_blocks; i += block_size) sum += partial_sums[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) *result = sum;
}

/// Quotient of vector_math.hpp, for the device.
struct DeviceQuotient {
  const double *numerator, *denominator;
  double factor, negligible;
  explicit DeviceQuotient(const Quotient& ratio)
      : numerator(ratio.numerators.data() + ratio.numerator),
        denominator(ratio.denominators.data() + ratio.denominator),
        factor(ratio.factor),
        negligible(ratio.negligible) {}
  __device__ double value() const {
    return *denominator == 0 || *numerator <= negligible ? 0 : factor * *numerator / *denominator;
  }
};

// y_i += ratio x_i, one thread per element.
template <class T>
__global__ void add_ratio_kernel(Complex<T>* y, DeviceQuotient ratio, const Complex<T>* x, std::int64_t size) {
  const std::int64_t i = thread_index();
  if (i < size) y[i] += static_cast<T>(ratio.value()) * x[i];
}

// y_i = x_i + ratio y_i, one thread per element.
template <class T>
__global__ void scale_and_add_kernel(Complex<T>* y, DeviceQuotient ratio, const Complex<T>* x,
                                     std::int64_t size) {
  const std::int64_t i = thread_index();
  if (i < size) y[i] = x[i] + static_cast<T>(ratio.value()) * y[i];
}

// y_i += factor x_i, one thread per element.
template <class T>
__global__ void add_scaled_kernel(Complex<T>* y, T factor, const Complex<T>* x, std::int64_t size) {
  const std::int64_t i = thread_index();
  if (i < size) y[i] += factor * x[i];
}

// y_i *= factor, one thread per element.
template <class T>
__global__ void scale_kernel(Complex<T>* y, T factor, std::int64_t size) {
  const std::int64_t i = thread_index();
  if (i < size) y[i] *= factor;
}

void require_on_device(const Array<double>& scalars, std::int64_t index) {
  if (scalars.device().is_cpu())
    throw Error("vector", "scalars on the device of the vectors", "scalars on the host");
  if (index < 0 || index >= scalars.size())
    throw Error("vector", "a scalar below " + std::to_string(scalars.size()), std::to_string(index));
}
void require_on_device(const Quotient& ratio) {
  require_on_device(ratio.numerators, ratio.numerator);
  require_on_device(ratio.denominators, ratio.denominator);
}

}  // namespace

template <class T>
void dot(const Array<Complex<T>>& a, const Array<Complex<T>>& b, Array<double>& results, std::int64_t index) {
  require_on_device(results, index);
  const std::lock_guard lock(dot_mutex);
  dot_blocks_kernel<<<dot_blocks, block_size>>>(a.data(), b.data(), a.size());
  check_launch("dot_blocks_kernel");
  dot_finish_kernel<<<1, block_size>>>(results.data() + index);
  check_launch("dot_finish_kernel");
}

template <class T>
void add_scaled(Array<Complex<T>>& y, const Quotient& ratio, const Array<Complex<T>>& x) {
  require_on_device(ratio);
  if (y.empty()) return;
  add_ratio_kernel<<<blocks_for(y.size()), block_size>>>(y.data(), DeviceQuotient(ratio), x.data(), y.size());
  check_launch("add_ratio_kernel");
}

template <class T>
void scale_and_add(Array<Complex<T>>& y, const Quotient& ratio, const Array<Complex<T>>& x) {
  require_on_device(ratio);
  if (y.empty()) return;
  scale_and_add_kernel<<<blocks_for(y.size()), block_size>>>(y.data(), DeviceQuotient(ratio), x.data(),
                                                             y.size());
  check_launch("scale_and_add_kernel");
}

template <class T>
void add_scaled(Array<Complex<T>>& y, T factor, const Array<Complex<T>>& x) {
  if (y.empty()) return;
  add_scaled_kernel<<<blocks_for(y.size()), block_size>>>(y.data(), factor, x.data(), y.size());
  check_launch("add_scaled_kernel");
}

template <class T>
void scale(Array<Complex<T>>& y, T factor) {
  if (y.empty()) return;
  scale_kernel<<<blocks_for(y.size()), block_size>>>(y.data(), factor, y.size());
  check_launch("scale_kernel");
}

#define FHD_INSTANTIATE(T)                                                                                \
  template void dot<T>(const Array<Complex<T>>&, const Array<Complex<T>>&, Array<double>&, std::int64_t); \
  template void add_scaled<T>(Array<Complex<T>>&, const Quotient&, const Array<Complex<T>>&);                \
  template void scale_and_add<T>(Array<Complex<T>>&, const Quotient&, const Array<Complex<T>>&);             \
  template void add_scaled<T>(Array<Complex<T>>&, T, const Array<Complex<T>>&);                           \
  template void scale<T>(Array<Complex<T>>&, T);
FHD_INSTANTIATE(float)
FHD_INSTANTIATE(double)
#undef FHD_INSTANTIATE

}  // namespace fhd::device
