#include "recon/coils/maps.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "recon/coils/calibration.hpp"
#include "recon/coils/matrix_field.hpp"
#include "recon/coils/noise.hpp"
#include "recon/transform/gridded/gridded_cost.hpp"
#include "recon/transform/toeplitz/toeplitz.hpp"

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

/// Returns the radius of the k-space neighbourhood (espirit) or of the spectrum of the smoothed covariance (adaptive),
/// cycles/FOV.
constexpr double kernel_radius(bool volume) { return volume ? 2.5 : 3; }
/// Returns the radius of the calibration region, cycles/FOV; smaller where the trajectory or the matrix asks for it.
int largest_calibration_radius(const std::array<int, 3>& matrix_size) { return matrix_size[2] > 1 ? 12 : 16; }

MatrixField field_of(const CalibrationRegion& region, MapMethod method) {
  const double radius = kernel_radius(region.radius[2] > 0);
  return method == MapMethod::espirit ? espirit_field(region, radius) : adaptive_field(region, radius);
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
  const std::int64_t voxels = maps.size() / maps.extent(0);
  std::int64_t count = 0;
  for (std::int64_t p = 0; p < voxels; ++p) count += sum_of_squares(maps.data(), maps.size(), voxels, p) > 0;
  return count;
}

/// Adds the defects of one plane, or volume, that the maps still have between its points. `size` is that of the plane or volume.
void add_defects(const SmoothReference& reference, const Array<Complex<float>>& maps,
                 const std::array<int, 3>& size, std::int64_t plane, std::vector<MapDefect>& all) {
  for (MapDefect defect : reference.defects) {
    Position first, last;
    for (int axis = 0; axis < 3; ++axis) {
      const auto points = static_cast<int>(reference.vectors.extent(3 - axis));
      const auto voxel_of = [&](int point) {
        const double fraction = static_cast<double>(point - points / 2) / points;
        return std::clamp(size[axis] / 2 + static_cast<int>(std::lround(fraction * size[axis])), 0,
                          size[axis] - 1);
      };
      first[axis] = voxel_of(defect.voxel[axis]), last[axis] = voxel_of(defect.voxel[axis] + 1);
      defect.voxel[axis] = (first[axis] + last[axis]) / 2;
    }
    for (Position* at : {&first, &last, &defect.voxel}) (*at)[2] += static_cast<int>(plane);
    if (breaks(maps, defect.kind, first, last)) all.push_back(defect);
  }
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

MapEstimate estimate_maps(const Scan& scan, MapMethod method, MapSetCount sets, Device device,
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
                         {matrix, largest_calibration_radius(matrix), least,
                          of_reference ? least_reference_radius : least, method == MapMethod::joint},
                         device, kept);
  tell(1);
  const bool looks_for_second = sets != MapSetCount::one && method == MapMethod::espirit;
  const auto no_maps = [&] {
    return SensitivityMaps{Array<Complex<float>>({coils, matrix[2], matrix[1], matrix[0]})};
  };
  MapEstimate estimate{no_maps()};
  estimate.calibration_radius = region.radius;
  estimate.calibration_sampled = region.sampled;
  if (looks_for_second) estimate.second = no_maps();
  auto& maps = estimate.maps.values;
  const auto component = principal_component(region);
  const auto mask = signal_mask(region, noise_of(region, scan), matrix);
  if (method == MapMethod::joint) {
    maps = smooth_maps(region, mask);
    tell(3);
    return estimate;
  }
  const float least_eigenvalue = method == MapMethod::espirit ? static_cast<float>(eigenvalue_mask) : 0.0f;
  Array<Complex<float>> constant({coils, 1, 1, 1});
  std::copy(component.begin(), component.end(), constant.begin());
  const auto find = [&](const CalibrationRegion& of, const std::array<int, 3>& size, std::int64_t plane) {
    const auto field = field_of(of, method);
    tell(2);
    const auto reference = smooth_reference(of, field, component, device);
    dominant_eigenvectors(field, {size, mask, reference.vectors, least_eigenvalue}, plane, device, maps);
    add_defects(reference, maps, size, plane, estimate.defects);
    if (looks_for_second)
      dominant_eigenvectors(field, {size, mask, constant, least_eigenvalue, &maps}, plane, device,
                            estimate.second->values);
  };
  if (calibrates_by_plane(matrix)) {
    const auto planes = planes_of(region);
    for (std::size_t z = 0; z < planes.size(); ++z)
      find(planes[z], {matrix[0], matrix[1], 1}, static_cast<std::int64_t>(z));
  } else {
    find(region, matrix, 0);
  }
  if (looks_for_second) judge_second(sets, estimate);
  tell(3);
  return estimate;
}

namespace {

constexpr double element = 8;  ///< bytes of a complex number

double product(const std::array<int, 3>& n) { return static_cast<double>(n[0]) * n[1] * n[2]; }

}  // namespace

MapsCost calibration_cost(const std::array<int, 3>& matrix_size, int radius, std::int64_t samples,
                          std::int64_t coil_count, bool sampled, Device device) {
  TransformSizes small;
  small.matrix_size = calibration_matrix(matrix_size, radius);
  small.device = gridding_device(small.matrix_size, device);
  const Device gridder = small.device, solver = solving_device(small.matrix_size, sampled, device);
  // Samples fall into the small matrix in proportion to its width where readouts cross the centre.
  const double share = std::min(1.0, 1.2 * small.matrix_size[0] / matrix_size[0]), coils = coil_count,
               threads = solver.is_cuda() ? 1 : omp_get_max_threads(), voxels = product(small.matrix_size),
               inside = samples * share;
  small.samples.all = small.samples.x = small.samples.xy = static_cast<std::int64_t>(inside);
  const GriddedCost transform(small, calibration_accuracy, 0, GriddingChoice::of_cpu);
  const DensityCost density = density_cost(small);
  const OperatorCost toeplitz = toeplitz_cost(small.matrix_size, 1, small.precision, solver);
  MapsCost cost;
  (gridder.is_cuda() ? cost.device_work : cost.work) =
      density.work + transform.making() + transform.adjoint(coil_count) + transform.point_spread();
  // Some ten iterations for each coil; or, where it is undersampled, six Newton steps with up to 20 each.
  (solver.is_cuda() ? cost.device_work : cost.work) +=
      coils * (sampled ? 10 : 150) *
      (toeplitz.forward + Work(WorkUnit::byte, 12 * voxels * element) + Work(WorkUnit::region, 10));
  // Trajectory, density and data, images before and after, q; then what gridding takes, or the vectors of each solver.
  const double q = voxels * (small.matrix_size[2] > 1 ? 8 : 4),
               held = inside * (32 + element * coils) + (voxels * (2 * coils + 1) + q) * element,
               vectors = sampled ? threads * 17 : 9.4 * coils + 27,
               gridding =
                   std::max<double>(density.bytes, transform.bytes() + transform.scratch_bytes(coil_count) +
                                                       transform.point_spread_scratch_bytes()),
               solving = vectors * voxels * element + threads * (toeplitz.bytes + toeplitz.scratch_bytes);
  cost.scratch_bytes =
      whole_bytes(held + std::max(gridder.is_cuda() ? 0 : gridding, solver.is_cuda() ? 0 : solving));
  return cost;
}

MapsCost maps_cost(const std::array<int, 3>& matrix_size, std::int64_t samples, std::int64_t coil_count,
                   MapMethod method, std::optional<bool> calibration_sampled, Device device) {
  const int region_radius = largest_calibration_radius(matrix_size);
  const double voxels = product(matrix_size), coils = coil_count;
  const bool sampled = method != MapMethod::joint && calibration_sampled.value_or(voxels * 0.7 <= samples);
  MapsCost cost = calibration_cost(matrix_size, region_radius, samples, coil_count, sampled, device);

  // Neighbourhoods of k-space: positions in one, neighbourhoods in a region, regions.
  const bool by_plane = calibrates_by_plane(matrix_size), volume = matrix_size[2] > 1 && !by_plane;
  const double radius = std::min(kernel_radius(volume), std::max(1.0, 0.4 * region_radius));
  const auto ball = [&](double r) {
    return volume ? 4.0 / 3 * std::numbers::pi * std::pow(r, 3) : std::numbers::pi * r * r;
  };
  const double positions = ball(radius) + (volume ? 16 : 1), n = coils * positions,
               count = ball(region_radius - radius), regions = by_plane ? matrix_size[2] : 1;
  double later_bytes = voxels * 5;  // eigenvalues and the mask
  if (method == MapMethod::espirit) {
    cost.work += Work(WorkUnit::algebra, 1.5 * std::pow(n, 3) * regions);
    later_bytes += n * (count + 5 * n) * element;  // with LAPACK's copies
  }
  if (method == MapMethod::joint) {  // 17 terms along each axis
    cost.work += Work(WorkUnit::byte, voxels * coils * element * 17 * 2);
    cost.scratch_bytes =
        std::max(cost.scratch_bytes, whole_bytes(voxels * element * 2 * omp_get_max_threads()));
    return cost;
  }
  const double terms = 2 * 2 * std::floor(radius) + 1, pairs = coils * (coils + 1) / 2;
  cost.scratch_bytes = std::max(cost.scratch_bytes, whole_bytes(later_bytes));
  if (device.is_cpu()) {
    cost.work += Work(WorkUnit::algebra, 3.3 * voxels * pairs * (terms + 20));
  } else {  // arithmetic out of shared memory, at some rate of FFTs; then the maps come to the host
    cost.device_work += Work(WorkUnit::fft, voxels * pairs * 8 * (terms + 20)) +
                        Work(WorkUnit::transferred_byte, voxels * coils * element);
  }
  return cost;
}

Work mixing_work(std::int64_t coils, std::int64_t samples) {
  const double values = static_cast<double>(coils) * samples;
  return Work(WorkUnit::algebra, coils * values) +
         Work(WorkUnit::byte, 5 * values * element);  // copies by one thread
}

}  // namespace fhd
