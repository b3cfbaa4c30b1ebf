// Tests lines of a Cartesian scan with other values: in another order, moved along themselves, of a coil that was undone.
#include <fmt/format.h>

#include <array>
#include <limits>
#include <map>
#include <tuple>

#include "recon/array/linear_algebra.hpp"
#include "validation/verdict/line_tests.hpp"

namespace fhd::validation {
namespace {

class LineChanges : LineTests {
 public:
  explicit LineChanges(const LineTests& tests) : LineTests(tests) {}
  std::vector<Undone> operator()() {
    swapped_neighbours();
    reversed_lines();
    shifted_lines();
    step_along();
    lost_samples();
    own_lags();
    quadratic_phase();
    exchanged_lines();
    conjugated_coil();
    lost_coil();
    return std::move(found_);
  }

 private:
  /// Tests a phase that is quadratic in time, as RF spoiling gives: two neighbours of a line differ from it by the
  /// same phase everywhere, so that only the covariance, learned anew, shows it.
  void quadratic_phase() {
    constexpr int step = 5, most = 355;
    // With it the products of neighbours turn by as much more from each line to the next, so that those of N lines add
    // up to at most 1 / (N sin(step / 2)) of their sizes: a quarter for 90 lines.
    constexpr double one_phase = 0.5;
    if (model_.coherence() > one_phase) return;
    const auto with = [&](double degrees) {
      return factors([=, this](Index j) {
        return phasor(-degrees * degree * static_cast<double>(number(j)) *
                      static_cast<double>(number(j) + 1) / 2);
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
    add(gained_by(with(degrees)) - std::log(most / step) - refined(step, deviation), "phase",
        fmt::format("the phase of the readouts is that of RF spoiling: each advances by {:.4g} degrees more "
                    "than the one before",
                    degrees),
        degrees, deviation, "degrees", change_by(with(degrees)));
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
    std::copy_n(told().at(line, 0), lines.coils * lines.length, lines.at(place, 0));
  }

  /// Adds what is gained by other lines, whose covariance is learned anew.
  void learn_anew(Lines changed, const char* code, const std::string& text) {
    const double change = change_by(changed);
    LineModel model(std::move(changed));
    model.learn(one_);
    add(gained_by(model, model_).first, code, text, 0, 0, "", change);
  }

  void swapped_neighbours() {
    std::map<Index, Index> line_of;  // each number
    for (Index j = 0; j < count(); ++j) line_of[number(j)] = j;
    Lines swapped(told());
    for (Index j = 0; j < count(); ++j)
      if (const auto partner = line_of.find(number(j) ^ 1); partner != line_of.end())
        put(swapped, j, partner->second);
    learn_anew(std::move(swapped), "exchange", "the order of the readouts: each two neighbours are swapped");
  }

  void reversed_lines() {
    Lines reversed(told());
    for (Index j = 0; j < count(); ++j)
      for (Index coil = 0; is_odd(j) && coil < reversed.coils; ++coil)
        std::reverse(reversed.at(j, coil), reversed.at(j, coil) + reversed.length);
    learn_anew(std::move(reversed), "exchange", "the order of the samples: every second readout is reversed");
  }

  /// Returns lines of which every second one is moved by `samples`: by a phase in its Fourier transform, which keeps
  /// the noise.
  Lines shifted(double samples) const {
    Lines lines(told());
    const Index length = lines.length, each = lines.coils * length;
    const auto size = static_cast<double>(length);
    std::vector<Index> odd;
    for (Index j = 0; j < count(); ++j)
      if (is_odd(j)) odd.push_back(j);
    Matrix kernel({length, length}), rows({std::ssize(odd) * lines.coils, length});
    // (1 / N) sum_f exp(i 2 pi f x / N), f from -N/2 on, [from][to]
    for (Index i = 0; i < kernel.size(); ++i) {
      const double x = static_cast<double>(i % length - i / length) + samples, sine = std::sin(pi * x / size);
      const double of = std::abs(sine) < 1e-12 ? 1 : std::sin(pi * x) / (size * sine);
      kernel[i] = length % 2 == 0 && of != 1 ? of * phasor(-pi * x / size) : LineValue(of);
    }
    for (std::size_t i = 0; i < odd.size(); ++i)
      std::copy_n(told().at(odd[i], 0), each, rows.data() + static_cast<Index>(i) * each);
    const auto moved = matrix_product(rows, kernel);
    for (std::size_t i = 0; i < odd.size(); ++i)
      std::copy_n(moved.data() + static_cast<Index>(i) * each, each, lines.at(odd[i], 0));
    return lines;
  }
  /// Tests whether every second line is some samples late, as the echoes of gradients of two signs are.
  void shifted_lines() {
    constexpr double first = 0.25;
    constexpr std::size_t enough = 48;
    std::vector<std::size_t> some(model_.relations().size());
    std::iota(some.begin(), some.end(), std::size_t{0});
    const auto energy = [&](std::size_t r) { return energy_[at(model_.relations()[r][1])]; };
    std::sort(some.begin(), some.end(), [&](std::size_t a, std::size_t b) { return energy(a) > energy(b); });
    some.resize(std::min(some.size(), enough));
    const double unmoved = cost_of(some);
    const auto cost = [&](double samples) { return cost_of(shifted(samples), some); };
    for (const double sign : {-1., 1.}) {
      double samples = sign * first, least = cost(samples);
      if (unmoved - least < sure_nats) continue;
      for (double next = cost(2 * samples); next < least && std::abs(samples) < 4; next = cost(2 * samples))
        least = next, samples *= 2;
      const double a = cost(samples / 2), b = least, c = cost(3 * samples / 2), curve = a - 2 * b + c,
                   step = samples / 2;
      const double best = curve > 0 ? samples + step * (a - c) / curve / 2 : samples,
                   deviation = curve > 0 ? std::abs(step) / std::sqrt(curve) : 0;
      add(unmoved - least - std::log(16) - refined(std::abs(step), deviation), "ghost",
          fmt::format("every second readout is {:.2g} \u00b1 {:.1g} samples {} (ghosts)", std::abs(best),
                      deviation, best < 0 ? "early" : "late"),
          best, deviation, "samples", change_by(shifted(best)));
    }
  }

  /// Returns log(q / |w|^2) of each relation.
  std::vector<double> oddness() const {
    std::vector<double> odd;
    for (std::size_t r = 0; r < model_.relations().size(); ++r) {
      double energy = 0;
      for (const Index line : model_.relations()[r]) energy += energy_[at(line)];
      odd.push_back(model_.cost_of(r) / model_.unknowns() -
                    std::log(energy + 1e-3 * all_energy_ / static_cast<double>(count())));
    }
    return odd;
  }

  struct Boundary {
    double oddness = 0;
    Index first = 0;
    std::vector<std::size_t> relations{};  ///< that have lines on both sides
    std::vector<Index> behind{};           ///< their lines from `first` on
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
      boundary.oddness = boundary.oddness / static_cast<double>(boundary.relations.size()) - median(others);
      all.push_back(std::move(boundary));
    }
    std::sort(all.begin(), all.end(),
              [](const Boundary& a, const Boundary& b) { return a.oddness > b.oddness; });
    all.resize(std::min(all.size(), most));
    for (auto& boundary : all) {
      for (const auto r : boundary.relations)
        for (const Index line : model_.relations()[r])
          if (line >= boundary.first) boundary.behind.push_back(line);
      std::sort(boundary.behind.begin(), boundary.behind.end());
      boundary.behind.erase(std::unique(boundary.behind.begin(), boundary.behind.end()),
                            boundary.behind.end());
    }
    return all;
  }
  std::vector<Index> all_from(Index first) const {
    std::vector<Index> numbers(at(count() - first));
    std::iota(numbers.begin(), numbers.end(), first);
    return numbers;
  }

  /// Puts these lines, moved along themselves, into `lines`.
  void move_along(const std::vector<Index>& moved, double voxels, double angle, Lines& lines) const {
    for (Index n = 0; n < lines.length; ++n) {
      const LineValue turn = phasor(angle + 2 * pi * lines.k_along[at(n)] * voxels / lines.voxels_along);
      for (const Index j : moved)
        for (Index coil = 0; coil < lines.coils; ++coil) lines.at(j, coil)[n] = turn * told().at(j, coil)[n];
    }
  }
  static constexpr int angles = 24;  ///< of the phase behind a boundary that are tried
  /// Returns the cost of the relations of a boundary with the best phase of the lines behind it; `moved`: lines that are
  /// as told elsewhere.
  std::pair<double, double> cost_behind(const Boundary& boundary, double voxels, Lines& moved) const {
    move_along(boundary.behind, voxels, 0, moved);
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
  /// Tests a move along the lines from a readout on, beside any phase.
  void step_along() {
    constexpr std::array<double, 18> moves{-12, -10, -8, -6.5, -5, -4,  -3, -2, -1,
                                           1,   2,   3,  4,    5,  6.5, 8,  10, 12};
    for (const auto& boundary : boundaries()) {
      Lines moved(told());
      const double still = cost_behind(boundary, 0, moved).first;
      double least = still, best = 0;
      for (const double voxels : moves)
        if (const double cost = cost_behind(boundary, voxels, moved).first; cost < least)
          least = cost, best = voxels;
      const double price = std::log(static_cast<double>(moves.size()) * static_cast<double>(count()));
      if (still - least - price < sure_nats) continue;
      const double reach = 0.3 * std::abs(best) + 0.5;
      const auto [voxels, deviation] = least_between(
          [&](double x) { return cost_behind(boundary, x, moved).first; }, best - reach, best + reach);
      const auto [cost, angle] = cost_behind(boundary, voxels, moved);
      move_along(all_from(boundary.first), voxels, angle, moved);
      add(cost_of(boundary.relations) - cost - price - std::log(angles) - refined(1, deviation), "motion",
          fmt::format("the object moved by {:.3g} \u00b1 {:.1g} voxels along {} after readout {} of {}",
                      voxels, deviation, along(), number(boundary.first), readouts()),
          voxels, deviation, "voxels", change_by(moved));
    }
  }

  static constexpr double least_change = 0.05;  // of the image: lags of weak lines are those of noise
  /// Moves the samples of a line by whole places; those at its end repeat.
  void move(Index line, Index places, Lines& lines) const {
    for (Index coil = 0; coil < lines.coils; ++coil)
      for (Index n = 0; n < lines.length; ++n)
        lines.at(line, coil)[n] = told().at(line, coil)[std::clamp<Index>(n - places, 0, lines.length - 1)];
  }
  /// Tests whether samples are early or late from a readout on.
  void lost_samples() {
    constexpr Index most = 12;
    const double price = std::log(2.0 * most * static_cast<double>(count()));
    for (const auto& boundary : boundaries()) {
      const double still = cost_of(boundary.relations);
      double least = still - price - sure_nats;
      Index best = 0;
      Lines moved(told());
      for (Index places = -most; places <= most; ++places) {
        for (const Index j : boundary.behind) move(j, places, moved);
        if (const double cost = cost_of(moved, boundary.relations); cost < least) least = cost, best = places;
      }
      for (Index j = boundary.first; j < count(); ++j) move(j, best, moved);
      const double change = change_by(moved);
      if (best == 0 || change < least_change) continue;
      add(still - least - price, "lost_samples",
          fmt::format("readouts from {} of {} on begin {} samples {}: samples {} in the stream",
                      number(boundary.first), readouts(), std::abs(best), best > 0 ? "early" : "late",
                      best > 0 ? "were lost" : "came twice"),
          static_cast<double>(-best), 0, "samples", change);
    }
  }
  /// Tests whether each readout is early or late by another time, beside its neighbours as they were found.
  void own_lags() {
    constexpr Index most = 2;
    constexpr std::array<Index, 2 * most + 1> tried{0, -1, 1, -2, 2};
    constexpr int rounds = 3;
    Lines lines(told());
    std::vector<Index> places(at(count()));
    std::vector<std::vector<std::size_t>> relations(at(count()));
    for (std::size_t r = 0; r < model_.relations().size(); ++r)
      for (const Index line : model_.relations()[r]) relations[at(line)].push_back(r);
    double change = 0;
    for (int round = 0; round < rounds; ++round) {
      for (Index j = 0; j < count(); ++j) {
        double least = std::numeric_limits<double>::infinity();
        Index best = places[at(j)];
        for (const Index lag : tried) {
          move(j, lag, lines);
          if (const double cost = cost_of(lines, relations[at(j)]); cost < least) least = cost, best = lag;
        }
        move(j, best, lines), places[at(j)] = best;
      }
      change = change_by(lines);
      if (change < least_change) return;
    }
    double mean = 0, square = 0;
    for (const Index p : places) mean += static_cast<double>(p), square += static_cast<double>(p * p);
    const auto all = static_cast<double>(count());
    const double size = std::sqrt(std::max(0.0, square / all - mean * mean / all / all));
    LineModel model(std::move(lines));
    model.learn(one_);
    add(gained_by(model, model_).first - all * std::log(tried.size()), "jitter",
        fmt::format(
            "readouts begin early or late, each by another time, {:.2g} samples rms: a trigger that jitters",
            size),
        size, 0, "samples", change);
  }

  /// Tests two lines, each at the place of the other.
  void exchanged_lines() {
    constexpr std::size_t most = 10;
    const auto odd = oddness();
    const double usual = median(odd);
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
    Lines changed(told());
    for (std::size_t a = 0; a < lines.size(); ++a)
      for (std::size_t b = 0; b < a; ++b) {
        const Index one = std::min(lines[a].second, lines[b].second),
                    other = std::max(lines[a].second, lines[b].second);
        std::vector<std::size_t> relations;
        for (std::size_t r = 0; r < odd.size(); ++r)
          for (const Index line : model_.relations()[r])
            if ((line == one || line == other) && (relations.empty() || relations.back() != r))
              relations.push_back(r);
        put(changed, one, other), put(changed, other, one);
        if (const double nats = cost_of(relations) - cost_of(changed, relations) - price; nats >= sure_nats)
          add(nats, "exchange",
              fmt::format("the order of the readouts: readouts {} and {} (from 0) are exchanged", number(one),
                          number(other)),
              static_cast<double>(number(one)), 0, "readouts", change_by(changed));
        put(changed, one, one), put(changed, other, other);
      }
  }

  // --- Coils ---

  /// Returns the coils that the others would describe better conjugated, from products summed over all lines: at most
  /// `most`.
  std::vector<Index> likely_conjugated(const Array<LineValue>& gram, std::size_t most) const {
    const Index coils = coils_.coils;
    const auto left_over = [&](const Array<LineValue>& products, Index coil) {
      const auto factor = inverse_cholesky_factor(Array<LineValue>(products));
      double inverse = 0;
      for (Index k = 0; factor && k < coils; ++k) inverse += norm((*factor)[k * coils + coil]);
      return inverse > 0 ? 1 / inverse : 0;
    };
    std::vector<std::pair<double, Index>> order;
    for (Index coil = 0; coil < coils; ++coil) {
      Array<LineValue> conjugated(gram);
      for (Index other = 0; other < coils; ++other) {
        LineValue sum{};
        for (Index j = 0; other != coil && j < count(); ++j)
          for (Index n = 0; n < coils_.length; ++n) sum += coils_.at(j, coil)[n] * coils_.at(j, other)[n];
        if (other != coil)
          conjugated[coil * coils + other] = sum, conjugated[other * coils + coil] = conj(sum);
      }
      order.emplace_back(left_over(conjugated, coil) - left_over(gram, coil), coil);
    }
    std::sort(order.begin(), order.end());
    order.resize(std::min(order.size(), most));
    std::vector<Index> likely;
    for (const auto& of : order) likely.push_back(of.second);
    return likely;
  }

  /// Returns the nats gained by conjugating a coil, and whether they are clear, beside combinations of the others,
  /// which are the same for both.
  std::pair<double, bool> gained_by_conjugating(Index coil, Array<LineValue> gram) const {
    const Index coils = coils_.coils;
    for (Index c = 0; c < coils; ++c) gram[coil * coils + c] = gram[c * coils + coil] = LineValue{};
    const auto of_others = strongest_combinations(std::move(gram), std::min(coils, most_combinations) - 1);
    Array<LineValue> combinations({of_others.extent(0) + 1, coils});
    combinations[coil] = LineValue(1);
    std::copy_n(of_others.data(), of_others.size(), combinations.data() + coils);
    LineModel as_told(combined(coils_, combinations));
    Lines changed(as_told.lines());
    for (Index j = 0; j < count(); ++j)
      for (Index n = 0; n < changed.length; ++n) changed.at(j, 0)[n] = conj(changed.at(j, 0)[n]);
    LineModel conjugated(std::move(changed));
    as_told.learn(one_), conjugated.learn(one_);
    return gained_by(conjugated, as_told);
  }

  /// Tests whether a coil is conjugated. A head between two coils looks as likely with either of them conjugated,
  /// whose image then lies where that of the other does: only what one coil gains beyond all others tells it.
  void conjugated_coil() {
    constexpr std::size_t most = 8;
    constexpr double of_another = 0.5;  // of the gain, at most
    const auto gram = gram_of(coils_);
    double best = 0, second = 0;
    Index coil = -1;
    for (const Index tried : likely_conjugated(gram, most)) {
      const auto [nats, is_clear] = gained_by_conjugating(tried, gram);
      second = std::max(second, std::min(nats, best));
      if (nats > best) best = nats, coil = is_clear ? tried : -1;
    }
    if (coil < 0 || second > of_another * best) return;
    double all = 0;
    for (Index c = 0; c < coils_.coils; ++c) all += gram[c * (coils_.coils + 1)].re;
    add(best - std::log(static_cast<double>(coils_.coils)), "coil",
        fmt::format("coil {} (from 0, as used) is conjugated", coil), static_cast<double>(coil), 0, "coil",
        std::sqrt(gram[coil * (coils_.coils + 1)].re / all));
    found_.back().finding.correction = {static_cast<double>(coil)};
  }

  /// Tests whether a coil has no signal before or after a readout.
  void lost_coil() {
    constexpr double least_share = 0.03,
                     lost = 0.02;        // of the energy of all coils; of the share on the other side
    constexpr double least_part = 0.02;  // of the energy of the scan, before and after
    const Index fewest = count() / 8;
    std::vector<double> all{0};
    for (Index j = 0; j < count(); ++j) all.push_back(all.back() + coils_.energy(j));
    for (Index coil = 0; coil < coils_.coils; ++coil) {
      std::vector<double> sum{0};
      for (Index j = 0; j < count(); ++j) {
        double own = 0;
        for (Index n = 0; n < coils_.length; ++n) own += norm(coils_.at(j, coil)[n]);
        sum.push_back(sum.back() + own);
      }
      double least = lost;
      Index first = -1, lines = 0;
      for (Index b = fewest; b <= count() - fewest; ++b) {
        const double before = sum[at(b)] / all[at(b)],
                     after = (sum.back() - sum[at(b)]) / (all.back() - all[at(b)]);
        if (std::min(all[at(b)], all.back() - all[at(b)]) < least_part * all.back()) continue;
        if (std::max(before, after) > least_share &&
            std::min(before, after) < least * std::max(before, after))
          least = std::min(before, after) / std::max(before, after), first = b,
          lines = before < after ? b : count() - b;
      }
      if (first < 0) continue;
      // A line counts as one value, whose variance falls to `least`.
      const double nats = static_cast<double>(lines) * (least - 1 - std::log(least)) -
                          std::log(static_cast<double>(coils_.coils * count()));
      add(nats, "coil",
          fmt::format("coil {} (from 0, as used) is lost in a part of the scan: its signal changes {:.2g} "
                      "times at readout {} of {}",
                      coil, std::sqrt(least), number(first), readouts()),
          static_cast<double>(coil), 0, "coil", std::sqrt(sum.back() / all.back()));
      found_.back().finding.correction = {static_cast<double>(coil)};
    }
  }
};

}  // namespace

std::vector<Undone> undone_by_changes(const LineTests& tests) { return LineChanges(tests)(); }

}  // namespace fhd::validation
