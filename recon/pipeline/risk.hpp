#pragma once
// The searches by an unbiased estimate of the error, lambda.cpp and sparse.cpp, share these functions (Stein).
#include <functional>

#include "recon/coils/noise.hpp"
#include "recon/pipeline/measurements.hpp"

namespace fhd {

/// Returns noise like that of the samples of the coils that are solved for, all or the strongest: [channel][sample of this
/// process], on the device, in the unit of the samples.
template <class T>
Array<Complex<T>> noise_of_samples(const KnownNoise& noise, const Measurements<T>& data,
                                   std::int64_t channels, const Context& context);

/// Returns the variance that an image leaves of its samples over the variance of the noise `drawn_square` = |b|^2, of which
/// such an image follows `followed` = Re <b, E rho(b)>: square / (|b|^2 - followed), square = |E rho - d|^2. It is the
/// noise of the samples, and more where the model does not explain them. NaN or not positive where the image follows all.
/// Source: Wahba, J. R. Stat. Soc. B 45:133 (1983).
inline double variance_left(double square, double drawn_square, double followed) {
  return square / (drawn_square - followed);
}

struct RiskRange {
  double first, least, largest;
};
struct LeastRisk {
  double at = 0;
  bool is_at_limit = false;  ///< the risk falls on beyond the last one tried
};
/// Returns where the risk is least: steps downhill from the first value by factors of 2.5 until the risk rises again on both
/// sides; then tries where the parabola through the lowest and its neighbours, on a logarithmic axis, is lowest, between
/// these neighbours and not nearer to it than a tenth of the way. That value is one of a grid of 2 %, so that rounding, which
/// depends on the device and the number of processes, as a rule does not change it.
LeastRisk least_risk(const RiskRange& range, const std::function<double(double)>& risk_at);

}  // namespace fhd
