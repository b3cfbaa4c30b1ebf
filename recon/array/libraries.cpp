#include "recon/array/libraries.hpp"

#include <fftw3.h>
#include <hwy/highway.h>

#include "recon/error.hpp"

namespace fhd {

std::vector<std::pair<std::string, std::string>> library_versions() {
  std::vector<std::pair<std::string, std::string>> versions{{"FFTW", fftwf_version}};
  try {
    versions.emplace_back("OpenBLAS", openblas_version());
  } catch (const Error& error) {
    versions.emplace_back("OpenBLAS", error.what());
  }
  versions.emplace_back("Highway", std::to_string(HWY_MAJOR) + "." + std::to_string(HWY_MINOR));
#ifdef FHD_CUDA_VERSION
  versions.emplace_back("CUDA toolkit", FHD_CUDA_VERSION);
#else
  versions.emplace_back("CUDA toolkit", "none: built without");
#endif
  return versions;
}

}  // namespace fhd
