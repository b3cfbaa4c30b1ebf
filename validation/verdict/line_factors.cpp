// Tests factors of the lines of a Cartesian scan: h_j that make them likelier say that line j was measured with the
// factor 1 / h_j.
#include <fmt/format.h>

#include <array>
#include <map>
#include <tuple>

#include "validation/verdict/line_tests.hpp"

namespace fhd::validation {
namespace {

class LineFactors : LineTests {
 public:
  explicit LineFactors(const LineTests& tests) : LineTests(tests) {}
  std::vector<Undone> operator()() {
    phases_ = model_.best_factors(one_, false);
    alternating_phase();
    to_and_fro();
    step_across();
    phase_of_each();
    gains();
    return std::move(found_);
  }

 private:
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
    add(gained_by(factors(with(angle))) - std::log(tried) - refined(10 * degree, deviation), "phase",
        fmt::format("the phase of every second readout differs by {:.3g} \u00b1 {:.1g} degrees",
                    std::abs(degrees), deviation / degree),
        degrees, deviation / degree, "degrees", change_by(factors(with(angle))));
  }

  /// Returns the place of an object that moves as a sine of time.
  double to_and_fro_at(Index j, double cycles, double start) const {
    const double time = static_cast<double>(number(j)) / static_cast<double>(readouts());
    return std::sin(2 * pi * (cycles * time + start));
  }
  /// Tests motion across the lines as a sine of time.
  void to_and_fro() {
    constexpr int directions = 8;
    constexpr std::array<double, 3> sizes{0.8, 1.7, 3};
    const auto with = [&](double size, double cycles, double start) {
      return [=, this](Index j) { return phasor(turn_of(j) * size * to_and_fro_at(j, cycles, start)); };
    };
    double least = as_told_, size = 0, cycles = 0, start = 0, tried = 0;
    const auto consider = [&](const Factors& h, double of, double f, double from) {
      ++tried;
      if (const double cost = model_.cost(h); cost < least) least = cost, size = of, cycles = f, start = from;
    };
    for (double f = 2; f < static_cast<double>(readouts()) / 6; f += 0.5)
      for (int i = 0; i < directions / 2; ++i) {
        const double from = static_cast<double>(i) / directions;
        std::vector<double> turns;  // of an object that moves by a voxel
        for (Index j = 0; j < count(); ++j) turns.push_back(turn_of(j) * to_and_fro_at(j, f, from));
        for (const double of : sizes) {  // half a turn later the motion is the opposite one
          auto h = factors([&](Index j) { return phasor(of * turns[at(j)]); });
          consider(h, of, f, from);
          for (auto& value : h) value = conj(value);
          consider(h, of, f, from + 0.5);
        }
      }
    if (size == 0) return;
    double deviation = 0, of_start = 0, of_cycles = 0;
    for (int i = 0; i < 2; ++i) {
      std::tie(start, of_start) =
          least_between([&](double x) { return cost_with(with(size, cycles, x)); }, start - 0.1, start + 0.1);
      std::tie(cycles, of_cycles) = least_between([&](double x) { return cost_with(with(size, x, start)); },
                                                  cycles - 0.3, cycles + 0.3);
      std::tie(size, deviation) =
          least_between([&](double x) { return cost_with(with(x, cycles, start)); }, 0.3 * size, 1.7 * size);
    }
    const double price = std::log(tried) + refined(1, deviation) + refined(0.5, of_cycles) +
                         refined(1. / directions, of_start);
    add(gained_by(factors(with(size, cycles, start))) - price, "motion",
        fmt::format("the object moved to and fro by {:.3g} \u00b1 {:.1g} voxels along {}, {:.2g} times "
                    "during the scan",
                    size, deviation, across(), cycles),
        size, deviation, "voxels", change_by(factors(with(size, cycles, start))));
  }

  /// Tests a move across the lines from a readout on.
  void step_across() {
    constexpr double most = 9, step = 0.75;
    const auto with = [&](Index first, double voxels) {
      return [=, this](Index j) { return j >= first ? phasor(turn_of(j) * voxels) : LineValue(1); };
    };
    double least = as_told_, best = 0, tried = 0;
    Index first = 0;
    for (double voxels = -most; voxels <= most; voxels += step) {
      const auto costs = model_.costs_of_steps(one_, factors(with(0, voxels)));
      for (Index b = 3; b + 3 <= count(); ++b, ++tried)
        if (costs[at(b)] < least) least = costs[at(b)], best = voxels, first = b;
    }
    const double nats = as_told_ - least - std::log(tried);
    if (nats < sure_nats) return;
    // The covariance that was learned from lines before and after the move hides a part of it.
    LineModel again(model_);
    const auto whole = [&](double voxels) {
      again.learn(factors(with(first, voxels)));
      return again.whole_cost();
    };
    const auto [voxels, deviation] = least_between(whole, best > 0 ? 0 : 3 * best, best > 0 ? 3 * best : 0);
    add(nats - refined(step, deviation), "motion",
        fmt::format("the object moved by {:.3g} \u00b1 {:.1g} voxels along {} after readout {} of {}", voxels,
                    deviation, across(), number(first), readouts()),
        voxels, deviation, "voxels", change_by(factors(with(first, voxels))));
  }

  void phase_of_each() {
    const auto& h = phases_;
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

  static constexpr double too_many = 2;  ///< nats told for each of a gain, beside its price of one a line

  /// Gains that are symmetric about a place, the logarithms of gains over those of the mirror image, and the cost.
  struct Mirrored {
    Factors even;
    std::vector<double> logs{};
    double cost = 0;
  };
  Mirrored mirrored(const Factors& h, Index twice_the_centre) const {
    std::map<Index, Index> line_at;
    for (Index j = 0; j < count(); ++j) line_at[told().places[at(j)]] = j;
    Mirrored found{h};
    for (Index j = 0; j < count(); ++j) {
      const auto mirror = line_at.find(twice_the_centre - told().places[at(j)]);
      if (mirror == line_at.end() || mirror->second == j || !model_.has(j) || !model_.has(mirror->second))
        continue;
      const double ratio = std::sqrt(norm(h[at(mirror->second)]) / norm(h[at(j)]));
      found.even[at(j)] = std::sqrt(ratio) * h[at(j)];
      found.logs.push_back(std::log(ratio));
    }
    found.cost = model_.cost(found.even);
    return found;
  }

  /// Tests gains beside a curve that is symmetric in k, as the energy of lines is: no line is of known strength.
  void gains() {
    const auto h = model_.best_factors(phases_, true);
    const auto central = std::min_element(told().k_line.begin(), told().k_line.end(),
                                          [](double a, double b) { return std::abs(a) < std::abs(b); });
    const Index centre = told().places[at(central - told().k_line.begin())];
    // The centre of energy may lie up to two half lines beside k = 0.
    Mirrored best = mirrored(h, 2 * centre);
    const auto pairs = static_cast<double>(best.logs.size());
    for (const Index aside : {-2, -1, 1, 2})
      if (auto other = mirrored(h, 2 * centre + aside);
          other.cost<best.cost&& static_cast<double>(other.logs.size())> 0.8 * pairs)
        best = std::move(other);
    auto& [even, beside, base] = best;
    if (beside.size() < 8) return;
    const double whole = (base - model_.cost(h)) / too_many;
    constexpr double clear = 0.35;
    if (odd_gain(h, centre, whole) || gain_step(even, base, clear * whole)) return;
    for (auto& value : beside) value = std::abs(value);
    const double percent = 100 * median(beside) / 0.6745 / std::sqrt(2.);
    Factors ratio(one_);
    for (std::size_t j = 0; j < ratio.size(); ++j) ratio[j] = {std::sqrt(norm(h[j]) / norm(even[j])), 0};
    add(whole - static_cast<double>(count()), "signal",
        fmt::format("the signal changes from readout to readout by some {:.2g} %: their gain varies",
                    percent),
        percent, 0, "%", change_by(ratio));
  }

  /// Returns, for each line, the median of values of three lines on both sides; 0 for lines that no neighbours tell.
  std::vector<double> medians_beside(const std::vector<double>& values) const {
    constexpr std::size_t reach = 3;
    std::vector<std::size_t> order;
    for (Index j = 0; j < count(); ++j)
      if (model_.has(j)) order.push_back(at(j));
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return told().places[a] < told().places[b]; });
    std::vector<double> medians(at(count()));
    for (std::size_t i = 0; i < order.size(); ++i) {
      std::vector<double> beside;
      for (std::size_t o = i - std::min(i, reach); o < std::min(order.size(), i + reach + 1); ++o)
        if (o != i) beside.push_back(values[order[o]]);
      medians[order[i]] = median(beside);
    }
    return medians;
  }
  /// Returns the logarithm of the gain that each line lacks beside its neighbours.
  std::vector<double> lacking(const Factors& h) const {
    std::vector<double> logs;
    for (const auto& of : h) logs.push_back(std::log(norm(of)) / 2);
    const auto medians = medians_beside(logs);
    for (Index j = 0; j < count(); ++j) logs[at(j)] = model_.has(j) ? logs[at(j)] - medians[at(j)] : 0;
    return logs;
  }

  /// Tests whether one line has another gain than those beside it, or no signal. Returns whether it adds a finding.
  bool odd_gain(const Factors& h, Index centre, double whole) {
    constexpr double least = 0.7, least_at_centre = 2.5, lost = 0.2;  // the gain has a cusp at the centre
    constexpr double clear = 0.35, many = 0.25;
    const auto lacks = lacking(h);
    constexpr double strong = 0.002;  // of the strongest line: weaker ones hold noise
    const double strongest = *std::max_element(energy_.begin(), energy_.end());
    double most = std::max(sure_nats, clear * whole) + std::log(count()), gain = 0, odd_ones = 0, all = 0;
    Index odd = -1;
    for (Index j = 0; j < count(); ++j) {
      const bool is_central = std::abs(told().places[at(j)] - centre) <= 3,
                 is_strong = energy_[at(j)] > strong * strongest;
      all += is_strong;
      if (std::abs(lacks[at(j)]) < (is_central && lacks[at(j)] < 0 ? least_at_centre : least)) continue;
      odd_ones += is_strong;
      Factors without(h);
      without[at(j)] = std::exp(-lacks[at(j)]) * h[at(j)];
      if (const double nats = (model_.cost(without) - model_.cost(h)) / too_many; nats > most)
        most = nats, odd = j, gain = std::exp(-lacks[at(j)]);
    }
    if (odd_ones > many * all) {
      add(whole - static_cast<double>(count()), "exchange",
          "the order of the readouts: another than that of the trajectory", 0, 0, "", 1);
      return true;
    }
    if (odd < 0) return false;
    // A lost line holds noise, which tells no gain: its neighbours tell what it would hold.
    const double own = energy_[at(odd)],
                 undone = gain < lost ? medians_beside(energy_)[at(odd)] : own / gain / gain;
    const double change =
        std::abs(std::sqrt(undone) - std::sqrt(own)) / std::sqrt(all_energy_ - own + undone);
    const auto text = gain < lost ? fmt::format(
                                        "readout {} of {} (from 0) is lost or holds little but noise: it has "
                                        "{:.2g} times the signal of its neighbours",
                                        number(odd), readouts(), gain)
                                  : fmt::format(
                                        "the signal of readout {} of {} (from 0) is {:.3g} times that of its "
                                        "neighbours: another gain, or interference",
                                        number(odd), readouts(), gain);
    add(most - std::log(count()), "odd_readouts", text, gain, 0, "times", change);
    found_.back().finding.correction = {static_cast<double>(number(odd))};
    return true;
  }

  /// Tests another gain from a readout on. Returns whether it adds a finding.
  bool gain_step(const Factors& even, double base, double least_nats) {
    constexpr std::array<double, 16> steps{.25, .33,  .4,   .5,   .6, .7,  .8, .9,
                                           1.1, 1.25, 1.43, 1.67, 2,  2.5, 3,  4};
    double least = base, gain = 1;
    Index first = 0;
    for (const double of : steps) {
      const auto costs = model_.costs_of_steps(even, factors([&](Index j) { return of * even[at(j)]; }));
      for (Index b = 3; b + 3 <= count(); ++b)
        if (costs[at(b)] < least) least = costs[at(b)], gain = of, first = b;
    }
    const double nats = (base - least) / too_many -
                        std::log(static_cast<double>(steps.size()) * static_cast<double>(count()));
    if (nats < sure_nats || (base - least) / too_many < least_nats) return false;
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
        0.05 * std::sqrt(too_many) /
        std::sqrt(std::max(1e-3, alone(first, log - 0.05) - 2 * best + alone(first, log + 0.05)));
    const double percent = 100 * (std::exp(-log) - 1);
    Factors undone = factors([&](Index j) { return LineValue(j >= first ? std::exp(log) : 1); });
    add(nats - refined(0.15, deviation), "signal",
        fmt::format("the signal changes by {:.2g} \u00b1 {:.1g} % after readout {} of {}: another gain",
                    percent, 100 * deviation * std::exp(-log), number(first), readouts()),
        percent, 100 * deviation * std::exp(-log), "%", change_by(undone));
    return true;
  }

  Factors phases_;  ///< the best of each line
};

}  // namespace

std::vector<Undone> undone_by_factors(const LineTests& tests) { return LineFactors(tests)(); }

}  // namespace fhd::validation
