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

struct Case {
  const char* name;
  Geometry geometry;
  std::array<int, 3> voxel;
  std::array<double, 3> place;  ///< LPS, mm, computed by hand
};

TEST_F(Orientation, of_axial_sagittal_and_oblique_scans) {
  const double c = std::cos(0.4), s = std::sin(0.4), e = std::cos(0.7), f = std::sin(0.7);
  const Case cases[]{
      // 30 mm voxels, the middle one of 8 is 4: voxel 6 is 60 mm to the left; of 7 it is 3: voxel 1 is 60 mm to
      // the anterior; of 4 slices of 5 mm it is 2: slice 3 is 5 mm to the superior.
      {"axial", {{8, 7, 4}, {240, 210, 20}}, {6, 1, 3}, {60, -60, 5}},
      // Reads to the posterior, phases to the inferior, slices to the right; slice 0 of 2 is one before the middle.
      {"sagittal",
       {{8, 8, 2}, {80, 80, 8}, {-12, 3, 40}, {0, 1, 0}, {0, 0, -1}, {-1, 0, 0}},
       {5, 7, 0},
       {-12 + 4, 3 + 10, 40 - 30}},
      // Voxels of 10 x 20 x 3 mm: three to the left along the read direction, two back in phase, two slices on.
      {"oblique",
       {{9, 6, 5}, {90, 120, 15}, {17, -23, 51}, {c, s, 0}, {-s * e, c * e, f}, {s * f, -c * f, e}},
       {7, 1, 4},
       {17 + 30 * c + 40 * s * e + 6 * s * f, -23 + 30 * s - 40 * c * e - 6 * c * f, 51 - 40 * f + 6 * e}}};
  for (const auto& [name, geometry, voxel, expected] : cases) {
    const auto place = found(geometry, voxel);
    for (int row = 0; row < 3; ++row) EXPECT_NEAR(place[row], expected[row], tolerance_mm) << name << row;
  }
}

}  // namespace
}  // namespace fhd
