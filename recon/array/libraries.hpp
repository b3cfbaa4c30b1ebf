#pragma once
// Which versions of other libraries this one works with.
#include <string>
#include <utility>
#include <vector>

namespace fhd {

/// Name and version: FFTW, OpenBLAS, Highway, the CUDA toolkit. What is opened at run time is asked; where that fails,
/// the reason stands in the place of a version. Never throws Error.
std::vector<std::pair<std::string, std::string>> library_versions();

/// "0.3.21, SkylakeX": with the kernels in use (linear_algebra.cpp). Throws Error where it is not installed.
std::string openblas_version();

}  // namespace fhd
