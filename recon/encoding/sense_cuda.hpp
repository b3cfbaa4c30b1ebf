#pragma once
// The CUDA side of sense.hpp, implemented by sense_cuda.cu or sense_no_cuda.cpp.
#include "recon/array/array.hpp"

namespace fhd {

/// sum over c of conj(maps(c, p)) coil_images(c, p) / sum over c of |maps(c, p)|^2, or 0: for host and
/// device.
template <class T>
FHD_HOST_DEVICE inline Complex<T> normalized_sum(const Complex<T>* coil_images, const Complex<T>* maps,
                                                 std::int64_t coils, std::int64_t voxels, std::int64_t p) {
  Complex<T> sum;
  T square = 0;
  for (std::int64_t i = p; i < coils * voxels; i += voxels) {
    sum += conj(maps[i]) * coil_images[i];
    square += norm(maps[i]);
  }
  return square > 0 ? (T(1) / square) * sum : Complex<T>();
}

}  // namespace fhd

namespace fhd::device {

template <class T>
void apply_maps(const Array<Complex<T>>& image, const Array<Complex<T>>& maps,
                Array<Complex<T>>& coil_images);
template <class T>
void combine_coils(const Array<Complex<T>>& coil_images, const Array<Complex<T>>& maps,
                   Array<Complex<T>>& image);
template <class T>
void combine_coils_normalized(const Array<Complex<T>>& coil_images, const Array<Complex<T>>& maps,
                              Array<Complex<T>>& image);
template <class T>
void root_sum_of_squares(const Array<Complex<T>>& coil_images, Array<Complex<T>>& image);

}  // namespace fhd::device
