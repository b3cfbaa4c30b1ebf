#pragma once
// The samples that an image should give, by the defining sums of domain/scan.hpp, off-resonance included: no time
// segments, no gridding.
#include "recon/domain/scan.hpp"
#include "recon/domain/settings.hpp"

namespace fhd {

/// d_c(m) = sum_p S_c(p) rho(p) exp(-i [2 pi k_m . r_p + omega(p) t_m]) as [coil][sample] on the host, T being
/// float or double. `image` is [z][y][x] of the matrix of the scan, on the host; its k-space does not count. A scan
/// without maps has one coil of sensitivity 1. omega counts where the scan has a field map and sample times: these
/// sums run on the CPU in double, all others on `device`. Relative error <= 1e-12 in double.
template <class T>
Array<Complex<T>> exact_samples(const Array<Complex<T>>& image, const Scan& scan, Device device);

}  // namespace fhd
