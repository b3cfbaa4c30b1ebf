// Checks sensitivity maps.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "recon/domain/option_words.hpp"
#include "validation/doctor/checks.hpp"

namespace fhd::doctor {

void check_maps(const Scan& scan, Findings& findings) {
  const auto coils = scan.kspace.coil_count();
  if (!scan.sensitivity_maps) {
    if (coils > 1)
      findings.add(
          Severity::note, "maps",
          fmt::format("There are no sensitivity maps: they are found from the {} coils (ESPIRiT).", coils),
          option_words("coils", "adaptive") + " or none chooses another way");
    return;
  }
  const auto& values = scan.sensitivity_maps->values;
  const auto voxels = scan.geometry.voxel_count();
  std::vector<double> square(static_cast<std::size_t>(voxels));
  std::vector<std::int64_t> empty;
  for (std::int64_t coil = 0; coil < coils; ++coil) {
    double sum = 0;
    for (std::int64_t p = 0; p < voxels; ++p) {
      const double e = norm(Complex<double>(values[coil * voxels + p]));
      square[static_cast<std::size_t>(p)] += e;
      sum += e;
    }
    if (sum == 0) empty.push_back(coil);
  }
  if (static_cast<std::int64_t>(empty.size()) == coils) {
    findings.add(Severity::problem, "maps", "The sensitivity maps are zero everywhere.",
                 option_words("coils", "espirit") + " or none, or write the true maps into the file");
    return;
  }
  if (!empty.empty())
    findings.add(
        Severity::warning, "maps",
        fmt::format("The sensitivity map of coil {} (from 0) is zero everywhere: its data are not used.",
                    listed(empty)),
        option_words("coils", "espirit") + ", or write the true map into the file");
  std::vector<double> covered;
  for (const double e : square)
    if (e > 0) covered.push_back(std::sqrt(e));
  std::sort(covered.begin(), covered.end());
  const double low = covered[covered.size() / 20], high = covered[covered.size() - 1 - covered.size() / 20];
  const double masked = 100 * (1 - static_cast<double>(covered.size()) / static_cast<double>(voxels));
  if (high > 1.05 * low)
    findings.add(
        Severity::note, "maps",
        fmt::format("The sensitivity maps are not normalised: their root sum of squares runs from {:.3g} to "
                    "{:.3g}, and the image is divided by it ({:.0f} % of the voxels are masked).",
                    low, high, masked),
        "divide the maps by their root sum of squares if the image should keep the coils' shading");
  else
    findings.add(Severity::ok, "maps",
                 fmt::format("Sensitivity maps are there and normalised ({:.0f} % of the voxels are masked).",
                             masked));
}

}  // namespace fhd::doctor
