#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <numeric>
#include <utility>

#include "validation/verdict/arm_tests.hpp"

namespace fhd::validation {
namespace {

using Factors = std::vector<Complex<double>>;

/// Data of arms with less than this factor, against the mean, are not raised to those of the others.
constexpr double least_factor = 0.1;
constexpr double least_change = 0.1;    ///< of the samples by phases
constexpr double least_contrast = 0.3;  ///< standard deviation of the sizes
constexpr double few_flips = 0.2;       ///< of the sign: an inversion

std::complex<double> number_of(const Complex<double>& a) { return {a.re, a.im}; }

Complex<double> over(const Complex<double>& a, const Complex<double>& b) {
  const double size = norm(b);
  return size > 0 ? 1 / size * (a * conj(b)) : Complex<double>();
}

/// Scales factors to the mean square 1.
void normalise(Factors& g) {
  double square = 0;
  for (const auto& value : g) square += norm(value);
  const double scale = square > 0 ? std::sqrt(static_cast<double>(g.size()) / square) : 1;
  for (auto& value : g) value = scale * value;
}

/// Returns the factor by which data are divided.
Complex<double> divisor_of(const Complex<double>& g) {
  const double size = std::sqrt(norm(g));
  if (!(size > 0)) return least_factor;
  return std::max(1.0, least_factor / size) * g;
}

/// Returns the places at which every arm is within `radius`.
std::vector<Index> central_places(const ArmSamples& arms, double radius) {
  std::vector<Index> places;
  for (Index i = 0; i < arms.places; ++i) {
    bool inside = true;
    for (Index arm = 0; arm < arms.arms && inside; ++arm) inside = arms.radius(arm, i) <= radius;
    if (inside) places.push_back(i);
  }
  return places;
}

/// Returns factors g of d_j ~ g_j u: near k = 0 all arms hold the same values u.
Factors first_factors(const ArmSamples& arms, const std::vector<Index>& places) {
  const Index coils = arms.coils;
  const auto at = [&](Index arm, std::size_t i) {
    return arms.data.data() + (arm * arms.places + places[i]) * coils;
  };
  Factors g(static_cast<std::size_t>(arms.arms));
  std::vector<double> energies(g.size());
  for (Index arm = 0; arm < arms.arms; ++arm)
    for (std::size_t i = 0; i < places.size(); ++i)
      for (Index c = 0; c < coils; ++c) energies[static_cast<std::size_t>(arm)] += norm(at(arm, i)[c]);
  std::vector<std::size_t> order(g.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(order.size() * 3 / 4),
                   order.end(), [&](auto a, auto b) { return energies[a] < energies[b]; });
  g[order[order.size() * 3 / 4]] = 1;  // a bright one, and no outlier
  for (int iteration = 0; iteration < 10; ++iteration) {
    Factors u(places.size() * static_cast<std::size_t>(coils));
    for (Index arm = 0; arm < arms.arms; ++arm)
      for (std::size_t i = 0; i < u.size(); ++i)
        u[i] += conj(g[static_cast<std::size_t>(arm)]) *
                at(arm, i / static_cast<std::size_t>(coils))[i % static_cast<std::size_t>(coils)];
    for (Index arm = 0; arm < arms.arms; ++arm) {
      Complex<double> sum;
      for (std::size_t i = 0; i < u.size(); ++i)
        sum += conj(u[i]) * at(arm, i / static_cast<std::size_t>(coils))[i % static_cast<std::size_t>(coils)];
      g[static_cast<std::size_t>(arm)] = sum;
    }
    normalise(g);
  }
  return g;
}

/// Returns the data divided by the factors of the rows, [row][coil].
Matrix divided(const ArmModel& model, const Factors& of_rows) {
  Matrix w = model.arranged(model.arms().data);
  const Index coils = model.arms().coils;
  for (Index i = 0; i < w.size(); ++i) w[i] = over(w[i], of_rows[static_cast<std::size_t>(i / coils)]);
  return w;
}

/// Returns |change| of the samples by e^(i phase) against their mean, over |samples|.
double change_by_phases(const Factors& g) {
  Complex<double> mean;
  double all = 0;
  for (const auto& value : g) {
    const double size = std::sqrt(norm(value));
    mean += size * value, all += size * size;
  }
  return all > 0 ? std::sqrt(std::max(0.0, 1 - norm(mean) / (all * all))) : 0;
}

std::vector<double> sizes_of(const Factors& g) {
  std::vector<double> sizes;
  for (const auto& value : g) sizes.push_back(std::sqrt(norm(value)));
  return sizes;
}

/// Returns the standard deviation over the mean.
double spread_of(const std::vector<double>& sizes) {
  const double n = static_cast<double>(sizes.size()), mean = std::reduce(sizes.begin(), sizes.end()) / n;
  double square = 0;
  for (const double size : sizes) square += std::pow(size - mean, 2) / n;
  return mean > 0 ? std::sqrt(square) / mean : 0;
}

/// Returns whether phases differ by 180 degrees alone.
bool is_of_signs(const Factors& g) {
  Factors doubled;
  for (const auto& value : g) {
    const double size = std::sqrt(norm(value));
    doubled.push_back(size > 0 ? 1 / size * (value * value) : Complex<double>());
  }
  return change_by_phases(doubled) < 2 * least_change;  // angles are twice as large
}

/// Returns the share of successive readouts of another sign, weighed by their signal.
double share_of_flips(const Factors& g) {
  double flips = 0, pairs = 0;
  for (std::size_t j = 1; j < g.size(); ++j) {
    const auto step = number_of(g[j] * conj(g[j - 1]));
    pairs += std::abs(step);
    if (step.real() < 0) flips += std::abs(step);
  }
  return pairs > 0 ? flips / pairs : 0;
}

Finding phase_finding(std::string text, double amount, double change) {
  return make_finding("phase", std::move(text), amount, 0, "degrees", 1, change);
}

/// Returns what phases differ from readout to readout; empty where they agree but for signs that last, as an
/// inversion has.
std::optional<Finding> phases_in_words(const Factors& g) {
  constexpr double degrees = 180 / std::numbers::pi;
  const double change = change_by_phases(g);
  if (change < least_change || is_contrast(g) || (is_of_signs(g) && share_of_flips(g) < few_flips)) return {};
  std::complex<double> odd, even, successive;
  double pairs = 0;
  for (std::size_t j = 0; j < g.size(); ++j) {
    (j % 2 ? odd : even) += number_of(g[j]);
    if (j == 0) continue;
    const auto step = number_of(g[j] * conj(g[j - 1]));
    successive += step, pairs += std::abs(step);
  }
  // Even and odd readouts, each of one phase.
  Factors without(g);
  const double apart = std::arg(odd * std::conj(even));
  for (std::size_t j = 1; j < g.size(); j += 2)
    without[j] = without[j] * Complex<double>(std::cos(apart), -std::sin(apart));
  if (change_by_phases(without) < 0.3 * change)
    return phase_finding(
        fmt::format("the phase of every second readout differs by {:.0f} degrees", degrees * apart),
        degrees * apart, change);
  if (std::abs(successive) > 0.95 * pairs) {
    double total = 0;
    for (std::size_t j = 1; j < g.size(); ++j) total += std::arg(number_of(g[j] * conj(g[j - 1])));
    return phase_finding(
        fmt::format("the phase drifts by {:.0f} degrees from the first to the last readout", degrees * total),
        degrees * total, change);
  }
  std::complex<double> mean;
  double square = 0, all = 0;
  for (const auto& value : g) mean += std::sqrt(norm(value)) * number_of(value);
  for (const auto& value : g) {
    const double phase = std::arg(number_of(value) * std::conj(mean));
    square += norm(value) * phase * phase, all += norm(value);
  }
  const double rms = degrees * std::sqrt(square / all);
  return phase_finding(
      fmt::format(
          "the phase of the readouts changes from one to the next, by {:.0f} degrees (root mean square)",
          rms),
      rms, change);
}

/// Returns the energy of samples at k = 0 over that of others about it. It is 1 or more: the sum of all voxels is
/// nothing in no coil.
double brightness_at_centre(const ArmSamples& arms) {
  constexpr double at_centre = 0.2, about = 2;  // cycles/FOV
  double least = about, dark = 0, dark_count = 0, all = 0, count = 0;
  for (Index arm = 0; arm < arms.arms; ++arm)
    for (Index i = 0; i < arms.places; ++i) least = std::min(least, arms.radius(arm, i));
  for (Index arm = 0; arm < arms.arms; ++arm)
    for (Index i = 0; i < arms.places; ++i) {
      const double radius = arms.radius(arm, i);
      if (radius > about) continue;
      double square = 0;
      for (Index c = 0; c < arms.coils; ++c)
        square += norm(arms.data[(arm * arms.places + i) * arms.coils + c]);
      all += square, ++count;
      if (radius <= std::max(at_centre, least)) dark += square, ++dark_count;
    }
  return dark_count > 0 && all > 0 ? dark * count / (all * dark_count) : 1;
}

/// Returns whether readouts begin at the centre, where a filter darkens samples, too.
bool begin_at_centre(const ArmSamples& arms) {
  constexpr Index first_samples = 12;
  return arms.samples.front() < first_samples;
}

/// Returns |k| of a place against the radius of k-space, along the first `axes` axes.
double relative_radius(const ArmSamples& arms, const std::array<int, 3>& matrix_size, std::size_t place,
                       int axes) {
  double square = 0;
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(axes); ++axis)
    square += std::pow(2 * arms.k[place][axis] / matrix_size[axis], 2);
  return std::sqrt(square);
}

}  // namespace

std::vector<Complex<double>> factors_of_arms(const ArmModel& model) {
  constexpr double near = 1;  // cycles/FOV
  const ArmSamples& arms = model.arms();
  const auto places = central_places(arms, near);
  if (places.empty()) return {};
  auto g = first_factors(arms, places);
  for (int iteration = 0; iteration < 10; ++iteration) {
    const auto w = divided(model, factors_of_rows(model, g)), p = model.predicted(model.folded(w));
    for (Index arm = 0; arm < arms.arms; ++arm) {
      Complex<double> onto;
      double square = 0;
      for (Index i = model.first_row(arm) * arms.coils; i < model.end_row(arm) * arms.coils; ++i)
        onto += conj(p[i]) * w[i], square += norm(p[i]);
      auto& factor = g[static_cast<std::size_t>(arm)];
      if (square > 0) factor = 1 / square * (onto * divisor_of(factor));
    }
    normalise(g);
  }
  return g;
}

std::vector<Complex<double>> factors_of_rows(const ArmModel& model, const Factors& factors) {
  Factors of_rows;
  for (Index arm = 0; arm < model.arms().arms; ++arm)
    of_rows.resize(static_cast<std::size_t>(model.end_row(arm)),
                   divisor_of(factors[static_cast<std::size_t>(arm)]));
  return of_rows;
}

double misfit_with(const ArmModel& model, const Factors& factor_of_row) {
  const auto r = model.rest(divided(model, factor_of_row));
  double sum = 0;
  const Index coils = model.arms().coils;
  for (Index i = 0; i < r.size(); ++i)
    sum += norm(factor_of_row[static_cast<std::size_t>(i / coils)]) * norm(r[i]);
  return sum;
}

bool is_contrast(const Factors& factors) {
  return is_of_signs(factors) && spread_of(sizes_of(factors)) > least_contrast;
}

std::optional<Finding> density_of_arms(const ArmSamples& arms, const std::array<int, 3>& matrix_size,
                                       double radius) {
  const double brightness = brightness_at_centre(arms);
  if (!(brightness < 1)) return {};
  constexpr double field = 1;  // a wide image nearly holds what |k| makes of one
  const ArmModel told(arms, radius, {}, field);
  const auto w = told.arranged(arms.data);
  // Spokes through the centre agree by their noise with either; nothing at k = 0 and arms that agree are a weight alone.
  constexpr double black = 0.02, agree = 0.02;
  const double most =
      brightness < black && !begin_at_centre(arms) ? agree * energy(w) : most_left_of_energy * told.misfit(w);
  bool is_found = false;
  for (const int power : {1, 2})
    for (int axes = 2; axes <= arms.axes && !is_found; ++axes) {
      std::vector<double> weights;
      for (std::size_t place = 0; place < arms.k.size(); ++place)
        weights.push_back(std::pow(relative_radius(arms, matrix_size, place, axes), power));
      const ArmModel weighted(arms, radius, weights, field);
      is_found = weighted.is_tested() && weighted.misfit(w) < most;
    }
  if (!is_found) return {};
  return make_finding(
      "window",
      "the samples were multiplied by a density compensation already: they grow with |k| from the "
      "centre of k-space on",
      0, 0, "", 1, 1);
}

std::optional<Finding> factors_in_words(const Factors& factors) {
  if (auto phases = phases_in_words(factors)) return phases;
  if (!is_contrast(factors) || share_of_flips(factors) < 0.5) return {};
  return make_finding(
      "signal",
      "its sign alternates from readout to readout: a phase cycling of 180 degrees is left in the data", 180,
      0, "degrees", 1, 1);
}

}  // namespace fhd::validation
