#pragma once
// One scan reconstructed by a team of devices.
#include <gtest/gtest.h>

#include <vector>

#include "data/simulate.hpp"
#include "recon/array/device_team.hpp"
#include "recon/pipeline/reconstruct.hpp"
#include "validation/metrics.hpp"

namespace fhd::tests {

inline Scan team_scan(std::array<int, 3> matrix, int coils, bool maps = true, double undersampling = 1) {
  data::SimulationSettings settings;
  settings.trajectory.kind =
      matrix[2] == 1 ? data::TrajectoryKind::golden_radial : data::TrajectoryKind::stack_of_stars;
  settings.trajectory.matrix_size = matrix;
  settings.trajectory.fov_mm = {240, 240, matrix[2] == 1 ? 5.0 : 120.0};
  settings.trajectory.undersampling = undersampling;
  settings.coil_count = coils;
  Scan scan = data::simulate(settings).scan;
  if (!maps) scan.sensitivity_maps.reset();
  return scan;
}

/// Returns the result of each rank, with one thread each; `services` as given.
inline std::vector<Reconstruction> by_team(const DeviceTeam& team, const Scan& scan, const Settings& settings,
                                           const Services& services = {}) {
  std::vector<Reconstruction> made(static_cast<std::size_t>(team.size()));
  team.run([&](int rank) {
    made[static_cast<std::size_t>(rank)] =
        reconstruct(scan, settings, {team.device(rank), 1, team.group(rank)}, services);
  });
  return made;
}

inline double difference(const Reconstruction& found, const Reconstruction& expected) {
  return metrics::relative_l2(converted<Complex<double>>(found.image.values),
                              converted<Complex<double>>(expected.image.values));
}

/// The order of sums in single precision differs, 1e-6 ... 3e-5 of the image after 10 iterations. Later ones
/// amplify rounding, however it comes about: up to 1e-3 in the 3D case, by which single and double precision of one
/// device differ as well: expect_rounding_of_one.
constexpr double team_tolerance = 5e-5;

inline Settings with_ten_iterations(Settings settings) {
  auto& method = std::get<LeastSquares>(settings.method);
  method.iterations = 10, method.tolerance = 0;
  return settings;
}

/// At the end of its iterations a team is as near to the image in double precision as one device, but for chance.
inline void expect_rounding_of_one(const DeviceTeam& team, const Scan& scan, Settings settings) {
  const Execution alone{team.device(0), 1};
  const auto one = reconstruct(scan, settings, alone);
  const auto many = by_team(team, scan, settings);
  settings.precision = Precision::double_precision;
  const auto exact = reconstruct(scan, settings, alone);
  EXPECT_LE(difference(many.front(), exact), 2 * difference(one, exact));
}

struct TeamCase {
  const char* what;
  Scan scan;
  Settings settings;
};
inline std::vector<TeamCase> team_cases() {
  const auto cg = [](TransformKind kind) { return Settings{LeastSquares{.transform = {kind}}}; };
  return {{"2D, exact, 3 coils", team_scan({32, 32, 1}, 3), cg(TransformKind::direct)},
          {"2D, exact, 1 coil", team_scan({32, 32, 1}, 1), cg(TransformKind::direct)},
          {"2D, gridded, maps are found", team_scan({32, 32, 1}, 4, false), cg(TransformKind::gridded)},
          {"3D, gridded, 5 coils", team_scan({16, 16, 8}, 5), cg(TransformKind::gridded)}};
}

}  // namespace fhd::tests
