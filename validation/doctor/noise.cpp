// Checks whether coils can be whitened, and how far their noise differs.
#include "recon/coils/noise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "recon/domain/option_words.hpp"
#include "validation/doctor/checks.hpp"

namespace fhd::doctor {

void check_noise(const Scan& scan, const SampledPositions& positions, const std::vector<std::int64_t>& dead,
                 Findings& findings) {
  const auto coils = scan.kspace.coil_count();
  if (scan.noise && scan.noise->extent(1) < 2 * coils)
    findings.add(
        Severity::warning, "noise",
        fmt::format("{} noise samples are too few for the correlations of {} coils: coils are scaled only.",
                    scan.noise->extent(1), coils),
        "add noise readouts, or " + option_words("whiten", "off"));
  else if (scan.noise)
    findings.add(
        Severity::ok, "noise",
        fmt::format("{} noise samples: the {} coils are whitened by them.", scan.noise->extent(1), coils));
  else
    findings.add(Severity::note, "noise", "There are no noise readouts: coils are not whitened.",
                 option_words("whiten", "edge") + " takes the noise from the edge of k-space");
  const auto covariance =
      scan.noise ? noise_covariance(*scan.noise) : edge_noise_covariance(positions.edge, scan.kspace.values);
  double least = INFINITY, most = 0;
  std::int64_t least_coil = 0, most_coil = 0;
  std::vector<std::int64_t> silent;
  for (std::int64_t coil = 0; coil < coils; ++coil) {
    if (std::binary_search(dead.begin(), dead.end(), coil)) continue;
    const double deviation = std::sqrt(std::max(0.0, covariance.values[coil * coils + coil].re));
    if (scan.noise && deviation == 0) silent.push_back(coil);
    if (deviation > 0 && deviation < least) least = deviation, least_coil = coil;
    if (deviation > most) most = deviation, most_coil = coil;
  }
  if (!silent.empty())
    findings.add(Severity::warning, "noise",
                 fmt::format("The noise readouts of coil {} (from 0) hold only zeros: nothing is whitened.",
                             listed(silent)),
                 option_words("whiten", "off") + ", or remove the noise readouts from the file");
  if (most > 3 * least)
    findings.add(
        Severity::note, "noise",
        fmt::format("Noise of the coils differs by a factor {:.2g} (coil {} least, coil {} most, {}).",
                    most / least, least_coil, most_coil,
                    scan.noise ? "noise readouts" : "edge of k-space, which may hold signal"),
        scan.noise ? "" : option_words("whiten", "edge") + " weighs them accordingly");
}

}  // namespace fhd::doctor
