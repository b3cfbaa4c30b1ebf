#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

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

/// Sums of a coil.
struct Phases {
  std::complex<double> sum;  ///< of d^2 / |d|^2
  double count = 0;
};

/// Returns the sums of samples at these radii of k-space.
Phases phases_of(const ReadoutSet& set, Index coil, float from, float to) {
  Phases phases;
  for (Index m = 0; m < set.readouts * set.length; ++m) {
    const std::complex<double> d(set.data[static_cast<std::size_t>(set.at(coil, 0) + m)]);
    const float radius = set.radius[static_cast<std::size_t>(m)];
    if (radius < from || radius >= to || !(std::norm(d) > 0)) continue;
    phases.sum += d * d / std::norm(d), ++phases.count;
  }
  return phases;
}

/// Returns the real part of <d^2 / |d|^2> in the inner half of k-space less that at its edge.
double change_with_radius(const ReadoutSet& set) {
  Phases inner, edge;
  for (Index coil = 0; coil < set.coils; ++coil) {
    const auto in = phases_of(set, coil, 0.25f, 0.5f), out = phases_of(set, coil, 0.75f, 2);
    inner.sum += in.sum, inner.count += in.count, edge.sum += out.sum, edge.count += out.count;
  }
  return inner.sum.real() / positive(inner.count) - edge.sum.real() / positive(edge.count);
}

/// Returns a copy without a constant of each coil, the median of its samples from this radius on: where they are weak,
/// the phase of an offset of the receiver would be that of them all.
ReadoutSet without_offsets(ReadoutSet set, float from) {
  const Index each = set.readouts * set.length;
  for (Index coil = 0; coil < set.coils; ++coil) {
    auto* d = set.data.data() + set.at(coil, 0);
    std::vector<double> re, im;
    for (Index m = 0; m < each; ++m)
      if (norm(d[m]) > 0 && set.radius[static_cast<std::size_t>(m)] >= from)
        re.push_back(d[m].real()), im.push_back(d[m].imag());
    if (re.empty()) continue;
    const std::complex<float> offset(static_cast<float>(median(std::move(re))),
                                     static_cast<float>(median(std::move(im))));
    for (Index m = 0; m < each; ++m)
      if (norm(d[m]) > 0) d[m] -= offset;  // zeros fill readouts up
  }
  return set;
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

/// Returns sum |d|^2 of readouts.
std::vector<double> energies_of_readouts(const ReadoutSet& set) {
  std::vector<double> energies(static_cast<std::size_t>(set.readouts));
  for (std::size_t i = 0; i < set.data.size(); ++i)
    energies[i / static_cast<std::size_t>(set.length) % energies.size()] += std::norm(set.data[i]);
  return energies;
}

/// Returns which readouts that are not empty lie further from the strongest one than half of the farthest.
std::vector<bool> far_readouts(const ReadoutSet& set, const std::vector<double>& energies) {
  const auto strongest = std::max_element(energies.begin(), energies.end()) - energies.begin();
  std::vector<double> squares(energies.size());
  for (std::size_t j = 0; j < squares.size(); ++j)
    for (std::size_t axis = 0; axis < 3; ++axis)
      squares[j] += std::pow(set.k[j * static_cast<std::size_t>(set.length)][axis] -
                                 set.k[static_cast<std::size_t>(strongest * set.length)][axis],
                             2);
  const double farthest = *std::max_element(squares.begin(), squares.end());
  std::vector<bool> far(energies.size());
  for (std::size_t j = 0; j < squares.size(); ++j) far[j] = 4 * squares[j] > farthest && energies[j] > 0;
  return far;
}

/// Returns whether readouts are the first one, moved.
bool are_parallel(const ReadoutSet& set) {
  constexpr float most = 0.1f;  // cycles/FOV
  for (std::size_t m = 0; m < set.k.size(); ++m) {
    const std::size_t n = m % static_cast<std::size_t>(set.length);
    for (std::size_t axis = 0; axis < 3; ++axis)
      if (std::abs(set.k[m][axis] - set.k[m - n][axis] - (set.k[n][axis] - set.k[0][axis])) > most)
        return false;
  }
  return true;
}

}  // namespace

std::optional<Finding> unencoded_signal(const ReadoutSet& set) {
  constexpr double fewest = 8, sure = 10, alike = 0.9;
  if (!are_parallel(set)) return {};
  const Index size = set.coils * set.length;
  const auto value = [&](Index j, Index i) {
    return std::complex<double>(
        set.data[static_cast<std::size_t>(set.at(i / set.length, j) + i % set.length)]);
  };
  using Values = std::vector<std::complex<double>>;
  const auto product = [&](const Values& a, Index j) {
    std::complex<double> sum;
    for (Index i = 0; i < size; ++i) sum += std::conj(a[static_cast<std::size_t>(i)]) * value(j, i);
    return sum;
  };
  const auto energies = energies_of_readouts(set);
  const auto far = far_readouts(set, energies);
  const auto count = static_cast<double>(std::count(far.begin(), far.end(), true));
  if (count < fewest) return {};
  Values mean(static_cast<std::size_t>(size)), like(mean);
  for (Index j = 0; j < set.readouts; ++j)
    for (Index i = 0; i < size && far[static_cast<std::size_t>(j)]; ++i)
      mean[static_cast<std::size_t>(i)] += value(j, i) / count;
  double of_mean = 0, most = 0, own = 0;
  for (const auto& of : mean) of_mean += std::norm(of);
  for (Index j = 0; j < set.readouts; ++j) {  // the readout that the mean is most like
    const double energy = energies[static_cast<std::size_t>(j)], onto = std::norm(product(mean, j));
    if (far[static_cast<std::size_t>(j)] || !(onto > most * energy)) continue;
    most = onto / energy, own = energy;
    for (Index i = 0; i < size; ++i) like[static_cast<std::size_t>(i)] = value(j, i);
  }
  if (!(most > alike * alike * of_mean)) return {};
  std::complex<double> along;
  double squares = 0;
  for (Index j = 0; j < set.readouts; ++j) {
    if (!far[static_cast<std::size_t>(j)]) continue;
    const auto of = product(like, j) / own;
    along += of / count, squares += std::norm(of) / count;
  }
  const double share = std::abs(along), deviation = std::sqrt(std::max(0.0, squares - share * share) / count);
  if (!(share > sure * deviation)) return {};
  const double all = std::accumulate(energies.begin(), energies.end(), 0.0);
  return make_finding(
      "unencoded",
      fmt::format(
          "all readouts hold the same signal, {:.1f} \u00b1 {:.1f} % of that at the centre of k-space: an "
          "echo that saw no phase encoding",
          100 * share, 100 * deviation),
      100 * share, 100 * deviation, "%", 1,
      std::min(1.0, share * std::sqrt(static_cast<double>(set.readouts) * own / all)));
}

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

std::optional<Finding> imaginary_part(const ReadoutSet& as_stored, bool is_unexplained) {
  constexpr double fewest = 1000;
  constexpr double least = 0.2, change = 0.05;
  constexpr float outside = 0.25f, all = 2;  // of the radius of k-space
  const double apart = is_unexplained ? 0.2 : 0.05;
  if (auto lost = lost_part(as_stored)) return lost;
  if (as_stored.coils < (is_unexplained ? 2 : 3)) return {};  // two coils may be alike
  const ReadoutSet set = without_offsets(as_stored, outside);
  std::vector<std::complex<double>> of;
  std::complex<double> mean;
  double count = 0;
  for (Index coil = 0; coil < set.coils; ++coil) {
    const auto phases = phases_of(set, coil, outside, all);
    if (phases.count < fewest) return {};
    of.push_back(phases.sum / phases.count), count += phases.count;
    mean += of.back() / static_cast<double>(set.coils);
  }
  if (std::abs(mean.real()) < least || std::abs(mean.imag()) > apart / 2) return {};
  for (const auto& s : of)
    if (std::abs(s - mean) > apart) return {};
  if (!is_unexplained && std::abs(change_with_radius(set)) > change)
    return {};  // a real object and alike coils
  const double gain = (1 - mean.real()) / (1 + mean.real());
  constexpr double independent = 0.1;  // of the samples: neighbours resemble each other
  const double uncertainty = 2 / std::pow(1 + mean.real(), 2) / std::sqrt(2 * independent * count);
  return make_finding("imaginary",
                      fmt::format("the imaginary part has {:.0f} \u00b1 {:.1g} % of the gain of the real one",
                                  100 * gain, 100 * uncertainty),
                      100 * gain, 100 * uncertainty, "%", 1);
}

}  // namespace fhd::validation
