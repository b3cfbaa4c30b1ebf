#include "validation/verdict/readout_lags.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "validation/verdict/algebra.hpp"
#include "validation/verdict/energies.hpp"
#include "validation/verdict/judgement.hpp"
#include "validation/verdict/readouts.hpp"

namespace fhd::validation {
namespace {

using Profiles = std::vector<std::vector<double>>;  ///< [readout][sample], of norm 1
constexpr Index most_lag = 12;                      // samples

/// Readouts of one length, every `step`-th of them; length 0: too few or too short ones.
struct SomeReadouts {
  Index length = 0, readouts = 0, step = 1;
  explicit SomeReadouts(const std::vector<std::int64_t>& starts) {
    constexpr Index fewest = 8, shortest = 32, most = 401;
    readouts = std::ssize(starts) - 1, step = 1 + (readouts - 1) / most;
    if (const Index of_all = readout_length(starts); of_all >= shortest && readouts >= fewest)
      length = of_all;
  }
};

/// Returns the profiles of every `step`-th readout; empty where one has no signal.
Profiles profiles_of(const Scan& scan, const SomeReadouts& some) {
  const Index samples = scan.kspace.sample_count(), length = some.length;
  Profiles profiles;
  for (Index first = 0; first + length <= samples; first += some.step * length) {
    auto& profile = profiles.emplace_back(static_cast<std::size_t>(length));
    double square = 0;
    for (Index n = 0; n < length; ++n) {
      double energy = 0;
      for (Index coil = 0; coil < scan.kspace.coil_count(); ++coil)
        energy += norm(Complex<double>(scan.kspace.values[coil * samples + first + n]));
      profile[static_cast<std::size_t>(n)] = std::sqrt(energy), square += energy;
    }
    if (!(square > 0)) return {};
    for (double& value : profile) value /= std::sqrt(square);
  }
  return profiles;
}

/// Returns the sum of the profiles, each moved back by its lag.
std::vector<double> sum_of(const Profiles& profiles, const std::vector<Index>& lags) {
  const auto length = std::ssize(profiles.front());
  std::vector<double> sum(static_cast<std::size_t>(length));
  for (std::size_t j = 0; j < profiles.size(); ++j)
    for (Index n = std::max<Index>(0, -lags[j]); n < std::min(length, length - lags[j]); ++n)
      sum[static_cast<std::size_t>(n)] += profiles[j][static_cast<std::size_t>(n + lags[j])];
  return sum;
}

/// Returns how alike profiles are: 1 for equal ones.
double alikeness(const Profiles& profiles, const std::vector<Index>& lags) {
  double square = 0;
  for (const double value : sum_of(profiles, lags)) square += value * value;
  return square / std::pow(static_cast<double>(profiles.size()), 2);
}

std::vector<Index> lags_of(const Profiles& profiles) {
  constexpr int rounds = 4;
  std::vector<Index> lags(profiles.size());
  std::vector<double> mean = profiles.front();
  const auto length = std::ssize(mean);
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t j = 0; j < profiles.size(); ++j) {
      double best = -1;
      for (Index lag = -most_lag; lag <= most_lag; ++lag) {
        double product = 0;
        for (Index n = std::max<Index>(0, -lag); n < std::min(length, length - lag); ++n)
          product += mean[static_cast<std::size_t>(n)] * profiles[j][static_cast<std::size_t>(n + lag)];
        if (product > best) best = product, lags[j] = lag;
      }
    }
    mean = sum_of(profiles, lags);
  }
  return lags;
}

/// Returns where the lags change once for all, but for one readout in twenty; 0: nowhere.
std::size_t step_in(const std::vector<Index>& lags) {
  const auto most = lags.size() / 20 + 1;  // a readout holds the place itself
  for (std::size_t s = 2; s + 2 <= lags.size(); ++s) {
    const Index before = lags[s / 2], after = lags[(s + lags.size()) / 2];
    if (before == after || lags[s] != after) continue;
    std::size_t others = 0;
    for (std::size_t j = 0; j < lags.size(); ++j) others += lags[j] != (j < s ? before : after);
    if (others <= most) return s;
  }
  return 0;
}

using Vector = std::array<double, 3>;
/// Returns the readout nearest in direction of each, of every `step`-th one.
std::vector<std::size_t> nearest_in_direction(const Scan& scan, const SomeReadouts& some, std::size_t count) {
  const Index samples = scan.kspace.sample_count();
  std::vector<Vector> directions(count);
  for (std::size_t j = 0; j < count; ++j) {
    const Index middle = static_cast<Index>(j) * some.step * some.length + some.length / 2;
    double size = 0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const double* k = scan.trajectory.k.data() + static_cast<Index>(axis) * samples + middle;
      directions[j][axis] = k[1] - k[0];
      size += directions[j][axis] * directions[j][axis];
    }
    for (double& of_axis : directions[j]) of_axis /= positive(std::sqrt(size));
  }
  std::vector<std::size_t> nearest(count);
  for (std::size_t j = 0; j < count; ++j) {
    double most = -2;
    for (std::size_t i = 0; i < count; ++i) {
      double cosine = 0;
      for (std::size_t axis = 0; axis < 3; ++axis) cosine += directions[i][axis] * directions[j][axis];
      if (i != j && cosine > most) most = cosine, nearest[j] = i;
    }
  }
  return nearest;
}

/// Returns whether lags follow the direction of the readouts, or whether they are even or odd: then readouts next to each
/// other in direction, or of one parity, differ by less than others.
bool follow_a_rule(const Scan& scan, const SomeReadouts& some, const std::vector<Index>& lags) {
  constexpr double as_others = 0.5;
  const auto neighbour = nearest_in_direction(scan, some, lags.size());
  std::array<double, 2> sums{}, squares{}, counts{};
  double apart = 0;
  for (std::size_t j = 0; j < lags.size(); ++j) {
    const auto lag = static_cast<double>(lags[j]);
    apart += std::pow(lag - static_cast<double>(lags[neighbour[j]]), 2);
    sums[j % 2] += lag, squares[j % 2] += lag * lag, ++counts[j % 2];
  }
  const double all = counts[0] + counts[1], sum = sums[0] + sums[1],
               variance = (squares[0] + squares[1]) / all - sum * sum / all / all;
  double within = 0;
  for (std::size_t p = 0; p < 2; ++p) within += squares[p] - sums[p] * sums[p] / positive(counts[p]);
  return apart / all < as_others * 2 * variance ||
         (some.step % 2 == 1 && within < as_others * all * variance);
}

/// Returns where the energy of each readout lies near the centre of k-space, the mean of k by |d|^4, cycles/FOV; empty where
/// a readout does not pass within 3 cycles/FOV of it.
std::vector<Vector> centres_of(const Scan& scan, const SomeReadouts& some) {
  constexpr double near = 6, through = 3;
  const Index samples = scan.kspace.sample_count(), length = some.length;
  std::vector<Vector> centres;
  for (Index first = 0; first + length <= samples; first += some.step * length) {
    double weights = 0, least = near * near;
    auto& centre = centres.emplace_back();
    for (Index m = first; m < first + length; ++m) {
      const Vector k{scan.trajectory.k[m], scan.trajectory.k[samples + m],
                     scan.trajectory.k[2 * samples + m]};
      const double square = k[0] * k[0] + k[1] * k[1] + k[2] * k[2];
      if (square >= near * near) continue;
      double energy = 0;
      for (Index coil = 0; coil < scan.kspace.coil_count(); ++coil)
        energy += norm(Complex<double>(scan.kspace.values[coil * samples + m]));
      least = std::min(least, square), weights += energy * energy;
      for (std::size_t axis = 0; axis < 3; ++axis) centre[axis] += energy * energy * k[axis];
    }
    if (least > through * through || !(weights > 0)) return {};
    for (double& of_axis : centre) of_axis /= weights;
  }
  return centres;
}

/// Returns that the energy of each readout lies elsewhere in k-space. That of an object and a constant error of k moves by
/// less than 0.16 cycles/FOV from a readout to the one next to it in direction, with random ramps by 0.5 and more.
std::optional<Finding> ramps_between(const Scan& scan, const SomeReadouts& some) {
  constexpr double far = 0.3;
  const auto centres = centres_of(scan, some);
  if (centres.empty()) return {};
  const auto neighbour = nearest_in_direction(scan, some, centres.size());
  std::vector<double> apart;
  for (std::size_t j = 0; j < centres.size(); ++j) {
    double square = 0;
    for (std::size_t axis = 0; axis < 3; ++axis)
      square += std::pow(centres[j][axis] - centres[neighbour[j]][axis], 2);
    apart.push_back(std::sqrt(square));
  }
  const double usual = median(std::move(apart));
  if (usual < far) return {};
  return make_finding(
      "phase_ramps",
      fmt::format(
          "the centre of k-space lies elsewhere in each readout, by {:.2g} cycles/FOV from one to the "
          "next: a phase ramp of each shot (motion in diffusion gradients)",
          usual),
      usual, 0, "cycles/FOV", shown_by_samples);
}

/// Returns that readouts begin early or late.
std::optional<Finding> lags_of_profiles(const Scan& scan, const SomeReadouts& some) {
  constexpr double least_alike = 0.95, nearer = 0.4;
  const auto profiles = profiles_of(scan, some);
  if (profiles.empty()) return {};
  const auto lags = lags_of(profiles);
  const double before = alikeness(profiles, std::vector<Index>(profiles.size())),
               after = alikeness(profiles, lags);
  if (after < least_alike || 1 - after > nearer * (1 - before)) return {};
  if (const auto s = step_in(lags); s > 0) {
    const Index samples = lags[(s + lags.size()) / 2] - lags[s / 2];
    return make_finding(
        "lost_samples",
        fmt::format("readouts from {} of {} (from 0) on begin {} samples {} than those before: samples {} "
                    "in the stream",
                    static_cast<Index>(s) * some.step, some.readouts, std::abs(samples),
                    samples < 0 ? "earlier" : "later", samples < 0 ? "were lost" : "came twice"),
        static_cast<double>(samples), 0, "samples", shown_by_samples);
  }
  if (follow_a_rule(scan, some, lags)) return {};
  double mean = 0, square = 0;
  for (const Index lag : lags) mean += static_cast<double>(lag), square += static_cast<double>(lag * lag);
  const auto all = static_cast<double>(lags.size());
  const double size = std::sqrt(std::max(0.0, square / all - mean * mean / all / all));
  return make_finding(
      "jitter",
      fmt::format("readouts begin early or late, each by another time, {:.2g} samples rms: a trigger that "
                  "jitters",
                  size),
      size, 0, "samples", shown_by_samples);
}

}  // namespace

std::optional<Finding> lag_of_readouts(const Scan& scan, const std::vector<std::int64_t>& starts) {
  const SomeReadouts some(starts);
  if (some.length == 0) return {};
  return lags_of_profiles(scan, some);
}

std::optional<Finding> ramps_of_readouts(const Scan& scan, const std::vector<std::int64_t>& starts) {
  const SomeReadouts some(starts);
  if (some.length == 0) return {};
  return ramps_between(scan, some);
}

}  // namespace fhd::validation
