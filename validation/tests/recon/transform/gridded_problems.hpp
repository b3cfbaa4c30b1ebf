#pragma once
// The trajectories on which gridding is tried, on the CPU and on the device.
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "data/trajectory.hpp"
#include "validation/tests/problems.hpp"

namespace fhd::tests {

struct NamedTrajectory {
  std::string name;
  std::array<int, 3> matrix_size;
  Trajectory trajectory;
  std::int64_t coils;
};

/// Random samples on every matrix of the direct tests, and designed trajectories, odd sizes included; all of
/// them reach the edge of k-space.
inline const std::vector<NamedTrajectory>& trajectories() {
  static const auto all = [] {
    std::vector<NamedTrajectory> list;
    unsigned seed = 1;
    for (const auto& c : transform_cases())
      list.push_back({"random, " + c.text(), c.matrix_size,
                      random_trajectory(c.matrix_size, c.samples, seed++), c.coils});
    using enum data::TrajectoryKind;
    for (const auto& [kind, matrix] : std::vector<std::pair<data::TrajectoryKind, std::array<int, 3>>>{
             {radial, {48, 48, 1}},
             {golden_radial, {51, 51, 1}},
             {spiral, {64, 64, 1}},
             {variable_density_spiral, {45, 45, 1}},
             {cartesian, {20, 17, 1}},
             {stack_of_stars, {24, 24, 7}},
             {stack_of_spirals, {20, 20, 6}},
             {golden_means_radial_3d, {15, 15, 15}},
             {phyllotaxis_radial_3d, {16, 16, 12}}}) {
      data::TrajectorySettings settings;
      settings.kind = kind;
      settings.matrix_size = matrix;
      settings.fov_mm = {240, 240, matrix[2] == 1 ? 5.0 : 240};
      settings.undersampling = 4;
      list.push_back(
          {std::string(data::name_of(kind)), matrix, data::design_trajectory(settings).trajectory, 2});
    }
    return list;
  }();
  return all;
}

}  // namespace fhd::tests
