#include "recon/domain/scan.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "recon/domain/option_words.hpp"

namespace fhd {
namespace {

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

template <class T>
bool all_finite(const Array<T>& values) {
  int others = 0;
  const T* const at = values.data();
  const std::int64_t count = values.size();
#pragma omp parallel for simd reduction(| : others) schedule(static)
  for (std::int64_t i = 0; i < count; ++i) {
    if constexpr (requires { at[i].re; })
      others |= int(!std::isfinite(at[i].re)) | int(!std::isfinite(at[i].im));
    else
      others |= int(!std::isfinite(at[i]));
  }
  return others == 0;
}

template <class T>
void require_finite(const Array<T>& values, const std::string& name) {
  if (!all_finite(values))
    throw Error(name, "finite numbers", "NaN, infinity or a number beyond single precision",
                "the file is damaged, was written by a failed run, or needs another scale");
}

/// Throws Error naming the coil unless values [coil][sample] are finite.
void require_finite_coils(const Array<Complex<float>>& values, const std::string& name) {
  if (all_finite(values)) return;
  const auto bad = std::find_if(values.begin(), values.end(),
                                [](auto v) { return !std::isfinite(v.re) || !std::isfinite(v.im); });
  Array<Complex<float>> one({1});
  one[0] = *bad;
  require_finite(one, name + " of coil " + std::to_string((bad - values.begin()) / values.extent(1)));
}

/// Throws Error unless `values` are those of `in_double`, rounded.
template <class Single, class Double>
void require_same(const Array<Single>& values, const Array<Double>& in_double, const std::string& name) {
  if (in_double.empty()) return;
  require_shape(in_double, values.shape(), name + " in double precision");
  std::int64_t different = 0;
#pragma omp parallel for reduction(+ : different) schedule(static)
  for (std::int64_t i = 0; i < values.size(); ++i)
    different += !(static_cast<Single>(in_double[i]) == values[i]);
  if (different > 0)
    throw Error(name + " in double precision", "the values that are held in single precision",
                std::to_string(different) + " others");
}

void require_sizes(const Geometry& geometry, const std::string& subject) {
  for (int axis = 0; axis < 3; ++axis) {
    const int n = geometry.matrix_size[axis];
    if (n < 1 || n > largest_matrix)
      throw Error(subject + ": matrix size", "1 ... " + std::to_string(largest_matrix) + " voxels per axis",
                  std::to_string(n), "give it with " + option_words("matrix", "X,Y,Z"));
    if (!std::isfinite(geometry.fov_mm[axis]) || geometry.fov_mm[axis] < 0)
      throw Error(subject + ": FOV", "millimetres >= 0", number(geometry.fov_mm[axis]),
                  "give it with " + option_words("fov-mm", "X,Y,Z"));
  }
}

void require_samples(const Scan& scan, const std::string& subject) {
  const auto samples = scan.kspace.sample_count();
  if (scan.kspace.values.shape().rank() != 2 || samples < 1 || scan.kspace.coil_count() < 1)
    throw Error(subject + ": k-space", "[coil][sample] with at least one sample",
                scan.kspace.values.shape().text());
  if (!(scan.trajectory.k.shape() == Shape{3, samples}))
    throw Error(subject + ": trajectory",
                "one position for each of the " + std::to_string(samples) + " samples of k-space",
                scan.trajectory.k.shape().text());
  require_finite_coils(scan.kspace.values, subject + ": k-space");
  require_same(scan.kspace.values, scan.kspace.in_double, subject + ": k-space");
}

void require_coils(const Scan& scan, const std::string& subject) {
  const std::int64_t coils = scan.kspace.coil_count();
  if (scan.sensitivity_maps) {
    const Shape image = scan.geometry.image_shape(), expected{coils, image[0], image[1], image[2]};
    if (!(scan.sensitivity_maps->values.shape() == expected))
      throw Error(subject + ": sensitivity maps", expected.text() + ", the coils and the matrix",
                  scan.sensitivity_maps->values.shape().text(),
                  "leave out " + option_words("matrix") + ", or supply maps of that matrix");
    require_finite(scan.sensitivity_maps->values, subject + ": sensitivity maps");
    require_same(scan.sensitivity_maps->values, scan.sensitivity_maps->in_double,
                 subject + ": sensitivity maps");
  }
  if (scan.noise) {
    if (scan.noise->shape().rank() != 2 || scan.noise->empty() || scan.noise->extent(0) != coils)
      throw Error(subject + ": noise", "samples of " + std::to_string(coils) + " coils [coil][sample]",
                  scan.noise->shape().text());
    require_finite_coils(*scan.noise, subject + ": noise");
  }
  if (scan.calibration) {
    const auto& [trajectory, kspace, matrix_size, fov_mm] = *scan.calibration;
    const auto samples = kspace.sample_count();
    if (kspace.values.shape().rank() != 2 || samples < 1 || kspace.coil_count() != coils)
      throw Error(subject + ": calibration", "samples of " + std::to_string(coils) + " coils [coil][sample]",
                  kspace.values.shape().text());
    require_shape(trajectory.k, {3, samples}, subject + ": trajectory of the calibration");
    require_finite_coils(kspace.values, subject + ": calibration");
    require_finite(trajectory.k, subject + ": trajectory of the calibration");
  }
}

/// Returns whether no number exceeds `most` in magnitude, and none is NaN.
bool are_within(double most, std::int64_t count, const double* numbers) {
  std::int64_t others = 0;  // as wide as the numbers that are compared
#pragma omp simd reduction(| : others)
  for (std::int64_t i = 0; i < count; ++i) others |= std::int64_t{!(std::abs(numbers[i]) <= most)};
  return others == 0;
}

/// Throws Error unless each of three directions is a unit vector at right angles to the others.
void require_directions(const std::array<std::array<double, 3>, 3>& axes, const std::string& name) {
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b < 3; ++b) {
      double product = 0;
      for (int i = 0; i < 3; ++i) product += axes[a][i] * axes[b][i];
      if (!(std::abs(product - (a == b)) <= 0.01))
        throw Error(name, "unit vectors at right angles, in LPS", "others");
    }
}

/// Returns the largest value of each function at the centre, edges and corners of the field of view.
std::vector<double> largest_values(const Fields& fields, Geometry geometry) {
  for (int axis = 0; axis < 3; ++axis)
    if (geometry.matrix_size[axis] > 1) geometry.matrix_size[axis] = 3, geometry.fov_mm[axis] *= 1.5;
  const auto positions = positions_in_magnet_m(geometry, fields);
  const auto points = positions.extent(1);
  std::vector<double> largest;
  for (const auto function : fields.functions) {
    auto& value = largest.emplace_back(0);
    for (std::int64_t p = 0; p < points; ++p)
      value = std::max(
          value,
          std::abs(value_of(function, {positions[p], positions[points + p], positions[2 * points + p]})));
  }
  return largest;
}

/// Throws Error where a term reaches phases that no scan has; lengths in mm in place of m are the usual reason.
void require_usual_phases(const Fields& fields, const Geometry& geometry, const std::string& name) {
  constexpr double most = 1e5;
  const auto largest = largest_values(fields, geometry);
  const auto samples = fields.coefficients.extent(1);
  for (std::size_t term = 0; term < largest.size(); ++term) {
    const auto* const row = fields.coefficients.data() + static_cast<std::int64_t>(term) * samples;
    double coefficient = 0;
    for (std::int64_t m = 0; m < samples; ++m) coefficient = std::max(coefficient, std::abs(row[m]));
    const double phase = coefficient * largest[term];
    if (phase <= most) continue;
    const auto function = fields.functions[term];
    const int order = order_of(function);
    const double of_metres = phase / std::pow(1000, std::max(order, 1));
    const bool is_usual = of_metres >= 1e-3 && of_metres <= 1e3;
    throw Error(name + " of " + names_of(function)[static_cast<std::size_t>(function)],
                "phases up to " + number(most) + " rad within the field of view", number(phase) + " rad",
                (is_usual ? number(of_metres) + " rad would be usual: were mm given for m? Their unit is "
                          : "their unit is ") +
                    (order == 0 ? "rad" : "rad/m^" + std::to_string(order)));
  }
}

void require_fields(const Scan& scan, const std::string& subject) {
  const auto& [functions, coefficients, axes, displacement_mm] = *scan.fields;
  const auto name = subject + ": field coefficients";
  for (const auto function : functions)
    if (static_cast<std::size_t>(function) >= names_of(function).size())
      throw Error(name, "functions of the table, 0 ... " + std::to_string(names_of(function).size() - 1),
                  std::to_string(static_cast<int>(function)));
  require_directions(axes, subject + ": axes of the fields");
  if (!displacement_mm.empty()) {
    const Shape image = scan.geometry.image_shape();
    require_shape(displacement_mm, {3, image[0], image[1], image[2]}, subject + ": displacement");
    require_finite(displacement_mm, subject + ": displacement");
  }
  if (functions.empty()) return;
  require_shape(coefficients, {static_cast<std::int64_t>(functions.size()), scan.kspace.sample_count()},
                name);
  require_finite(coefficients, name);
  require_usual_phases(*scan.fields, scan.geometry, name);
}

/// Throws Error unless all values of a map lie between 0 and `most`.
void require_map(const Array<float>& map, const Scan& scan, float most, const std::string& name,
                 const char* expected) {
  require_shape(map, scan.geometry.image_shape(), name);
  require_finite(map, name);
  const auto [least, largest] = std::minmax_element(map.begin(), map.end());
  if (*least < 0 || *largest > most) throw Error(name, expected, number(*least < 0 ? *least : *largest));
}

void require_decay(const Scan& scan, const std::string& name) {
  constexpr float any = std::numeric_limits<float>::max();
  if (scan.decay_per_s) require_map(*scan.decay_per_s, scan, any, name, "1/T2* >= 0 in 1/s");
  if (scan.second_decay) {
    if (!scan.decay_per_s) throw Error(name, "the rates of the first component, too", "none");
    require_map(scan.second_decay->per_s, scan, any, name + " of the second component", "1/T2* >= 0 in 1/s");
    require_map(scan.second_decay->fraction, scan, 1, name + ", fraction of the first component", "0 ... 1");
  }
  if (!scan.sample_time_s)
    throw Error(name, "the times of the samples, without which no decay can be used", "none");
}

}  // namespace

void require_positions(const Trajectory& trajectory, const std::array<int, 3>& matrix_size,
                       const std::string& subject) {
  const auto samples = trajectory.sample_count();
  for (int axis = 0; axis < 3; ++axis) {
    const int n = matrix_size[axis];
    const double* const k = trajectory.k.data() + axis * samples;
    // Along an axis of one voxel r = 0: k has no effect there.
    const double most = n == 1 ? std::numeric_limits<double>::max() : n / 2.0 * edge_rounding;
    if (are_within(most, samples, k)) continue;
    require_finite(trajectory.k, subject + "trajectory");
    double largest = 0;
    for (std::int64_t m = 0; m < samples; ++m) largest = std::max(largest, std::abs(k[m]));
    throw Error(
        subject + "trajectory along " + "xyz"[axis],
        "|k| <= " + number(n / 2.0) + " cycles/FOV for a matrix of " + std::to_string(n), number(largest),
        "give the true " + option_words("matrix") + ", or the true " + option_words("trajectory-unit"));
  }
}

void Scan::validate(const std::string& subject) const {
  require_sizes(geometry, subject);
  require_samples(*this, subject);
  require_positions(trajectory, geometry.matrix_size, subject + ": ");
  require_coils(*this, subject);
  if (field_map) {
    require_shape(*field_map, geometry.image_shape(), subject + ": field map");
    require_finite(*field_map, subject + ": field map");
    require_same(*field_map, field_map_in_double, subject + ": field map");
  }
  if (sample_time_s) {
    require_shape(*sample_time_s, {kspace.sample_count()}, subject + ": sample times");
    require_finite(*sample_time_s, subject + ": sample times");
  }
  if (decay_per_s || second_decay) require_decay(*this, subject + ": decay");
  if (fields) require_fields(*this, subject);
  for (int axis = 0; axis < 3; ++axis)
    if (cropped_matrix_size[axis] < 0 || cropped_matrix_size[axis] > geometry.matrix_size[axis])
      throw Error(subject + ": matrix to crop to",
                  "at most the matrix size " + std::to_string(geometry.matrix_size[axis]),
                  std::to_string(cropped_matrix_size[axis]));
}

}  // namespace fhd
