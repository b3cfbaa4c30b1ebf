#include "validation/verdict/readout_lags.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "validation/verdict/energies.hpp"
#include "validation/verdict/judgement.hpp"
#include "validation/verdict/readouts.hpp"

namespace fhd::validation {
namespace {

using LagIndex = std::int64_t;
using Profiles = std::vector<std::vector<double>>;  ///< [readout][sample], of norm 1
constexpr LagIndex most_lag = 12;                   // samples

/// Returns the profiles of every `step`-th readout; empty where one has no signal.
Profiles profiles_of(const Scan& scan, LagIndex length, LagIndex step) {
  const LagIndex samples = scan.kspace.sample_count();
  Profiles profiles;
  for (LagIndex first = 0; first + length <= samples; first += step * length) {
    auto& profile = profiles.emplace_back(static_cast<std::size_t>(length));
    double square = 0;
    for (LagIndex n = 0; n < length; ++n) {
      double energy = 0;
      for (LagIndex coil = 0; coil < scan.kspace.coil_count(); ++coil)
        energy += norm(Complex<double>(scan.kspace.values[coil * samples + first + n]));
      profile[static_cast<std::size_t>(n)] = std::sqrt(energy), square += energy;
    }
    if (!(square > 0)) return {};
    for (double& value : profile) value /= std::sqrt(square);
  }
  return profiles;
}

/// Returns the sum of the profiles, each moved back by its lag.
std::vector<double> sum_of(const Profiles& profiles, const std::vector<LagIndex>& lags) {
  const auto length = std::ssize(profiles.front());
  std::vector<double> sum(static_cast<std::size_t>(length));
  for (std::size_t j = 0; j < profiles.size(); ++j)
    for (LagIndex n = std::max<LagIndex>(0, -lags[j]); n < std::min(length, length - lags[j]); ++n)
      sum[static_cast<std::size_t>(n)] += profiles[j][static_cast<std::size_t>(n + lags[j])];
  return sum;
}

/// Returns how alike profiles are: 1 for equal ones.
double alikeness(const Profiles& profiles, const std::vector<LagIndex>& lags) {
  double square = 0;
  for (const double value : sum_of(profiles, lags)) square += value * value;
  return square / std::pow(static_cast<double>(profiles.size()), 2);
}

std::vector<LagIndex> lags_of(const Profiles& profiles) {
  constexpr int rounds = 4;
  std::vector<LagIndex> lags(profiles.size());
  std::vector<double> mean = profiles.front();
  const auto length = std::ssize(mean);
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t j = 0; j < profiles.size(); ++j) {
      double best = -1;
      for (LagIndex lag = -most_lag; lag <= most_lag; ++lag) {
        double product = 0;
        for (LagIndex n = std::max<LagIndex>(0, -lag); n < std::min(length, length - lag); ++n)
          product += mean[static_cast<std::size_t>(n)] * profiles[j][static_cast<std::size_t>(n + lag)];
        if (product > best) best = product, lags[j] = lag;
      }
    }
    mean = sum_of(profiles, lags);
  }
  return lags;
}

/// Returns where the lags change once for all, but for one readout in twenty; 0: nowhere.
std::size_t step_in(const std::vector<LagIndex>& lags) {
  const auto most = lags.size() / 20 + 1;  // a readout holds the place itself
  for (std::size_t s = 2; s + 2 <= lags.size(); ++s) {
    const LagIndex before = lags[s / 2], after = lags[(s + lags.size()) / 2];
    if (before == after || lags[s] != after) continue;
    std::size_t others = 0;
    for (std::size_t j = 0; j < lags.size(); ++j) others += lags[j] != (j < s ? before : after);
    if (others <= most) return s;
  }
  return 0;
}

/// Returns whether lags follow the direction of the readouts, or whether they are even or odd: then readouts next to each
/// other in direction, or of one parity, differ by less than others.
bool follow_a_rule(const Scan& scan, LagIndex length, LagIndex step, const std::vector<LagIndex>& lags) {
  constexpr double as_others = 0.5;
  const LagIndex samples = scan.kspace.sample_count();
  std::vector<std::array<double, 3>> directions;
  double mean = 0, square = 0, nearest = 0;
  for (std::size_t j = 0; j < lags.size(); ++j) {
    const LagIndex first = static_cast<LagIndex>(j) * step * length;
    auto& direction = directions.emplace_back();
    double size = 0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const double* k = scan.trajectory.k.data() + static_cast<LagIndex>(axis) * samples + first;
      direction[axis] = k[length / 2 + 1] - k[length / 2];
      size += direction[axis] * direction[axis];
    }
    for (double& of_axis : direction) of_axis /= positive(std::sqrt(size));
    mean += static_cast<double>(lags[j]), square += static_cast<double>(lags[j] * lags[j]);
  }
  const auto all = static_cast<double>(lags.size());
  const double variance = square / all - mean * mean / all / all;
  std::array<double, 2> of_parity{}, squares{}, counts{};
  for (std::size_t j = 0; j < lags.size(); ++j) {
    double most = -1;
    std::size_t neighbour = j;
    for (std::size_t i = 0; i < lags.size(); ++i) {
      double cosine = 0;
      for (std::size_t axis = 0; axis < 3; ++axis) cosine += directions[i][axis] * directions[j][axis];
      if (i != j && std::abs(cosine) > most) most = std::abs(cosine), neighbour = i;
    }
    nearest += std::pow(static_cast<double>(lags[j] - lags[neighbour]), 2);
    const auto lag = static_cast<double>(lags[j]);
    of_parity[j % 2] += lag, squares[j % 2] += lag * lag, ++counts[j % 2];
  }
  double within = 0;
  for (std::size_t p = 0; p < 2; ++p)
    within += squares[p] - of_parity[p] * of_parity[p] / positive(counts[p]);
  return nearest / all < as_others * 2 * variance || (step % 2 == 1 && within < as_others * all * variance);
}

}  // namespace

std::optional<Finding> lag_of_readouts(const Scan& scan, const std::vector<std::int64_t>& starts) {
  constexpr LagIndex fewest = 8, shortest = 32, most = 401;
  constexpr double alike = 0.95, nearer = 1. / 3;
  const LagIndex length = readout_length(starts), readouts = std::ssize(starts) - 1;
  if (length < shortest || readouts < fewest) return {};
  const LagIndex step = 1 + (readouts - 1) / most;
  const auto profiles = profiles_of(scan, length, step);
  if (profiles.empty()) return {};
  const auto lags = lags_of(profiles);
  const double before = alikeness(profiles, std::vector<LagIndex>(profiles.size())),
               after = alikeness(profiles, lags);
  if (after < alike || 1 - after > nearer * (1 - before)) return {};
  if (const auto s = step_in(lags); s > 0) {
    const LagIndex samples = lags.back() - lags.front();
    return Finding{
        "lost_samples",
        fmt::format("readouts from {} of {} (from 0) on begin {} samples {} than those before: samples {} "
                    "in the stream",
                    static_cast<LagIndex>(s) * step, readouts, std::abs(samples),
                    samples < 0 ? "earlier" : "later", samples < 0 ? "were lost" : "came twice"),
        static_cast<double>(samples),
        0,
        "samples",
        shown_by_samples};
  }
  if (follow_a_rule(scan, length, step, lags)) return {};
  double mean = 0, square = 0;
  for (const LagIndex lag : lags) mean += static_cast<double>(lag), square += static_cast<double>(lag * lag);
  const auto all = static_cast<double>(lags.size());
  const double size = std::sqrt(std::max(0.0, square / all - mean * mean / all / all));
  return Finding{
      "jitter",
      fmt::format("readouts begin early or late, each by another time, {:.2g} samples rms: a trigger that "
                  "jitters, or a phase ramp of each shot",
                  size),
      size,
      0,
      "samples",
      shown_by_samples};
}

}  // namespace fhd::validation
