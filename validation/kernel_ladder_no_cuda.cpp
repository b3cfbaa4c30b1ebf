#include "recon/error.hpp"
#include "validation/kernel_ladder.hpp"

namespace fhd {
namespace {

[[noreturn]] void throw_no_cuda() {
  throw Error("bench kernels", "", "this program was built without CUDA",
              "install the CUDA toolkit and configure again");
}

}  // namespace

Ceilings measure_ceilings() { throw_no_cuda(); }
std::vector<Rung> run_kernel_ladder(const LadderSettings&, const Ceilings&) { throw_no_cuda(); }

}  // namespace fhd
