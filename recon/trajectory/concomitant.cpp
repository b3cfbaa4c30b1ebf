#include "recon/trajectory/concomitant.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "recon/domain/option_words.hpp"
#include "recon/domain/text.hpp"
#include "recon/error.hpp"

namespace fhd {
namespace {

using Index = std::int64_t;
constexpr const char* subject = "concomitant fields";
constexpr FieldFunction first_term = FieldFunction::maxwell_z2;
constexpr Index term_count = 4;

/// Returns the derivative at t[at] of the polynomial through f at `count` times, none of which are equal.
double derivative(const double* t, const double* f, Index count, Index at) {
  double sum = 0;
  for (Index j = 0; j < count; ++j) {
    // The derivative at t[at] of the polynomial that is 1 at t[j] and 0 at the others (Lagrange).
    double weight = 0;
    if (j == at) {
      for (Index i = 0; i < count; ++i)
        if (i != at) weight += 1 / (t[at] - t[i]);
    } else {
      weight = 1 / (t[j] - t[at]);
      for (Index i = 0; i < count; ++i)
        if (i != at && i != j) weight *= (t[at] - t[i]) / (t[j] - t[i]);
    }
    sum += weight * f[j];
  }
  return sum;
}

/// Sets to[i] to the derivative of f at each of `length` times, from the five nearest.
void set_derivatives(const double* t, const double* f, Index length, double* to) {
  const Index count = std::min<Index>(length, 5);
  for (Index i = 0; i < length; ++i) {
    const Index first = std::clamp<Index>(i - count / 2, 0, length - count);
    to[i] = derivative(t + first, f + first, count, i - first);
  }
}

/// Sets to[i] to the integral of f, whose derivative is `rate`, from the first time on (Hermite).
void set_integrals(const double* t, const double* f, const double* rate, Index length, double* to) {
  to[0] = 0;
  for (Index i = 1; i < length; ++i) {
    const double step = t[i] - t[i - 1];
    to[i] = to[i - 1] + step / 2 * (f[i - 1] + f[i]) + step * step / 12 * (rate[i - 1] - rate[i]);
  }
}

/// Returns k along the axes of the magnet over gamma, T s/m, [axis][sample].
Array<double> gradient_areas(const Scan& scan, const std::array<std::array<double, 3>, 3>& axes) {
  const auto& geometry = scan.geometry;
  const std::array directions{geometry.read_direction, geometry.phase_direction, geometry.slice_direction};
  const Index samples = scan.trajectory.sample_count();
  Array<double> areas({3, samples});
  for (int axis = 0; axis < 3; ++axis) {
    if (geometry.matrix_size[axis] == 1) continue;
    if (!(geometry.fov_mm[axis] > 0))
      throw Error(subject, "a known field of view, which tells the gradients",
                  std::string("none along ") + "xyz"[axis],
                  "give it with " + option_words("fov-mm", "X,Y,Z"));
    const double unit = 2 * std::numbers::pi / (1e-3 * geometry.fov_mm[axis] * proton_gamma_rad_per_s_t);
    for (int j = 0; j < 3; ++j) {
      double along = 0;
      for (int i = 0; i < 3; ++i) along += axes[j][i] * directions[axis][i];
      for (Index m = 0; m < samples; ++m)
        areas.data()[j * samples + m] += along * unit * scan.trajectory.k.data()[axis * samples + m];
    }
  }
  return areas;
}

/// Throws Error unless the times of a readout of three samples and more rise.
void require_times(const double* t, Index length, std::size_t readout) {
  if (length < 3)
    throw Error(subject, "readouts of at least 3 samples, which tell the gradients",
                std::to_string(length) + " in readout " + std::to_string(readout));
  for (Index i = 1; i < length; ++i)
    if (!(t[i] > t[i - 1]))
      throw Error(subject, "times that rise within a readout, which tell the gradients",
                  "others in readout " + std::to_string(readout), "correct the sample times");
}

/// The gradients of a readout, T/m, and scratch.
struct Gradients {
  std::array<std::vector<double>, 3> g;
  std::vector<double> product, rate;
};

/// Sets the four coefficients of a readout, each `stride` after the one before.
void set_terms(const double* t, Index length, double field_strength_t, Gradients& of, double* terms,
               Index stride) {
  const double unit = proton_gamma_rad_per_s_t / (2 * field_strength_t);
  const auto& [x, y, z] = of.g;
  const auto set = [&](Index term, auto value) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(length); ++i) of.product[i] = unit * value(i);
    set_derivatives(t, of.product.data(), length, of.rate.data());
    set_integrals(t, of.product.data(), of.rate.data(), length, terms + term * stride);
  };
  set(0, [&](std::size_t i) { return x[i] * x[i] + y[i] * y[i]; });
  set(1, [&](std::size_t i) { return z[i] * z[i] / 4; });
  set(2, [&](std::size_t i) { return -x[i] * z[i]; });
  set(3, [&](std::size_t i) { return -y[i] * z[i]; });
}

}  // namespace

Array<double> maxwell_coefficients(const Scan& scan, const ReadoutStarts& starts,
                                   const std::array<std::array<double, 3>, 3>& axes,
                                   double field_strength_t) {
  if (!(field_strength_t > 0 && field_strength_t < 100))
    throw Error(subject, "a field strength above 0 T", short_number(field_strength_t) + " T");
  if (!scan.sample_time_s)
    throw Error(subject, "a scan that tells when its samples were taken", "none",
                "an fhd HDF5 file holds the times as /sample_time_s");
  constexpr double most_t_per_m = 0.2;
  const auto areas = gradient_areas(scan, axes);
  const Index samples = scan.trajectory.sample_count();
  Array<double> coefficients({term_count, samples});
  Gradients of;
  for (std::size_t readout = 0; readout + 1 < starts.size(); ++readout) {
    const Index first = starts[readout], length = starts[readout + 1] - first;
    const double* const t = scan.sample_time_s->data() + first;
    require_times(t, length, readout);
    const auto count = static_cast<std::size_t>(length);
    of.product.resize(count), of.rate.resize(count);
    double largest = 0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      of.g[axis].resize(count);
      set_derivatives(t, areas.data() + static_cast<Index>(axis) * samples + first, length,
                      of.g[axis].data());
      for (const double g : of.g[axis]) largest = std::max(largest, std::abs(g));
    }
    if (!(largest <= most_t_per_m))
      throw Error(subject, "a trajectory that gradients of at most 200 mT/m play",
                  short_number(1e3 * largest) + " mT/m in readout " + std::to_string(readout),
                  "check the FOV, the sample times and where readouts begin");
    set_terms(t, length, field_strength_t, of, coefficients.data() + first, samples);
  }
  return coefficients;
}

Scan with_maxwell_terms(Scan scan, const ReadoutStarts& starts, double field_strength_t, double sign) {
  Fields fields = scan.fields.value_or(Fields{});
  const bool has_terms =
      std::any_of(fields.functions.begin(), fields.functions.end(), [](auto f) { return f >= first_term; });
  if (has_terms)
    throw Error(subject, "fields without Maxwell terms", "fields with them",
                "leave out " + option_words("concomitant"));
  const auto terms = maxwell_coefficients(scan, starts, fields.axes, field_strength_t);
  const Index before = static_cast<Index>(fields.functions.size()), samples = terms.extent(1);
  Array<double> all({before + term_count, samples});
  std::copy(fields.coefficients.begin(), fields.coefficients.end(), all.begin());
  std::transform(terms.begin(), terms.end(), all.begin() + before * samples,
                 [sign](double value) { return sign * value; });
  fields.coefficients = std::move(all);
  for (Index term = 0; term < term_count; ++term)
    fields.functions.push_back(static_cast<FieldFunction>(static_cast<int>(first_term) + term));
  scan.fields = std::move(fields);
  return scan;
}

double largest_maxwell_phase(const Scan& scan, const ReadoutStarts& starts, double field_strength_t) {
  const Fields fields = scan.fields.value_or(Fields{});
  const auto terms = maxwell_coefficients(scan, starts, fields.axes, field_strength_t);
  const Index samples = terms.extent(1);
  Geometry corners = scan.geometry;
  for (int axis = 0; axis < 3; ++axis)
    if (corners.matrix_size[axis] > 1) corners.matrix_size[axis] = 3, corners.fov_mm[axis] *= 1.5;
  const auto positions = positions_in_magnet_m(corners, fields);
  const Index points = positions.extent(1);
  double largest = 0;
  for (Index p = 0; p < points; ++p) {
    std::array<double, term_count> values{};
    for (Index term = 0; term < term_count; ++term)
      values[static_cast<std::size_t>(term)] =
          value_of(static_cast<FieldFunction>(static_cast<int>(first_term) + term),
                   {positions[p], positions[points + p], positions[2 * points + p]});
    for (Index m = 0; m < samples; ++m) {
      double phase = 0;
      for (Index term = 0; term < term_count; ++term)
        phase += values[static_cast<std::size_t>(term)] * terms.data()[term * samples + m];
      largest = std::max(largest, std::abs(phase));
    }
  }
  return largest;
}

std::optional<Message> warning_of_maxwell_terms(const Scan& scan, const ReadoutStarts& starts,
                                                double field_strength_t) {
  constexpr double harmless_rad = 0.5;
  try {
    const double largest = largest_maxwell_phase(scan, starts, field_strength_t);
    if (!(largest > harmless_rad)) return {};
    return Message{"concomitant", Severity::warning,
                   "concomitant (Maxwell) fields of the gradients turn phases by up to " +
                       short_number(largest) + " rad within the field of view at " +
                       short_number(field_strength_t) + " T",
                   "take them into the model with " + option_words("concomitant", "auto"), "concomitant"};
  } catch (const Error&) {  // the trajectory does not tell the gradients
    return {};
  }
}

}  // namespace fhd
