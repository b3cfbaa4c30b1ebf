#pragma once
// Holds what the tests of lines share (line_factors.cpp, line_changes.cpp): the lines, their model, and what a change
// of them gains.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "recon/domain/report.hpp"
#include "validation/verdict/algebra.hpp"
#include "validation/verdict/line_model.hpp"

namespace fhd::validation {

/// A change that makes lines likelier.
struct Undone {
  double nats = 0;  ///< gained, less the price of its choice
  Finding finding{};
};

/// Lines with the model that was learned from them as they are.
class LineTests {
 public:
  /// `coils` outlives this.
  explicit LineTests(const Lines& coils);
  bool empty() const { return model_.empty(); }

  /// A change counts from this gain on, beyond the logarithm of how many were tried: e^5 = 148 times as likely,
  /// beyond the logarithm of 13 tests.
  static constexpr double sure_nats = 5 + 2.6;

 protected:
  static constexpr Index most_combinations = 4;  ///< of coils
  using LineValue = Complex<double>;
  static constexpr double pi = std::numbers::pi, degree = std::numbers::pi / 180;
  static std::size_t at(Index i) { return static_cast<std::size_t>(i); }
  const Lines& told() const { return model_.lines(); }
  Index count() const { return told().count; }
  Index number(Index line) const { return told().numbers[at(line)]; }
  Index readouts() const { return told().readouts; }
  bool is_odd(Index line) const { return number(line) % 2 == 1; }
  const char* across() const { return told().axis_across == 0 ? "x" : "y"; }
  const char* along() const { return told().axis_along == 0 ? "x" : "y"; }
  /// Returns the phase of a line, radians, for each voxel that the object moves across the lines.
  double turn_of(Index line) const { return 2 * pi * told().k_line[at(line)] / told().voxels_across; }

  template <class F>
  Factors factors(const F& of) const {
    Factors h;
    for (Index j = 0; j < count(); ++j) h.push_back(of(j));
    return h;
  }
  template <class F>
  double cost_with(const F& of) const {
    return model_.cost(factors(of));
  }
  /// Returns the nats gained by these factors where the covariance is learned anew: it hides a part of what is wrong
  /// in all lines.
  double gained_by(const Factors& h) const {
    LineModel again(model_);
    again.learn(h);
    return again.empty() ? 0 : model_.whole_cost() - again.whole_cost();
  }
  /// Returns |change| / |image| where lines are multiplied by h.
  double change_by(const Factors& h) const {
    LineValue along{};
    double square = 0;
    for (Index j = 0; j < count(); ++j)
      along += energy_[at(j)] * h[at(j)], square += energy_[at(j)] * norm(h[at(j)]);
    return std::sqrt(std::max(0.0, 1 - norm(along) / (square * all_energy_)));
  }
  double change_by(const Lines& changed) const {
    LineValue along{};
    double square = 0;
    for (std::size_t i = 0; i < changed.values.size(); ++i)
      along += conj(changed.values[i]) * told().values[i], square += norm(changed.values[i]);
    return std::sqrt(std::max(0.0, 1 - norm(along) / (square * all_energy_)));
  }
  /// Returns the nats that a value costs which was refined between others so far apart: as many differ by its deviation.
  static double refined(double apart, double deviation) {
    return deviation > 0 ? std::log(std::max(1.0, apart / deviation)) : 0;
  }
  /// Returns the nats gained by other lines, of the same coils, whose covariance was learned anew, and whether that
  /// is clear: neither model holds the other, so that the gain scatters as its parts do (Vuong 1989,
  /// doi:10.2307/1912557).
  static std::pair<double, bool> gained_by(const LineModel& other, const LineModel& as_told) {
    constexpr double clear = 5;                       // standard deviations
    constexpr double shared = LineModel::neighbours;  // relations hold a line
    const auto all = static_cast<double>(as_told.relations().size());
    if (other.empty() || as_told.empty() || other.relations().size() != as_told.relations().size()) return {};
    double sum = 0, squares = 0;
    for (std::size_t r = 0; r < as_told.relations().size(); ++r) {
      const double gain = as_told.cost_of(r) - other.cost_of(r);
      sum += gain, squares += gain * gain;
    }
    const double nats = as_told.whole_cost() - other.whole_cost();
    return {nats, nats > clear * std::sqrt(shared * std::max(0.0, squares - sum * sum / all))};
  }
  void add(double nats, const char* code, std::string text, double amount, double uncertainty,
           const char* unit, double change) {
    found_.push_back({nats, {code, std::move(text), amount, uncertainty, unit, 1, change}});
  }

  const Lines& coils_;  ///< of all coils
  Array<LineValue> combinations_;
  LineModel model_;  ///< of the strongest combinations
  Factors one_;
  double as_told_ = 0, all_energy_ = 0;
  std::vector<double> energy_;  ///< [line]
  std::vector<Undone> found_;
};

/// Returns what factors of lines would explain: phases, gains, and motion across the lines.
std::vector<Undone> undone_by_factors(const LineTests& tests);
/// Returns what other lines would explain: orders, ghosts, motion along the lines, coils.
std::vector<Undone> undone_by_changes(const LineTests& tests);

/// Returns where a function is least between low and high, and half the width over which it rises by half a nat.
template <class F>
std::pair<double, double> least_between(const F& f, double low, double high) {
  const double golden = (std::sqrt(5.0) - 1) / 2, step = (high - low) / 20;
  for (int i = 0; i < 18; ++i) {
    const double a = high - golden * (high - low), b = low + golden * (high - low);
    if (f(a) < f(b))
      high = b;
    else
      low = a;
  }
  const double at = (low + high) / 2, curve = (f(at + step) - 2 * f(at) + f(at - step)) / step / step;
  return {at, curve > 0 ? 1 / std::sqrt(curve) : 0};
}

}  // namespace fhd::validation
