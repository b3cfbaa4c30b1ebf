#pragma once
// Sensitivity maps from the scan itself.
#include <array>
#include <string>

#include "recon/domain/report.hpp"
#include "recon/domain/scan.hpp"
#include "recon/domain/settings.hpp"

namespace fhd {

/// espirit    eigenvectors of what neighbours in k-space predict of each other: Uecker et al.,
///            MRM 71:990 (2014)
/// adaptive   eigenvectors of the local covariance of low-resolution coil images: Walsh et al.,
///            MRM 43:682 (2000)
using MapMethod = CoilMaps;  // of which asks_to_find
inline MapMethod map_method(CoilMaps maps) { return asks_to_find(maps) ? maps : MapMethod::espirit; }
struct MapMethodName {
  const char *option, *in_words;
};
MapMethodName name_of(MapMethod method);

struct MapEstimate {
  /// [coil][z][y][x]; sum over coils |S|^2 = 1, or S = 0 outside of the mask. The phase is such that the sum
  /// of the coils, weighted as in the first principal component of the calibration region, is real and
  /// positive.
  SensitivityMaps maps;
  std::array<int, 3> calibration_radius{};  ///< as used, x, y, z
  bool calibration_sampled = true;          ///< CalibrationRegion::sampled
};

/// A matrix of 2 ... 9 voxels along z is calibrated slice by slice, after an inverse FFT along z: its
/// neighbourhoods cannot extend along z.
inline bool calibrates_by_plane(const std::array<int, 3>& matrix_size) {
  return matrix_size[2] > 1 && matrix_size[2] < 10;
}
inline int largest_calibration_radius(const MapSettings& settings, const std::array<int, 3>& matrix_size) {
  return matrix_size[2] > 1 ? settings.calibration_radius_3d : settings.calibration_radius;
}

/// Maps of all coils of k-space [coil][sample] on a matrix, on the CPU. Throws Error when k-space is zero or has no
/// sample near its centre.
MapEstimate estimate_maps(const Trajectory& trajectory, const Array<Complex<float>>& kspace,
                          std::array<int, 3> matrix_size, MapMethod method, const MapSettings& settings = {},
                          const ProgressCallback& progress = {});
/// The same of a scan as it is, without whitening and compression.
MapEstimate estimate_maps(const Scan& scan, MapMethod method, const MapSettings& settings = {},
                          const ProgressCallback& progress = {});

}  // namespace fhd
