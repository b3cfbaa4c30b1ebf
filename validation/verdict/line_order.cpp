#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <string>

#include "validation/verdict/neighbours.hpp"

namespace fhd::validation {
namespace {

using Index = std::int64_t;
using Places = std::vector<Index>;  ///< [readout]: which readout of the file belongs there

class LineOrder {
 public:
  explicit LineOrder(const ReadoutSet& set) : set_(set) {
    energy_.resize(static_cast<std::size_t>(set.readouts));
    for (Index i = 0; i < set.coils * set.readouts * set.length; ++i)
      energy_[static_cast<std::size_t>(i / set.length % set.readouts)] +=
          std::norm(set.data[static_cast<std::size_t>(i)]);
    for (auto first = set.radius.begin(); first != set.radius.end(); first += set.length)
      radius_.push_back(*std::min_element(first, first + set.length));
  }

  std::optional<Finding> operator()() const {
    constexpr double improvement = 0.5, far = 0.5;  // of the radius of k-space
    if (!is_cartesian()) return {};
    Places told(static_cast<std::size_t>(set_.readouts));
    std::iota(told.begin(), told.end(), 0);
    const double as_told = spread(told);
    double least = improvement * as_told;
    std::string what = as_told > far * far ? "random, or another than that of the trajectory" : "";
    for (const auto& [name, places] : orders())
      if (const double found = spread(places); found < least) least = found, what = name;
    if (what.empty()) return {};
    return Finding{"exchange", "the order of the readouts: " + what, 0, 0, "", 1};
  }

 private:
  /// Returns whether the readouts pass the centre of k-space at many distances.
  bool is_cartesian() const {
    const auto [least, most] = std::minmax_element(radius_.begin(), radius_.end());
    return set_.axes == 2 && *least < 0.1 && *most > 0.5;
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
  std::vector<std::pair<std::string, Places>> orders() const {
    const Index n = set_.readouts, half = (n + 1) / 2;
    Places swapped, folded(static_cast<std::size_t>(n)), unfolded(folded);
    for (Index j = 0; j < n; ++j) {
      swapped.push_back(std::min(j ^ 1, n - 1));
      const Index place = j < half ? 2 * j : 2 * (j - half) + 1;
      folded[static_cast<std::size_t>(place)] = j, unfolded[static_cast<std::size_t>(j)] = place;
    }
    return {{"each two neighbours are swapped", std::move(swapped)},
            {"the even ones are stored first, then the odd ones", std::move(folded)},
            {"even and odd ones are interleaved, which the trajectory has one after the other",
             std::move(unfolded)}};
  }

  const ReadoutSet& set_;
  std::vector<double> energy_, radius_;  ///< |d_j|^2, and the least radius of k, of each readout
};

}  // namespace

std::optional<Finding> order_by_energies(const ReadoutSet& all) {
  constexpr Index fewest = 8;
  if (all.readouts < fewest) return {};
  return LineOrder(all)();
}

}  // namespace fhd::validation
