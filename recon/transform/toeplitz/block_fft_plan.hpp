#pragma once
// How a CUDA block transforms lines of n points: stages of butterflies of 2 ... 16 points (Stockham's way,
// natural order in and out), each thread at most one butterfly of a line in each stage. For lengths without a
// prime factor above 7, up to 1024, for which no more than `most_threads` of a line are needed: all such
// lengths up to 512.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "recon/array/complex.hpp"

namespace fhd {

/// Lengths whose stages are constants of the kernels: others take three to five times as long.
inline constexpr std::array fast_lengths{64, 96, 128, 160, 192, 196, 224, 240, 256, 288, 320, 360, 384, 448, 512};

/// Returns the least fast length of at least n points; where there is none, or n is small, n.
constexpr int fast_length(int n) {
  if (n <= fast_lengths.front() / 2) return n;  // what starts kernels takes the time
  for (const int length : fast_lengths)
    if (length >= n) return length;
  return n;
}

/// The radices of n in their order; n = 1, or one that is not taken: no stages.
struct BlockFftPlan {
  static constexpr int most_stages = 4, most_radix = 16, most_threads = 128, most_points = 1024;
  int points = 1, count = 0, threads = 0;  ///< of a line; stages; of a line
  int radices[most_stages] = {};

  FHD_HOST_DEVICE static constexpr bool is_radix(int n) {
    return n >= 2 && n <= most_radix && n != 11 && n != 13;
  }

  /// The fewest stages, then the fewest threads, the larger radices first.
  explicit BlockFftPlan(int n) : points(n) {
    if (n < 2 || n > most_points) return;
    int chosen[most_stages] = {};
    search(n, 0, most_radix, chosen);
  }
  bool is_taken() const { return count > 0; }
  /// Returns the size of twiddles_of(); 0 where the length is not taken.
  int twiddles() const {
    int size = count > 0 ? points : 0;
    for (int stage = 1, span = radices[0]; stage < count; ++stage) size += span *= radices[stage];
    return size;
  }

 private:
  /// `last` is the radix chosen last, so the smallest.
  void search(int left, int stage, int last, int* chosen) {
    if (left == 1) {
      const int needed = points / last;
      if (needed > most_threads || (count > 0 && (count < stage || (count == stage && threads <= needed))))
        return;
      count = stage, threads = needed;
      std::copy_n(chosen, stage, radices);
    } else if (stage < most_stages) {
      for (int radix = std::min(last, left); radix > 1; --radix) {
        if (!is_radix(radix) || left % radix != 0) continue;
        chosen[stage] = radix;
        search(left / radix, stage + 1, radix, chosen);
      }
    }
  }
};

/// Returns the factors of the kernels, exact to single precision: exp(-2 pi i e / 2n) for e < n, and behind it for
/// each stage but the first [r][k] = exp(-2 pi i r k / (L R)), r < R = its radix, k < L = the product of the
/// radices before it.
inline std::vector<Complex<float>> twiddles_of(const BlockFftPlan& plan) {
  std::vector<Complex<float>> table;
  const auto add = [&](double turns) {
    const double angle = -2 * std::numbers::pi * turns;
    table.emplace_back(Complex<double>(std::cos(angle), std::sin(angle)));
  };
  for (int e = 0; e < plan.points; ++e) add(0.5 * e / plan.points);
  for (int stage = 1, span = plan.radices[0]; stage < plan.count; span *= plan.radices[stage++])
    for (int r = 0; r < plan.radices[stage]; ++r)
      for (int k = 0; k < span; ++k) add(static_cast<double>(r) * k / (span * plan.radices[stage]));
  return table;
}

}  // namespace fhd
