#include "recon/pipeline/risk.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace fhd {

template <class T>
Array<Complex<T>> noise_of_samples(const KnownNoise& noise, const Measurements<T>& data,
                                   std::int64_t channels, const Context& context) {
  const std::int64_t coils = data.scan.kspace.coil_count(), samples = data.scan.kspace.sample_count();
  Array<Complex<double>> covariance = covariance_to_draw(noise);
  if (channels != coils) {
    const std::int64_t coil = strongest_coil(data.scan.kspace);
    covariance = Array<Complex<double>>({1, 1});
    covariance[0] = noise.covariance.values[coil * coils + coil];
  }
  const double unit = data.unit(0);
  for (auto& value : covariance) value *= 1 / (unit * unit);
  const auto all = noise_like(covariance, samples, 0);
  return converted<Complex<T>>(columns_of(all, share_of(samples, context.processes()))).to(context.device());
}

LeastRisk least_risk(const RiskRange& range, const std::function<double(double)>& risk_at) {
  constexpr double step = 2.5;
  std::map<double, double> points;
  const auto take = [&](double value) {
    if (value < range.least || value > range.largest) return false;
    points[value] = risk_at(value);
    return true;
  };
  const auto lowest = [&] {
    return std::min_element(points.begin(), points.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; });
  };
  take(range.first);
  take(range.first * step);
  while (lowest() == points.begin() && take(points.begin()->first / step)) {
  }
  while (std::next(lowest()) == points.end() && take(points.rbegin()->first * step)) {
  }
  const auto middle = lowest();
  if (middle == points.begin() || std::next(middle) == points.end()) return {middle->first, true};
  const auto left = std::prev(middle), right = std::next(middle);
  const double x = std::log(middle->first), a = std::log(left->first) - x, b = std::log(right->first) - x,
               of_a = (left->second - middle->second) / a, of_b = (right->second - middle->second) / b,
               curvature = (of_b - of_a) / (b - a);
  double at = curvature > 0 ? (of_a * b - of_b * a) / (a - b) / (2 * curvature) : 0;
  at = std::clamp(at, 0.9 * a, 0.9 * b);
  const double least = 0.1 * (at < 0 ? a : b);
  constexpr double grid = 0.02;
  take(std::exp(grid * std::round((x + (std::abs(at) < std::abs(least) ? least : at)) / grid)));
  return {lowest()->first, false};
}

template Array<Complex<float>> noise_of_samples<float>(const KnownNoise&, const Measurements<float>&,
                                                       std::int64_t, const Context&);
template Array<Complex<double>> noise_of_samples<double>(const KnownNoise&, const Measurements<double>&,
                                                         std::int64_t, const Context&);

}  // namespace fhd
