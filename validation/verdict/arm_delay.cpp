#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "recon/array/linear_algebra.hpp"
#include "recon/domain/report.hpp"
#include "recon/trajectory/small_grid.hpp"
#include "validation/verdict/arm_tests.hpp"

namespace fhd::validation {
namespace {

using Delays = std::array<double, 3>;  ///< samples, along each axis

constexpr int farthest = 8;

class ArmDelays {
 public:
  ArmDelays(const VerifierInput<float>& e, const std::vector<Index>& starts)
      : e_(e), starts_(starts), arms_(arms_of(e, starts, radius, enough)) {}

  /// Returns the delays that leave least, by steps along the diagonal and then along each axis.
  Delays operator()() {
    best_ = misfit({});
    told_ = best_;
    for (int delay = -farthest; delay <= farthest; delay += 2) try_at({double(delay), double(delay), 0});
    for (const double step : {1.5, 1.0, 0.5, 0.25})
      for (std::size_t axis = 0; axis < 3; ++axis)
        if (e_.matrix_size[axis] > 1) refine(axis, step);
    return delays_;
  }
  double share_left() const { return told_ > 0 ? best_ / told_ : 1; }

 private:
  static constexpr double radius = 4, margin = 1;  ///< cycles/FOV
  static constexpr double field = 1;               ///< a wide image follows delays
  static constexpr Index enough = 700;             ///< samples

  /// Returns the misfit over the energy, of a value of those that contradict each other and of all, so that samples that
  /// leave the centre by a delay are no gain; infinite beyond the farthest delays.
  double misfit(const Delays& delays) const {
    constexpr double none = std::numeric_limits<double>::infinity();
    for (const double delay : delays)
      if (std::abs(delay) > farthest) return none;
    const auto moved = positions_of(arms_, e_, starts_, delays);
    std::vector<std::array<double, 3>> k;
    std::vector<Index> kept;
    const double latest = *std::max_element(delays.begin(), delays.end());
    for (std::size_t i = 0; i < moved.size(); ++i)
      if (std::hypot(moved[i][0], moved[i][1], moved[i][2]) <= radius + margin &&
          latest <=
              static_cast<double>(arms_.samples[i % arms_.samples.size()]))  // k before the first is not told
        k.push_back(moved[i]), kept.push_back(static_cast<Index>(i));
    const auto rows = static_cast<double>(k.size());
    const ArmImages images(k, arms_.axes, radius + margin, {}, field);
    if (!(images.freedom > 0.5 * rows)) return none;
    const Index coils = arms_.coils;
    Array<Complex<double>> w({static_cast<Index>(kept.size()), coils});
    for (std::size_t i = 0; i < kept.size(); ++i)
      std::copy_n(arms_.data.data() + kept[i] * coils, coils, w.data() + static_cast<Index>(i) * coils);
    return images.misfit(w) / images.freedom / (energy(w) / rows);
  }
  void try_at(const Delays& delays) {
    if (const double left = misfit(delays); left < best_) best_ = left, delays_ = delays;
  }
  /// Tries the bottom of a parabola through three points along an axis.
  void refine(std::size_t axis, double step) {
    auto low = delays_, high = delays_, bottom = delays_;
    low[axis] -= step, high[axis] += step;
    const double middle = best_, below = misfit(low), above = misfit(high);
    if (below < best_) best_ = below, delays_ = low;
    if (above < best_) best_ = above, delays_ = high;
    const double curve = below - 2 * middle + above;
    if (!(curve > 0)) return;
    bottom[axis] += std::clamp(step * (below - above) / 2 / curve, -2 * step, 2 * step);
    try_at(bottom);
  }

  const VerifierInput<float>& e_;
  const std::vector<Index>& starts_;
  ArmSamples arms_;
  Delays delays_{};
  double best_ = 0, told_ = 0;
};

}  // namespace

std::optional<ArmCause> delay_of_arms(const VerifierInput<float>& input, const std::vector<Index>& starts,
                                      double misfit_as_told) {
  if (input.matrix_size[2] > 1) return {};  // the tests of hypotheses find delays there
  ArmDelays search(input, starts);
  const auto delays = search();
  // Two numbers for all readouts: what they do not explain is no delay. Linear interpolation of k leaves 1 %.
  constexpr double most_left = 0.1;
  if (!(search.share_left() < most_left)) return {};
  const auto largest = std::max_element(delays.begin(), delays.end(),
                                        [](double a, double b) { return std::abs(a) < std::abs(b); });
  constexpr double visible = 0.3;                            // samples
  const bool is_at_end = std::abs(*largest) > farthest - 1;  // what leaves least lies beyond, or is no delay
  if (std::abs(*largest) < visible || is_at_end) return {};
  const double sign = *largest < 0 ? -1 : 1;
  Finding late{codes::delays,
               fmt::format("readouts are {:.2f} samples along x and {:.2f} along y {}", sign * delays[0],
                           sign * delays[1], sign < 0 ? "early" : "late"),
               *largest, 0, "samples"};
  return ArmCause{with_correction(std::move(late), {delays[0], delays[1]}),
                  search.share_left() * misfit_as_told};
}

}  // namespace fhd::validation
