#include "validation/verdict/receiver_boards.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>

#include "validation/doctor/checks.hpp"
#include "validation/verdict/algebra.hpp"
#include "validation/verdict/judgement.hpp"
#include "validation/verdict/readouts.hpp"

namespace fhd::validation {
namespace {

using Turns = std::vector<std::vector<std::complex<double>>>;  ///< of length 1, [pair of readouts][coil]

/// Returns the turns of each coil from readout to readout, of at most 400 pairs. Every second readout of EPI runs backwards.
Turns turns_of(const Scan& scan, Index length) {
  constexpr Index most = 400;
  constexpr double near = 2.5;  // cycles/FOV
  const Index samples = scan.kspace.sample_count(), coils = scan.kspace.coil_count(),
              readouts = samples / length, step = 1 + (readouts - 1) / most;
  Turns turns;
  for (Index j = 0; j + 1 < readouts; j += step) {
    const Index first = j * length, next = first + length;
    const auto count_near = [&](auto partner) {
      Index count = 0;
      for (Index n = 0; n < length; ++n) count += doctor::distance(scan, first + n, partner(n)) < near;
      return count;
    };
    const auto forward = [&](Index n) { return next + n; };
    const auto backward = [&](Index n) { return next + length - 1 - n; };
    const Index ahead = count_near(forward), back = count_near(backward);
    if (std::max(ahead, back) < 2) continue;
    auto& of_pair = turns.emplace_back(static_cast<std::size_t>(coils));
    for (Index n = 0; n < length; ++n) {
      const Index a = first + n, b = back > ahead ? backward(n) : forward(n);
      if (doctor::distance(scan, a, b) >= near) continue;
      for (Index coil = 0; coil < coils; ++coil) {
        const auto product = conj(Complex<double>(scan.kspace.values[coil * samples + a])) *
                             Complex<double>(scan.kspace.values[coil * samples + b]);
        of_pair[static_cast<std::size_t>(coil)] += std::complex<double>(product.re, product.im);
      }
    }
    for (auto& turn : of_pair) turn = std::abs(turn) > 0 ? turn / std::abs(turn) : 0;
  }
  return turns;
}

/// Returns the group of each coil: coils are linked where their turns agree better than of two clocks.
std::vector<std::size_t> groups_of(const Turns& turns, std::size_t coils, double limit) {
  std::vector<std::size_t> group(coils);
  for (std::size_t c = 0; c < coils; ++c) group[c] = c;
  for (std::size_t a = 0; a < coils; ++a)
    for (std::size_t b = 0; b < a; ++b) {
      std::complex<double> sum;
      for (const auto& pair : turns) sum += pair[a] * std::conj(pair[b]);
      if (group[a] != group[b] && std::abs(sum) > limit * static_cast<double>(turns.size()))
        std::replace(group.begin(), group.end(), std::size_t{group[a]}, std::size_t{group[b]});
    }
  return group;
}

}  // namespace

std::optional<Finding> unlocked_boards(const Scan& scan, const std::vector<Index>& starts) {
  constexpr std::size_t fewest = 7;
  constexpr double most = 0.75;  // of right scans whose readouts share the centre R is above 0.83
  const Index length = readout_length(starts);
  const auto coils = static_cast<std::size_t>(scan.kspace.coil_count());
  if (coils < 4 || length < 2) return {};  // two or three agree little by nature
  const auto turns = turns_of(scan, length);
  if (turns.size() < fewest) return {};
  const double limit = std::min(most, std::sqrt(std::log(20.0 * static_cast<double>(coils * coils)) /
                                                static_cast<double>(turns.size())));
  const auto group = groups_of(turns, coils, limit);
  std::vector<Index> smallest;
  std::size_t groups = 0;
  for (std::size_t first = 0; first < coils; ++first) {
    if (std::find(group.begin(), group.begin() + static_cast<std::ptrdiff_t>(first), group[first]) !=
        group.begin() + static_cast<std::ptrdiff_t>(first))
      continue;
    std::vector<Index> members;
    for (std::size_t c = first; c < coils; ++c)
      if (group[c] == group[first]) members.push_back(static_cast<Index>(c));
    if (coils > 3 && members.size() < 2) continue;  // of noise, or far from all others
    if (groups++ == 0 || members.size() <= smallest.size()) smallest = std::move(members);
  }
  if (groups < 2) return {};
  return make_finding(
      "boards",
      fmt::format("the phase of coil{} {} (from 0) against the other coils changes at random from readout "
                  "to readout: their receiver board is not locked to that of the others",
                  doctor::plural(std::ssize(smallest)), doctor::listed(smallest)),
      static_cast<double>(smallest.size()), 0, "coils", shown_by_samples);
}

}  // namespace fhd::validation
