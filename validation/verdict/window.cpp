#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "validation/verdict/data_tests.hpp"

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

std::optional<Finding> window_in(const ReadoutSet& set) {
  if (set.length < classes + 4) return {};
  const auto along = along_readouts(set);
  if (!along.is_full() || !along.is_white()) return {};
  const double inner = along.least(classes / 4, 3 * classes / 4),
               end = std::min(along.at(0), along.at(classes - 1));
  if (end < window_limit * inner) return window_of(along, end, change_by(set, along, along.middle()));
  return {};
}

}  // namespace fhd::validation
