#include "validation/verdict/neighbours.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "validation/verdict/algebra.hpp"

namespace fhd::validation {
namespace {

/// Finds the nearest readouts of one: their places along one axis at one sample are an index, because readouts lie no
/// nearer to each other than these. It looks at n^(1/2) others of n in a plane, at n^(2/3) of spokes in space.
class NearestReadouts {
 public:
  explicit NearestReadouts(const ReadoutSet& set)
      : set_(set), step_(std::max<Index>(1, set.length / places)), order_(count()), rank_(count()) {
    choose_index();
    std::iota(order_.begin(), order_.end(), Index{0});
    std::stable_sort(order_.begin(), order_.end(),
                     [&](Index a, Index b) { return index_of(a) < index_of(b); });
    for (std::size_t i = 0; i < count(); ++i) rank_[static_cast<std::size_t>(order_[i])] = i;
  }

  /// Returns the four nearest, the nearest first.
  std::vector<Index> operator()(Index readout) const {
    Found found;
    found.fill({std::numeric_limits<float>::infinity(), set_.readouts});
    const std::size_t own = rank_[static_cast<std::size_t>(readout)];
    std::size_t below = own, above = own + 1;
    for (bool is_low = true, is_high = true; is_low || is_high;) {
      if ((is_low = is_low && below > 0)) is_low = looks_at(order_[--below], readout, found);
      if ((is_high = is_high && above < count())) is_high = looks_at(order_[above++], readout, found);
    }
    std::vector<Index> numbers;
    for (const auto& [square, number] : found) numbers.push_back(number);
    return numbers;
  }

 private:
  static constexpr Index places = 8;
  using Found = std::array<std::pair<float, Index>, 4>;
  std::size_t count() const { return static_cast<std::size_t>(set_.readouts); }
  const std::array<float, 3>& k(Index readout, Index n) const {
    return set_.k[static_cast<std::size_t>(readout * set_.length + n)];
  }
  float index_of(Index readout) const { return k(readout, sample_)[axis_]; }
  /// Takes the sample and the axis at which readouts lie farthest apart.
  void choose_index() {
    double most = -1;
    for (Index n = step_ / 2; n < set_.length; n += step_)
      for (std::size_t axis = 0; axis < 3; ++axis) {
        double sum = 0, squares = 0;
        for (Index j = 0; j < set_.readouts; ++j) {
          const double at = static_cast<double>(k(j, n)[axis]);
          sum += at, squares += at * at;
        }
        const double apart = squares - sum * sum / static_cast<double>(set_.readouts);
        if (apart > most) most = apart, sample_ = n, axis_ = axis;
      }
  }
  /// Adds a readout to those found if it is nearer. Returns whether those beyond it in the index may be.
  bool looks_at(Index other, Index readout, Found& found) const {
    const float apart = index_of(other) - index_of(readout);
    if (apart * apart >= found.back().first) return false;
    float square = 0;
    for (Index n = step_ / 2; n < set_.length && square <= found.back().first; n += step_) {
      const auto &p = k(readout, n), &q = k(other, n);
      for (std::size_t axis = 0; axis < 3; ++axis) square += (p[axis] - q[axis]) * (p[axis] - q[axis]);
    }
    const std::pair<float, Index> one{square, other};
    if (one < found.back()) {
      found.back() = one;
      std::inplace_merge(found.begin(), found.end() - 1, found.end());
    }
    return true;
  }

  const ReadoutSet& set_;
  Index step_, sample_ = 0;
  std::size_t axis_ = 0;
  std::vector<Index> order_;  ///< readouts by their index
  std::vector<std::size_t> rank_;
};

}  // namespace

std::vector<std::vector<Index>> nearest_readouts(const ReadoutSet& set) {
  constexpr Index fewest = 8, most = 100'000;
  if (set.readouts < fewest || set.readouts > most || set.length < 1) return {};
  const NearestReadouts search(set);
  std::vector<std::vector<Index>> nearest;
  for (Index a = 0; a < set.readouts; ++a) nearest.push_back(search(a));
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
