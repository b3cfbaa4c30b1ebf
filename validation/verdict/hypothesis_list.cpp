#include "validation/verdict/hypothesis_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace fhd::validation {
namespace {

/// Returns the pattern of a weight for each group, of some kinds alike.
Pattern pattern_of(const std::vector<double>& weights, const std::vector<std::size_t>& kinds) {
  Pattern pattern(weights.size());
  for (std::size_t g = 0; g < weights.size(); ++g)
    for (const auto kind : kinds) pattern[g][kind] = weights[g];
  return pattern;
}

class List {
 public:
  List(const CentralSamples& samples, const std::array<int, 3>& matrix_size) : s_(samples) {
    for (int axis = 0; axis < 3; ++axis)
      if (matrix_size[static_cast<std::size_t>(axis)] > 1) axes_.push_back(axis);
  }

  std::vector<Hypothesis> operator()() {
    add(When::all, 0);
    constexpr Index enough_readouts = 8;  // fewer tell no time of a change
    if (s_.blocks > 1 && s_.readout_count >= enough_readouts) {
      add(When::odd, 0);
      add(When::drift, 0);
      for (int block = 1; block < s_.blocks; ++block) add(When::step, block);
    }
    return std::move(list_);
  }

 private:
  void add(When when, int block) {
    weights_.assign(s_.group_count(), 0);
    std::vector<double> readouts(s_.group_count());
    for (Index j = 0; j < s_.readout_count; ++j) {
      const std::size_t group = s_.group_of(j);
      const double time = (static_cast<double>(j) + 0.5) / static_cast<double>(s_.readout_count) - 0.5;
      ++readouts[group], weights_[group] += time;
    }
    for (std::size_t g = 0; g < weights_.size(); ++g) {
      const bool is_later = static_cast<int>(g / 2) >= block;
      if (when == When::drift)
        weights_[g] /= std::max(1.0, readouts[g]);
      else
        weights_[g] =
            when == When::all || (when == When::odd && g % 2 == 1) || (when == When::step && is_later);
    }
    when_ = when, block_ = block;
    const bool by_time = when == When::step || when == When::drift;
    const bool is_another_object = when == When::all && !s_.has_maps;
    if (!by_time) add_alike(codes::delays, change::delay), add_by_axis(codes::delays, change::delay);
    if (!by_time && !is_another_object) {
      const char* scale = when == When::odd ? "readout_scale" : "scale";
      add_alike(scale, change::scale), add_each_axis(scale, change::scale);
    }
    if (when == When::all) add_shears(), add_by_axis("shim", change::drift);
    if (when == When::step) add_each_axis("readout_scale", change::scale);
    if (when != When::all) {
      add_by_axis("motion", change::shift);
      add_one("phase", change::phase), add_one("signal", change::gain);
    }
    if (when != When::odd && !is_another_object) add_turns(by_time ? "motion" : "turn");
    if (when == When::all || when == When::drift) add_one("frequency", change::offset);
  }

  void add_hypothesis(const char* code, std::size_t kind, std::vector<int> axes,
                      const std::vector<std::vector<std::size_t>>& kinds) {
    Hypothesis h{code, kind, when_, block_, std::move(axes)};
    for (const auto& alike : kinds) h.patterns.push_back(pattern_of(weights_, alike));
    list_.push_back(std::move(h));
  }
  void add_one(const char* code, std::size_t kind) { add_hypothesis(code, kind, {-1}, {{kind}}); }
  void add_alike(const char* code, std::size_t kind) {
    std::vector<std::size_t> kinds;
    for (const int axis : axes_) kinds.push_back(kind + static_cast<std::size_t>(axis));
    add_hypothesis(code, kind, {-1}, {kinds});
  }
  void add_each_axis(const char* code, std::size_t kind) {
    for (const int axis : axes_)
      add_hypothesis(code, kind, {axis}, {{kind + static_cast<std::size_t>(axis)}});
  }
  void add_by_axis(const char* code, std::size_t kind) {
    std::vector<std::vector<std::size_t>> kinds;
    for (const int axis : axes_) kinds.push_back({kind + static_cast<std::size_t>(axis)});
    add_hypothesis(code, kind, axes_, kinds);
  }
  void add_turns(const char* code) {
    if (axes_.size() == 3) add_by_axis(code, change::turn);
    if (axes_.size() == 2) {
      const int about = 3 - axes_[0] - axes_[1];
      add_hypothesis(code, change::turn, {about}, {{change::turn + static_cast<std::size_t>(about)}});
    }
  }

  /// Adds a shear in each plane, with a turn: that which adds a share of one component of k to the other is half of each.
  void add_shears() {
    for (const int about : {0, 1, 2}) {
      const auto axis = static_cast<std::size_t>(about);
      if (std::count(axes_.begin(), axes_.end(), (about + 1) % 3) +
              std::count(axes_.begin(), axes_.end(), (about + 2) % 3) <
          2)
        continue;
      add_hypothesis("shear", change::shear + axis, {about, about},
                     {{change::shear + axis}, {change::turn + axis}});
    }
  }

  const CentralSamples& s_;
  std::vector<int> axes_;
  std::vector<double> weights_;  ///< of each group, of what is being added
  When when_ = When::all;
  int block_ = 0;
  std::vector<Hypothesis> list_;
};

/// A size in a unit that people use.
struct Amount {
  double value = 0, deviation = 0;
  int axis = -1;
};

/// Returns "3.0 ± 0.1", with digits up to the first one of the deviation.
std::string number(double value, double deviation) {
  const int digits =
      deviation > 0 ? std::clamp(static_cast<int>(std::ceil(-std::log10(deviation))), 0, 4) : 2;
  return fmt::format("{:.{}f} \u00b1 {:.{}f}", value, digits, deviation, digits);
}

/// Returns the amounts that differ from zero, with their axes: "1.0 ± 0.1 voxels along x and 2.0 ± 0.1 along y".
std::string listed(const std::vector<Amount>& amounts, const std::string& unit, const char* of_axis) {
  double most = 0;
  for (const auto& a : amounts) most = std::max(most, std::abs(a.value));
  std::string words;
  for (const auto& a : amounts) {
    if (amounts.size() > 1 && std::abs(a.value) < std::max(0.1 * most, 3 * a.deviation) &&
        std::abs(a.value) < most)
      continue;
    if (!words.empty()) words += " and ";
    words += number(a.value, a.deviation) + " " + unit;
    if (a.axis >= 0 && *of_axis != 0) words += fmt::format(" {} {}", of_axis, "xyz"[a.axis]);
  }
  return words;
}

/// Returns a copy where the largest amount is positive, and whether signs changed.
bool make_positive(std::vector<Amount>& amounts) {
  const auto largest = std::max_element(amounts.begin(), amounts.end(), [](const Amount& a, const Amount& b) {
    return std::abs(a.value) < std::abs(b.value);
  });
  if (largest->value >= 0) return false;
  for (auto& a : amounts) a.value = -a.value;
  return true;
}

/// Returns the factor to the unit of people, and the unit.
std::pair<double, std::string> unit_of(std::size_t kind, int voxels, bool has_times) {
  constexpr double degrees = 180 / std::numbers::pi, turns = 0.5 / std::numbers::pi;
  switch (kind) {
    case change::shift:
      return {voxels, "voxels"};
    case change::phase:
    case change::turn:
      return {degrees, "degrees"};
    case change::offset:
      return {turns, has_times ? "Hz" : "turns per readout"};
    case change::delay:
      return {1, "samples"};
    case change::drift:
      return {1, has_times ? "Hz" : "cycles/FOV"};
    default:
      return {100, "%"};
  }
}

std::string when_of(const Hypothesis& h, const CentralSamples& s) {
  if (h.when == When::drift) return " from the first to the last readout";
  if (h.when != When::step) return {};
  return fmt::format(" after readout {} of {}", s.block_starts[static_cast<std::size_t>(h.block)],
                     s.readout_count);
}

/// Returns how much of one component of k the file adds to another: sizes of a shear and a turn that undo it.
Finding shear_in_words(const Hypothesis& h, const std::vector<double>& sizes,
                       const std::vector<double>& deviations) {
  const int a = (h.axes[0] + 1) % 3, b = (h.axes[0] + 2) % 3;
  const double of_b = -100 * (sizes[0] - sizes[1]), of_a = -100 * (sizes[0] + sizes[1]),
               deviation = 100 * std::hypot(deviations[0], deviations[1]);
  const bool is_of_b = std::abs(of_b) > std::abs(of_a);
  const double amount = is_of_b ? of_b : of_a;
  return {h.code,
          fmt::format("k is sheared: k_{0} holds {2} % of k_{1}", "xyz"[is_of_b ? a : b],
                      "xyz"[is_of_b ? b : a], number(amount, deviation)),
          amount, deviation, "%"};
}

/// Returns what an even gradient of the field does, by an amount in words.
std::string drift_in_words(const std::string& amount, bool has_times) {
  return fmt::format("{} by {} {} (a shim, or the offset of a gradient)",
                     has_times ? "the field rises" : "k drifts", amount,
                     has_times ? "across the field of view" : "through each readout");
}

/// Returns delays in samples or factors of k along x, y, z that undo a delay or a scale of all readouts.
std::vector<double> correction_of(const Hypothesis& h, const std::vector<double>& sizes,
                                  const std::array<int, 3>& matrix_size) {
  const double none = h.kind == change::scale ? 1 : 0;
  std::vector<double> along(matrix_size[2] > 1 ? 3 : 2, none);
  for (std::size_t i = 0; i < sizes.size(); ++i)
    for (std::size_t axis = 0; axis < along.size(); ++axis)
      if ((h.axes[i] < 0 || h.axes[i] == static_cast<int>(axis)) && matrix_size[axis] > 1)
        along[axis] = none + sizes[i];
  return along;
}

}  // namespace

Pattern Hypothesis::of(const std::vector<double>& sizes) const {
  Pattern sum(patterns.front().size());
  for (std::size_t i = 0; i < sizes.size(); ++i)
    for (std::size_t g = 0; g < sum.size(); ++g)
      for (std::size_t k = 0; k < change::count; ++k) sum[g][k] += sizes[i] * patterns[i][g][k];
  return sum;
}

std::vector<Hypothesis> hypotheses_for(const CentralSamples& samples, const std::array<int, 3>& matrix_size) {
  return List(samples, matrix_size)();
}

Finding in_words(const Hypothesis& h, const std::vector<double>& sizes, const std::vector<double>& deviations,
                 const std::array<int, 3>& matrix_size, const CentralSamples& samples, bool has_times) {
  if (h.kind >= change::shear && h.kind < change::drift) return shear_in_words(h, sizes, deviations);
  std::vector<Amount> amounts;
  std::string unit;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const int axis = h.axes[i];
    const auto [factor, name] =
        unit_of(h.kind, axis < 0 ? 1 : matrix_size[static_cast<std::size_t>(axis)], has_times);
    unit = name;
    Amount a{factor * sizes[i], factor * deviations[i], axis};
    // The k of the file errs by the inverse of the size that corrects it.
    if (h.kind == change::scale) a.value = 100 * (1 / (1 + sizes[i]) - 1);
    if (h.kind == change::turn) a.value = -a.value;
    amounts.push_back(a);
  }
  const auto largest = *std::max_element(
      amounts.begin(), amounts.end(),
      [](const Amount& a, const Amount& b) { return std::abs(a.value) < std::abs(b.value); });
  Finding finding{h.code, {}, largest.value, largest.deviation, unit};
  if (h.when == When::all && (h.kind == change::delay || h.kind == change::scale))
    finding.correction = correction_of(h, sizes, matrix_size);
  const bool odd = h.when == When::odd;
  const std::string when = when_of(h, samples);
  auto shown = amounts;
  const auto list = [&](const char* of_axis) { return listed(shown, unit, of_axis); };
  if (h.kind == change::delay) {
    const bool early = make_positive(shown);
    finding.text = fmt::format("{} {}", odd ? "every second readout is" : "readouts are",
                               listed(shown, early ? "samples early" : "samples late", "along"));
  } else if (h.kind == change::scale) {
    const bool is_short = make_positive(shown);
    finding.text = fmt::format(
        "k{}{} is {} too {}", largest.axis < 0 ? "" : fmt::format(" along {}", "xyz"[largest.axis]),
        odd ? " of every second readout" : when, list(""), is_short ? "short" : "long");
  } else if (h.kind == change::drift) {
    make_positive(shown);
    finding.text = drift_in_words(list("along"), has_times);
  } else if (h.kind == change::shift) {
    finding.text = odd ? fmt::format("the object lies {} further in every second readout", list("along"))
                       : fmt::format("the object {} by {}{}", h.when == When::step ? "moved" : "drifts",
                                     list("along"), when);
  } else if (h.kind == change::turn) {
    finding.text = h.when == When::all
                       ? fmt::format("the trajectory is turned against the maps by {}", list("about"))
                       : fmt::format("the object {} by {}{}", h.when == When::step ? "turned" : "turns",
                                     list("about"), when);
  } else if (h.kind == change::offset) {
    finding.text = h.when == When::all ? fmt::format("a frequency offset of {}", list(""))
                                       : fmt::format("the frequency drifts by {}{}", list(""), when);
  } else {
    finding.text = fmt::format("the {}{} {} by {}{}", h.kind == change::phase ? "phase" : "signal",
                               odd ? " of every second readout" : "",
                               h.when == When::drift ? "drifts"
                               : odd                 ? "differs"
                                                     : "changes",
                               list(""), when);
  }
  return finding;
}

}  // namespace fhd::validation
