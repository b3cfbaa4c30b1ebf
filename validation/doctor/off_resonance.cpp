// Checks sample times and the field map.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "validation/doctor/checks.hpp"

namespace fhd::doctor {

void check_sample_times(const Scan& scan, std::int64_t readout_length, Findings& findings) {
  if (!scan.sample_time_s) return;
  const auto& t = *scan.sample_time_s;
  const auto [first, last] = std::minmax_element(t.begin(), t.end());
  bool backwards = false;  // but to the start of all, where a readout begins that `readout_length` does not know
  for (std::int64_t m = 1; readout_length > 1 && m < t.size(); ++m)
    backwards = backwards || (m % readout_length != 0 && t[m] < t[m - 1] && t[m] > *first);
  // No readout lasts seconds: T2* of tissue is below 0.1 s, of gas and fluids below 2 s.
  if (*first < 0 || *last > 10 || backwards)
    findings.add(
        Severity::warning, "times",
        fmt::format("Sample times run from {:.3g} to {:.3g} s{}: they are seconds since the excitation, of "
                    "every readout anew.",
                    *first, *last, backwards ? ", and backwards within a readout" : ""),
        "correct the times in the file, or leave them out");
}

void check_field_map(const Scan& scan, Findings& findings) {
  if (!scan.field_map) return;
  if (!scan.sample_time_s) {
    findings.add(Severity::warning, "field map",
                 "There is a field map, but no sample times: off-resonance is not corrected.",
                 "write /sample_time_s (s since excitation, [sample]) into the file");
    return;
  }
  double largest = 0;
  for (const float omega : *scan.field_map) largest = std::max(largest, std::abs(static_cast<double>(omega)));
  const auto& t = *scan.sample_time_s;
  const auto [first, last] = std::minmax_element(t.begin(), t.end());
  const double turns = largest * (*last - *first) / (2 * std::numbers::pi);
  if (largest == 0)
    findings.add(Severity::note, "field map", "The field map is zero everywhere: nothing is corrected.");
  else if (turns > 100)
    findings.add(
        Severity::warning, "field map",
        fmt::format(
            "The field map reaches {:.3g} rad/s, {:.0f} turns during a readout: the unit may be wrong.",
            largest, turns),
        "/field_map is in rad/s (2 pi Hz)");
  else
    findings.add(
        Severity::ok, "field map",
        fmt::format("The field map reaches {:.3g} Hz, {:.2g} turns during a readout, and is corrected.",
                    largest / (2 * std::numbers::pi), turns));
}

}  // namespace fhd::doctor
