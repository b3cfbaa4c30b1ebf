#pragma once
// How far an image is from a reference. Arrays may differ in shape, never in size; everything is computed in
// double. A NaN in a value or in the reference (inside the mask) makes the metric NaN: it can never look
// good.
#include <array>
#include <cstdint>

#include "recon/array/array.hpp"

namespace fhd::metrics {

using Values = Array<Complex<double>>;
/// One entry per element: non-zero where the metric looks. Empty: everywhere.
using Mask = Array<std::uint8_t>;

/// |values - reference| / |reference|, l2 norms: the NRMSE without a scale. 0 for two zero arrays.
double relative_l2(const Values& values, const Values& reference, const Mask& mask = {});

/// The complex s that minimises |s values - reference|; 0 when the values are all zero.
Complex<double> best_scale(const Values& values, const Values& reference, const Mask& mask = {});

/// min over complex s of |s values - reference| / |reference|.
double nrmse_best_scale(const Values& values, const Values& reference, const Mask& mask = {});

/// max |values - reference| / max |reference|.
double relative_maximum_error(const Values& values, const Values& reference, const Mask& mask = {});

/// Peak signal-to-noise ratio in dB: 20 log10(max |reference| / root mean square of |values - reference|).
double psnr_db(const Values& values, const Values& reference, const Mask& mask = {});

/// Structural similarity of the magnitudes (Wang et al., IEEE Trans. Image Process. 13(4), 2004), averaged
/// over the windows of every x-y slice: Gaussian window of 11 x 11 pixels, sigma 1.5, wholly inside the
/// slice; K1 = 0.01, K2 = 0.03; dynamic range L = max |reference| (inside the mask). A slice narrower than 11
/// pixels takes the largest odd window that fits. With a mask, the windows whose centre lies in it are
/// averaged. matrix_size: x, y, z; the arrays are [z][y][x] of that size.
double ssim(const Values& values, const Values& reference, std::array<int, 3> matrix_size,
            const Mask& mask = {});

/// Pearson correlation of the magnitudes: blind to scale and offset, so it compares pictures of unknown
/// scaling.
double magnitude_correlation(const Values& values, const Values& reference, const Mask& mask = {});

/// s values, element by element.
Values scaled(const Values& values, Complex<double> s);

}  // namespace fhd::metrics
