// A voxel at a known place in the patient is found there again in the NIfTI file: io/result/orientation.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "io/result/results.hpp"
#include "io/scan/companion_files.hpp"
#include "validation/tests/program.hpp"

namespace fhd {
namespace {

class Orientation : public tests::ProgramTest {
 protected:
  /// LPS of the brightest voxel of PREFIX.nii.gz.
  static std::array<double, 3> brightest(const std::string& file) {
    const Volume volume = io::read_nifti_volume(file);
    const std::int64_t at =
        std::max_element(volume.values.begin(), volume.values.end()) - volume.values.begin();
    const std::int64_t nx = volume.values.extent(2), ny = volume.values.extent(1);
    const std::array<double, 4> voxel{static_cast<double>(at % nx), static_cast<double>(at / nx % ny),
                                      static_cast<double>(at / (nx * ny)), 1};
    std::array<double, 3> place{};
    for (int row = 0; row < 3; ++row)
      for (int column = 0; column < 4; ++column)
        place[row] += volume.voxel_to_lps_mm[row][column] * voxel[column];
    return place;
  }
  std::array<double, 3> found(const Geometry& geometry, std::array<int, 3> voxel) const {
    io::ImageSeries series;
    Image image;
    image.geometry = geometry;
    image.values = Array<Complex<float>>(geometry.image_shape());
    image.values[(std::int64_t{voxel[2]} * geometry.matrix_size[1] + voxel[1]) * geometry.matrix_size[0] +
                 voxel[0]] = {0, 7};
    series.images.push_back(std::move(image));
    io::write_results(path("point"), series, {});
    return brightest(path("point.nii.gz"));
  }
};

// NIfTI stores the affine in single precision: 2^-24 of some hundred mm.
constexpr double tolerance_mm = 1e-4;

TEST_F(Orientation, of_an_axial_scan) {
  Geometry geometry;
  geometry.matrix_size = {8, 7, 4};
  geometry.fov_mm = {240, 210, 20};
  // 30 mm voxels, the middle one of 8 is 4: voxel 6 is 60 mm to the left; of 7 it is 3: voxel 1 is 60 mm to
  // the anterior; of 4 slices of 5 mm it is 2: slice 3 is 5 mm to the superior.
  const auto place = found(geometry, {6, 1, 3});
  EXPECT_NEAR(place[0], 60, tolerance_mm);
  EXPECT_NEAR(place[1], -60, tolerance_mm);
  EXPECT_NEAR(place[2], 5, tolerance_mm);
}

TEST_F(Orientation, of_a_sagittal_scan) {
  Geometry geometry;
  geometry.matrix_size = {8, 8, 2};
  geometry.fov_mm = {80, 80, 8};
  geometry.position_mm = {-12, 3, 40};
  geometry.read_direction = {0, 1, 0};    // to the posterior
  geometry.phase_direction = {0, 0, -1};  // to the inferior
  geometry.slice_direction = {-1, 0, 0};  // to the right
  const auto place = found(geometry, {5, 7, 0});
  EXPECT_NEAR(place[0], -12 + 4, tolerance_mm);  // slice 0 of 2 is one slice before the middle
  EXPECT_NEAR(place[1], 3 + 10, tolerance_mm);
  EXPECT_NEAR(place[2], 40 - 30, tolerance_mm);
}

TEST_F(Orientation, of_an_oblique_scan) {
  const double c = std::cos(0.4), s = std::sin(0.4), e = std::cos(0.7), f = std::sin(0.7);
  Geometry geometry;
  geometry.matrix_size = {9, 6, 5};
  geometry.fov_mm = {90, 120, 15};
  geometry.position_mm = {17, -23, 51};
  geometry.read_direction = {c, s, 0};
  geometry.phase_direction = {-s * e, c * e, f};
  geometry.slice_direction = {s * f, -c * f, e};
  const std::array steps{(7 - 4) * 10.0, (1 - 3) * 20.0, (4 - 2) * 3.0};  // mm along the three directions
  const auto place = found(geometry, {7, 1, 4});
  for (int row = 0; row < 3; ++row)
    EXPECT_NEAR(place[row],
                geometry.position_mm[row] + steps[0] * geometry.read_direction[row] +
                    steps[1] * geometry.phase_direction[row] + steps[2] * geometry.slice_direction[row],
                tolerance_mm);
}

}  // namespace
}  // namespace fhd
