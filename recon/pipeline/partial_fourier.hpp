#pragma once
// Cartesian scans that leave out most of one side of k-space along one axis (partial Fourier). The object is
// taken to be real but for a phase P(p), |P| = 1, so smooth that the centre of k-space, where both sides are
// measured, tells it:
//
//     rho = P m,   m = argmin over real m of |E P m - d|^2 + lambda |W m|^2.
//
// d(-k) of a real image is conj(d(k)): what one side lacks, the other tells. P stands in the maps, S_c P, and
// least squares does the rest; where phase is not smooth (vessels, fat beside water, the edges of air) the image
// is wrong by it.
// Source: Bydder and Robson, MRM 53:1393 (2005); the phase as in Noll, Nishimura and Macovski, IEEE TMI 10:154
// (1991).
#include "recon/domain/scan.hpp"

namespace fhd {

/// The part of k-space that is missing along the one axis (0, 1, 2: x, y, z) of which one side is.
struct MissingSide {
  int axis = 0;
  double reach = 0;    ///< |k| up to which both sides are measured, cycles/FOV
  double longest = 0;  ///< of the side that is measured
};

/// Finds the missing side of a scan with coils as prepared. Throws Error naming settings.partial_fourier where the
/// scan is not Cartesian, lacks neither side or those of several axes, leaves no centre to tell the phase, has
/// several coils without maps, or a field map.
MissingSide missing_side(const Scan& scan);

/// Finds the same, as far as positions tell.
MissingSide missing_side(const Trajectory& trajectory, const std::array<int, 3>& matrix_size);

/// Returns the scan of the samples that lie on both sides, to be reconstructed on the whole matrix; its maps are views.
Scan symmetric_centre(const Scan& scan, const MissingSide& missing);

/// Returns P, [z][y][x] on the host, of the image of the centre: its phase behind a Hann window that ends with the
/// centre, and as soon (in cycles/mm) along the other axes, which takes off noise; 1 where the image is 0.
Array<Complex<double>> smooth_phase(const Image& centre, const MissingSide& missing);

/// Returns the scan with maps S_c P; of one coil without a map, P.
Scan with_phase(const Scan& scan, const Array<Complex<double>>& phase);

/// Computes image *= P; `image` may be cropped about its centre.
void apply_phase(const Array<Complex<double>>& phase, Image& image);

}  // namespace fhd
