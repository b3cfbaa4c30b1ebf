#include "recon/coils/maps.hpp"

#include <cmath>
#include <numbers>
#include <vector>

#include "recon/coils/compression.hpp"
#include "recon/coils/matrix_field.hpp"
#include "recon/coils/noise.hpp"

namespace fhd {
namespace {

/// The calibration region of every plane of a thin slab: [z] regions of one plane.
std::vector<CalibrationRegion> planes_of(const CalibrationRegion& region) {
  const auto n = region.matrix_size();
  const std::int64_t coils = region.kspace.extent(0), plane = std::int64_t{n[0]} * n[1];
  std::vector<CalibrationRegion> planes;
  for (int z = 0; z < n[2]; ++z) {
    CalibrationRegion one{Array<Complex<float>>({coils, 1, n[1], n[0]}),
                          {region.radius[0], region.radius[1], 0},
                          region.sampled};
    for (int k = 0; k < n[2]; ++k) {
      const double angle = 2 * std::numbers::pi * (k - n[2] / 2) * static_cast<double>(z - n[2] / 2) / n[2];
      const auto phasor = Complex<float>(Complex<double>(std::cos(angle), std::sin(angle)));
      for (std::int64_t coil = 0; coil < coils; ++coil)
        for (std::int64_t i = 0; i < plane; ++i)
          one.kspace.data()[coil * plane + i] += phasor * region.kspace.data()[(coil * n[2] + k) * plane + i];
    }
    planes.push_back(std::move(one));
  }
  return planes;
}

/// The first principal component of the coils inside the calibration region.
std::vector<Complex<float>> principal_component(const CalibrationRegion& region) {
  const std::int64_t coils = region.kspace.extent(0), voxels = region.kspace.size() / coils;
  Array<Complex<float>> samples(region.kspace);
  const auto compression = compress_to_count(std::move(samples).reshaped({coils, voxels}), 1);
  std::vector<Complex<float>> component;
  for (const auto& value : compression.matrix) component.push_back(Complex<float>(conj(value)));
  return component;
}

MatrixField field_of(const CalibrationRegion& region, MapMethod method, const MapSettings& settings) {
  const double radius = region.radius[2] > 0 ? settings.kernel_radius_3d : settings.kernel_radius;
  return method == MapMethod::espirit ? espirit_field(region, radius, settings.signal_threshold)
                                      : adaptive_field(region, radius);
}

/// Variance of each coil's noise in a voxel of the region's windowed images.
std::vector<double> noise_of(const CalibrationRegion& region, const Scan& scan) {
  const auto covariance = known_noise(scan).covariance.values;
  const std::int64_t coils = covariance.extent(0);
  std::vector<double> variance;
  for (std::int64_t coil = 0; coil < coils; ++coil)
    variance.push_back(covariance[coil * coils + coil].re * region.noise_gain);
  return variance;
}

}  // namespace

MapEstimate estimate_maps(const Scan& scan, MapMethod method, const MapSettings& settings, Device device,
                          const ProgressCallback& progress, std::optional<CalibrationSystem>* kept) {
  const bool of_reference = scan.calibration.has_value();
  const auto& kspace = of_reference ? scan.calibration->kspace.values : scan.kspace.values;
  const auto& trajectory = of_reference ? scan.calibration->trajectory : scan.trajectory;
  const auto& matrix = scan.geometry.matrix_size;
  if (kspace.shape().rank() != 2 || kspace.empty())
    throw Error("k-space", "[coil][sample] with at least one sample", kspace.shape().text());
  const std::int64_t coils = kspace.extent(0);
  const auto tell = [&](std::int64_t done) {
    if (progress) progress({"sensitivity maps", done, 3, -1});
  };
  tell(0);
  const int least = least_calibration_radius(matrix);
  const auto region = calibration_region(trajectory, kspace,
                                         {matrix, largest_calibration_radius(settings, matrix), least,
                                          of_reference ? least_reference_radius : least},
                                         device, kept);
  tell(1);
  MapEstimate estimate{
      {Array<Complex<float>>({coils, matrix[2], matrix[1], matrix[0]})}, region.radius, region.sampled};
  auto& maps = estimate.maps.values;
  const auto reference = principal_component(region);
  const auto mask = signal_mask(region, noise_of(region, scan), settings.signal_mask, matrix);
  const float least_eigenvalue =
      method == MapMethod::espirit ? static_cast<float>(settings.eigenvalue_mask) : 0.0f;
  if (calibrates_by_plane(matrix)) {
    const auto planes = planes_of(region);
    for (std::size_t z = 0; z < planes.size(); ++z)
      dominant_eigenvectors(field_of(planes[z], method, settings),
                            {{matrix[0], matrix[1], 1}, mask, reference, least_eigenvalue},
                            static_cast<std::int64_t>(z), device, maps);
  } else {
    const auto field = field_of(region, method, settings);
    tell(2);
    dominant_eigenvectors(field, {matrix, mask, reference, least_eigenvalue}, 0, device, maps);
  }
  tell(3);
  return estimate;
}

}  // namespace fhd
