// Axes of one voxel may stand anywhere: the image and its place in the patient are the same.
#include "recon/pipeline/axis_order.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "data/simulate.hpp"
#include "recon/pipeline/reconstruct.hpp"
#include "validation/tests/problems.hpp"

namespace {

using namespace fhd;

Scan flat_scan() {
  data::SimulationSettings settings;
  settings.trajectory.kind = data::TrajectoryKind::golden_radial;
  settings.trajectory.matrix_size = {24, 20, 1};
  settings.trajectory.fov_mm = {240, 200, 5};
  settings.coil_count = 3;
  auto scan = data::simulate(settings).scan;
  scan.geometry.read_direction = {0, 1, 0};
  scan.geometry.phase_direction = {0, 0, 1};
  scan.geometry.slice_direction = {1, 0, 0};
  scan.geometry.position_mm = {10, 20, 30};
  scan.cropped_matrix_size = {16, 0, 0};
  return scan;
}

/// All ways to put the axis of one voxel first or in the middle, as files may hold the same scan.
constexpr AxisOrder others[]{{2, 0, 1}, {0, 2, 1}};

TEST(AxisOrder, puts_axes_of_one_voxel_last_and_keeps_the_others) {
  EXPECT_EQ(long_axes_first({8, 6, 4}), (AxisOrder{0, 1, 2}));
  EXPECT_EQ(long_axes_first({8, 6, 1}), (AxisOrder{0, 1, 2}));
  EXPECT_EQ(long_axes_first({1, 6, 4}), (AxisOrder{1, 2, 0}));
  EXPECT_EQ(long_axes_first({8, 1, 4}), (AxisOrder{0, 2, 1}));
  EXPECT_EQ(long_axes_first({1, 1, 4}), (AxisOrder{2, 0, 1}));
  EXPECT_EQ(long_axes_first({1, 1, 1}), (AxisOrder{0, 1, 2}));
  for (const AxisOrder& order : others)
    EXPECT_EQ(in_order(inverse(order), in_order(order, std::array{5, 6, 7})), (std::array{5, 6, 7}));
}

TEST(AxisOrder, calibration_follows) {
  Scan scan = flat_scan();
  scan.sensitivity_maps.reset();
  scan.calibration = Calibration{scan.trajectory, scan.kspace, {24, 20, 1}, {240, 200, 5}};
  const auto samples = scan.trajectory.sample_count();
  const auto expected = reconstruct(scan, {}).image.values;
  for (const AxisOrder& order : others) {
    const Scan turned = in_order(order, scan);
    EXPECT_EQ(turned.calibration->matrix_size, turned.geometry.matrix_size);
    EXPECT_EQ(turned.calibration->fov_mm, turned.geometry.fov_mm);
    for (int axis = 0; axis < 3; ++axis)
      EXPECT_EQ(turned.calibration->trajectory.k[axis * samples + 7],
                scan.trajectory.k[order[axis] * samples + 7]);
    const auto image = reconstruct(turned, {}).image.values;
    ASSERT_EQ(image.size(), expected.size());
    for (std::int64_t p = 0; p < image.size(); ++p) ASSERT_EQ(abs(image[p] - expected[p]), 0);
  }
}

TEST(AxisOrder, changes_neither_the_image_nor_its_place) {
  const Scan scan = flat_scan();
  for (const bool with_maps : {true, false})
    for (const Method& method : {Method(LeastSquares{}), Method(ConventionalGridding{})}) {
      Settings settings;
      settings.method = method;
      Scan given = scan;
      if (!with_maps) given.sensitivity_maps.reset();
      const auto expected = reconstruct(given, settings);
      for (const AxisOrder& order : others) {
        const auto turned = reconstruct(in_order(order, given), settings);
        EXPECT_EQ(turned.image.geometry.matrix_size, in_order(order, expected.image.geometry.matrix_size));
        ASSERT_EQ(turned.image.values.shape(), turned.image.geometry.image_shape());
        ASSERT_EQ(turned.image.values.size(), expected.image.values.size());
        double difference = 0;
        for (std::int64_t p = 0; p < expected.image.values.size(); ++p)
          difference = std::max(difference, double(abs(turned.image.values[p] - expected.image.values[p])));
        EXPECT_EQ(difference, 0);
        // The voxels of both lie at the same places: index in order.
        const Affine place = voxel_to_lps_mm(expected.image.geometry),
                     turned_place = voxel_to_lps_mm(turned.image.geometry);
        for (int row = 0; row < 3; ++row) {
          for (int axis = 0; axis < 3; ++axis)
            EXPECT_DOUBLE_EQ(turned_place[row][axis], place[row][order[axis]]);
          EXPECT_DOUBLE_EQ(turned_place[row][3], place[row][3]);
        }
        ASSERT_EQ(turned.prepared.has_value(), expected.prepared.has_value());
        if (turned.prepared) {
          EXPECT_EQ(turned.prepared->geometry.matrix_size, in_order(order, scan.geometry.matrix_size));
          EXPECT_NO_THROW(turned.prepared->validate("prepared"));
        }
      }
    }
}

}  // namespace
