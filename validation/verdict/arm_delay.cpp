#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "recon/domain/report.hpp"
#include "validation/verdict/arm_tests.hpp"

namespace fhd::validation {
namespace {

using Index = std::int64_t;
using Delays = std::array<double, 3>;  ///< samples, along each axis

template <class T>
class ArmDelays {
 public:
  ArmDelays(const VerifierInput<T>& e, const std::vector<Index>& starts, double radius)
      : e_(e), starts_(starts), radius_(radius) {}

  /// Returns the delays that leave least, by steps along the diagonal and then along each axis.
  Delays operator()() {
    best_ = misfit({});
    told_ = best_;
    for (int delay = -farthest; delay <= farthest; delay += 2)
      try_at({double(delay), double(delay), double(delay)});
    for (const double step : {1.5, 1.0, 0.5, 0.25})
      for (std::size_t axis = 0; axis < 3; ++axis)
        if (e_.matrix_size[axis] > 1) refine(axis, step);
    return delays_;
  }
  double share_left() const { return told_ > 0 ? best_ / told_ : 1; }

 private:
  /// Returns the misfit over the energy, of some hundred samples; infinite beyond the farthest delays.
  double misfit(const Delays& delays) const {
    constexpr Index enough = 700;
    for (const double delay : delays)
      if (std::abs(delay) > farthest) return std::numeric_limits<double>::infinity();
    const auto arms = arms_of(e_, starts_, radius_, delays, enough);
    if (arms.places == 0) return std::numeric_limits<double>::infinity();
    const ArmModel model(arms, radius_);
    if (!model.is_tested()) return std::numeric_limits<double>::infinity();
    const auto w = model.arranged(arms.data);
    return model.misfit(w) / energy(w);
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

  static constexpr int farthest = 8;

  const VerifierInput<T>& e_;
  const std::vector<Index>& starts_;
  double radius_;
  Delays delays_{};
  double best_ = 0, told_ = 0;
};

}  // namespace

template <class T>
std::optional<ArmCause> delay_of_arms(const VerifierInput<T>& input, const std::vector<Index>& starts,
                                      double radius, double misfit_as_told) {
  if (input.matrix_size[2] > 1) return {};  // the tests of hypotheses find delays there
  ArmDelays<T> search(input, starts, radius);
  const auto delays = search();
  if (!(search.share_left() < most_left_of_energy)) return {};
  const auto largest = std::max_element(delays.begin(), delays.end(),
                                        [](double a, double b) { return std::abs(a) < std::abs(b); });
  constexpr double visible = 0.3;  // samples
  if (std::abs(*largest) < visible) return {};
  const double sign = *largest < 0 ? -1 : 1;
  return ArmCause{{codes::delays,
                   fmt::format("readouts are {:.2f} samples along x and {:.2f} along y {}", sign * delays[0],
                               sign * delays[1], sign < 0 ? "early" : "late"),
                   *largest, 0, "samples", 1},
                  search.share_left() * misfit_as_told};
}

template std::optional<ArmCause> delay_of_arms(const VerifierInput<float>&, const std::vector<Index>&, double,
                                               double);
template std::optional<ArmCause> delay_of_arms(const VerifierInput<double>&, const std::vector<Index>&,
                                               double, double);

}  // namespace fhd::validation
