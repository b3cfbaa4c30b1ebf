#include <omp.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "recon/coils/calibration.hpp"
#include "recon/coils/maps.hpp"
#include "recon/transform/gridded/gridded_cost.hpp"
#include "recon/transform/toeplitz/toeplitz.hpp"

namespace fhd {
namespace {

constexpr double element = 8;  ///< bytes of a complex number

double product(const std::array<int, 3>& n) { return static_cast<double>(n[0]) * n[1] * n[2]; }

}  // namespace

MapsCost calibration_cost(const std::array<int, 3>& matrix_size, int radius, std::int64_t samples,
                          std::int64_t coil_count, bool sampled) {
  TransformSizes small;
  small.matrix_size = calibration_matrix(matrix_size, radius);
  // Samples fall into the small matrix in proportion to its width where readouts cross the centre.
  const double share = std::min(1.0, double(small.matrix_size[0]) / matrix_size[0]), coils = coil_count,
               threads = omp_get_max_threads(), voxels = product(small.matrix_size), inside = samples * share;
  small.samples.all = small.samples.x = small.samples.xy = static_cast<std::int64_t>(inside);
  const GriddedCost transform(small, calibration_accuracy);
  const DensityCost density = density_cost(small);
  const OperatorCost toeplitz = toeplitz_cost(small.matrix_size, 1, small.precision, small.device);

  // Some ten iterations for each coil; or, where it is undersampled, six Newton steps with up to 20 each.
  constexpr double kept_residuals = 6;
  const Work iteration = toeplitz.forward + Work(WorkUnit::projection, voxels * kept_residuals) +
                         Work(WorkUnit::copied_byte, 6 * voxels * element) + Work(WorkUnit::region, 10);
  MapsCost cost;
  cost.work = density.work + transform.making() + transform.adjoint(coil_count) + transform.point_spread() +
              coils * (sampled ? 10 : 60 * 2.5) * iteration;

  // Trajectory, density and data; images before and after, q. Then the solver's images, of each thread, or of
  // all coils with their unknowns.
  constexpr double vectors = 17, joint_vectors = 27, unknowns_of_a_coil = 0.2;
  const double q = voxels * (small.matrix_size[2] > 1 ? 8 : 4),
               held = inside * (32 + element * coils) + (voxels * (2 * coils + 1) + q) * element,
               solver =
                   sampled ? threads * vectors : 4 * coils + joint_vectors * (1 + unknowns_of_a_coil * coils),
               gridding = transform.bytes() + transform.scratch_bytes(coil_count),
               solving = solver * voxels * element + threads * (toeplitz.bytes + toeplitz.scratch_bytes);
  cost.scratch_bytes = whole_bytes(
      held + std::max<double>(density.bytes,
                              gridding + std::max<double>(transform.point_spread_scratch_bytes(), solving)));
  return cost;
}

MapsCost maps_cost(const std::array<int, 3>& matrix_size, std::int64_t samples, std::int64_t coil_count,
                   MapMethod method, std::optional<bool> calibration_sampled, const MapSettings& settings) {
  const int region_radius = largest_calibration_radius(settings, matrix_size);
  const double voxels = product(matrix_size), coils = coil_count;
  const bool sampled = calibration_sampled.value_or(voxels * 0.7 <= samples);
  MapsCost cost = calibration_cost(matrix_size, region_radius, samples, coil_count, sampled);

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
    cost.work += Work(WorkUnit::eigenvalue, std::pow(n, 3) * regions);
    later_bytes += n * (count + 5 * n) * element;  // with LAPACK's copies
  }
  const double terms = 2 * 2 * std::floor(radius) + 1, pairs = coils * (coils + 1) / 2;
  cost.work += Work(WorkUnit::map_voxel, voxels * pairs * (terms + 20));
  cost.scratch_bytes = std::max(cost.scratch_bytes, whole_bytes(later_bytes));
  return cost;
}

Work mixing_work(std::int64_t coils, std::int64_t samples) {
  const double values = static_cast<double>(coils) * samples;
  return Work(WorkUnit::mixed_value, coils * values) +
         Work(WorkUnit::touched_byte, 5 * values * element);  // copies by one thread
}

}  // namespace fhd
