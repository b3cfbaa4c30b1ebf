#pragma once
// Dense matrices of the Fourier sums between a few voxels and samples near the centre of k-space.
#include <array>
#include <cstdint>
#include <vector>

#include "recon/array/array.hpp"

namespace fhd {

/// The voxels of a small matrix over the field, x fastest, wide enough for the radius and a margin.
struct SmallGrid {
  std::array<int, 3> n;
  std::array<double, 3> field;  ///< its length along each axis, in FOVs
  std::int64_t count() const { return std::int64_t{n[0]} * n[1] * n[2]; }
  /// r of a voxel along an axis, in FOVs.
  double position(int axis, int index) const {
    return field[static_cast<std::size_t>(axis)] * (index - n[axis] / 2) / n[axis];
  }
  double position(std::int64_t voxel, std::size_t axis) const {
    const std::int64_t before = axis == 0 ? 1 : axis == 1 ? n[0] : std::int64_t{n[0]} * n[1];
    return position(static_cast<int>(axis), static_cast<int>(voxel / before % n[axis]));
  }
};

using SmallPositions = std::vector<std::array<double, 3>>;  ///< cycles/FOV, [sample][axis]

/// Returns E, [sample][voxel]: exp(-i 2 pi k r).
Array<Complex<double>> encoding_matrix(const SmallPositions& k, const SmallGrid& grid);
/// Returns E^H E, [voxel][voxel].
Array<Complex<double>> gram_matrix(const SmallPositions& k, const SmallGrid& grid);
/// Returns a^H, [column][row] of [row][column].
Array<Complex<double>> adjoint(const Array<Complex<double>>& a);

}  // namespace fhd
