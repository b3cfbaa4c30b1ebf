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
  for (int axis = 0; axis < 3; ++axis)
    if (cropped_matrix_size[axis] < 0 || cropped_matrix_size[axis] > geometry.matrix_size[axis])
      throw Error(subject + ": matrix to crop to",
                  "at most the matrix size " + std::to_string(geometry.matrix_size[axis]),
                  std::to_string(cropped_matrix_size[axis]));
}

}  // namespace fhd
