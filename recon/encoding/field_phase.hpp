#pragma once
// The phases of a scan as terms of the phase sums (transform/phase/phase.hpp):
//
//     phi'(p, m) = sum_l kappa_l(m) b_l(r_p + Delta(r_p)) + kappa_k(m) . Delta(r_p) + omega(p) t_m,    decay R(p) t_m.
//
// kappa_k is 2 pi k in rad/m along the axes of the magnet. A scan whose only field is a field map has one term.
#include "recon/domain/scan.hpp"
#include "recon/transform/phase/phase.hpp"

namespace fhd {

/// Returns whether the scan has a field map that is not zero everywhere, and sample times.
bool has_off_resonance(const Scan& scan);
/// Returns whether the scan has phases or decay that no field map describes: fields, or decay with sample times.
bool has_fields(const Scan& scan);

/// Returns the terms of phi' and decay: all that is not k . r; one term of zeros where there is decay alone. Throws Error as
/// positions_in_magnet_m.
PhaseTerms field_terms(const Scan& scan);
/// Returns the terms of the full equation: k . r, in cycles and fractions of the FOV times 2 pi, and field_terms.
PhaseTerms all_terms(const Scan& scan);

}  // namespace fhd
