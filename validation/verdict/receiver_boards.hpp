#pragma once
// Finds coils whose receiver runs by a clock of its own.
#include <optional>
#include <vector>

#include "recon/domain/report.hpp"
#include "recon/domain/scan.hpp"

namespace fhd::validation {

/// Returns the coils whose phase against all others changes at random from readout to readout (code "boards"; `amount`: how
/// many). p_cj = sum over samples of conj(d_cj) d_c,j+1, where readouts j and j + 1 lie within 2.5 cycles/FOV, turns with
/// the phases of both; of two coils of one clock the turns agree: R = |mean_j of exp(i arg p_cj - i arg p_c'j)| is
/// near 1 where readouts share the centre of k-space, and between Cartesian lines at least for coils that lie near each
/// other. Of two clocks R^2 J is exponential: R exceeds sqrt(ln(20 C^2) / J) between no two of C coils but once in 20
/// scans; 0.75 counts as no agreement in any case. Coils that are linked
/// by larger R belong together; a scan with two or more such groups, of two coils at least where there are more than
/// three, has several clocks. Empty for fewer than 8 readouts.
std::optional<Finding> unlocked_boards(const Scan& scan, const std::vector<std::int64_t>& starts);

}  // namespace fhd::validation
