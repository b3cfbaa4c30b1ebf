// Resampling of a prior image by the affine maps, and the weights of its edges.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "recon/domain/geometry.hpp"
#include "recon/solve/terms/terms.hpp"

namespace fhd {
namespace {

/// A scan of 12 x 10 x 6 voxels of 4 x 4 x 5 mm, turned in the patient.
Geometry turned_geometry() {
  Geometry geometry;
  geometry.matrix_size = {12, 10, 6};
  geometry.fov_mm = {48, 40, 30};
  geometry.position_mm = {3, -7, 11};
  const double c = std::cos(0.4), s = std::sin(0.4);
  geometry.read_direction = {c, s, 0};
  geometry.phase_direction = {-s, c, 0};
  geometry.slice_direction = {0, 0, 1};
  return geometry;
}

/// A linear function of the position in the patient, sampled on a finer upright grid that covers the scan.
Volume linear_volume() {
  Volume volume;
  volume.values = Array<float>(Shape{40, 60, 60});
  volume.voxel_to_lps_mm = {{{1.5, 0, 0, -40}, {0, 1.5, 0, -50}, {0, 0, 1.5, -15}}};
  for (int z = 0; z < 40; ++z)
    for (int y = 0; y < 60; ++y)
      for (int x = 0; x < 60; ++x)
        volume.values[(z * 60 + y) * 60 + x] =
            static_cast<float>(100 + 2 * (1.5 * x - 40) - (1.5 * y - 50) + 0.5 * (1.5 * z - 15));
  return volume;
}

TEST(AnatomicalPrior, a_linear_function_of_position_is_resampled_exactly) {
  const Geometry geometry = turned_geometry();
  const Array<float> image = resampled(linear_volume(), geometry);
  const auto affine = voxel_to_lps_mm(geometry);
  for (int z = 0; z < 6; ++z)
    for (int y = 0; y < 10; ++y)
      for (int x = 0; x < 12; ++x) {
        double lps[3];
        for (int row = 0; row < 3; ++row)
          lps[row] = affine[row][0] * x + affine[row][1] * y + affine[row][2] * z + affine[row][3];
        // Linear interpolation and symmetric averages keep linear functions; values near 200 in float: 200 x
        // 2^-24 x a few.
        EXPECT_NEAR(image[(z * 10 + y) * 12 + x], 100 + 2 * lps[0] - lps[1] + 0.5 * lps[2], 1e-3);
      }
}

TEST(AnatomicalPrior, refuses_a_volume_that_does_not_overlap) {
  Volume volume = linear_volume();
  volume.voxel_to_lps_mm[0][3] += 500;
  EXPECT_THROW(resampled(volume, turned_geometry()), Error);
  volume.voxel_to_lps_mm = {};
  EXPECT_THROW(resampled(volume, turned_geometry()), Error);
}

TEST(AnatomicalPrior, weights_are_small_across_edges_and_one_elsewhere) {
  Array<float> image(Shape{2, 4, 6});
  for (int p = 0; p < 48; ++p) image[p] = p % 6 < 3 ? 10.0f : 20.0f;  // an edge between x = 2 and x = 3
  const Array<double> weights = edge_weights<double>(image, 1);
  // Threshold 0.05 x 20 = 1: across the edge 1 / (1 + 100).
  for (int p = 0; p < 48; ++p) {
    EXPECT_NEAR(weights[p], p % 6 == 2 ? 1 / 101.0 : 1, 1e-6);
    EXPECT_EQ(weights[48 + p], 1);
    EXPECT_EQ(weights[96 + p], 1);
  }
  EXPECT_LE(edge_weights<double>(image, 3)[2], weights[2]) << "more strength, smaller weights across edges";
}

TEST(AnatomicalPrior, refuses_strengths_and_images_without_meaning) {
  Array<float> image(Shape{1, 2, 2});
  EXPECT_THROW(edge_weights<float>(image, 1), Error);  // all zero
  image[0] = 1;
  image[1] = 1, image[2] = 1, image[3] = 1;
  for (double strength : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_THROW(edge_weights<float>(image, strength), Error);
}

}  // namespace
}  // namespace fhd
