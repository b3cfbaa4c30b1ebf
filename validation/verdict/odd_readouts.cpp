#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "validation/verdict/algebra.hpp"
#include "validation/verdict/neighbours.hpp"

namespace fhd::validation {
namespace {

using Neighbours = std::vector<std::vector<Index>>;

constexpr double lost_limit = 0.05, noise_limit = 9, gain_limit = 25;  ///< of the energy of the neighbours
constexpr double least_size = 0.05;                    ///< of the signal that is missing, or too much
constexpr double outlier_limit = 30, own_limit = 0.2;  ///< of a residual: over the median, over its own |d|^2
constexpr double peak_limit = 0.5;                     ///< of the energy of a readout in one place: a spike

class OddReadouts {
 public:
  OddReadouts(const ReadoutSet& set, const Neighbours& nearest) : set_(set), nearest_(nearest) {
    for (Index j = 0; j < set.readouts; ++j) {
      double data = 0, rest = 0;
      float least = 1e30f;
      for (Index coil = 0; coil < set.coils; ++coil)
        for (Index n = 0; n < set.length; ++n) {
          const auto i = static_cast<std::size_t>(set.at(coil, j) + n);
          data += std::norm(set.data[i]), rest += std::norm(set.data[i] - set.predicted[i]);
          least = std::min(least, set.radius[static_cast<std::size_t>(j * set.length + n)]);
        }
      data_.push_back(data), rest_.push_back(rest), least_.push_back(least);
    }
    for (Index j = 0; j < static_cast<Index>(nearest.size()); ++j) {
      std::vector<double> beside;
      for (const Index other : nearest[at(j)]) beside.push_back(data_[at(other)]);
      std::sort(beside.begin(), beside.end());
      beside_.push_back(beside), all_ += beside[1];
    }
  }

  std::optional<Finding> lost() const {
    const auto found = select([&](Index j) {
      double in_time = 0;
      for (Index o = std::max<Index>(0, j - 2); o < std::min(set_.readouts, j + 3); ++o)
        in_time = std::max(in_time, o == j ? 0 : data_[at(o)]);
      return data_[at(j)] < lost_limit * std::min(beside_[at(j)][1], in_time);
    });
    if (!is_enough(found, [&](Index j) { return beside_[at(j)][1]; })) return {};
    const bool is_one = found.size() == 1;
    return finding(
        found, fmt::format("{} lost or {} little but noise: {} without the signal of {} neighbours",
                           is_one ? "is" : "are", is_one ? "holds" : "hold", is_one ? "it is" : "they are",
                           is_one ? "its" : "their"));
  }

  /// `has_contrast`: the signal changes from readout to readout by itself, but not for one alone.
  std::optional<Finding> bright(bool has_contrast) const {
    constexpr double alike = 0.6;
    const auto found = select([&](Index j) {
      const double before = j > 0 ? data_[at(j - 1)] : data_[1],
                   after = j + 1 < set_.readouts ? data_[at(j + 1)] : data_[at(j - 1)];
      double in_time = std::min(before, after);
      for (Index o = std::max<Index>(0, j - 2); has_contrast && o < std::min(set_.readouts, j + 3); ++o)
        in_time = std::max(in_time, o == j ? 0 : data_[at(o)]);
      const bool is_noise = likeness_of(j) < alike && peak_of(j, false) < peak_limit;
      return data_[at(j)] > (is_noise ? noise_limit : gain_limit) * std::max(beside_[at(j)][2], in_time) &&
             (is_noise || likeness_of(j) >= alike) && !is_the_centre(j);
    });
    if (!is_enough(found, [&](Index j) { return data_[at(j)]; })) return {};
    double likeness = 1;
    for (const Index j : found) likeness = std::min(likeness, likeness_of(j));
    const bool is_one = found.size() == 1;
    if (likeness < alike)
      return finding(found, is_one ? "is of noise or interference" : "are of noise or interference");
    const double gain = std::sqrt(data_[at(found[0])] / median(beside_[at(found[0])]));
    return finding(found,
                   fmt::format("{} {:.2g} times the gain of {} neighbours", is_one ? "has" : "have", gain,
                               is_one ? "its" : "their"),
                   gain, "times");
  }

  std::optional<Finding> misfitting() const {
    const double middle = median(rest_);
    std::vector<double> shares;
    for (Index j = 0; j < set_.readouts; ++j) shares.push_back(rest_[at(j)] / std::max(data_[at(j)], 1e-30));
    const double usual = median(shares);  // lines far from the centre have less signal, and less residual
    const auto found = select([&](Index j) {
      return rest_[at(j)] > outlier_limit * middle && shares[at(j)] > std::max(own_limit, 3 * usual);
    });
    if (found.empty() || static_cast<Index>(found.size()) > set_.readouts / 8) return {};
    double most = 0;
    for (const Index j : found) {
      if (peak_of(j, true) > peak_limit) return {};  // a spike
      most = std::max(most, rest_[at(j)]);
    }
    const auto share = share_of(found);
    auto odd =
        finding(found, fmt::format("{} not fit: {} residual is {} {:.0f} times that of the others",
                                   found.size() == 1 ? "does" : "do", found.size() == 1 ? "its" : "their",
                                   found.size() == 1 ? "some" : "up to", most / middle));
    odd.share = share;
    return odd;
  }

  /// Returns whether a quarter of the readouts are darker than their neighbours, as in scans whose signal passes zero.
  bool has_contrast() const {
    constexpr double darker = 0.6;
    Index found = 0;
    for (Index j = 0; j < set_.readouts; ++j) found += data_[at(j)] < darker * beside_[at(j)][1];
    return 4 * found > set_.readouts;
  }

 private:
  static std::size_t at(Index j) { return static_cast<std::size_t>(j); }
  template <class Is>
  std::vector<Index> select(const Is& is) const {
    std::vector<Index> found;
    for (Index j = 0; j < set_.readouts; ++j)
      if (is(j)) found.push_back(j);
    return found;
  }
  template <class Energy>
  bool is_enough(const std::vector<Index>& found, const Energy& energy) const {
    if (found.empty() || static_cast<Index>(found.size()) > set_.readouts / 3) return false;
    double sum = 0;
    for (const Index j : found) sum += energy(j);
    return sum > least_size * least_size * all_;
  }
  double share_of(const std::vector<Index>& found) const {
    double sum = 0, all = 0;
    for (const double of : rest_) all += of;
    for (const Index j : found) sum += rest_[at(j)];
    return all > 0 ? sum / all : 0;
  }
  /// Returns whether no other readout comes as near to the centre of k-space, where a line may be far above
  /// its neighbours.
  bool is_the_centre(Index j) const {
    for (Index o = 0; o < set_.readouts; ++o)
      if (o != j && least_[at(o)] <= least_[at(j)] + 1e-3f) return false;
    return true;
  }
  /// Returns the share of one place in the energy of a readout, or of its residual.
  double peak_of(Index j, bool of_residual) const {
    double most = 0;
    for (Index n = 0; n < set_.length; ++n) {
      double sum = 0;
      for (Index coil = 0; coil < set_.coils; ++coil) {
        const auto i = at(set_.at(coil, j) + n);
        sum += std::norm(of_residual ? set_.data[i] - set_.predicted[i] : set_.data[i]);
      }
      most = std::max(most, sum);
    }
    const double all = of_residual ? rest_[at(j)] : data_[at(j)];
    return all > 0 ? most / all : 0;
  }
  /// Returns the correlation of |d| along a readout with that of its neighbour.
  double likeness_of(Index j) const {
    double product = 0, own = 0, other = 0;
    for (Index coil = 0; coil < set_.coils; ++coil)
      for (Index n = 0; n < set_.length; ++n) {
        const double a = std::abs(set_.data[at(set_.at(coil, j) + n)]),
                     b = std::abs(set_.data[at(set_.at(coil, nearest_[at(j)][0]) + n)]);
        product += a * b, own += a * a, other += b * b;
      }
    return own > 0 && other > 0 ? product / std::sqrt(own * other) : 0;
  }
  Finding finding(const std::vector<Index>& found, const std::string& what, double amount = -1,
                  const char* unit = "readouts") const {
    constexpr std::size_t listed = 10;
    std::string numbers;
    std::vector<double> all;
    for (const Index j : found) all.push_back(static_cast<double>(set_.numbers[at(j)]));
    for (std::size_t i = 0; i < std::min(found.size(), listed); ++i)
      numbers += (i > 0 ? ", " : "") + std::to_string(set_.numbers[at(found[i])]);
    if (found.size() > listed)
      numbers += fmt::format(" ... ({} of {}, from 0)", found.size(), set_.readouts);
    else
      numbers += fmt::format(" of {} (from 0)", set_.readouts);
    auto odd = make_finding("odd_readouts",
                            fmt::format("readout{} {} {}", found.size() > 1 ? "s" : "", numbers, what),
                            amount < 0 ? all.front() : amount, 0, unit, 1);
    return with_correction(std::move(odd), std::move(all));
  }

  const ReadoutSet& set_;
  const Neighbours nearest_;
  std::vector<double> data_, rest_;          ///< |d_j|^2, |r_j|^2
  std::vector<float> least_;                 ///< least radius of k
  std::vector<std::vector<double>> beside_;  ///< |d|^2 of the neighbours of each, ascending
  double all_ = 0;                           ///< |d|^2 as the neighbours have it
};

}  // namespace

std::optional<Finding> odd_energies(const ReadoutSet& all, const Neighbours& nearest, bool varies) {
  if (nearest.empty()) return {};
  const OddReadouts odd(all, nearest);
  const bool has_contrast = varies || odd.has_contrast();
  if (!has_contrast)
    if (auto lost = odd.lost()) return lost;
  return odd.bright(has_contrast);
}

std::optional<Finding> odd_residuals(const ReadoutSet& all) {
  constexpr Index fewest = 8;
  if (all.readouts < fewest) return {};
  return OddReadouts(all, {}).misfitting();
}

}  // namespace fhd::validation
