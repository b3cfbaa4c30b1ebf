// Checks for gradients that play later than the trajectory says.
#include <fmt/format.h>

#include "recon/domain/option_words.hpp"
#include "recon/trajectory/gradient_delays.hpp"
#include "validation/doctor/checks.hpp"
#include "validation/verdict/readouts.hpp"

namespace fhd::doctor {

void check_delays(const Scan& scan, std::int64_t readout_length, Findings& findings) {
  // A sample that lies e cycles/FOV away has the phase of tissue at half the FOV wrong by pi e: 9 degrees. With the usual
  // two samples for each cycle/FOV this is a tenth of a sample.
  constexpr double harmless = 0.05, certain = 4;
  const auto starts = validation::readout_starts(scan.trajectory, readout_length);
  const auto found = estimate_delays(scan, starts);
  if (!found.found()) {
    constexpr double much = 0.1;
    findings.add(found.inconsistency_before > much ? Severity::note : Severity::ok, "delays",
                 "Gradient delays cannot be estimated: " + found.obstacle + ".");
    return;
  }
  const auto uncertainty = GradientDelays::along_axes({found.uncertainty, 0, 0});
  const double moved = displacement(found.delays, scan.trajectory, starts);
  const auto what = fmt::format("Gradient delays of {} (uncertain by {:.2g})",
                                in_words(found.delays, scan.geometry), found.uncertainty);
  if (moved > harmless && moved > certain * displacement(uncertainty, scan.trajectory, starts))
    findings.add(
        Severity::warning, codes::delays,
        fmt::format("{} move samples by {:.2g} cycles/FOV: the centre of k-space contradicts itself by "
                    "{:.2g} %, and by {:.2g} % without them.",
                    what, moved, 100 * found.inconsistency_before, 100 * found.inconsistency),
        "correct them with " + option_words("trajectory-correction", "auto"));
  else
    findings.add(Severity::ok, "delays", what + " are small enough.");
}

}  // namespace fhd::doctor
