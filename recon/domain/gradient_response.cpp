#include "recon/domain/gradient_response.hpp"

#include <algorithm>
#include <cmath>

#include "recon/domain/text.hpp"
#include "recon/error.hpp"

namespace fhd {
namespace {

Complex<double> between(const std::vector<double>& f, const Complex<double>* values, double hz) {
  const auto above = std::upper_bound(f.begin(), f.end(), hz);
  if (above == f.begin()) return values[0];
  if (above == f.end()) return values[f.size() - 1];
  const auto i = above - f.begin();
  const double share = (hz - f[i - 1]) / (f[i] - f[i - 1]);
  return (1 - share) * values[i - 1] + share * values[i];
}

}  // namespace

Complex<double> GradientResponse::at(int axis, double hz) const {
  const auto* of_axis = values.data() + axis * static_cast<std::int64_t>(frequencies_hz.size());
  auto h = between(frequencies_hz, of_axis, std::abs(hz));
  if (frequencies_hz.front() < 0) h = 0.5 * (h + conj(between(frequencies_hz, of_axis, -std::abs(hz))));
  return hz < 0 ? conj(h) : h;
}

double GradientResponse::bandwidth_hz() const {
  return frequencies_hz.front() < 0 ? std::min(-frequencies_hz.front(), frequencies_hz.back())
                                    : frequencies_hz.back();
}

void GradientResponse::validate(const std::string& subject) const {
  const auto& f = frequencies_hz;
  const auto is_finite = [](double x) { return std::isfinite(x); };
  const bool ascend =
      std::adjacent_find(f.begin(), f.end(), [](double a, double b) { return !(b > a); }) == f.end();
  if (f.size() < 2 || !std::all_of(f.begin(), f.end(), is_finite) || !ascend || f.front() > 0 ||
      !(f.back() > 0))
    throw Error(subject, "two or more frequencies in Hz that ascend from 0 or less to more than 0", "others");
  if (values.shape() != Shape{3, static_cast<std::int64_t>(f.size())})
    throw Error(subject,
                "a response [axis][frequency] of 3 axes and " + std::to_string(f.size()) + " frequencies",
                values.shape().text());
  for (const auto& h : values)
    if (!std::isfinite(h.re) || !std::isfinite(h.im))
      throw Error(subject, "a response of finite values", "a NaN or infinity");
  constexpr double largest_deviation = 0.1;
  for (int axis = 0; axis < 3; ++axis)
    if (const double gain = at(axis, 0).re; !(std::abs(gain - 1) <= largest_deviation))
      throw Error(subject, "a response of 1 at 0 Hz, within 10 %",
                  short_number(gain) + " along " + std::string(1, "xyz"[axis]),
                  "divide it by what it is at 0 Hz");
}

}  // namespace fhd
