#include "validation/verdict/line_causes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <numbers>
#include <numeric>
#include <string>
#include <tuple>

#include "validation/verdict/line_model.hpp"

namespace fhd::validation {
namespace {

using Index = std::int64_t;
using LineValue = Complex<double>;

constexpr double sure_nats =
    5;  ///< beyond the logarithm of how many changes were tried: 0.7 % of right scans

LineValue phasor(double angle) { return {std::cos(angle), std::sin(angle)}; }

double middle_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// A change that makes lines likelier.
struct Undone {
  double nats = 0;  ///< gained, less the price of its choice
  Finding finding{};
};

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

class LineCauses {
 public:
  explicit LineCauses(const Lines& lines)
      : coils_(lines),
        combinations_(strongest_combinations(lines)),
        model_(combined(lines, combinations_)),
        one_(at(lines_().count), LineValue(1)) {
    if (model_.empty()) return;
    model_.learn(one_);
    if (model_.empty()) return;
    as_told_ = model_.cost(one_);
    for (Index j = 0; j < count(); ++j) energy_.push_back(lines_().energy(j));
    all_energy_ = std::accumulate(energy_.begin(), energy_.end(), 0.0);
  }

  std::optional<Finding> operator()(bool with_other_lines) {
    if (model_.empty()) return {};
    phases();
    gains();
    if (with_other_lines) other_lines();
    if (std::getenv("VCART"))
      for (const auto& f : found_)
        fmt::print(stderr, "  {:8.1f} nats change {:.3f} {}\n", f.nats, f.finding.image_change,
                   f.finding.text);
    const auto best = std::max_element(found_.begin(), found_.end(),
                                       [](const Undone& a, const Undone& b) { return a.nats < b.nats; });
    if (best == found_.end() || best->nats < sure_nats || best->finding.image_change < least_change)
      return {};
    return best->finding;
  }

 private:
  static constexpr double pi = std::numbers::pi, degree = std::numbers::pi / 180;
  static constexpr double least_change = 0.05;  ///< of the image
  static std::size_t at(Index i) { return static_cast<std::size_t>(i); }
  const Lines& lines_() const { return model_.lines(); }
  Index count() const { return lines_().count; }
  Index number(Index line) const { return lines_().numbers[at(line)]; }
  bool is_odd(Index line) const { return number(line) % 2 == 1; }
  const char* across() const { return lines_().axis_across == 0 ? "x" : "y"; }
  const char* along() const { return lines_().axis_along == 0 ? "x" : "y"; }
  /// Returns the phase of a line, radians, for each voxel that the object moves across the lines.
  double turn_of(Index line) const { return 2 * pi * lines_().k_line[at(line)] / lines_().voxels_across; }

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
  /// Returns the nats gained by these factors where the covariance is learned anew: it hides a part of what is wrong in all lines.
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
      along += conj(changed.values[i]) * lines_().values[i], square += norm(changed.values[i]);
    return std::sqrt(std::max(0.0, 1 - norm(along) / (square * all_energy_)));
  }
  void add(double nats, const char* code, std::string text, double amount, double uncertainty,
           const char* unit, double change) {
    found_.push_back({nats, {code, std::move(text), amount, uncertainty, unit, 1, change}});
  }

  // --- A factor for each line ---

  void phases() {
    alternating_phase();
    to_and_fro();
    step_across();
    phase_of_each();
  }

  /// A phase that is quadratic in time, as RF spoiling gives: two neighbours of a line differ from it by the same phase everywhere,
  /// so that only the covariance, learned anew, shows it.
  void quadratic_phase() {
    constexpr int step = 5, most = 355;
    const auto with = [&](double degrees) {
      return factors([=](Index j) {
        return phasor(-degrees * degree * static_cast<double>(j) * static_cast<double>(j + 1) / 2);
      });
    };
    LineModel again(model_);
    double least = model_.whole_cost(), best = 0;
    for (int degrees = step; degrees <= most; degrees += step) {
      again.learn(with(degrees));
      if (again.whole_cost() < least) least = again.whole_cost(), best = degrees;
    }
    if (best == 0) return;
    const auto [degrees, deviation] = least_between(
        [&](double x) {
          again.learn(with(x));
          return again.whole_cost();
        },
        best - step, best + step);
    add(gained_by(with(degrees)) - std::log(most / step), "phase",
        fmt::format("the phase of the readouts is that of RF spoiling: each advances by {:.4g} degrees more "
                    "than the one before",
                    degrees),
        degrees, deviation, "degrees", change_by(with(degrees)));
  }

  void alternating_phase() {
    constexpr int tried = 36;
    const auto with = [&](double angle) {
      return [this, angle](Index j) { return is_odd(j) ? phasor(angle) : LineValue(1); };
    };
    double best = 0, least = as_told_;
    for (int i = 1; i < tried; ++i)
      if (const double cost = cost_with(with(i * 10 * degree)); cost < least)
        least = cost, best = i * 10 * degree;
    if (best == 0) return;
    const auto [angle, deviation] =
        least_between([&](double a) { return cost_with(with(a)); }, best - 10 * degree, best + 10 * degree);
    const double degrees = -std::remainder(angle, 2 * pi) / degree;
    add(gained_by(factors(with(angle))) - std::log(tried), "phase",
        fmt::format("the phase of every second readout differs by {:.3g} \u00b1 {:.1g} degrees",
                    std::abs(degrees), deviation / degree),
        degrees, deviation / degree, "degrees", change_by(factors(with(angle))));
  }

  /// Motion across the lines as a sine of time.
  void to_and_fro() {
    constexpr int directions = 8;
    constexpr std::array<double, 4> sizes{0.7, 1.4, 2.1, 3};
    const auto with = [&](double size, double cycles, double start) {
      return [=, this](Index j) {
        const double time = static_cast<double>(j) / static_cast<double>(count());
        return phasor(turn_of(j) * size * std::sin(2 * pi * (cycles * time + start)));
      };
    };
    double least = as_told_, size = 0, cycles = 0, start = 0, tried = 0;
    for (double f = 2; f < static_cast<double>(count()) / 6; f += 0.5)
      for (int i = 0; i < directions; ++i)
        for (const double of : sizes) {
          ++tried;
          const double cost = cost_with(with(of, f, static_cast<double>(i) / directions));
          if (cost < least) least = cost, size = of, cycles = f, start = static_cast<double>(i) / directions;
        }
    if (size == 0) return;
    double deviation = 0;
    for (int i = 0; i < 2; ++i) {
      start =
          least_between([&](double x) { return cost_with(with(size, cycles, x)); }, start - 0.1, start + 0.1)
              .first;
      cycles =
          least_between([&](double x) { return cost_with(with(size, x, start)); }, cycles - 0.3, cycles + 0.3)
              .first;
      std::tie(size, deviation) =
          least_between([&](double x) { return cost_with(with(x, cycles, start)); }, 0.3 * size, 1.7 * size);
    }
    add(gained_by(factors(with(size, cycles, start))) - std::log(tried), "motion",
        fmt::format("the object moved to and fro by {:.3g} \u00b1 {:.1g} voxels along {}, {:.2g} times "
                    "during the scan",
                    size, deviation, across(), cycles),
        size, deviation, "voxels", change_by(factors(with(size, cycles, start))));
  }

  /// A move across the lines from a readout on.
  void step_across() {
    constexpr double most = 9, step = 0.75;
    const auto with = [&](Index first, double voxels) {
      return [=, this](Index j) { return j >= first ? phasor(turn_of(j) * voxels) : LineValue(1); };
    };
    double least = as_told_, best = 0, tried = 0;
    Index first = 0;
    for (Index b = 3; b + 3 <= count(); ++b)
      for (double voxels = -most; voxels <= most; voxels += step, ++tried)
        if (const double cost = cost_with(with(b, voxels)); cost < least)
          least = cost, best = voxels, first = b;
    const double nats = as_told_ - least - std::log(tried);
    if (nats < sure_nats) return;
    // The covariance that was learned from lines before and after the move hides a part of it.
    LineModel again(model_);
    const auto whole = [&](double voxels) {
      again.learn(factors(with(first, voxels)));
      return again.whole_cost();
    };
    const auto [voxels, deviation] = least_between(whole, best > 0 ? 0 : 3 * best, best > 0 ? 3 * best : 0);
    add(nats, "motion",
        fmt::format("the object moved by {:.3g} \u00b1 {:.1g} voxels along {} after readout {} of {}", voxels,
                    deviation, across(), number(first), count()),
        voxels, deviation, "voxels", change_by(factors(with(first, voxels))));
  }

  void phase_of_each() {
    const auto h = model_.best_factors(one_, false);
    const double nats = gained_by(h) - static_cast<double>(count());
    if (nats < sure_nats) return;
    // A phase that is linear in k is a place of the object: each line is compared with two before and after it.
    Factors odd(one_);
    double sum = 0, weight = 0;
    for (const auto& relation : model_.relations()) {
      const LineValue before = h[at(relation[0])], own = h[at(relation[1])], after = h[at(relation[2])];
      const LineValue second = own * own * conj(before) * conj(after);
      const double angle = std::atan2(second.im, second.re) / 2;
      odd[at(relation[1])] = phasor(angle);
      sum += energy_[at(relation[1])] * angle * angle, weight += energy_[at(relation[1])];
    }
    const double degrees =
        std::sqrt(2. / 3 * sum / weight) / degree * std::sqrt(2.);  // variance of own - mean of two: 3/2
    add(nats, "phase",
        fmt::format("the phase changes from readout to readout by some {:.2g} degrees", degrees), degrees, 0,
        "degrees", change_by(odd));
  }

  // --- Gains ---

  /// Tests gains beside a curve that is symmetric in k, as the energy of lines is: no line is of known strength.
  void gains() {
    const auto h = model_.best_factors(model_.best_factors(one_, false), true);
    std::map<Index, Index> line_at;
    for (Index j = 0; j < count(); ++j) line_at[lines_().places[at(j)]] = j;
    const auto central = std::min_element(lines_().k_line.begin(), lines_().k_line.end(),
                                          [](double a, double b) { return std::abs(a) < std::abs(b); });
    const Index centre = lines_().places[at(central - lines_().k_line.begin())];
    Factors even(h);
    std::vector<double> beside;  // log of the gain of a line over that of its mirror image
    for (Index j = 0; j < count(); ++j) {
      const auto mirror = line_at.find(2 * centre - lines_().places[at(j)]);
      if (mirror == line_at.end() || mirror->second == j || !model_.has(j) || !model_.has(mirror->second))
        continue;
      const double ratio = std::sqrt(norm(h[at(mirror->second)]) / norm(h[at(j)]));
      even[at(j)] = std::sqrt(ratio) * h[at(j)];
      beside.push_back(std::log(ratio));
    }
    if (beside.size() < 8) return;
    const double base = model_.cost(even), whole = base - model_.cost(h);
    constexpr double clear = 0.35;
    if (odd_gain(h, centre, whole) || gain_step(even, base, clear * whole)) return;
    for (auto& value : beside) value = std::abs(value);
    const double percent = 100 * middle_of(beside) / 0.6745 / std::sqrt(2.);
    Factors ratio(one_);
    for (std::size_t j = 0; j < ratio.size(); ++j) ratio[j] = {std::sqrt(norm(h[j]) / norm(even[j])), 0};
    add(whole - static_cast<double>(count()), "signal",
        fmt::format("the signal changes from readout to readout by some {:.2g} %: their gain varies",
                    percent),
        percent, 0, "%", change_by(ratio));
  }

  /// Returns the logarithm of the gain that each line lacks beside the median of three lines on both sides.
  std::vector<double> lacking(const Factors& h) const {
    constexpr std::size_t reach = 3;
    std::vector<std::size_t> order;
    for (Index j = 0; j < count(); ++j)
      if (model_.has(j)) order.push_back(at(j));
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return lines_().places[a] < lines_().places[b]; });
    std::vector<double> lacks(at(count()));
    for (std::size_t i = 0; i < order.size(); ++i) {
      std::vector<double> beside;
      for (std::size_t o = i - std::min(i, reach); o < std::min(order.size(), i + reach + 1); ++o)
        if (o != i) beside.push_back(std::log(norm(h[order[o]])) / 2);
      lacks[order[i]] = std::log(norm(h[order[i]])) / 2 - middle_of(beside);
    }
    return lacks;
  }

  /// One line of another gain than those beside it, or without signal.
  bool odd_gain(const Factors& h, Index centre, double whole) {
    constexpr double least = 0.7, least_at_centre = 2.5, lost = 0.2;  // the gain has a cusp at the centre
    constexpr double clear = 0.35, many = 0.25;
    const auto lacks = lacking(h);
    constexpr double strong = 0.002;  // of the strongest line: weaker ones hold noise
    const double strongest = *std::max_element(energy_.begin(), energy_.end());
    double most = std::max(sure_nats, clear * whole) + std::log(count()), gain = 0, odd_ones = 0, all = 0;
    Index odd = -1;
    for (Index j = 0; j < count(); ++j) {
      const bool is_central = std::abs(lines_().places[at(j)] - centre) <= 1,
                 is_strong = energy_[at(j)] > strong * strongest;
      all += is_strong;
      if (std::abs(lacks[at(j)]) < (is_central ? least_at_centre : least)) continue;
      odd_ones += is_strong;
      Factors without(h);
      without[at(j)] = std::exp(-lacks[at(j)]) * h[at(j)];
      if (const double nats = model_.cost(without) - model_.cost(h); nats > most)
        most = nats, odd = j, gain = std::exp(-lacks[at(j)]);
    }
    if (odd_ones > many * all) {
      add(whole - static_cast<double>(count()), "exchange",
          "the order of the readouts: another than that of the trajectory", 0, 0, "", 1);
      return true;
    }
    if (odd < 0) return false;
    const double own = energy_[at(odd)], undone = own / gain / gain;
    const double change = std::sqrt(own / (all_energy_ - own + undone)) * std::abs(1 - 1 / gain);
    const auto text = gain < lost ? fmt::format(
                                        "readout {} of {} (from 0) is lost or holds little but noise: it has "
                                        "{:.2g} times the signal of its neighbours",
                                        number(odd), count(), gain)
                                  : fmt::format(
                                        "the signal of readout {} of {} (from 0) is {:.3g} times that of its "
                                        "neighbours: another gain, or interference",
                                        number(odd), count(), gain);
    add(most - std::log(count()), "signal", text, gain, 0, "times", change);
    return true;
  }

  bool gain_step(const Factors& even, double base, double least_nats) {
    constexpr std::array<double, 16> steps{.25, .33,  .4,   .5,   .6, .7,  .8, .9,
                                           1.1, 1.25, 1.43, 1.67, 2,  2.5, 3,  4};
    const auto with = [&](Index first, double gain) {
      return [&even, first, gain](Index j) { return (j >= first ? gain : 1) * even[at(j)]; };
    };
    double least = base, gain = 1;
    Index first = 0;
    for (Index b = 3; b + 3 <= count(); ++b)
      for (const double of : steps)
        if (const double cost = cost_with(with(b, of)); cost < least) least = cost, gain = of, first = b;
    const double nats =
        base - least - std::log(static_cast<double>(steps.size()) * static_cast<double>(count()));
    if (nats < sure_nats || base - least < least_nats) return false;
    // The curve holds a part of the step already: its size is that beside gains of one.
    const auto alone = [&](Index from, double log) {
      return cost_with([&](Index j) { return LineValue(j >= from ? std::exp(log) : 1); });
    };
    double best = 1e300, log = 0;
    const Index near = first;
    for (const Index from : {near - 1, near, near + 1})
      for (int i = 1; i <= 40; ++i)
        if (const double size = (gain < 1 ? -0.05 : 0.05) * i, cost = alone(from, size); cost < best)
          best = cost, log = size, first = from;
    const double deviation =
        0.05 / std::sqrt(std::max(1e-3, alone(first, log - 0.05) - 2 * best + alone(first, log + 0.05)));
    const double percent = 100 * (std::exp(-log) - 1);
    Factors undone = factors([&](Index j) { return LineValue(j >= first ? std::exp(log) : 1); });
    add(nats, "signal",
        fmt::format("the signal changes by {:.2g} \u00b1 {:.1g} % after readout {} of {}: another gain",
                    percent, 100 * deviation * std::exp(-log), number(first), count()),
        percent, 100 * deviation * std::exp(-log), "%", change_by(undone));
    return true;
  }

  // --- Other lines ---

  void other_lines() {
    swapped_neighbours();
    shifted_lines();
    step_along();
    quadratic_phase();
    exchanged_lines();
    conjugated_coil();
    lost_coil();
  }

  double cost_of(const Lines& changed, const std::vector<std::size_t>& relations) const {
    double sum = 0;
    for (const auto r : relations) sum += model_.cost_of(r, changed);
    return sum;
  }
  double cost_of(const std::vector<std::size_t>& relations) const {
    double sum = 0;
    for (const auto r : relations) sum += model_.cost_of(r);
    return sum;
  }
  void put(Lines& lines, Index place, Index line) const {
    std::copy_n(lines_().at(line, 0), lines.coils * lines.length, lines.at(place, 0));
  }

  void swapped_neighbours() {
    Lines swapped(lines_());
    for (Index j = 0; j < count(); ++j) put(swapped, j, std::min(j ^ 1, count() - 1));
    const double change = change_by(swapped);
    LineModel model(std::move(swapped));
    model.learn(one_);
    if (model.empty()) return;
    add(model_.whole_cost() - model.whole_cost(), "exchange",
        "the order of the readouts: each two neighbours are swapped", 0, 0, "", change);
  }

  /// Returns lines of which every second one is moved by `samples`.
  Lines shifted(double samples) const {
    constexpr Index reach = 8;
    Lines lines(lines_());
    std::array<double, 2 * reach + 1> weights{};
    for (Index i = -reach; i <= reach; ++i) {
      const double x = static_cast<double>(i) - samples;
      weights[at(i + reach)] =
          (x == 0 ? 1 : std::sin(pi * x) / (pi * x)) * std::pow(std::cos(pi * x / (2 * reach + 2)), 2);
    }
    for (Index j = 0; j < count(); ++j)
      for (Index coil = 0; is_odd(j) && coil < lines.coils; ++coil)
        for (Index n = 0; n < lines.length; ++n) {
          LineValue sum{};
          for (Index i = std::max(-reach, -n); i <= std::min(reach, lines.length - 1 - n); ++i)
            sum += weights[at(i + reach)] * lines_().at(j, coil)[n + i];
          lines.at(j, coil)[n] = sum;
        }
    return lines;
  }
  /// Every second line is some samples late, as the echoes of gradients of two signs are.
  void shifted_lines() {
    constexpr double first = 0.25;
    constexpr std::size_t enough = 48;
    std::vector<std::size_t> some(model_.relations().size());
    std::iota(some.begin(), some.end(), std::size_t{0});
    const auto energy = [&](std::size_t r) { return energy_[at(model_.relations()[r][1])]; };
    std::sort(some.begin(), some.end(), [&](std::size_t a, std::size_t b) { return energy(a) > energy(b); });
    some.resize(std::min(some.size(), enough));
    const double told = cost_of(some);
    const auto cost = [&](double samples) { return cost_of(shifted(samples), some); };
    for (const double sign : {-1., 1.}) {
      double samples = sign * first, least = cost(samples);
      if (told - least < sure_nats) continue;
      for (double next = cost(2 * samples); next < least && std::abs(samples) < 4; next = cost(2 * samples))
        least = next, samples *= 2;
      const double a = cost(samples / 2), b = least, c = cost(3 * samples / 2), curve = a - 2 * b + c,
                   step = samples / 2;
      const double best = curve > 0 ? samples + step * (a - c) / curve / 2 : samples,
                   deviation = curve > 0 ? std::abs(step) / std::sqrt(curve) : 0;
      add(told - least - std::log(16), "ghost",
          fmt::format("every second readout is {:.2g} \u00b1 {:.1g} samples {} (ghosts)", std::abs(best),
                      deviation, best < 0 ? "early" : "late"),
          best, deviation, "samples", change_by(shifted(best)));
    }
  }

  /// Returns log(q / |w|^2) of each relation.
  std::vector<double> oddness() const {
    std::vector<double> odd;
    const double unknowns = 15. * static_cast<double>(lines_().coils);
    for (std::size_t r = 0; r < model_.relations().size(); ++r) {
      double energy = 0;
      for (const Index line : model_.relations()[r]) energy += energy_[at(line)];
      odd.push_back(model_.cost_of(r) / unknowns -
                    std::log(energy + 1e-3 * all_energy_ / static_cast<double>(count())));
    }
    return odd;
  }

  struct Boundary {
    double oddness = 0;
    Index first = 0;
    std::vector<std::size_t> relations{};  ///< that have lines on both sides
  };
  std::vector<Boundary> boundaries() const {
    constexpr Index near = 6;
    constexpr std::size_t most = 5, most_relations = 8;
    const auto odd = oddness();
    std::vector<Boundary> all;
    for (Index b = 2; b + 2 <= count(); ++b) {
      Boundary boundary{0, b};
      std::vector<double> others;
      for (std::size_t r = 0; r < odd.size(); ++r) {
        const auto [low, high] =
            std::minmax_element(model_.relations()[r].begin(), model_.relations()[r].end());
        if (*low < b && b <= *high)
          boundary.oddness += odd[r], boundary.relations.push_back(r);
        else if (*high >= b - near && *low < b + near)
          others.push_back(odd[r]);
      }
      if (boundary.relations.empty() || boundary.relations.size() > most_relations || others.empty())
        continue;
      boundary.oddness =
          boundary.oddness / static_cast<double>(boundary.relations.size()) - middle_of(others);
      all.push_back(std::move(boundary));
    }
    std::sort(all.begin(), all.end(),
              [](const Boundary& a, const Boundary& b) { return a.oddness > b.oddness; });
    all.resize(std::min(all.size(), most));
    return all;
  }

  Lines moved_along(Index first, double voxels, double angle) const {
    Lines lines(lines_());
    for (Index n = 0; n < lines.length; ++n) {
      const LineValue turn = phasor(angle + 2 * pi * lines.k_along[at(n)] * voxels / lines.voxels_along);
      for (Index j = first; j < count(); ++j)
        for (Index coil = 0; coil < lines.coils; ++coil) lines.at(j, coil)[n] = turn * lines.at(j, coil)[n];
    }
    return lines;
  }
  /// Returns the cost of the relations of a boundary with the best phase of the lines behind it.
  std::pair<double, double> cost_behind(const Boundary& boundary, double voxels) const {
    const auto moved = moved_along(boundary.first, voxels, 0);
    constexpr int angles = 24;
    std::pair<double, double> best{1e300, 0};
    std::array<double, angles> costs{};
    for (const auto r : boundary.relations) {
      const auto block = model_.block_of(r, moved);
      for (int i = 0; i < angles; ++i) {
        std::array<LineValue, LineModel::neighbours> h;
        for (std::size_t a = 0; a < h.size(); ++a)
          h[a] = model_.relations()[r][a] >= boundary.first ? phasor(2 * pi * i / angles) : LineValue(1);
        costs[at(i)] += model_.cost_of(block, h);
      }
    }
    for (int i = 0; i < angles; ++i)
      if (costs[at(i)] < best.first) best = {costs[at(i)], 2 * pi * i / angles};
    return best;
  }
  /// A move along the lines from a readout on, beside any phase.
  void step_along() {
    constexpr std::array<double, 18> moves{-12, -10, -8, -6.5, -5, -4,  -3, -2, -1,
                                           1,   2,   3,  4,    5,  6.5, 8,  10, 12};
    for (const auto& boundary : boundaries()) {
      const double still = cost_behind(boundary, 0).first;
      double least = still, best = 0;
      for (const double voxels : moves)
        if (const double cost = cost_behind(boundary, voxels).first; cost < least)
          least = cost, best = voxels;
      const double price = std::log(static_cast<double>(moves.size()) * static_cast<double>(count()));
      if (still - least - price < sure_nats) continue;
      const double reach = 0.3 * std::abs(best) + 0.5;
      const auto [voxels, deviation] =
          least_between([&](double x) { return cost_behind(boundary, x).first; }, best - reach, best + reach);
      const auto [cost, angle] = cost_behind(boundary, voxels);
      add(cost_of(boundary.relations) - cost - price, "motion",
          fmt::format("the object moved by {:.3g} \u00b1 {:.1g} voxels along {} after readout {} of {}",
                      voxels, deviation, along(), number(boundary.first), count()),
          voxels, deviation, "voxels", change_by(moved_along(boundary.first, voxels, angle)));
    }
  }

  /// Two lines, each at the place of the other.
  void exchanged_lines() {
    constexpr std::size_t most = 10;
    const auto odd = oddness();
    const double usual = middle_of(odd);
    std::vector<std::pair<double, Index>> lines;
    constexpr double strong = 0.002;  // of the strongest line: others change little
    const double strongest = *std::max_element(energy_.begin(), energy_.end());
    for (Index j = 0; j < count(); ++j) {
      if (energy_[at(j)] < strong * strongest) continue;
      double sum = 0;
      for (std::size_t r = 0; r < odd.size(); ++r)
        for (const Index line : model_.relations()[r]) sum += line == j ? odd[r] - usual : 0;
      lines.emplace_back(-sum, j);
    }
    std::sort(lines.begin(), lines.end());
    lines.resize(std::min(lines.size(), most));
    const double price = std::log(0.5 * static_cast<double>(count() * count()));
    for (std::size_t a = 0; a < lines.size(); ++a)
      for (std::size_t b = 0; b < a; ++b) {
        const Index one = std::min(lines[a].second, lines[b].second),
                    other = std::max(lines[a].second, lines[b].second);
        std::vector<std::size_t> relations;
        for (std::size_t r = 0; r < odd.size(); ++r)
          for (const Index line : model_.relations()[r])
            if ((line == one || line == other) && (relations.empty() || relations.back() != r))
              relations.push_back(r);
        Lines changed(lines_());
        put(changed, one, other), put(changed, other, one);
        const double nats = cost_of(relations) - cost_of(changed, relations) - price;
        if (nats < sure_nats) continue;
        add(nats, "exchange",
            fmt::format("the order of the readouts: readouts {} and {} (from 0) are exchanged", number(one),
                        number(other)),
            static_cast<double>(number(one)), 0, "readouts", change_by(changed));
      }
  }

  // --- Coils ---

  void conjugated_coil() {
    if (coils_.coils < 3) return;
    for (Index coil = 0; coil < coils_.coils; ++coil) {
      Lines changed(coils_);
      for (Index j = 0; j < count(); ++j)
        for (Index n = 0; n < changed.length; ++n) changed.at(j, coil)[n] = conj(changed.at(j, coil)[n]);
      LineModel model(combined(changed, strongest_combinations(changed)));
      model.learn(one_);
      if (model.empty()) return;
      add(model_.whole_cost() - model.whole_cost() - std::log(coils_.coils), "coil",
          fmt::format("coil {} (from 0, as used) is conjugated", coil), static_cast<double>(coil), 0, "coil",
          change_by(combined(changed, combinations_)));
    }
  }

  /// A coil that has no signal before or after a readout.
  void lost_coil() {
    constexpr double least_share = 0.03,
                     lost = 0.1;  // of the energy of all coils; of the share on the other side
    const Index fewest = count() / 8;
    for (Index coil = 0; coil < coils_.coils; ++coil) {
      std::vector<double> sum{0}, all{0};
      for (Index j = 0; j < count(); ++j) {
        double own = 0, of_all = 0;
        for (Index c = 0; c < coils_.coils; ++c)
          for (Index n = 0; n < coils_.length; ++n) (c == coil ? own : of_all) += norm(coils_.at(j, c)[n]);
        sum.push_back(sum.back() + own), all.push_back(all.back() + own + of_all);
      }
      double least = lost;
      Index first = -1;
      for (Index b = fewest; b <= count() - fewest; ++b) {
        const double before = sum[at(b)] / all[at(b)],
                     after = (sum.back() - sum[at(b)]) / (all.back() - all[at(b)]);
        if (std::max(before, after) > least_share &&
            std::min(before, after) < least * std::max(before, after))
          least = std::min(before, after) / std::max(before, after), first = b;
      }
      if (first < 0) continue;
      add(static_cast<double>(coils_.length), "coil",
          fmt::format("coil {} (from 0, as used) is lost in a part of the scan: its signal changes {:.2g} "
                      "times at readout {} of {}",
                      coil, std::sqrt(least), number(first), count()),
          static_cast<double>(coil), 0, "coil", std::sqrt(sum.back() / all.back()));
    }
  }

  const Lines& coils_;  ///< of all coils
  Array<LineValue> combinations_;
  LineModel model_;  ///< of the strongest combinations
  Factors one_;
  double as_told_ = 0, all_energy_ = 0;
  std::vector<double> energy_;  ///< [line]
  std::vector<Undone> found_;
};

}  // namespace

template <class T>
std::optional<Finding> cause_in_lines(const VerifierInput<T>& input, const std::vector<Index>& starts,
                                      double unexplained) {
  constexpr double little = 0.02;  // is left over of scans whose lines are in order
  auto lines = cartesian_lines(input, starts);
  if (!lines) return {};
  return LineCauses(*lines)(!(unexplained <= little));
}

template std::optional<Finding> cause_in_lines<float>(const VerifierInput<float>&, const std::vector<Index>&,
                                                      double);
template std::optional<Finding> cause_in_lines<double>(const VerifierInput<double>&,
                                                       const std::vector<Index>&, double);

}  // namespace fhd::validation
