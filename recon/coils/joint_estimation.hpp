#pragma once
// Image and sensitivities at once, for scans whose k-space centre is undersampled.
#include <functional>
#include <memory>

#include "recon/array/array.hpp"
#include "recon/array/linear_operator.hpp"

namespace fhd {

/// Coil images rho c_j [coil][z][y][x] that agree with the samples, by the iteratively regularised
/// Gauss-Newton method:
///
///     x = (rho, s),   c_j(r) = sum_k omega(k) s_j(k) exp(i 2 pi k . r),   omega(k) = (1 + |k|^2 / 100)^-12,
///     k integer, at most 8 cycles/FOV on every axis (omega = 3e-3),
///
///     (DG^H T DG + alpha_n) dx = DG^H (b - T G(x_n)) + alpha_n (x_0 - x_n),
///     G(x)_j = rho c_j,   alpha_n = 4^-n
///
/// from x_0 = (1, 0), six steps. T = F^H D F of one coil, near the identity where k-space is sampled, is made
/// once for every thread; `right_hand_side` is b_j = F^H D d_j. The weight omega keeps sensitivities smooth,
/// alpha selects among the factorisations. Source: Uecker et al., MRM 60:674 (2008); for non-Cartesian
/// samples Uecker et al., NMR Biomed. 23:986 (2010).
Array<Complex<float>> estimate_jointly(
    const std::function<std::shared_ptr<const HermitianOperator<float>>()>& make_normal,
    const Array<Complex<float>>& right_hand_side);

}  // namespace fhd
