#pragma once
// The CPU side of direct.hpp and make_direct_transform; direct.cpp chooses the device.
#include <memory>
#include <string>

#include "recon/transform/transform.hpp"

namespace fhd {

template <class T>
std::unique_ptr<FourierTransform<T>> make_direct_transform_cpu(const Trajectory& trajectory,
                                                               std::array<int, 3> matrix_size);
template <class T>
Array<Complex<T>> point_spread_direct_cpu(const Trajectory& trajectory, std::array<int, 3> matrix_size,
                                          const Array<double>* weights);
/// The instruction set that the CPU transforms use on this processor: "avx512", "avx2" or "sse2".
std::string instruction_set();
/// Keeps the CPU transforms from using instruction sets above `limit` ("avx512": no limit), so that each can
/// be tested and measured on one machine. Throws Error for another name. Not to be called while a transform
/// runs.
void limit_instruction_set(const std::string& limit);

}  // namespace fhd
