#include "recon/domain/scan.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace fhd {
namespace {

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

template <class T>
bool all_finite(const Array<T>& values) {
  bool finite = true;
#pragma omp parallel for reduction(&& : finite) schedule(static)
  for (std::int64_t i = 0; i < values.size(); ++i) {
    if constexpr (requires { values[i].re; })
      finite = finite && std::isfinite(values[i].re) && std::isfinite(values[i].im);
    else
      finite = finite && std::isfinite(values[i]);
  }
  return finite;
}

template <class T>
void require_finite(const Array<T>& values, const std::string& name) {
  if (!all_finite(values))
    throw Error(name, "finite numbers", "NaN, infinity or a number beyond single precision",
                "the file is damaged, was written by a failed run, or needs another scale");
}

/// The same for values [coil][sample]; names the coil.
void require_finite_coils(const Array<Complex<float>>& values, const std::string& name) {
  if (all_finite(values)) return;
  const auto bad = std::find_if(values.begin(), values.end(),
                                [](auto v) { return !std::isfinite(v.re) || !std::isfinite(v.im); });
  Array<Complex<float>> one({1});
  one[0] = *bad;
  require_finite(one, name + " of coil " + std::to_string((bad - values.begin()) / values.extent(1)));
}

}  // namespace

void Scan::validate(const std::string& subject) const {
  constexpr int largest_matrix = 4096;
  for (int axis = 0; axis < 3; ++axis) {
    const int n = geometry.matrix_size[axis];
    if (n < 1 || n > largest_matrix)
      throw Error(subject + ": matrix size", "1 ... " + std::to_string(largest_matrix) + " voxels per axis",
                  std::to_string(n), "give it with --matrix X,Y,Z");
    if (!std::isfinite(geometry.fov_mm[axis]) || geometry.fov_mm[axis] < 0)
      throw Error(subject + ": FOV", "millimetres >= 0", number(geometry.fov_mm[axis]),
                  "give it with --fov-mm X,Y,Z");
  }
  const auto samples = kspace.sample_count();
  if (kspace.values.shape().rank() != 2 || samples < 1 || kspace.coil_count() < 1)
    throw Error(subject + ": k-space", "[coil][sample] with at least one sample",
                kspace.values.shape().text());
  if (!(trajectory.k.shape() == Shape{3, samples}))
    throw Error(subject + ": trajectory",
                "one position for each of the " + std::to_string(samples) + " samples of k-space",
                trajectory.k.shape().text());
  require_finite_coils(kspace.values, subject + ": k-space");
  require_finite(trajectory.k, subject + ": trajectory");

  constexpr double rounding = 1.005;
  for (int axis = 0; axis < 3; ++axis) {
    const double edge = geometry.matrix_size[axis] / 2.0;
    if (geometry.matrix_size[axis] == 1) continue;  // r = 0: k along this axis has no effect
    double largest = 0;
    for (std::int64_t m = 0; m < samples; ++m)
      largest = std::max(largest, std::abs(trajectory.k[axis * samples + m]));
    if (!(largest <= edge * rounding))
      throw Error(subject + ": trajectory along " + "xyz"[axis],
                  "|k| <= " + number(edge) + " cycles/FOV for a matrix of " +
                      std::to_string(geometry.matrix_size[axis]),
                  number(largest), "give the true --matrix, or the true --trajectory-unit");
  }
  if (sensitivity_maps) {
    const Shape expected{kspace.coil_count(), geometry.matrix_size[2], geometry.matrix_size[1],
                         geometry.matrix_size[0]};
    if (!(sensitivity_maps->values.shape() == expected))
      throw Error(subject + ": sensitivity maps", expected.text() + ", the coils and the matrix",
                  sensitivity_maps->values.shape().text(),
                  "leave out --matrix, or supply maps of that matrix");
    require_finite(sensitivity_maps->values, subject + ": sensitivity maps");
  }
  if (noise) {
    if (noise->shape().rank() != 2 || noise->empty() || noise->extent(0) != kspace.coil_count())
      throw Error(subject + ": noise", "samples of " + std::to_string(kspace.coil_count()) + " coils [coil][sample]",
                  noise->shape().text());
    require_finite_coils(*noise, subject + ": noise");
  }
  if (field_map) {
    require_shape(*field_map, geometry.image_shape(), subject + ": field map");
    require_finite(*field_map, subject + ": field map");
  }
  if (sample_time_s) {
    require_shape(*sample_time_s, {samples}, subject + ": sample times");
    require_finite(*sample_time_s, subject + ": sample times");
  }
  for (int axis = 0; axis < 3; ++axis)
    if (cropped_matrix_size[axis] < 0 || cropped_matrix_size[axis] > geometry.matrix_size[axis])
      throw Error(subject + ": matrix to crop to",
                  "at most the matrix size " + std::to_string(geometry.matrix_size[axis]),
                  std::to_string(cropped_matrix_size[axis]));
}

}  // namespace fhd
