#pragma once
// Volumes of one series, for tests.
#include <vector>

#include "data/simulate.hpp"
#include "validation/metrics.hpp"

namespace fhd::tests {

/// The repetitions of a simulated scan: the same positions, noise of their own, k-space v times brightness(v).
template <class Brightness>
std::vector<Scan> volumes_of(const data::SimulationSettings& settings, const Brightness& brightness) {
  auto simulation = data::simulate(settings);
  std::vector<Scan> volumes(simulation.further_repetitions.size() + 1, simulation.scan);
  for (std::size_t v = 1; v < volumes.size(); ++v) {
    volumes[v].kspace.values = simulation.further_repetitions[v - 1];
    for (auto& d : volumes[v].kspace.values) d *= brightness(v);
  }
  return volumes;
}

/// Relative l2.
inline double error_of(const Image& found, const Image& expected) {
  return metrics::relative_l2(converted<Complex<double>>(found.values),
                              converted<Complex<double>>(expected.values));
}

}  // namespace fhd::tests
