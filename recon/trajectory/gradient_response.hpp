#pragma once
// A trajectory as the gradient system has played it (domain/gradient_response.hpp). Along each physical axis p of
// the gradients, with the steps g(m) = q(m+1) - q(m) of q_p = u_p . k_nominal in cycles/mm,
//
//     k_p(m) = H_p(0) q_p(m) + sum over n < m of e_p(n),   e_p = inverse FFT of (H_p(f) - H_p(0)) FFT(g_p)
//
// so that what was played long ago counts by its area alone. What was played before the first sample is not
// known: a readout that sets out from rest was at rest; of any other the first step goes on backwards, as on the
// flat top of a gradient, for half a millisecond, and has risen smoothly in the half before. Behind the last
// sample likewise.
//
// u_p are the L, P and S of the patient, x, y and z of the magnet for a patient on the back or the belly, head or
// feet first: the sign of an axis does not matter. The image lies along `read_direction`, ... of its geometry.
// Sources: Vannesjo et al., MRM 69:583 (2013), doi:10.1002/mrm.24263; Campbell-Washburn et al., MRM 75:1753
// (2016), doi:10.1002/mrm.25788.
#include "recon/domain/gradient_response.hpp"
#include "recon/domain/scan.hpp"
#include "recon/trajectory/gradient_delays.hpp"

namespace fhd {

/// Time between samples inside of readouts, s. Throws Error naming "gradient response" where the scan does not
/// tell it, or samples are not evenly spaced within 1 %.
double dwell_time_s(const Scan& scan, const ReadoutStarts& starts);

/// The positions as played, cycles/FOV, of readouts with `dwell_s` between samples. Axes of one voxel stay as
/// they are. Throws Error naming "gradient response" where gradients have more than 1 % of their size at
/// frequencies that the response does not cover, and of an oblique image whose FOV is not known.
Trajectory played(const Trajectory& nominal, const Geometry& geometry, const ReadoutStarts& starts,
                  double dwell_s, const GradientResponse& response);

/// The scan at the positions as played, its calibration as well, without the samples that then lie beyond its
/// matrix: as with_delays.
Scan with_response(Scan scan, const ReadoutStarts& starts, const GradientResponse& response,
                   const ReadoutStarts& of_calibration = {}, BeyondMatrix leaves = BeyondMatrix::samples);

}  // namespace fhd
