#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "validation/verdict/centre_model.hpp"
#include "validation/verdict/data_tests.hpp"
#include "validation/verdict/energies.hpp"

namespace fhd::validation {
namespace {

/// Noise at the ends below this share of the least in the inner half, of squares: a window. Good scans stay above 0.6.
constexpr double window_limit = 0.2;
constexpr int classes = 24;
constexpr double fewest = 64;  ///< values that tell the noise of a class to 20 %

/// Mean square of the noise in classes from one end to the other.
struct Profile {
  std::array<double, classes> sum{}, count{};
  double of_second = 0;  ///< sum of the variances by second differences
  double at(int i) const {
    const auto c = static_cast<std::size_t>(i);
    return count[c] > 0 ? sum[c] / count[c] : 0;
  }
  bool is_full() const {
    return std::all_of(count.begin(), count.end(), [](double n) { return n >= fewest; });
  }
  /// Returns whether it is white noise that is left over, and not signal.
  bool is_white() const {
    constexpr double signal = 1.5;
    return of_second <= signal * std::accumulate(sum.begin(), sum.end(), 0.0);
  }
  double least(int first, int last) const {
    double found = at(first);
    for (int i = first; i < last; ++i) found = std::min(found, at(i));
    return found;
  }
  /// Returns the largest median of the thirds.
  double middle() const {
    double most = 0;
    for (int third = 0; third < 3; ++third) {
      std::array<double, classes / 3> values{};
      for (int i = 0; i < classes / 3; ++i) values[static_cast<std::size_t>(i)] = at(third * classes / 3 + i);
      std::nth_element(values.begin(), values.begin() + classes / 6, values.end());
      most = std::max(most, values[classes / 6]);
    }
    return most;
  }
};

/// Sums |fourth difference of the residual|^2 / 70 and |second one|^2 / 6 where samples were measured: both are the
/// variance of white noise; of signal that lambda leaves over the second is larger.
Profile along_readouts(const ReadoutSet& set) {
  Profile profile;
  for (Index row = 0; row < set.coils * set.readouts; ++row) {
    const auto *d = set.data.data() + row * set.length, *p = set.predicted.data() + row * set.length;
    for (Index n = 2; n + 2 < set.length; ++n) {
      if (d[n] == 0.f) continue;
      const auto r = [&](Index by) { return d[n + by] - p[n + by]; };
      const auto c = static_cast<std::size_t>((n - 2) * classes / (set.length - 4));
      profile.sum[c] += std::norm(r(-2) - 4.f * r(-1) + 6.f * r(0) - 4.f * r(1) + r(2)) / 70,
          ++profile.count[c];
      profile.of_second += std::norm(r(-1) - 2.f * r(0) + r(1)) / 6;
    }
  }
  return profile;
}

/// Returns how much of the image a window took off, relative to the one without: |rho / w - rho| / |rho / w|.
double change_by(const ReadoutSet& set, const Profile& profile, double middle) {
  const auto factor = [&](Index m) {  // 1 / w
    const auto c = std::min<Index>(m % set.length * classes / set.length, classes - 1);
    return 1 / std::clamp(std::sqrt(profile.at(static_cast<int>(c)) / middle), 0.1, 1.0);
  };
  const auto square = [&](Index i) { return std::norm(set.data[static_cast<std::size_t>(i)]); };
  const double all =
      energy_of_image(set, [&](Index i, Index m) { return std::pow(factor(m), 2) * square(i); });
  const double lost =
      energy_of_image(set, [&](Index i, Index m) { return std::pow(factor(m) - 1, 2) * square(i); });
  return all > 0 ? std::sqrt(lost / all) : 0;
}

/// Returns a window that takes even the noise at the edge of k-space off: from 0.83 to 0.98 of its radius the energy of
/// the samples falls below a 25th, and more steeply than before. (Good scans keep a fifth or more; Hann leaves a
/// 300th.) Zeros count as not measured.
std::optional<Finding> window_at_edge(const ReadoutSet& set) {
  constexpr double least = 0.04, steeper = 1.7;
  constexpr std::array<std::array<float, 2>, 4> rings{
      {{0.5f, 0.6f}, {0.65f, 0.75f}, {0.8f, 0.85f}, {0.95f, 1}}};
  std::array<double, rings.size()> energy{}, count{};
  for (std::size_t m = 0; m < set.radius.size(); ++m)
    for (std::size_t ring = 0; ring < rings.size(); ++ring)
      if (set.radius[m] >= rings[ring][0] && set.radius[m] < rings[ring][1])
        for (std::size_t i = m; i < set.data.size(); i += set.radius.size())
          energy[ring] += std::norm(set.data[i]), count[ring] += set.data[i] != 0.f;
  for (std::size_t ring = 0; ring < rings.size(); ++ring) {
    if (count[ring] < fewest) return {};
    energy[ring] /= count[ring];
  }
  const auto [middle, inner, before, edge] = energy;
  const double left = edge / before;
  if (left > least || left > std::pow(inner / middle, steeper)) return {};
  return make_finding(
      "window",
      fmt::format("a window was applied to the samples already: at the edge of k-space they hold "
                  "{:.1g} % of the energy that they hold at five sixths of its radius",
                  100 * left),
      100 * left, 0, "%", 1);
}

Finding window_of(const Profile& profile, double end, double change) {
  const double factor = std::sqrt(end / profile.middle());
  const double uncertainty =
      factor / std::sqrt(profile.count[classes - 1]);  // fourth differences: half are independent
  return make_finding("window",
                      fmt::format("a window was applied to the samples already: at the end of the readouts "
                                  "the noise is {:.2g} \u00b1 {:.1g} % "
                                  "of that in the middle",
                                  100 * factor, 100 * uncertainty),
                      100 * factor, 100 * uncertainty, "%", 0, change);
}

}  // namespace

std::optional<Finding> window_in(const ReadoutSet& set, bool leaves_noise) {
  if (!leaves_noise || set.length < classes + 4) return window_at_edge(set);
  const auto along = along_readouts(set);
  if (!along.is_full() || !along.is_white()) return window_at_edge(set);
  const double inner = along.least(classes / 4, 3 * classes / 4),
               end = std::min(along.at(0), along.at(classes - 1));
  if (end < window_limit * inner) return window_of(along, end, change_by(set, along, along.middle()));
  return window_at_edge(set);
}

std::optional<Finding> weights_in(const CentralSamples& s, const EnergyTable& table) {
  constexpr double inside = 0.5, around = 1, peak = 1.5, least_at_edge = 1. / 160;
  const Index all = s.empty() ? 0 : s.trajectory->sample_count(), coils = s.empty() ? 0 : s.data.extent(1);
  Energies centre, ring;
  for (Index i = 0; i < s.count(); ++i) {
    double square = 0;
    for (Index axis = 0; axis < 3; ++axis)
      if (s.grid.n[static_cast<std::size_t>(axis)] > 1)
        square += std::pow(s.trajectory->k[axis * all + s.numbers[static_cast<std::size_t>(i)]], 2);
    auto* part = square < inside * inside                 ? &centre
                 : square > around * around && square < 9 ? &ring
                                                          : nullptr;
    if (part == nullptr) continue;
    ++part->count;
    for (Index c = 0; c < coils; ++c) part->data += norm(s.data[i * coils + c]);
  }
  if (!(centre.count > 0 && ring.count > 0)) return {};
  double most = 0;
  for (const auto& shell : table.shells) most = std::max(most, shell.data / positive(shell.count));
  const Energies& edge = table.shells[4];
  const double share = centre.data / centre.count / positive(ring.data / ring.count);
  if (share > peak || !(edge.data > least_at_edge * most * edge.count)) return {};
  return make_finding(
      "window",
      fmt::format(
          "the samples are weighted, as by a density compensation: at the centre of k-space they hold {:.2g} "
          "times the energy of those around it, and still {:.1g} % of the most in its outer half",
          share, 100 * edge.data / positive(edge.count) / most),
      share, 0, "times", 1);
}

}  // namespace fhd::validation
