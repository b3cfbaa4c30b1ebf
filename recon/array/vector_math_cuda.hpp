#pragma once
// The CUDA side of vector_math.hpp, implemented by vector_math_cuda.cu or vector_math_no_cuda.cpp.
#include "recon/array/vector_math.hpp"

namespace fhd::device {

template <class T>
void dot(const Array<Complex<T>>& a, const Array<Complex<T>>& b, Array<double>& results, std::int64_t index);
template <class T>
void add_scaled(Array<Complex<T>>& y, const Quotient& ratio, const Array<Complex<T>>& x);
template <class T>
void scale_and_add(Array<Complex<T>>& y, const Quotient& ratio, const Array<Complex<T>>& x);
template <class T>
void add_scaled(Array<Complex<T>>& y, T factor, const Array<Complex<T>>& x);
template <class T>
void scale(Array<Complex<T>>& y, T factor);

}  // namespace fhd::device
