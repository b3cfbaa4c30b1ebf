#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <string>

#include "validation/verdict/algebra.hpp"
#include "validation/verdict/neighbours.hpp"
#include "validation/verdict/readout_order.hpp"

namespace fhd::validation {
namespace {

using Neighbours = std::vector<std::vector<Index>>;
using Places = std::vector<Index>;  ///< [readout]: which readout of the file belongs there

/// Two readouts, and the place in both where their samples are near each other.
struct Near {
  Index a, b, n;
};

class NeighbourOrder {
 public:
  NeighbourOrder(const ReadoutSet& set, const Neighbours& nearest, bool varies) : set_(set), varies_(varies) {
    constexpr float nearest_to_centre = 1.5f, farthest = 1.1f;
    energy_.resize(static_cast<std::size_t>(set.readouts));
    for (Index i = 0; i < set.coils * set.readouts * set.length; ++i)
      energy_[static_cast<std::size_t>(i / set.length % set.readouts)] +=
          std::norm(set.data[static_cast<std::size_t>(i)]);
    for (auto first = set.radius.begin(); first != set.radius.end(); first += set.length)
      radius_.push_back(*std::min_element(first, first + set.length));
    for (Index a = 0; a < set.readouts; ++a)
      for (std::size_t i = 0; i < 2; ++i) {
        const Index b = nearest[static_cast<std::size_t>(a)][i];
        for (Index n = 0; n < set.length; ++n)
          if (distance(a, b, n) < farthest && from_centre(a, n) > nearest_to_centre)
            near_.push_back({a, b, n});
      }
  }

  std::optional<Finding> operator()() const {
    const auto what = is_cartesian() ? by_energies() : by_samples();
    if (what.empty()) return {};
    return make_finding("exchange", what, 0, 0, "", 1);
  }

 private:
  /// Returns whether the readouts pass the centre of k-space at many distances.
  bool is_cartesian() const {
    const auto [least, most] = std::minmax_element(radius_.begin(), radius_.end());
    return set_.axes == 2 && *least < 0.1 && *most > 0.5;
  }
  std::string by_samples() const {
    if (static_cast<Index>(near_.size()) < 4 * set_.readouts) return {};
    constexpr double wrong = 0.2, alike = 0.6, improvement = 0.6;
    const double as_told = unlikeness(told());
    if (as_told < wrong) return {};
    auto what = best_order([&](const Places& places) { return unlikeness(places); }, improvement * as_told);
    if (what.empty() && as_told > alike && !varies_ && is_shuffled()) return another_order;
    return what;
  }
  std::string by_energies() const {
    constexpr double improvement = 0.5, far = 0.5;  // of the radius of k-space
    const double as_told = spread(told());
    auto what = best_order([&](const Places& places) { return spread(places); }, improvement * as_told);
    return what.empty() && as_told > far * far ? another_order : what;
  }
  template <class Score>
  std::string best_order(const Score& score, double least) const {
    std::string what;
    auto orders = named_orders(set_.readouts);
    orders.pop_back();  // neighbours stay neighbours in reversed order
    for (const auto& [name, places] : orders)
      if (const double found = score(places); found < least) least = found, what = name;
    return what;
  }
  /// Returns the mean square distance of the energy of lines from the centre of k-space.
  double spread(const Places& places) const {
    std::vector<double> sorted(energy_);
    std::nth_element(sorted.begin(), sorted.begin() + 2, sorted.end(), std::greater<>());
    const double most = sorted[2];  // one or two lines may be odd
    double sum = 0, all = 0;
    for (std::size_t j = 0; j < radius_.size(); ++j) {
      const double of = std::min(most, energy_[static_cast<std::size_t>(places[j])]);
      sum += of * radius_[j] * radius_[j], all += of;
    }
    return all > 0 ? sum / all : 0;
  }
  float distance(Index a, Index b, Index n) const {
    float square = 0;
    for (std::size_t axis = 0; axis < 3; ++axis) square += std::pow(k(a, n)[axis] - k(b, n)[axis], 2.f);
    return std::sqrt(square);
  }
  float from_centre(Index a, Index n) const { return std::hypot(k(a, n)[0], k(a, n)[1], k(a, n)[2]); }
  const std::array<float, 3>& k(Index a, Index n) const {
    return set_.k[static_cast<std::size_t>(a * set_.length + n)];
  }
  std::complex<float> d(Index coil, Index j, Index n) const {
    return set_.data[static_cast<std::size_t>(set_.at(coil, j) + n)];
  }
  Places told() const {
    Places places(static_cast<std::size_t>(set_.readouts));
    std::iota(places.begin(), places.end(), 0);
    return places;
  }
  /// Returns sum |d_a - d_b|^2 / sum (|d_a|^2 + |d_b|^2) over neighbours.
  double unlikeness(const Places& places) const {
    double apart = 0, all = 0;
    for (const auto& [a, b, n] : near_)
      for (Index coil = 0; coil < set_.coils; ++coil) {
        const auto x = d(coil, places[static_cast<std::size_t>(a)], n),
                   y = d(coil, places[static_cast<std::size_t>(b)], n);
        apart += std::norm(x - y), all += std::norm(x) + std::norm(y);
      }
    return all > 0 ? apart / all : 0;
  }
  /// Returns whether readouts have likenesses, elsewhere than the trajectory says and at no one distance, as
  /// wrong angles have.
  bool is_shuffled() const {
    constexpr Index some = 300, most_pairs = 1'500'000;  // evenly spread readouts, with all others
    constexpr double alike = 0.4, common = 0.3;
    if (set_.readouts < 16) return false;
    const Index looked_at = std::min({set_.readouts, some, std::max<Index>(16, most_pairs / set_.readouts)});
    std::vector<double> least;
    std::map<Index, Index> offsets;
    Index largest = 0;
    for (Index i = 0; i < looked_at; ++i) {
      const Index a = i * set_.readouts / looked_at;
      double best = 2;
      Index which = 0;
      for (Index b = 0; b < set_.readouts; ++b)
        if (const double of = a == b ? 2 : apart(a, b); of < best) best = of, which = b;
      least.push_back(best);
      largest = std::max(largest, ++offsets[std::abs(which - a)]);
    }
    return median(least) < alike && static_cast<double>(largest) < common * static_cast<double>(looked_at);
  }
  double apart(Index a, Index b) const {
    constexpr Index places = 16;
    const Index step = std::max<Index>(1, set_.length / places);
    double sum = 0, all = 0;
    for (Index coil = 0; coil < std::min<Index>(4, set_.coils); ++coil)
      for (Index n = step / 2; n < set_.length; n += step) {
        if (from_centre(a, n) < 1.5f) continue;
        sum += std::norm(d(coil, a, n) - d(coil, b, n));
        all += std::norm(d(coil, a, n)) + std::norm(d(coil, b, n));
      }
    return all > 0 ? sum / all : 2;
  }

  const ReadoutSet& set_;
  bool varies_;
  std::vector<double> energy_, radius_;  ///< |d_j|^2, and the least radius of k, of each readout
  std::vector<Near> near_;
};

}  // namespace

std::optional<Finding> order_by_neighbours(const ReadoutSet& all, const Neighbours& nearest, bool varies) {
  if (nearest.empty()) return {};
  return NeighbourOrder(all, nearest, varies)();
}

}  // namespace fhd::validation
