#include "recon/encoding/field_phase.hpp"

#include <algorithm>
#include <numbers>
#include <utility>
#include <vector>

namespace fhd {
namespace {

using Rows = std::vector<std::vector<double>>;

Array<double> stacked(const Rows& rows) {
  const auto count = static_cast<std::int64_t>(rows.front().size());
  Array<double> all({static_cast<std::int64_t>(rows.size()), count});
  double* to = all.data();
  for (const auto& row : rows) to = std::copy(row.begin(), row.end(), to);
  return all;
}

/// Returns 2 pi k of all samples along an axis of the magnet, in rad/m.
std::vector<double> wave_numbers(const Scan& scan, const std::array<double, 3>& axis_of_magnet) {
  const Geometry& geometry = scan.geometry;
  const std::array directions{geometry.read_direction, geometry.phase_direction, geometry.slice_direction};
  const std::int64_t samples = scan.trajectory.sample_count();
  std::vector<double> kappa(samples);
  for (int axis = 0; axis < 3; ++axis) {
    if (geometry.matrix_size[axis] == 1) continue;
    double along = 0;
    for (int i = 0; i < 3; ++i) along += directions[axis][i] * axis_of_magnet[i];
    const double factor = 2 * std::numbers::pi * along / (1e-3 * geometry.fov_mm[axis]);
    for (std::int64_t m = 0; m < samples; ++m) kappa[m] += factor * scan.trajectory.k[axis * samples + m];
  }
  return kappa;
}

void add_fields(const Scan& scan, const Fields& fields, Rows& coefficients, Rows& basis) {
  Array<double> positions = positions_in_magnet_m(scan.geometry, fields);
  const std::int64_t voxels = positions.extent(1), samples = scan.trajectory.sample_count();
  for (std::int64_t i = 0; i < fields.displacement_mm.size(); ++i)
    positions[i] += 1e-3 * fields.displacement_mm[i];
  for (std::size_t l = 0; l < fields.functions.size(); ++l) {
    const double* row = fields.coefficients.data() + static_cast<std::int64_t>(l) * samples;
    coefficients.emplace_back(row, row + samples);
    auto& b = basis.emplace_back(voxels);
#pragma omp parallel for schedule(static)
    for (std::int64_t p = 0; p < voxels; ++p)
      b[p] = value_of(fields.functions[l],
                      {positions.data()[p], positions.data()[voxels + p], positions.data()[2 * voxels + p]});
  }
  if (fields.displacement_mm.empty()) return;
  for (int axis = 0; axis < 3; ++axis) {
    coefficients.push_back(wave_numbers(scan, fields.axes[axis]));
    auto& b = basis.emplace_back(voxels);
    for (std::int64_t p = 0; p < voxels; ++p) b[p] = 1e-3 * fields.displacement_mm[axis * voxels + p];
  }
}

/// Adds 2 pi k . r, r in fractions of the FOV.
void add_positions(const Scan& scan, Rows& coefficients, Rows& basis) {
  const std::array<int, 3>& n = scan.geometry.matrix_size;
  const std::int64_t samples = scan.trajectory.sample_count(), voxels = scan.geometry.voxel_count();
  std::int64_t stride = 1;
  for (int axis = 0; axis < 3; stride *= n[axis++]) {
    const double* k = scan.trajectory.k.data() + axis * samples;
    auto& kappa = coefficients.emplace_back(k, k + samples);
    for (double& each : kappa) each *= 2 * std::numbers::pi;
    auto& r = basis.emplace_back(voxels);
    for (std::int64_t p = 0; p < voxels; ++p)
      r[p] = static_cast<double>(p / stride % n[axis] - n[axis] / 2) / n[axis];
  }
}

PhaseTerms terms_of(const Scan& scan, bool with_positions) {
  PhaseTerms terms;
  Rows coefficients, basis;
  if (with_positions) add_positions(scan, coefficients, basis);
  if (scan.fields) add_fields(scan, *scan.fields, coefficients, basis);
  if (has_off_resonance(scan)) {
    coefficients.emplace_back(scan.sample_time_s->begin(), scan.sample_time_s->end());
    auto& omega = basis.emplace_back(scan.field_map->begin(), scan.field_map->end());
    if (!scan.field_map_in_double.empty())
      omega.assign(scan.field_map_in_double.begin(), scan.field_map_in_double.end());
  }
  if (coefficients.empty()) {
    coefficients.emplace_back(scan.trajectory.sample_count());
    basis.emplace_back(scan.geometry.voxel_count());
  }
  terms.coefficients = stacked(coefficients);
  terms.basis = stacked(basis);
  if (scan.decay_per_s && scan.sample_time_s) {
    terms.decay_per_s = converted<double>(*scan.decay_per_s).reshaped({scan.geometry.voxel_count()});
    terms.sample_time_s = *scan.sample_time_s;
    if (scan.second_decay) {
      const Shape voxels{scan.geometry.voxel_count()};
      terms.second_decay_per_s = converted<double>(scan.second_decay->per_s).reshaped(voxels);
      terms.fraction = converted<double>(scan.second_decay->fraction).reshaped(voxels);
    }
  }
  return terms;
}

}  // namespace

bool has_off_resonance(const Scan& scan) {
  return scan.field_map && scan.sample_time_s &&
         std::any_of(scan.field_map->begin(), scan.field_map->end(), [](float omega) { return omega != 0; });
}
bool has_fields(const Scan& scan) { return scan.fields || (scan.decay_per_s && scan.sample_time_s); }

PhaseTerms field_terms(const Scan& scan) { return terms_of(scan, false); }
PhaseTerms all_terms(const Scan& scan) { return terms_of(scan, true); }

}  // namespace fhd
