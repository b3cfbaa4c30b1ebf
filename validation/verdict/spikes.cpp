#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "validation/verdict/data_tests.hpp"
#include "validation/verdict/energies.hpp"

namespace fhd::validation {
namespace {

constexpr double over_neighbours = 16, over_median = 30, least_share = 0.1;
constexpr double near_centre = 4;  ///< cycles/FOV: there the signal itself has peaks

/// Returns |k|^2 of a sample, (cycles/FOV)^2.
double square_of_k(const Trajectory& trajectory, Index m) {
  double square = 0;
  for (Index axis = 0; axis < 3; ++axis)
    square += std::pow(trajectory.k[axis * trajectory.sample_count() + m], 2);
  return square;
}

/// Returns the largest of the energies two to four samples away in [first, last).
double around(const std::vector<double>& energy, Index m, Index first, Index last) {
  double most = 0;
  for (Index i = std::max(first, m - 4); i < std::min(last, m + 5); ++i)
    if (std::abs(i - m) > 1) most = std::max(most, energy[static_cast<std::size_t>(i)]);
  return most;
}

}  // namespace

std::optional<Finding> spikes_in(const VerifierInput<float>& e, const std::vector<Index>& starts) {
  const Index count = e.trajectory.sample_count();
  std::vector<double> energy(static_cast<std::size_t>(count));
  for (Index coil = 0; coil < e.coil_count; ++coil)
    for (Index m = 0; m < count; ++m)
      energy[static_cast<std::size_t>(m)] += std::norm(rest_of(e, coil * count + m));
  const double usual = median(energy);
  double all = 0, in_spikes = 0, data = 0;
  for (Index i = 0; i < e.coil_count * count; ++i) data += std::norm(sample_of(e, i));
  Index spikes = 0, first_sample = 0;
  std::vector<double> readouts;
  for (std::size_t j = 0; j + 1 < starts.size(); ++j)
    for (Index m = starts[j]; m < starts[j + 1]; ++m) {
      const double of = energy[static_cast<std::size_t>(m)];
      all += of;
      if (of <= over_median * usual || of <= over_neighbours * around(energy, m, starts[j], starts[j + 1]) ||
          square_of_k(e.trajectory, m) < near_centre * near_centre)
        continue;
      if (spikes++ == 0) first_sample = m - starts[j];
      if (readouts.empty() || readouts.back() < static_cast<double>(j))
        readouts.push_back(static_cast<double>(j));
      in_spikes += of;
    }
  if (spikes == 0 || in_spikes < least_share * all) return {};
  auto found = make_finding(
      "spikes",
      fmt::format("spikes: {} sample{} far above {} neighbours, {}sample {} of readout {:.0f} (from 0)",
                  spikes, spikes > 1 ? "s" : "", spikes > 1 ? "their" : "its", spikes > 1 ? "the first " : "",
                  first_sample, readouts.front()),
      static_cast<double>(spikes), 0, "samples", in_spikes / all, std::sqrt(in_spikes / positive(data)));
  return with_correction(std::move(found), std::move(readouts));
}

}  // namespace fhd::validation
