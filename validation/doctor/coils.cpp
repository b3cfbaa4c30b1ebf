// Checks for coils without a signal.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "io/scan/scan_parts.hpp"
#include "validation/doctor/checks.hpp"

namespace fhd::doctor {

void check_coils(const Scan& scan, Findings& findings) {
  const auto samples = scan.kspace.sample_count(), coils = scan.kspace.coil_count();
  std::vector<double> power(static_cast<std::size_t>(coils));
  std::vector<std::int64_t> dead, faint;
  for (std::int64_t coil = 0; coil < coils; ++coil) {
    for (std::int64_t m = 0; m < samples; ++m)
      power[static_cast<std::size_t>(coil)] += norm(Complex<double>(scan.kspace.values[coil * samples + m]));
    if (power[static_cast<std::size_t>(coil)] == 0) dead.push_back(coil);
  }
  const double middle = median(power);
  for (std::int64_t coil = 0; coil < coils; ++coil)
    if (const double p = power[static_cast<std::size_t>(coil)]; p > 0 && p < 1e-6 * middle)
      faint.push_back(coil);
  if (static_cast<std::int64_t>(dead.size()) == coils) {
    if (!holds(scan.messages, io::missing_volume, Severity::warning))
      findings.add(Severity::problem, "coils", "All k-space values are zero.",
                   "write the measured values into the file");
    return;
  }
  if (!dead.empty())
    findings.add(Severity::warning, "coils",
                 fmt::format("Coil {} (from 0) holds only zeros and is left out.", listed(dead)),
                 "check the coil's plug, or remove it from the file");
  if (!faint.empty())
    findings.add(
        Severity::warning, "coils",
        fmt::format("Coil {} (from 0) has less than a thousandth of the others' amplitude: not connected?",
                    listed(faint)),
        "remove it from the file");
  if (coils > 1) check_noise(scan, dead, findings);
}

}  // namespace fhd::doctor
