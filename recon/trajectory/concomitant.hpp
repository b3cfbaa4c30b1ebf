#pragma once
// Concomitant (Maxwell) fields of the gradients, to second order in 1/B0. Gradients G along the magnet's axes, B0 along z, come
// with
//
//   B_c = [(G_x^2 + G_y^2) z^2 + G_z^2 (x^2 + y^2) / 4 - G_x G_z x z - G_y G_z y z] / (2 B0)
//
// and a phase gamma integral B_c dt, here from the start of each readout on: what was played before is not known. G is
// 2 pi / gamma dk/dt. Source: Bernstein et al., MRM 39:300 (1998).
#include "recon/domain/scan.hpp"
#include "recon/trajectory/gradient_delays.hpp"

namespace fhd {

inline constexpr double proton_gamma_rad_per_s_t = 2.6752218744e8;

/// Returns coefficients of the four Maxwell terms of FieldFunction, [term][sample], rad/m^2, at the positions of the scan;
/// `axes`: directions of the magnet's x, y, z in LPS. k is that of protons. Axes of one voxel count as without gradient.
/// Derivatives of k are those of a polynomial of fourth degree through five samples, integrals are right to fourth order of
/// the time between samples. Throws Error where times, readouts of at least three samples or a FOV are missing, where times
/// of a readout do not rise, and where k moves faster than 200 mT/m would move it.
Array<double> maxwell_coefficients(const Scan& scan, const ReadoutStarts& starts,
                                   const std::array<std::array<double, 3>, 3>& axes, double field_strength_t);

/// Returns the scan with these terms beside its fields, times `sign`, along the axes of the magnet that its fields state, else
/// L, P, S. Throws Error as maxwell_coefficients, and where the fields have Maxwell terms already.
Scan with_maxwell_terms(Scan scan, const ReadoutStarts& starts, double field_strength_t, double sign = 1);

/// Returns the largest phase of Maxwell terms at the centre, edges and corners of the field of view, rad. Throws Error as
/// maxwell_coefficients.
double largest_maxwell_phase(const Scan& scan, const ReadoutStarts& starts, double field_strength_t);

/// Returns a warning where these phases exceed 0.5 rad; nothing where they do not, or where the scan does not tell them.
std::optional<Message> warning_of_maxwell_terms(const Scan& scan, const ReadoutStarts& starts,
                                                double field_strength_t);

}  // namespace fhd
