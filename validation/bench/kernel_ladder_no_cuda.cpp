#include "recon/array/no_cuda.hpp"
#include "validation/bench/kernel_ladder.hpp"

namespace fhd {

Ceilings measure_ceilings() { refuse_cuda(); }
std::vector<Rung> run_kernel_ladder(const LadderSettings&, const Ceilings&) { refuse_cuda(); }

}  // namespace fhd
