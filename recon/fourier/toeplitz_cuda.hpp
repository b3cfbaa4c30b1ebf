#pragma once
// The CUDA side of toeplitz.hpp, implemented by toeplitz_cuda.cu or toeplitz_no_cuda.cpp.
#include <memory>

#include "recon/array/array.hpp"
#include "recon/solve/linear_operator.hpp"

namespace fhd {

template <class T>
std::unique_ptr<HermitianOperator<T>> make_toeplitz_normal_cuda(const Array<Complex<T>>& point_spread,
                                                                const Array<Complex<T>>& maps);

}  // namespace fhd
