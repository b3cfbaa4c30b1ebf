#include "io/scan/object_extent.hpp"

#include <algorithm>
#include <cmath>

namespace fhd::io {
namespace {

/// The autocorrelation of a projection of a disc is down to a half at 0.80 / diameter, of a disc itself at 0.70, of a
/// rectangle at 0.60: lengths are known to about a third.
constexpr double distance_at_half = 0.7;
/// Below this, the nearest samples have too little in common to tell how it falls.
constexpr double least_correlation = 0.7;

}  // namespace

void ObjectExtent::add(const ReadoutPart& part) {
  const auto samples = static_cast<std::int64_t>(part.k.size());
  for (std::int64_t lag = 1; lag <= samples / 2; lag = std::max(lag + 1, lag * 5 / 4)) add_pairs(part, lag);
}

/// Adds pairs of samples `lag` apart, by distance, whose displacement is within 37 degrees of an axis.
void ObjectExtent::add_pairs(const ReadoutPart& part, std::int64_t lag) {
  const auto samples = static_cast<std::int64_t>(part.k.size());
  const auto coils = static_cast<std::int64_t>(part.values.size()) / samples;
  for (std::int64_t m = 0; m + lag < samples; ++m) {
    std::array<double, 3> delta{};
    for (int axis = 0; axis < 3; ++axis) delta[axis] = part.k[m + lag][axis] - part.k[m][axis];
    const double distance = std::hypot(delta[0], delta[1], delta[2]);
    const auto longest = std::max_element(delta.begin(), delta.end(),
                                          [](double a, double b) { return std::abs(a) < std::abs(b); });
    if (!(distance > 0) || !std::isfinite(distance) || std::abs(*longest) < 0.8 * distance) continue;
    auto& pairs =
        by_distance_[longest - delta.begin()][static_cast<int>(std::floor(4 * std::log2(distance)))];
    for (std::int64_t coil = 0; coil < coils; ++coil) {
      const auto here = Complex<double>(part.values[coil * samples + m]),
                 there = Complex<double>(part.values[coil * samples + m + lag]);
      const double energy = (norm(here) + norm(there)) / 2;
      if (!std::isfinite(energy)) continue;  // validate() refuses it
      const auto product = here * conj(there);
      pairs.product += *longest > 0 ? product : conj(product);
      pairs.energy += energy;
      pairs.distance += energy * distance;
    }
  }
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
