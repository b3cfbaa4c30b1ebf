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

std::int64_t voxels_with_maps(const Array<Complex<float>>& maps) {
  const std::int64_t coils = maps.extent(0), voxels = maps.size() / coils;
  std::int64_t count = 0;
  for (std::int64_t p = 0; p < voxels; ++p) {
    bool any = false;
    for (std::int64_t coil = 0; coil < coils && !any; ++coil) any = norm(maps.data()[coil * voxels + p]) > 0;
    count += any;
  }
  return count;
}

/// Leaves the second set only where it is asked for, or tells enough.
void judge_second(MapSetCount sets, MapEstimate& estimate) {
  const std::int64_t all = voxels_with_maps(estimate.maps.values),
                     second = voxels_with_maps(estimate.second->values);
  estimate.second_share = all > 0 ? static_cast<double>(second) / static_cast<double>(all) : 0;
  if (second == 0 || (sets == MapSetCount::automatic && estimate.second_share < least_second_share))
    estimate.second.reset();
}

}  // namespace

MapEstimate estimate_maps(const Scan& scan, MapMethod method, const MapSettings& settings, Device device,
                          const ProgressCallback& progress, std::optional<CalibrationSystem>* kept) {
  const bool of_reference = scan.calibration.has_value();
  const auto& kspace = of_reference ? scan.calibration->kspace.values : scan.kspace.values;
  const auto& trajectory = of_reference ? scan.calibration->trajectory : scan.trajectory;
  const auto& matrix = scan.geometry.matrix_size;
  const std::int64_t coils = kspace.extent(0);
  const auto tell = [&](std::int64_t done) {
    if (progress) progress({"sensitivity maps", done, 3, -1});
  };
  tell(0);
  const int least = least_calibration_radius(matrix);
  const auto region =
      calibration_region(trajectory, kspace,
                         {matrix, largest_calibration_radius(settings, matrix), least,
                          of_reference ? least_reference_radius : least, method == MapMethod::joint},
                         device, kept);
  tell(1);
  const bool looks_for_second = settings.sets != MapSetCount::one && method == MapMethod::espirit;
  const auto no_maps = [&] {
    return SensitivityMaps{Array<Complex<float>>({coils, matrix[2], matrix[1], matrix[0]})};
  };
  MapEstimate estimate{no_maps()};
  estimate.calibration_radius = region.radius;
  estimate.calibration_sampled = region.sampled;
  if (looks_for_second) estimate.second = no_maps();
  auto& maps = estimate.maps.values;
  const auto reference = principal_component(region);
  const auto mask = signal_mask(region, noise_of(region, scan), settings.signal_mask, matrix);
  if (method == MapMethod::joint) {
    maps = smooth_maps(region, mask);
    tell(3);
    return estimate;
  }
  const float least_eigenvalue =
      method == MapMethod::espirit ? static_cast<float>(settings.eigenvalue_mask) : 0.0f;
  const auto find = [&](const MatrixField& field, const std::array<int, 3>& size, std::int64_t plane) {
    dominant_eigenvectors(field, {size, mask, reference, least_eigenvalue}, plane, device, maps);
    if (looks_for_second)
      dominant_eigenvectors(field, {size, mask, reference, least_eigenvalue, &maps}, plane, device,
                            estimate.second->values);
  };
  if (calibrates_by_plane(matrix)) {
    const auto planes = planes_of(region);
    for (std::size_t z = 0; z < planes.size(); ++z)
      find(field_of(planes[z], method, settings), {matrix[0], matrix[1], 1}, static_cast<std::int64_t>(z));
  } else {
    const auto field = field_of(region, method, settings);
    tell(2);
    find(field, matrix, 0);
  }
  if (looks_for_second) judge_second(settings.sets, estimate);
  tell(3);
  return estimate;
}

}  // namespace fhd
