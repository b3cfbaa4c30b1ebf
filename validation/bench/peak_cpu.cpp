// The rate of fused multiply-adds of one thread, in the widest vectors that the direct transform may use now.
#include <chrono>

#include "validation/bench/cpu_bench.hpp"

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "validation/bench/peak_cpu.cpp"
// clang-format off
#include "hwy/foreach_target.h"  // first: it includes this file once for every instruction set
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace fhd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Twelve independent chains hide the latency of two units; a chain converges to 1, so no value leaves its
// range.
double fma_rate() {
  const hn::ScalableTag<float> d;
  constexpr int chains = 12, steps = 20'000'000;
  const auto half = hn::Set(d, 0.5f);
  hn::Vec<decltype(d)> sum[chains];
  for (int i = 0; i < chains; ++i) sum[i] = hn::Set(d, static_cast<float>(i));
  const auto begin = std::chrono::steady_clock::now();
  for (int step = 0; step < steps; ++step)
#pragma GCC unroll 12
    for (int i = 0; i < chains; ++i) sum[i] = hn::MulAdd(sum[i], half, half);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  float used = 0;
  for (int i = 0; i < chains; ++i) used += hn::GetLane(sum[i]);
  return used > 0 ? static_cast<double>(steps) * chains * static_cast<double>(hn::Lanes(d)) / seconds : 0;
}

}  // namespace fhd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fhd {

HWY_EXPORT(fma_rate);
double measured_fma_rate() { return HWY_DYNAMIC_DISPATCH(fma_rate)(); }

}  // namespace fhd
#endif  // HWY_ONCE
