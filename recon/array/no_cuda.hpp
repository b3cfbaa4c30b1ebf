#pragma once
// What every CUDA entry point does in a build without CUDA.
#include "recon/error.hpp"

namespace fhd {

[[noreturn]] inline void refuse_cuda() {
  throw Error("--device cuda", "", "this program was built without CUDA",
              "install the CUDA toolkit and configure again, or use --device cpu");
}

}  // namespace fhd
