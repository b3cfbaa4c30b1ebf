#include <omp.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "recon/coils/calibration.hpp"
#include "recon/coils/maps.hpp"
#include "recon/coils/matrix_field.hpp"
#include "recon/transform/gridded/gridded_cost.hpp"
#include "recon/transform/toeplitz/toeplitz.hpp"

namespace fhd {
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
               gridding = std::max<double>(density.bytes, transform.bytes() + transform.scratch_bytes(coil_count) +
                                                              transform.point_spread_scratch_bytes()),
               solving = vectors * voxels * element + threads * (toeplitz.bytes + toeplitz.scratch_bytes);
  cost.scratch_bytes =
      whole_bytes(held + std::max(gridder.is_cuda() ? 0 : gridding, solver.is_cuda() ? 0 : solving));
  return cost;
}

MapsCost maps_cost(const std::array<int, 3>& matrix_size, std::int64_t samples, std::int64_t coil_count,
                   MapMethod method, std::optional<bool> calibration_sampled, const MapSettings& settings,
                   Device device) {
  const int region_radius = largest_calibration_radius(settings, matrix_size);
  const double voxels = product(matrix_size), coils = coil_count;
  const bool sampled =
      method != MapMethod::joint && calibration_sampled.value_or(voxels * 0.7 <= samples);
  MapsCost cost = calibration_cost(matrix_size, region_radius, samples, coil_count, sampled, device);

  // Neighbourhoods of k-space: positions in one, neighbourhoods in a region, regions.
  const bool by_plane = calibrates_by_plane(matrix_size), volume = matrix_size[2] > 1 && !by_plane;
  const double radius = std::min(volume ? settings.kernel_radius_3d : settings.kernel_radius,
                                 std::max(1.0, 0.4 * region_radius));
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
    cost.scratch_bytes = std::max(cost.scratch_bytes, whole_bytes(voxels * element * 2 * omp_get_max_threads()));
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
