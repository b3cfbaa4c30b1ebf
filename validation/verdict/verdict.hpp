#pragma once
// Judges whether an image explains the samples to within their noise, and if not, what the residual looks like. With d the samples, p = E rho what the image predicts of them, r = d - p:
//
//   by shells of k-space and by coils    |r| / |d|, and |r|^2 against the noise that n values leave behind a fit of u
//                                        unknowns, sigma^2 (n - u); shells of n <= 1.2 u say nothing
//   along a change a of the model        share of |r|^2 that v = dE/da rho explains, (Re <v, r>)^2 / (|v|^2 |r|^2),
//                                        and the step Re <v, r> / |v|^2: r is orthogonal to what another image could
//                                        explain, so that the share is a lower bound (a score test: Rao 1948); the step
//                                        is smaller for what another image absorbs of it, larger for a blurred rho
//
// With G_i = -i 2 pi E (r_i rho), the derivative along k_i of all samples, v of a delay of the readouts by one sample
// is sum_i (dk_i / dn) G_i; of a frequency offset it is -i t p; of the field map's scale -i t E (omega rho).
#include "recon/pipeline/context.hpp"

namespace fhd::validation {

/// Computes a verdict. Throws only what `input.encode` throws. Leaves a cause that takes a search empty: causes.hpp.
template <class T>
Verdict judge(const VerifierInput<T>& input);

}  // namespace fhd::validation
