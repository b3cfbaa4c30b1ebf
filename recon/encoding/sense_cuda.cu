// Sensitivity maps on the device, one thread per voxel, which walks through the coils in their order: no two
// threads write one element, and the sum is the same in every run. Floor: the maps and coil images, read or
// written once.
#include "recon/array/cuda_check.hpp"
#include "recon/encoding/sense_cuda.hpp"

namespace fhd::device {
namespace {

constexpr int block_size = 256;
unsigned blocks_for(std::int64_t size) { return static_cast<unsigned>((size + block_size - 1) / block_size); }

// coil_images(c, p) = maps(c, p) image(p)
template <class T>
__global__ void apply_maps_kernel(const Complex<T>* image, const Complex<T>* maps, std::int64_t coils,
                                  std::int64_t voxels, Complex<T>* coil_images) {
  const std::int64_t p = std::int64_t{blockIdx.x} * block_size + threadIdx.x;
  if (p >= voxels) return;
  const Complex<T> rho = image[p];
  for (std::int64_t i = p; i < coils * voxels; i += voxels) coil_images[i] = maps[i] * rho;
}

// image(p) = sum over c of conj(maps(c, p)) coil_images(c, p)
template <class T>
__global__ void combine_coils_kernel(const Complex<T>* coil_images, const Complex<T>* maps,
                                     std::int64_t coils, std::int64_t voxels, Complex<T>* image) {
  const std::int64_t p = std::int64_t{blockIdx.x} * block_size + threadIdx.x;
  if (p >= voxels) return;
  Complex<T> sum;
  for (std::int64_t i = p; i < coils * voxels; i += voxels) sum += conj(maps[i]) * coil_images[i];
  image[p] = sum;
}

// image(p) = sum over c of conj(maps(c, p)) coil_images(c, p) / sum over c of |maps(c, p)|^2
template <class T>
__global__ void combine_coils_normalized_kernel(const Complex<T>* coil_images, const Complex<T>* maps,
                                                std::int64_t coils, std::int64_t voxels, Complex<T>* image) {
  const std::int64_t p = std::int64_t{blockIdx.x} * block_size + threadIdx.x;
  if (p < voxels) image[p] = normalized_sum(coil_images, maps, coils, voxels, p);
}

// image(p) = sqrt(sum over c of |coil_images(c, p)|^2)
template <class T>
__global__ void root_sum_of_squares_kernel(const Complex<T>* coil_images, std::int64_t coils,
                                           std::int64_t voxels, Complex<T>* image) {
  const std::int64_t p = std::int64_t{blockIdx.x} * block_size + threadIdx.x;
  if (p >= voxels) return;
  T sum = 0;
  for (std::int64_t i = p; i < coils * voxels; i += voxels) sum += norm(coil_images[i]);
  image[p] = sqrt(sum);
}

}  // namespace

template <class T>
void apply_maps(const Array<Complex<T>>& image, const Array<Complex<T>>& maps,
                Array<Complex<T>>& coil_images) {
  if (image.empty()) return;
  apply_maps_kernel<<<blocks_for(image.size()), block_size>>>(image.data(), maps.data(), maps.extent(0),
                                                              image.size(), coil_images.data());
  check_launch("apply_maps_kernel");
}

template <class T>
void combine_coils(const Array<Complex<T>>& coil_images, const Array<Complex<T>>& maps,
                   Array<Complex<T>>& image) {
  if (image.empty()) return;
  combine_coils_kernel<<<blocks_for(image.size()), block_size>>>(coil_images.data(), maps.data(),
                                                                 maps.extent(0), image.size(), image.data());
  check_launch("combine_coils_kernel");
}

template <class T>
void combine_coils_normalized(const Array<Complex<T>>& coil_images, const Array<Complex<T>>& maps,
                              Array<Complex<T>>& image) {
  if (image.empty()) return;
  combine_coils_normalized_kernel<<<blocks_for(image.size()), block_size>>>(
      coil_images.data(), maps.data(), maps.extent(0), image.size(), image.data());
  check_launch("combine_coils_normalized_kernel");
}

template <class T>
void root_sum_of_squares(const Array<Complex<T>>& coil_images, Array<Complex<T>>& image) {
  if (image.empty()) return;
  root_sum_of_squares_kernel<<<blocks_for(image.size()), block_size>>>(
      coil_images.data(), coil_images.extent(0), image.size(), image.data());
  check_launch("root_sum_of_squares_kernel");
}

#define FHD_INSTANTIATE(T)                                                                                \
  template void apply_maps<T>(const Array<Complex<T>>&, const Array<Complex<T>>&, Array<Complex<T>>&);    \
  template void combine_coils<T>(const Array<Complex<T>>&, const Array<Complex<T>>&, Array<Complex<T>>&); \
  template void combine_coils_normalized<T>(const Array<Complex<T>>&, const Array<Complex<T>>&,           \
                                            Array<Complex<T>>&);                                          \
  template void root_sum_of_squares<T>(const Array<Complex<T>>&, Array<Complex<T>>&);
FHD_INSTANTIATE(float)
FHD_INSTANTIATE(double)
#undef FHD_INSTANTIATE

}  // namespace fhd::device
