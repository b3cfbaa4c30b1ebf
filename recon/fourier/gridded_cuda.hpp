#pragma once
// The CUDA side of make_gridded_transform and gridded.hpp: gridded_cuda.cu or gridded_no_cuda.cpp.
#include <memory>

#include "recon/fourier/fourier_transform.hpp"

namespace fhd {

template <class T>
std::unique_ptr<FourierTransform<T>> make_gridded_transform_cuda(const Trajectory& trajectory,
                                                                 std::array<int, 3> matrix_size,
                                                                 double accuracy);
Array<double> density_compensation_cuda(const Trajectory& trajectory, std::array<int, 3> matrix_size,
                                        int iterations);

}  // namespace fhd
