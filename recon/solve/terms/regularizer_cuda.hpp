#pragma once
// The CUDA side of regularizer.hpp, implemented by regularizer_cuda.cu or regularizer_no_cuda.cpp.
#include "recon/array/array.hpp"

namespace fhd::device {

template <class T>
void add_roughness(const Array<Complex<T>>& in, T factor, const Array<T>& weights, Array<Complex<T>>& out);

}  // namespace fhd::device
