#include <gtest/gtest.h>

#include <numbers>

#include "io/scan/trajectory_unit.hpp"
#include "validation/tests/io/io_scans.hpp"

namespace fhd::io {
namespace {

Geometry geometry_of(std::array<int, 3> matrix_size, std::array<double, 3> fov_mm = {0, 0, 0}) {
  Geometry geometry;
  geometry.matrix_size = matrix_size;
  geometry.fov_mm = fov_mm;
  return geometry;
}

TrajectoryUnit infer(std::array<double, 3> largest_k, const Geometry& geometry) {
  return infer_trajectory_unit(largest_k, geometry, "scan").unit;
}

TEST(TrajectoryUnit, infers_each_unit_from_the_extent_of_k_space) {
  const auto geometry = geometry_of({256, 256, 1}, {200, 200, 5});
  EXPECT_EQ(infer({0.5, 0.5, 0}, geometry), TrajectoryUnit::cycles_per_voxel);
  EXPECT_EQ(infer({0.3, 0.2, 0}, geometry), TrajectoryUnit::cycles_per_voxel);
  EXPECT_EQ(infer({std::numbers::pi, 3.1, 0}, geometry), TrajectoryUnit::radians_per_voxel);
  EXPECT_EQ(infer({128, 127, 0}, geometry), TrajectoryUnit::cycles_per_fov);
  EXPECT_EQ(infer({95, 90, 0}, geometry), TrajectoryUnit::cycles_per_fov);
  EXPECT_EQ(infer({640, 640, 0}, geometry), TrajectoryUnit::cycles_per_metre);
}

TEST(TrajectoryUnit, allows_for_the_rounding_of_files) {
  const auto geometry = geometry_of({64, 64, 1});
  EXPECT_EQ(infer({0.5001, 0.5, 0}, geometry), TrajectoryUnit::cycles_per_voxel);
  EXPECT_EQ(infer({32.1, 32, 0}, geometry), TrajectoryUnit::cycles_per_fov);
}

TEST(TrajectoryUnit, ignores_an_axis_of_one_voxel) {
  EXPECT_EQ(infer({110, 110, 1}, geometry_of({220, 220, 1})), TrajectoryUnit::cycles_per_fov);
}

TEST(TrajectoryUnit, tells_the_reason) {
  const auto inferred = infer_trajectory_unit({109.9, 109.7, 0}, geometry_of({220, 220, 1}), "scan");
  EXPECT_CONTAINS(inferred.reason, "cycles/FOV");
  EXPECT_CONTAINS(inferred.reason, "109.9");
  EXPECT_CONTAINS(inferred.reason, "220");
}

TEST(TrajectoryUnit, refuses_ambiguity) {
  // |k| = 3 with 6 voxels: the edge in cycles/FOV, and 95 % of it in radians/voxel.
  const auto line = error_of([] { infer({3, 3, 0}, geometry_of({6, 6, 1})); });
  EXPECT_CONTAINS(line, "cycles/FOV or radians/voxel");
  EXPECT_CONTAINS(line, "--trajectory-unit");
  // 1/m and cycles/FOV differ by 10 % for a FOV of 0.9 m, and both are plausible.
  EXPECT_CONTAINS(error_of([] {
                    infer({50, 50, 0}, geometry_of({128, 128, 1}, {900, 900, 5}));
                  }),
                  "cycles/FOV or 1/m");
}

TEST(TrajectoryUnit, does_not_refuse_units_that_are_the_same) {
  EXPECT_NO_THROW(infer({64, 64, 0}, geometry_of({128, 128, 1}, {1000, 1000, 5})));
}

TEST(TrajectoryUnit, refuses_what_no_unit_explains) {
  EXPECT_CONTAINS(error_of([] {
                    infer({20, 20, 0}, geometry_of({128, 128, 1}, {200, 200, 5}));
                  }),
                  "--trajectory-unit");
  EXPECT_CONTAINS(error_of([] {
                    infer({1e6, 1e6, 0}, geometry_of({128, 128, 1}, {200, 200, 5}));
                  }),
                  "--trajectory-unit");
  EXPECT_CONTAINS(error_of([] { infer({0, 0, 0}, geometry_of({128, 128, 1})); }), "trajectory is empty");
}

TEST(TrajectoryUnit, converts_to_cycles_per_fov) {
  const auto geometry = geometry_of({100, 50, 1}, {200, 100, 5});
  EXPECT_EQ(scale_to_cycles_per_fov(TrajectoryUnit::cycles_per_fov, geometry, ""),
            (std::array<double, 3>{1, 1, 1}));
  EXPECT_EQ(scale_to_cycles_per_fov(TrajectoryUnit::cycles_per_voxel, geometry, ""),
            (std::array<double, 3>{100, 50, 1}));
  EXPECT_DOUBLE_EQ(scale_to_cycles_per_fov(TrajectoryUnit::radians_per_voxel, geometry, "")[0],
                   100 / (2 * std::numbers::pi));
  EXPECT_DOUBLE_EQ(scale_to_cycles_per_fov(TrajectoryUnit::cycles_per_metre, geometry, "")[1], 0.1);
}

TEST(TrajectoryUnit, needs_the_fov_for_cycles_per_metre) {
  EXPECT_CONTAINS(
      error_of([] {
        scale_to_cycles_per_fov(TrajectoryUnit::cycles_per_metre, geometry_of({64, 64, 1}), "scan");
      }),
      "--fov-mm");
}

TEST(TrajectoryUnit, names_are_read_back) {
  for (const auto unit :
       {TrajectoryUnit::automatic, TrajectoryUnit::cycles_per_fov, TrajectoryUnit::cycles_per_voxel,
        TrajectoryUnit::radians_per_voxel, TrajectoryUnit::cycles_per_metre})
    EXPECT_EQ(parse_trajectory_unit(name_of(unit), "unit"), unit);
  EXPECT_CONTAINS(error_of([] { parse_trajectory_unit("parsec", "unit"); }), "'parsec'");
}

}  // namespace
}  // namespace fhd::io
