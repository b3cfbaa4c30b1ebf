#pragma once
// Normal numbers by a counter: the same whatever the number of threads. Uniform ones by SplitMix64 (Steele et al.,
// OOPSLA 2014, doi:10.1145/2660193.2660195), normal ones by the method of Box and Muller.
#include <cmath>
#include <cstdint>
#include <numbers>

#include "recon/array/complex.hpp"

namespace fhd {

class RandomNumbers {
 public:
  /// Streams of neighbouring seeds are unrelated.
  explicit RandomNumbers(std::uint64_t seed) : stream_(mixed(seed + golden)) {}
  /// Number `counter` of the seed: real and imaginary parts of this standard deviation each.
  Complex<double> normal(std::uint64_t counter, double standard_deviation = 1) const {
    const double radius = standard_deviation * std::sqrt(-2 * std::log(uniform(2 * counter))),
                 angle = 2 * std::numbers::pi * uniform(2 * counter + 1);
    return {radius * std::cos(angle), radius * std::sin(angle)};
  }
  /// Uniform number `counter` of the seed, in (0, 1); normal number n is made of 2 n and 2 n + 1.
  double uniform(std::uint64_t counter) const {
    const std::uint64_t bits = mixed(stream_ + (counter + 1) * golden);
    return (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53;
  }

 private:
  static constexpr std::uint64_t golden = 0x9e3779b97f4a7c15u;
  /// SplitMix64's output function.
  static std::uint64_t mixed(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }
  std::uint64_t stream_;
};

}  // namespace fhd
