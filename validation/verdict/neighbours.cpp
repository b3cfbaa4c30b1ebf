#include "validation/verdict/neighbours.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "validation/verdict/algebra.hpp"

namespace fhd::validation {

std::vector<std::vector<Index>> nearest_readouts(const ReadoutSet& set) {
  constexpr Index fewest = 8, most = 1000, places = 8;
  constexpr std::size_t count = 4;
  if (set.readouts < fewest || set.readouts > most || set.length < 1) return {};
  const Index step = std::max<Index>(1, set.length / places);
  std::vector<std::vector<Index>> nearest;
  std::vector<std::pair<float, Index>> others;
  for (Index a = 0; a < set.readouts; ++a) {
    others.clear();
    for (Index b = 0; b < set.readouts; ++b) {
      float square = 0;
      for (Index n = step / 2; n < set.length; n += step) {
        const auto &p = set.k[static_cast<std::size_t>(a * set.length + n)],
                   &q = set.k[static_cast<std::size_t>(b * set.length + n)];
        for (std::size_t axis = 0; axis < 3; ++axis) square += (p[axis] - q[axis]) * (p[axis] - q[axis]);
      }
      if (b != a) others.emplace_back(square, b);
    }
    std::partial_sort(others.begin(), others.begin() + count, others.end());
    auto& found = nearest.emplace_back();
    for (std::size_t i = 0; i < count; ++i) found.push_back(others[i].second);
  }
  return nearest;
}

std::optional<Finding> first_samples(const ReadoutSet& set) {
  constexpr Index most = 12, later = 40;
  constexpr double least = 0.1, times = 6, least_share = 0.15;
  if (set.length < 2 * later) return {};
  std::vector<double> rest(static_cast<std::size_t>(later)), size(rest);
  double all = 0;
  for (Index row = 0; row < set.coils * set.readouts; ++row)
    for (Index n = 0; n < set.length; ++n) {
      const auto i = static_cast<std::size_t>(row * set.length + n);
      const double square = std::norm(set.data[i] - set.predicted[i]);
      all += square;
      if (n >= later) continue;
      rest[static_cast<std::size_t>(n)] += square;
      size[static_cast<std::size_t>(n)] += std::max(std::norm(set.data[i]), std::norm(set.predicted[i]));
    }
  const auto share = [&](Index n) {
    const auto i = static_cast<std::size_t>(n);
    return size[i] > 0 ? rest[i] / size[i] : 0;
  };
  std::vector<double> others;
  for (Index n = most + 4; n < later; ++n) others.push_back(share(n));
  const double limit = std::max(least, times * median(others));
  Index count = 0;
  double in_first = 0;
  while (count < later && share(count) > limit) in_first += rest[static_cast<std::size_t>(count++)];
  if (count == 0 || count > most || in_first < least_share * all) return {};
  return make_finding(
      "samples",
      fmt::format("the first {} samples of each readout do not fit (filter of the receiver, or noise "
                  "before the signal)",
                  count),
      static_cast<double>(count), 0, "samples", in_first / all);
}

}  // namespace fhd::validation
