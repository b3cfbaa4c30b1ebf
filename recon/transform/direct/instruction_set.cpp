#include <hwy/targets.h>

#include "recon/transform/direct/direct_cpu.hpp"
#include "recon/transform/direct/direct_kernels_cpu.hpp"

namespace fhd {

std::string instruction_set() {
  const std::string name = direct_cpu::kernels<float>().instruction_set;
  return name.starts_with("AVX3") ? "avx512" : name.starts_with("AVX2") ? "avx2" : "sse2";
}

void limit_instruction_set(const std::string& limit) {
  constexpr auto avx512 = HWY_AVX3 | HWY_AVX3_DL, avx2 = HWY_AVX2;
  if (limit == "avx512")
    hwy::DisableTargets(0);
  else if (limit == "avx2")
    hwy::DisableTargets(avx512);
  else if (limit == "sse2")
    hwy::DisableTargets(avx512 | avx2);
  else
    throw Error("instruction set", "avx512, avx2 or sse2", limit);
  hwy::GetChosenTarget().DeInit();  // the next call of a kernel chooses anew
}

}  // namespace fhd
