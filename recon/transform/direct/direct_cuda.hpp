#pragma once
// The CUDA side of direct.hpp and make_direct_transform; direct.cpp chooses the device. Not in a build without
// CUDA.
#include <memory>

#include "recon/transform/transform.hpp"

namespace fhd {

template <class T>
std::unique_ptr<FourierTransform<T>> make_direct_transform_cuda(const Trajectory& trajectory,
                                                                std::array<int, 3> matrix_size, Device device,
                                                                SinCos sin_cos);
/// What the single-precision kernel for so many coils (passes of 4, of 1 for the rest) takes of the device.
struct DirectKernelUse {
  int block_size = 0;  ///< threads
  int registers = 0;   ///< per thread
};
DirectKernelUse direct_kernel_use(int coils, SinCos sin_cos, bool forward);
/// The result lies on the device.
template <class T>
Array<Complex<T>> point_spread_direct_cuda(const Trajectory& trajectory, std::array<int, 3> matrix_size,
                                           const Array<double>* weights, Device device, SinCos sin_cos);

}  // namespace fhd
