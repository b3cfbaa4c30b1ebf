#include "recon/domain/geometry.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "recon/domain/option_words.hpp"

namespace fhd {
namespace {

/// Inverts an affine map by cofactors; empty when it has no inverse.
std::optional<Affine> inverted(const Affine& a) {
  const auto cofactor = [&](int row, int column) {
    const int r0 = (row + 1) % 3, r1 = (row + 2) % 3, c0 = (column + 1) % 3, c1 = (column + 2) % 3;
    return a[r0][c0] * a[r1][c1] - a[r0][c1] * a[r1][c0];
  };
  const double determinant = a[0][0] * cofactor(0, 0) + a[0][1] * cofactor(0, 1) + a[0][2] * cofactor(0, 2);
  if (!std::isfinite(determinant) || std::abs(determinant) < 1e-12) return std::nullopt;
  Affine inverse{};
  for (int row = 0; row < 3; ++row) {
    for (int column = 0; column < 3; ++column) inverse[row][column] = cofactor(column, row) / determinant;
    for (int column = 0; column < 3; ++column) inverse[row][3] -= inverse[row][column] * a[column][3];
  }
  return inverse;
}

/// Returns whether voxel coordinates lie in the volume, which includes half a voxel beyond the outermost centres.
bool is_inside(const Array<float>& values, const std::array<double, 3>& at) {
  for (int axis = 0; axis < 3; ++axis)
    if (!(at[axis] >= -0.5 && at[axis] <= static_cast<double>(values.extent(2 - axis)) - 0.5)) return false;
  return true;
}

/// Maps a voxel of the geometry to a voxel of the volume.
Affine voxel_map(const Volume& volume, const Geometry& geometry, const std::string& subject) {
  if (volume.values.shape().rank() != 3 || volume.values.empty())
    throw Error(subject, "three axes", volume.values.shape().text());
  const auto to_volume = inverted(volume.voxel_to_lps_mm);
  if (!to_volume) throw Error(subject, "an affine map from voxels to the patient", "one without an inverse");
  const Affine from_geometry = voxel_to_lps_mm(geometry);
  Affine map{};
  for (int column = 0; column < 4; ++column)
    for (int row = 0; row < 3; ++row) {
      map[row][column] = column == 3 ? (*to_volume)[row][3] : 0;
      for (int i = 0; i < 3; ++i) map[row][column] += (*to_volume)[row][i] * from_geometry[i][column];
      if (!std::isfinite(map[row][column]))
        throw Error(subject, "an affine map of finite numbers", "NaN or infinity");
    }
  return map;
}

std::array<double, 3> mapped(const Affine& map, const std::array<double, 3>& from) {
  std::array<double, 3> at{map[0][3], map[1][3], map[2][3]};
  for (int axis = 0; axis < 3; ++axis)
    for (int to = 0; to < 3; ++to) at[to] += map[to][axis] * from[axis];
  return at;
}

}  // namespace

template <class T>
double interpolated(const Array<T>& values, const std::array<double, 3>& at) {
  std::int64_t low[3];
  double fraction[3];
  for (int axis = 0; axis < 3; ++axis) {
    const std::int64_t n = values.extent(2 - axis);
    const double clamped = std::clamp(at[axis], 0.0, static_cast<double>(n - 1));
    low[axis] = std::min(static_cast<std::int64_t>(clamped), std::max<std::int64_t>(n - 2, 0));
    fraction[axis] = clamped - static_cast<double>(low[axis]);
  }
  double sum = 0;
  for (int corner = 0; corner < 8; ++corner) {
    double weight = 1;
    std::int64_t index[3];
    for (int axis = 0; axis < 3; ++axis) {
      const int up = corner >> axis & 1;
      weight *= up ? fraction[axis] : 1 - fraction[axis];
      index[axis] = std::min(low[axis] + up, values.extent(2 - axis) - 1);
    }
    if (weight > 0)
      sum += weight * values[(index[2] * values.extent(1) + index[1]) * values.extent(2) + index[0]];
  }
  return sum;
}
template double interpolated(const Array<float>&, const std::array<double, 3>&);
template double interpolated(const Array<double>&, const std::array<double, 3>&);

Affine voxel_to_lps_mm(const Geometry& geometry) {
  const std::array<double, 3>* directions[3] = {&geometry.read_direction, &geometry.phase_direction,
                                                &geometry.slice_direction};
  Affine affine{};
  for (int row = 0; row < 3; ++row) {
    affine[row][3] = geometry.position_mm[row];
    for (int axis = 0; axis < 3; ++axis) {
      const int n = geometry.matrix_size[axis];
      const double spacing = geometry.fov_mm[axis] > 0 ? geometry.fov_mm[axis] / n : 1;
      affine[row][axis] = (*directions[axis])[row] * spacing;
      affine[row][3] -= affine[row][axis] * (n / 2);  // voxel floor(N/2) lies at the position
    }
  }
  return affine;
}

Array<float> resampled(const Volume& volume, const Geometry& geometry) {
  // Points per scan voxel along each axis: two, or one per volume voxel crossed.
  const Affine map = voxel_map(volume, geometry, "prior image");
  int points[3];
  for (int axis = 0; axis < 3; ++axis) {
    double crossed = 0;
    for (int row = 0; row < 3; ++row) crossed += map[row][axis] * map[row][axis];
    points[axis] = std::clamp(static_cast<int>(std::ceil(std::sqrt(crossed))), 2, 16);
  }

  Array<float> result(geometry.image_shape());
  const int nx = geometry.matrix_size[0], ny = geometry.matrix_size[1], nz = geometry.matrix_size[2];
  std::int64_t voxels_inside = 0;
#pragma omp parallel for schedule(static) reduction(+ : voxels_inside)
  for (int row = 0; row < nz * ny; ++row)
    for (int x = 0; x < nx; ++x) {
      double sum = 0;
      int hits = 0;
      for (int i = 0; i < points[0] * points[1] * points[2]; ++i) {
        const int index[3] = {i % points[0], i / points[0] % points[1], i / (points[0] * points[1])};
        const int voxel[3] = {x, row % ny, row / ny};
        std::array<double, 3> position{};
        for (int axis = 0; axis < 3; ++axis)
          position[axis] = voxel[axis] + (index[axis] + 0.5) / points[axis] - 0.5;
        const auto at = mapped(map, position);
        if (is_inside(volume.values, at)) sum += interpolated(volume.values, at), ++hits;
      }
      if (hits > 0) ++voxels_inside;
      result.data()[std::int64_t{row} * nx + x] = hits > 0 ? static_cast<float>(sum / hits) : 0.0f;
    }
  if (static_cast<double>(voxels_inside) < 0.01 * static_cast<double>(result.size()))
    throw Error("prior image", "one that overlaps with the scan",
                std::to_string(voxels_inside) + " of " + std::to_string(result.size()) +
                    " voxels of the scan inside it",
                "check the position, directions and FOV of both (" + option_words("fov-mm") + ")");
  return result;
}

InterpolatedVolume interpolated_at_voxels(const Volume& volume, const Geometry& geometry,
                                          const std::string& subject) {
  const Affine map = voxel_map(volume, geometry, subject);
  InterpolatedVolume result{Array<float>(geometry.image_shape())};
  const int nx = geometry.matrix_size[0], ny = geometry.matrix_size[1], nz = geometry.matrix_size[2];
  std::int64_t outside = 0;
#pragma omp parallel for schedule(static) reduction(+ : outside)
  for (int row = 0; row < nz * ny; ++row)
    for (int x = 0; x < nx; ++x) {
      const auto at = mapped(map, {double(x), double(row % ny), double(row / ny)});
      outside += !is_inside(volume.values, at);
      result.values.data()[std::int64_t{row} * nx + x] = static_cast<float>(interpolated(volume.values, at));
    }
  result.voxels_outside = outside;
  return result;
}

}  // namespace fhd
