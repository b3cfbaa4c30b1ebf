#pragma once
// CUDA calls that fail, for tests: what becomes of the work is to be tried for every one of them. In builds with CUDA only.
#include <cstdint>

namespace fhd::device {

/// The `number`-th checked call of CUDA or cuFFT from now on, of all threads, is told as one that failed, although it was
/// done; 0: none, which is how a program begins.
void fail_call(std::int64_t number);
/// Since fail_call() with a number > 0.
std::int64_t checked_calls();

/// For the places that check: counts this call, and tells whether it is that one.
bool call_fails() noexcept;

}  // namespace fhd::device
