#include "io/scan/mrd/ramp_regridding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "recon/array/complex.hpp"
#include "recon/error.hpp"

namespace fhd::io::mrd {
namespace {

constexpr double regularisation = 1e-5;

double sinc(double x) {
  const double angle = std::numbers::pi * x;
  return std::abs(angle) < 1e-8 ? 1 : std::sin(angle) / angle;
}

/// The factor L of a positive definite matrix [n][n] = L L^T. LAPACK is not used: the reader process may not load it.
class CholeskyFactor {
 public:
  CholeskyFactor(std::vector<double> matrix, std::size_t n) : n_(n), lower_(std::move(matrix)) {
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j <= i; ++j) {
        double sum = lower_[i * n + j];
        for (std::size_t k = 0; k < j; ++k) sum -= lower_[i * n + k] * lower_[j * n + k];
        lower_[i * n + j] = i == j ? std::sqrt(std::max(sum, regularisation / 2)) : sum / lower_[j * n + j];
      }
  }
  /// Solves (L L^T) x = b in place.
  void solve(std::vector<double>& x) const {
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::size_t k = 0; k < i; ++k) x[i] -= lower_[i * n_ + k] * x[k];
      x[i] /= lower_[i * n_ + i];
    }
    for (std::size_t i = n_; i-- > 0;) {
      x[i] /= lower_[i * n_ + i];
      for (std::size_t k = 0; k < i; ++k) x[k] -= lower_[i * n_ + k] * x[i];
    }
  }

 private:
  std::size_t n_;
  std::vector<double> lower_;
};

/// Returns the integral of the gradient, whose flat top is 1, over the first `t` of a ramp of length `ramp` that rises from 0.
double ramp_area(double t, double ramp, bool is_sinusoidal) {
  if (ramp <= 0) return 0;
  constexpr double quarter = std::numbers::pi / 2;
  return is_sinusoidal ? ramp / quarter * (1 - std::cos(quarter * t / ramp)) : t * t / (2 * ramp);
}

/// Returns the integral of the gradient from its start to `t_us`.
double area(const RampShape& shape, double t_us) {
  const bool sinusoidal = shape.mode == 4;
  const auto part = [&](double from, double length) { return std::clamp(t_us - from, 0.0, length); };
  const double flat_end = shape.ramp_up_us + shape.flat_us, down = part(flat_end, shape.ramp_down_us);
  return ramp_area(part(0, shape.ramp_up_us), shape.ramp_up_us, sinusoidal) +
         part(shape.ramp_up_us, shape.flat_us) +
         ramp_area(shape.ramp_down_us, shape.ramp_down_us, sinusoidal) -
         ramp_area(shape.ramp_down_us - down, shape.ramp_down_us, sinusoidal);
}

}  // namespace

bool RampShape::is_sane(int count) const {
  constexpr double longest_us = 1e6;
  const auto is_time = [](double us) { return us >= 0 && us <= longest_us; };
  const auto is_count = [](int n) { return n > 1 && n <= most_ramp_samples; };
  const double end_us = ramp_up_us + flat_us + ramp_down_us;
  return (mode == 2 || mode == 4) && is_count(count) && is_count(samples) && is_time(ramp_up_us) &&
         is_time(flat_us) && is_time(ramp_down_us) && is_time(delay_us) && adc_us > 0 &&
         delay_us + adc_us <= 1.01 * end_us && area(*this, delay_us + adc_us) > area(*this, delay_us);
}

RampRegridding::RampRegridding(const RampShape& shape, int samples, const std::string& subject)
    : regridded_samples_(shape.samples) {
  if (!shape.is_sane(samples))
    throw Error(
        subject + ": the readout gradient (alRegrid...)",
        fmt::format("a trapezoid (mode 2) or sinusoidal ramps (mode 4), and up to {} samples under it",
                    most_ramp_samples),
        fmt::format("mode {}, {} + {} + {} us, {} samples in {} us after {} us", shape.mode, shape.ramp_up_us,
                    shape.flat_us, shape.ramp_down_us, samples, shape.adc_us, shape.delay_us),
        "regrid with the tools of the sequence, and convert to ISMRMRD");
  const double begin = area(shape, shape.delay_us),
               whole = area(shape, shape.delay_us + shape.adc_us) - begin,
               middle = area(shape, shape.delay_us + shape.adc_us / 2), dwell_us = shape.adc_us / samples;
  const double scale = regridded_samples_ / whole;  // whole: as many steps as samples afterwards
  for (int s = 0; s < samples; ++s)
    positions_.push_back((area(shape, shape.delay_us + (s + 0.5) * dwell_us) - middle) * scale);
  flat_distance_ = dwell_us * scale;
  const auto kernel = [&](double a, double b) { return sinc((a - b) / flat_distance_); };
  std::vector<double> gram;
  for (const double a : positions_)
    for (const double b : positions_) gram.push_back(kernel(a, b) + (a == b ? regularisation : 0));
  const CholeskyFactor factor(std::move(gram), positions_.size());
  const auto after = static_cast<std::size_t>(regridded_samples_);
  weights_.resize(positions_.size() * after);
  std::vector<double> row(positions_.size());
  for (std::size_t u = 0; u < after; ++u) {
    const double place = static_cast<double>(u) - static_cast<double>(after - 1) / 2;
    std::ranges::transform(positions_, row.begin(), [&](double position) { return kernel(place, position); });
    factor.solve(row);
    for (std::size_t s = 0; s < row.size(); ++s) weights_[s * after + u] = static_cast<float>(row[s]);
  }
}

std::vector<float> RampRegridding::operator()(std::span<const float> values, int channels, double offset,
                                              bool reversed) const {
  const std::size_t before = positions_.size(), after = static_cast<std::size_t>(regridded_samples_);
  std::vector<Complex<float>> phasors(before);
  for (std::size_t s = 0; s < before; ++s) {
    const double place = (static_cast<double>(s) - static_cast<double>(before - 1) / 2) * flat_distance_,
                 turns = (reversed ? -offset : offset) * (place - positions_[s]),
                 angle = 2 * std::numbers::pi * turns;
    phasors[s] = {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
  }
  std::vector<float> regridded(2 * after * static_cast<std::size_t>(channels)), re(after), im(after);
  for (std::size_t channel = 0; channel < static_cast<std::size_t>(channels); ++channel) {
    std::fill(re.begin(), re.end(), 0.0F), std::fill(im.begin(), im.end(), 0.0F);
    for (std::size_t s = 0; s < before; ++s) {
      const float* const x = values.data() + 2 * (channel * before + s);
      const float a = x[0] * phasors[s].re - x[1] * phasors[s].im,
                  b = x[0] * phasors[s].im + x[1] * phasors[s].re;
      const float* const weight = weights_.data() + s * after;
      for (std::size_t u = 0; u < after; ++u) re[u] += weight[u] * a, im[u] += weight[u] * b;
    }
    for (std::size_t u = 0; u < after; ++u)
      regridded[2 * (channel * after + u)] = re[u], regridded[2 * (channel * after + u) + 1] = im[u];
  }
  return regridded;
}

}  // namespace fhd::io::mrd
