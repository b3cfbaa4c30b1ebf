#include "io/scan/object_extent.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace fhd::io {
namespace {

/// The autocorrelation of a projection of a disc is down to a half at 0.80 / diameter, of a disc itself at 0.70, of a
/// rectangle at 0.60: lengths are known to about a third.
constexpr double distance_at_half = 0.7;
/// Below this, the nearest samples have too little in common to tell how it falls.
constexpr double least_correlation = 0.7;

/// Returns floor(4 log2(sqrt(square))), without a logarithm.
int quarter_octave(double square) {
  int exponent = 0;
  const double mantissa = std::frexp(square, &exponent);  // 1/2 ... 1
  return 2 * exponent - (mantissa < std::numbers::sqrt2 / 2 ? 2 : 1);
}

}  // namespace

void ObjectExtent::add(const ReadoutPart& part) {
  const auto samples = static_cast<std::int64_t>(part.k.size());
  for (std::int64_t lag = 1; lag <= samples / 2; lag = std::max(lag + 1, lag * 5 / 4))
    if (!add_pairs(part, lag)) return;
}

/// Adds pairs of samples `lag` apart, by distance, whose displacement is within 37 degrees of an axis. Returns whether any pair
/// is near enough.
bool ObjectExtent::add_pairs(const ReadoutPart& part, std::int64_t lag) {
  const auto samples = static_cast<std::int64_t>(part.k.size()), count = samples - lag;
  const auto coils = static_cast<std::int64_t>(part.values.size()) / samples;
  // Sums over coils of d(k) conj(d(k + delta)) and of the mean |d|^2.
  std::vector<double> re(static_cast<std::size_t>(count)), im(re), energy(re);
  for (std::int64_t coil = 0; coil < coils; ++coil) {
    const auto *here = part.values.data() + coil * samples, *there = here + lag;
#pragma omp simd
    for (std::int64_t m = 0; m < count; ++m) {
      const double a = here[m].re, b = here[m].im, c = there[m].re, d = there[m].im;
      re[static_cast<std::size_t>(m)] += a * c + b * d;
      im[static_cast<std::size_t>(m)] += b * c - a * d;
      energy[static_cast<std::size_t>(m)] += (a * a + b * b + c * c + d * d) / 2;
    }
  }
  bool is_near = false;
  for (std::size_t m = 0; m < re.size(); ++m) {
    if (!std::isfinite(energy[m])) continue;  // validate() refuses it
    const auto &from = part.k[m], &to = part.k[m + static_cast<std::size_t>(lag)];
    const std::array<double, 3> delta{to[0] - from[0], to[1] - from[1], to[2] - from[2]};
    const double square = delta[0] * delta[0] + delta[1] * delta[1] + delta[2] * delta[2],
                 distance = std::sqrt(square);
    if (distance > furthest_) continue;
    is_near = true;
    const auto longest = std::max_element(delta.begin(), delta.end(),
                                          [](double a, double b) { return std::abs(a) < std::abs(b); });
    if (!(distance > 0) || !std::isfinite(distance) || std::abs(*longest) < 0.8 * distance) continue;
    auto& pairs = by_distance_[longest - delta.begin()][quarter_octave(square)];
    pairs.product += Complex<double>(re[m], *longest > 0 ? im[m] : -im[m]);
    pairs.energy += energy[m];
    pairs.distance += energy[m] * distance;
  }
  return is_near;
}

std::array<double, 3> ObjectExtent::lengths() const {
  std::array<double, 3> lengths{};
  for (int axis = 0; axis < 3; ++axis) {
    double nearest = 0, before = 0, distance_before = 0;  // correlations of the nearest pairs and of the last
    for (const auto& [octave, pairs] : by_distance_[axis]) {
      if (!(pairs.energy > 0)) continue;
      const double correlation = abs(pairs.product) / pairs.energy, distance = pairs.distance / pairs.energy;
      nearest = std::max(nearest, correlation);
      if (nearest < least_correlation) break;
      if (correlation < nearest / 2) {
        const double share = (before - nearest / 2) / (before - correlation);
        lengths[axis] = distance_at_half / (distance_before + share * (distance - distance_before));
        break;
      }
      before = correlation;
      distance_before = distance;
    }
  }
  return lengths;
}

}  // namespace fhd::io
