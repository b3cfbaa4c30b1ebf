#pragma once
// Sensitivity maps from the scan itself.
#include <array>
#include <string>

#include "recon/domain/report.hpp"
#include "recon/domain/scan.hpp"

namespace fhd {

/// espirit    eigenvectors of what neighbours in k-space predict of each other: Uecker et al.,
///            MRM 71:990 (2014)
/// adaptive   eigenvectors of the local covariance of low-resolution coil images: Walsh et al.,
///            MRM 43:682 (2000)
enum class MapMethod { espirit, adaptive };

struct MapSettings {
  /// Of the calibration region, cycles/FOV; smaller where the trajectory or the matrix asks for it.
  int calibration_radius = 16, calibration_radius_3d = 12;
  /// Of the k-space neighbourhood (espirit) or of the spectrum of the smoothed covariance (adaptive),
  /// cycles/FOV.
  double kernel_radius = 3, kernel_radius_3d = 2.5;
  /// espirit: singular values of the calibration matrix above this share of the largest span the signal;
  /// twice their median, where that is more: noise reaches up to there.
  double signal_threshold = 0.04;
  /// espirit: maps are zero where the largest eigenvalue, 1 where the neighbours' prediction is exact, is
  /// below.
  double eigenvalue_mask = 0.8;
  /// Maps are zero where the low-resolution image (root of the sum of squares) is below this share of the
  /// root mean square of its signal, but not within 1/16 FOV of it and not where it is surrounded by it.
  double signal_mask = 0.05;
};

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
