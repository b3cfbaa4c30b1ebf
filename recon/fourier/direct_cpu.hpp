#pragma once
// The CPU side of direct.hpp and make_direct_transform; direct.cpp chooses the backend.
#include <memory>

#include "recon/fourier/fourier_transform.hpp"

namespace fhd {

template <class T>
std::unique_ptr<FourierTransform<T>> make_direct_transform_cpu(const Trajectory& trajectory, std::array<int, 3> matrix_size);
template <class T>
Array<Complex<T>> point_spread_direct_cpu(const Trajectory& trajectory, std::array<int, 3> matrix_size,
                                          const Array<double>* weights);
/// The instruction set that the CPU transform uses on this processor: "AVX3", "AVX2", ...
const char* direct_instruction_set();

}  // namespace fhd
