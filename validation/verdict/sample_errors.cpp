#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "validation/verdict/data_tests.hpp"
#include "validation/verdict/energies.hpp"
#include "validation/verdict/linear_prediction.hpp"

namespace fhd::validation {
namespace {

/// Returns whether the real value c, which follows a and b, is a jump over the end of the range -most ... most.
bool is_wrapped(double a, double b, double c, double most) {
  const double jump = c - b;
  if (!(std::abs(jump) > most)) return false;
  const double unwrapped = c - std::copysign(2 * most, jump);
  return std::abs(unwrapped - 2 * b + a) < std::abs(c - 2 * b + a) / 2;
}

/// Largest and least parts of samples.
struct Range {
  double re_most = 0, re_least = 0, im_most = 0, im_least = 0;
  double most() const { return std::max({re_most, -re_least, im_most, -im_least}); }
  double evenness() const { return std::min({re_most, -re_least, im_most, -im_least}) / positive(most()); }
};

Range range_of(const VerifierInput<float>& e) {
  Range range;
  for (Index i = 0; i < e.coil_count * e.trajectory.sample_count(); ++i) {
    const auto d = sample_of(e, i);
    range.re_most = std::max(range.re_most, d.real()), range.re_least = std::min(range.re_least, d.real());
    range.im_most = std::max(range.im_most, d.imag()), range.im_least = std::min(range.im_least, d.imag());
  }
  return range;
}

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

std::optional<Finding> wrapped_samples(const VerifierInput<float>& e, const std::vector<Index>& starts) {
  constexpr double fewest = 4, least_evenness = 0.5;
  const auto range = range_of(e);
  if (range.evenness() < least_evenness) return {};
  const double most = range.most();
  const Index all = e.trajectory.sample_count();
  double found = 0, missed = 0;
  for (Index coil = 0; coil < e.coil_count; ++coil) {
    const LinearPrediction prediction(starts, [&](Index m) { return sample_of(e, coil * all + m); });
    prediction.for_each_miss([&](auto miss, auto a, auto b, auto c) {
      found += is_wrapped(a.real(), b.real(), c.real(), most);
      found += is_wrapped(a.imag(), b.imag(), c.imag(), most);
      missed += std::max(std::abs(miss.real()), std::abs(miss.imag())) > most;
    });
  }
  if (found < fewest || missed == 0) return {};
  return make_finding(
      "wrapped",
      fmt::format("samples wrap at the end of the receiver's range (overflow of integers): {:.0f} "
                  "of them jump by nearly all of it",
                  found),
      found, 0, "samples", 1);
}

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
