#pragma once
// The one place where a CUDA status becomes an Error. For .cu files only.
#include <cuda_runtime.h>

#include <string_view>

namespace fhd::device {

/// Throws Error unless `status` is success. `what` names the work: "copy to the device", "adjoint kernel".
void check(cudaError_t status, std::string_view what);

/// To be called after every launch: a configuration that the device refuses is reported only here.
inline void check_launch(std::string_view kernel) { check(cudaGetLastError(), kernel); }

}  // namespace fhd::device
