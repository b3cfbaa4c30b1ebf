#include "recon/array/cuda_check.hpp"
#include "recon/solve/terms/regularizer_cuda.hpp"
#include "recon/solve/terms/roughness_at.hpp"

namespace fhd::device {
namespace {

constexpr int block_size = 256;

// out(p) += factor (W^H W in)(p), the formula of roughness_at.hpp; image size x, y, z. One thread per voxel,
// which writes that voxel alone. Floor: in and out once; the neighbours come from the caches.
template <class T>
__global__ void add_roughness_kernel(const Complex<T>* in, T factor, const T* weights, std::int64_t nx,
                                     std::int64_t ny, std::int64_t nz, Complex<T>* out) {
  const std::int64_t p = std::int64_t{blockIdx.x} * block_size + threadIdx.x;
  const std::int64_t n[3] = {nx, ny, nz};
  if (p < nx * ny * nz) out[p] += factor * roughness_at(in, weights, n, p);
}

}  // namespace

template <class T>
void add_roughness(const Array<Complex<T>>& in, T factor, const Array<T>& weights, Array<Complex<T>>& out) {
  if (out.device().is_cpu() || (!weights.empty() && weights.device().is_cpu()))
    throw Error("regularizer", "arrays on one device", "arrays on two");
  if (in.empty()) return;
  const auto blocks = static_cast<unsigned>((in.size() + block_size - 1) / block_size);
  add_roughness_kernel<<<blocks, block_size>>>(in.data(), factor, weights.empty() ? nullptr : weights.data(),
                                               in.extent(2), in.extent(1), in.extent(0), out.data());
  check_launch("add_roughness_kernel");
}

template void add_roughness<float>(const Array<Complex<float>>&, float, const Array<float>&,
                                   Array<Complex<float>>&);
template void add_roughness<double>(const Array<Complex<double>>&, double, const Array<double>&,
                                    Array<Complex<double>>&);

}  // namespace fhd::device
