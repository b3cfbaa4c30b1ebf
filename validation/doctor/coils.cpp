// Checks for coils without a signal.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "io/scan/scan_parts.hpp"
#include "validation/doctor/checks.hpp"

namespace fhd {

CentreAndEdge::CentreAndEdge(const std::vector<double>& radius) {
  for (std::size_t m = 0; m < radius.size(); ++m) {
    if (radius[m] < 0.15) centre.push_back(static_cast<std::int64_t>(m));
    if (radius[m] > 0.5) edge.push_back(static_cast<std::int64_t>(m));
  }
}

}  // namespace fhd

namespace fhd::doctor {
namespace {

/// Mean |d|^2 of a coil at the centre of k-space, and in its outer half.
struct Levels {
  double centre = 0, edge = 0;
  double ratio() const { return edge > 0 ? centre / edge : 0; }
};

/// Returns the levels of every coil; empty where too few samples lie in one of the places.
std::vector<Levels> levels_of(const Scan& scan, const CentreAndEdge& places) {
  constexpr std::size_t fewest = 16, enough = 20'000;
  const auto samples = scan.kspace.sample_count();
  const auto& [centre, edge] = places;
  if (centre.size() < fewest || edge.size() < fewest) return {};
  std::vector<Levels> levels;
  for (std::int64_t coil = 0; coil < scan.kspace.coil_count(); ++coil) {
    const auto mean = [&](const std::vector<std::int64_t>& of) {
      const std::size_t step = of.size() / enough + 1;
      double sum = 0, count = 0;
      for (std::size_t i = 0; i < of.size(); i += step)
        sum += norm(Complex<double>(scan.kspace.values[coil * samples + of[i]])), ++count;
      return sum / count;
    };
    levels.push_back({mean(centre), mean(edge)});
  }
  return levels;
}

}  // namespace

CoilsOfNoise coils_of_noise(const Scan& scan, const CentreAndEdge& places) {
  constexpr double noise_alone = 2, signal = 10;
  CoilsOfNoise found;
  const auto levels = levels_of(scan, places);
  std::vector<double> ratios, edges;
  for (const auto& of : levels)
    if (of.edge > 0) ratios.push_back(of.ratio()), edges.push_back(of.edge);
  if (ratios.size() < 2) return found;
  const double usual = median(ratios), usual_edge = median(edges);
  if (usual < signal) return found;
  double most = 0, ratio = 0;
  for (std::size_t coil = 0; coil < levels.size(); ++coil)
    if (levels[coil].edge > 0 && levels[coil].ratio() < noise_alone) {
      found.coils.push_back(static_cast<std::int64_t>(coil));
      if (levels[coil].edge > most) most = levels[coil].edge, ratio = levels[coil].ratio();
    }
  if (found.coils.empty()) return found;
  found.noise = std::sqrt(most / usual_edge);
  found.text = fmt::format(
      "coil {} (from 0) holds noise alone: the centre of k-space has {:.2g} times the energy of its edge, "
      "{:.2g} "
      "times in the other coils, and its noise is {:.2g} times theirs",
      listed(found.coils), ratio, usual, found.noise);
  return found;
}

namespace {

void check_signal_of_coils(const Scan& scan, const SampledPositions& positions, Findings& findings) {
  constexpr double harmful = 1.4;
  const auto found = coils_of_noise(scan, positions.places);
  if (found.coils.empty()) return;
  auto sentence = found.text + ".";
  sentence[0] = 'C';
  // Noise readouts weigh such a coil down.
  findings.add(!scan.noise && found.noise > harmful ? Severity::suspicion : Severity::warning, "coils",
               std::move(sentence), "check the coil's preamplifier and cable, and remove it from the file");
}

/// Returns whether the maps, or the calibration, hold signal of a coil.
bool has_a_map(const Scan& scan, std::int64_t coil) {
  const auto holds_signal = [&](const Array<Complex<float>>& values) {
    const auto each = values.size() / scan.kspace.coil_count();
    return std::any_of(values.begin() + coil * each, values.begin() + (coil + 1) * each,
                       [](const auto& value) { return norm(value) > 0; });
  };
  return (scan.sensitivity_maps && holds_signal(scan.sensitivity_maps->values)) ||
         (scan.calibration && holds_signal(scan.calibration->kspace.values));
}

}  // namespace

void check_coils(const Scan& scan, const std::vector<double>& energy, const SampledPositions& positions,
                 Findings& findings) {
  const auto coils = scan.kspace.coil_count();
  std::vector<std::int64_t> dead, faint;
  const double middle = median(energy);
  for (std::int64_t coil = 0; coil < coils; ++coil) {
    const double own = energy[static_cast<std::size_t>(coil)];
    if (own == 0)
      dead.push_back(coil);
    else if (own < 1e-6 * middle)
      faint.push_back(coil);
  }
  if (static_cast<std::int64_t>(dead.size()) == coils) {
    if (!holds(scan.messages, io::missing_volume, Severity::warning))
      findings.add(Severity::problem, "coils", "All k-space values are zero.",
                   "write the measured values into the file");
    return;
  }
  const bool should_hold_signal =
      std::any_of(dead.begin(), dead.end(), [&](std::int64_t coil) { return has_a_map(scan, coil); });
  if (!dead.empty())
    findings.add(should_hold_signal ? Severity::suspicion : Severity::warning, "coils",
                 fmt::format("Coil {} (from 0) holds only zeros and is left out.", listed(dead)),
                 "check the coil's plug, or remove it from the file");
  if (!faint.empty())
    findings.add(
        Severity::warning, "coils",
        fmt::format("Coil {} (from 0) has less than a thousandth of the others' amplitude: not connected?",
                    listed(faint)),
        "remove it from the file");
  if (coils == 1) return;
  check_signal_of_coils(scan, positions, findings);
  check_noise(scan, positions, dead, findings);
}

}  // namespace fhd::doctor
