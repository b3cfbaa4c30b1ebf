#pragma once
// A volume at the voxels of a scan.
#include <cstdint>
#include <string>

#include "recon/domain/geometry.hpp"

namespace fhd {

struct InterpolatedVolume {
  Array<float> values;  ///< [z][y][x]
  std::int64_t voxels_outside =
      0;  ///< of the geometry, half a voxel beyond the outermost centres of the volume
};

/// The volume at the centres of the voxels of `geometry`, by linear interpolation; voxels outside of it have its nearest
/// value. Throws Error naming `subject` when it has not three axes, or when its affine map cannot be inverted.
InterpolatedVolume interpolated_at_voxels(const Volume& volume, const Geometry& geometry,
                                          const std::string& subject);

}  // namespace fhd
