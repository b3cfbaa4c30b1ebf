#pragma once
// Integer positions: of k-space in cycles/FOV, of voxels, and offsets between either.
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

namespace fhd {

using Position = std::array<int, 3>;  ///< x, y, z

/// sum_axis (k / radius)^2; an axis of radius 0 does not count.
template <class Radius>
double square_over(const Position& k, const std::array<Radius, 3>& radius) {
  double square = 0;
  for (int axis = 0; axis < 3; ++axis)
    if (radius[axis] > 0) square += std::pow(static_cast<double>(k[axis]) / radius[axis], 2);
  return square;
}

/// Returns the index in an array [z][y][x].
inline std::int64_t row_major(const Position& at, const std::array<int, 3>& size) {
  return (std::int64_t{at[2]} * size[1] + at[1]) * size[0] + at[0];
}
template <class Body>
void for_each_position(const std::array<int, 3>& size, Body body) {
  for (int z = 0; z < size[2]; ++z)
    for (int y = 0; y < size[1]; ++y)
      for (int x = 0; x < size[0]; ++x) body(Position{x, y, z});
}

/// Positions with sum_axis (k / radius)^2 <= 1, in the order of [z][y][x]; k = 0 on an axis of radius 0.
template <class Radius>
std::vector<Position> ball(const std::array<Radius, 3>& radius) {
  std::vector<Position> positions;
  std::array<int, 3> reach, size;
  for (int axis = 0; axis < 3; ++axis) {
    reach[axis] = static_cast<int>(std::floor(radius[axis]));
    size[axis] = 2 * reach[axis] + 1;
  }
  for_each_position(size, [&](Position k) {
    for (int axis = 0; axis < 3; ++axis) k[axis] -= reach[axis];
    if (square_over(k, radius) <= 1 + 1e-9) positions.push_back(k);
  });
  return positions;
}

}  // namespace fhd
