// Projections on the residuals of conjugate gradient, on the device: two passes over the kept residuals,
// which set the floor: 2 x count x size x sizeof(Complex<T>) bytes over the bandwidth of the memory. All on
// the default stream.
#include "recon/array/cuda_check.hpp"
#include "recon/solve/residual_basis.hpp"

namespace fhd::device {
namespace {

constexpr int block_size = 256;

/// The sum of `value` over a block in thread 0: always in the same order.
__device__ Complex<double> block_sum(Complex<double> value) {
  __shared__ double re[block_size], im[block_size];
  __syncthreads();  // the sums of the call before have been read
  re[threadIdx.x] = value.re;
  im[threadIdx.x] = value.im;
  for (int half = block_size / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) {
      re[threadIdx.x] += re[threadIdx.x + half];
      im[threadIdx.x] += im[threadIdx.x + half];
    }
  }
  return {re[0], im[0]};
}

// partial(j, s, block) = sum of conj(dual(j, s)) r(s) over the elements p = thread, thread + all threads, ... of
// system s = blockIdx.z and its dual z_j, j = blockIdx.y.
template <class T>
__global__ void partial_products_kernel(const Complex<T>* duals, std::int64_t size, const Complex<T>* r,
                                        Complex<double>* partial) {
  const std::int64_t row = std::int64_t{blockIdx.y} * gridDim.z + blockIdx.z;
  const Complex<T>* kept = duals + row * size;
  r += blockIdx.z * size;
  double re = 0, im = 0;
  for (std::int64_t p = std::int64_t{blockIdx.x} * block_size + threadIdx.x; p < size;
       p += std::int64_t{gridDim.x} * block_size) {
    const Complex<T> a = kept[p], b = r[p];
    re += double(a.re) * b.re + double(a.im) * b.im;
    im += double(a.re) * b.im - double(a.im) * b.re;
  }
  const Complex<double> sum = block_sum(Complex<double>(re, im));
  if (threadIdx.x == 0) partial[row * gridDim.x + blockIdx.x] = sum;
}

// coefficient(row) = sum of partial(row, ...) / squares(row), row = (j, s); one block for each.
__global__ void coefficients_kernel(const Complex<double>* partial, int blocks, const double* squares,
                                    Complex<double>* coefficients) {
  Complex<double> sum;
  for (int i = threadIdx.x; i < blocks; i += block_size)
    sum += partial[std::int64_t{blockIdx.x} * blocks + i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) {
    const double square = squares[blockIdx.x];
    coefficients[blockIdx.x] = square == 0 ? Complex<double>(0.0) : (1 / square) * sum;
  }
}

// r(s, p) -= sum over j of coefficient(j, s) residual(j, s, p); one thread an element, s = blockIdx.y.
template <class T>
__global__ void subtract_projections_kernel(const Complex<T>* residuals, const Complex<double>* coefficients,
                                            int count, std::int64_t size, Complex<T>* r) {
  const std::int64_t p = std::int64_t{blockIdx.x} * block_size + threadIdx.x;
  if (p >= size) return;
  r += blockIdx.y * size;
  Complex<T> value = r[p];
  for (int j = 0; j < count; ++j) {
    const std::int64_t row = std::int64_t{j} * gridDim.y + blockIdx.y;
    value -= Complex<T>(coefficients[row]) * residuals[row * size + p];
  }
  r[p] = value;
}

}  // namespace

template <class T>
void project_out(const Complex<T>* residuals, const Complex<T>* duals, const double* squares,
                 std::int64_t count, std::int64_t systems, std::int64_t size, Complex<double>* products,
                 Complex<T>* r) {
  const auto rows = static_cast<unsigned>(count * systems), residual_count = static_cast<unsigned>(count),
             system_count = static_cast<unsigned>(systems),
             blocks = static_cast<unsigned>(residual_basis_blocks(size)),
             elements = static_cast<unsigned>((size + block_size - 1) / block_size);
  Complex<double>* partial = products + rows;
  partial_products_kernel<<<dim3(blocks, residual_count, system_count), block_size>>>(duals, size, r,
                                                                                      partial);
  check_launch("residual products kernel");
  coefficients_kernel<<<rows, block_size>>>(partial, static_cast<int>(blocks), squares, products);
  check_launch("residual coefficients kernel");
  subtract_projections_kernel<<<dim3(elements, system_count), block_size>>>(residuals, products,
                                                                            static_cast<int>(count), size, r);
  check_launch("residual projections kernel");
}

template void project_out<float>(const Complex<float>*, const Complex<float>*, const double*, std::int64_t,
                                 std::int64_t, std::int64_t, Complex<double>*, Complex<float>*);
template void project_out<double>(const Complex<double>*, const Complex<double>*, const double*, std::int64_t,
                                  std::int64_t, std::int64_t, Complex<double>*, Complex<double>*);

}  // namespace fhd::device
