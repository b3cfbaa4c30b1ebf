#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "validation/verdict/data_tests.hpp"

namespace fhd::validation {
namespace {

/// Sums of a coil away from the centre of k-space.
struct Phases {
  std::complex<double> sum;  ///< of d^2 / |d|^2
  double count = 0;
};

Phases phases_of(const ReadoutSet& set, Index coil) {
  constexpr float outside = 0.25f;  // of the radius of k-space
  Phases phases;
  for (Index m = 0; m < set.readouts * set.length; ++m) {
    const std::complex<double> d(set.data[static_cast<std::size_t>(set.at(coil, 0) + m)]);
    if (set.radius[static_cast<std::size_t>(m)] < outside || !(std::norm(d) > 0)) continue;
    phases.sum += d * d / std::norm(d), ++phases.count;
  }
  return phases;
}

std::optional<Finding> lost_part(const ReadoutSet& set) {
  constexpr double nothing = 1e-12;
  double re = 0, im = 0, below = 0;
  for (const auto& d : set.data) {
    const double x = d.real(), y = d.imag();
    re += x * x, im += y * y;
    below += (im > re ? y : x) < 0;
  }
  const auto count = static_cast<double>(set.data.size());
  if (count < 256 || std::min(re, im) > nothing * std::max(re, im) || below < 0.05 * count) return {};
  return make_finding(
      "imaginary",
      fmt::format("the {} part of all samples is zero: it was lost", im < re ? "imaginary" : "real"), 0, 0,
      "%", 1);
}

}  // namespace

std::optional<Finding> imaginary_part(const ReadoutSet& set, bool is_unexplained) {
  constexpr double fewest = 1000;
  constexpr double least = 0.2, apart = 0.2;
  if (auto lost = lost_part(set)) return lost;
  if (set.coils < 2 || !is_unexplained) return {};  // a real object and alike coils have samples nearly real
  std::vector<std::complex<double>> of;
  std::complex<double> mean;
  double count = 0;
  for (Index coil = 0; coil < set.coils; ++coil) {
    const auto phases = phases_of(set, coil);
    if (phases.count < fewest) return {};
    of.push_back(phases.sum / phases.count), count += phases.count;
    mean += of.back() / static_cast<double>(set.coils);
  }
  if (std::abs(mean.real()) < least || std::abs(mean.imag()) > apart / 2) return {};
  for (const auto& s : of)
    if (std::abs(s - mean) > apart) return {};
  const double gain = (1 - mean.real()) / (1 + mean.real());
  constexpr double independent = 0.1;  // of the samples: neighbours resemble each other
  const double uncertainty = 2 / std::pow(1 + mean.real(), 2) / std::sqrt(2 * independent * count);
  return make_finding("imaginary",
                      fmt::format("the imaginary part has {:.0f} \u00b1 {:.1g} % of the gain of the real one",
                                  100 * gain, 100 * uncertainty),
                      100 * gain, 100 * uncertainty, "%", 1);
}

}  // namespace fhd::validation
