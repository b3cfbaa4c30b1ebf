#pragma once
// Positions of voxels in the patient, and resampling of other grids onto them.
#include <array>
#include <cstdint>
#include <string>

#include "recon/array/array.hpp"

namespace fhd {

/// The largest number of voxels along an axis.
inline constexpr int largest_matrix = 4096;

/// The position of the image in the patient. Positions and directions are in the patient's LPS coordinates
/// (x to the Left, y to the Posterior, z to the Superior), as in ISMRMRD and DICOM.
struct Geometry {
  std::array<int, 3> matrix_size{1, 1, 1};     ///< voxels along x (read), y (phase), z (slice)
  std::array<double, 3> fov_mm{0, 0, 0};       ///< along x, y, z; 0 where unknown
  std::array<double, 3> position_mm{0, 0, 0};  ///< centre of the FOV
  std::array<double, 3> read_direction{1, 0, 0};
  std::array<double, 3> phase_direction{0, 1, 0};
  std::array<double, 3> slice_direction{0, 0, 1};

  std::int64_t voxel_count() const { return std::int64_t{matrix_size[0]} * matrix_size[1] * matrix_size[2]; }
  /// [z][y][x]
  Shape image_shape() const { return {matrix_size[2], matrix_size[1], matrix_size[0]}; }
};

/// Maps voxel (x, y, z, 1) to LPS, mm: rows L, P, S.
using Affine = std::array<std::array<double, 4>, 3>;

/// Returns the affine map of a geometry; voxels have 1 mm along an axis whose FOV is unknown.
Affine voxel_to_lps_mm(const Geometry& geometry);

/// Real values on a grid in the patient: voxel (x, y, z) lies at voxel_to_lps_mm (x, y, z, 1) in LPS, mm.
struct Volume {
  Array<float> values;  ///< [z][y][x]
  Affine voxel_to_lps_mm{};
};

/// Interpolates values [z][y][x] linearly at voxel coordinates x, y, z; outside of the outermost centres, at the nearest
/// place on them. T is float or double.
template <class T>
double interpolated(const Array<T>& values, const std::array<double, 3>& at);

/// Resamples the volume on the voxels of `geometry`, [z][y][x]: averaged over each voxel by 2 x 2 x 2 linear
/// interpolations (as many more as the volume is finer), 0 outside of the volume. Throws Error when less than
/// 1 % of the voxels lie inside, or when the affine map of the volume cannot be inverted.
Array<float> resampled(const Volume& volume, const Geometry& geometry);

struct InterpolatedVolume {
  Array<float> values;  ///< [z][y][x]
  std::int64_t voxels_outside =
      0;  ///< of the geometry, half a voxel beyond the outermost centres of the volume
};
/// Interpolates the volume linearly at the centres of the voxels of `geometry`; voxels outside of it have its nearest
/// value. Throws Error naming `subject` when it has not three axes, or when its affine map cannot be inverted.
InterpolatedVolume interpolated_at_voxels(const Volume& volume, const Geometry& geometry,
                                          const std::string& subject);

}  // namespace fhd
