#pragma once
// The CUDA side of sense.hpp, implemented by sense_cuda.cu or sense_no_cuda.cpp.
#include "recon/array/array.hpp"

namespace fhd::device {

template <class T>
void apply_maps(const Array<Complex<T>>& image, const Array<Complex<T>>& maps,
                Array<Complex<T>>& coil_images);
template <class T>
void combine_coils(const Array<Complex<T>>& coil_images, const Array<Complex<T>>& maps,
                   Array<Complex<T>>& image);

}  // namespace fhd::device
