// fhd forward and the stored results of --precision double, against the oracle: this program can be one for others.
#include <gtest/gtest.h>

#include "io/hdf5/hdf5.hpp"
#include "io/result/results.hpp"
#include "validation/metrics.hpp"
#include "validation/oracle.hpp"
#include "validation/tests/io/double_scans.hpp"
#include "validation/tests/program.hpp"

namespace fhd::io {
namespace {

using Values = oracle::Values;
constexpr double tolerance = 1e-12;

/// Returns the off-resonance of the scan as it is stored, where it `turns`.
std::optional<oracle::OffResonance> off_resonance_of(const Scan& scan, bool turns) {
  if (!turns) return {};
  auto omega = scan.field_map_in_double;
  return oracle::OffResonance{std::move(omega).reshaped({scan.geometry.voxel_count()}), *scan.sample_time_s};
}
Values oracle_forward(const Scan& scan, const Image& image, bool turns) {
  return oracle::sense_forward(scan.trajectory.k, oracle::voxel_positions(scan.geometry.matrix_size),
                               image.in_double, scan.sensitivity_maps->in_double,
                               off_resonance_of(scan, turns));
}
Values oracle_adjoint(const Scan& scan, const Values& samples) {
  return oracle::sense_adjoint(scan.trajectory.k, oracle::voxel_positions(scan.geometry.matrix_size), samples,
                               scan.sensitivity_maps->in_double, off_resonance_of(scan, true));
}

class Forward : public tests::ProgramTest {
 protected:
  void write(const Scan& scan, const Image& image) {
    write_scan(path("scan.h5"), ScanFormat::fhd, {1, 1, 10, {scan}});
    write_image("image.h5", {1, 1, {image}});
  }
  void write_image(const std::string& name, const ImageSeries& series) {
    const OutputLock lock(path("set"));
    FileSet files(lock);
    write_image_file(files, path(name), {{"/image", &series}});
    files.commit();
  }
  Scan read(const std::string& name, std::int64_t slice = 0) {
    return open_scan(path(name), double_options)->read(slice, 0);
  }
};

TEST_F(Forward, samples_are_those_of_the_oracle) {
  for (const auto& n : {std::array{16, 12, 1}, {17, 9, 1}, {8, 7, 6}}) {
    const auto scan = random_scan_in_double(n, 3, 10, 30);
    const auto image = random_image_in_double(scan.geometry);
    write(scan, image);
    ASSERT_DONE(run("forward image.h5 scan.h5 -o turned --device cpu --force"));
    ASSERT_DONE(run("forward image.h5 scan.h5 -o plain.h5 --no-field-map --device cpu --force"));
    EXPECT_LE(metrics::relative_l2(read("turned.h5").kspace.in_double, oracle_forward(scan, image, true)),
              tolerance);
    EXPECT_LE(metrics::relative_l2(read("plain.h5").kspace.in_double, oracle_forward(scan, image, false)),
              tolerance);
    ASSERT_DONE(run("forward image.h5 scan.h5 -o one.h5 --no-maps --no-field-map --device cpu --force"));
    EXPECT_CONTAINS(text("out"), "one coil, of sensitivity 1");
    EXPECT_LE(
        metrics::relative_l2(read("one.h5").kspace.in_double,
                             oracle::forward(scan.trajectory.k, oracle::voxel_positions(n), image.in_double)),
        tolerance);
  }
}

TEST_F(Forward, keeps_all_of_the_scan_but_its_samples) {
  auto scan = random_scan_in_double({16, 12, 1}, 3, 10, 30);
  scan.noise = Array<Complex<float>>({3, 20});
  write(scan, random_image_in_double(scan.geometry));
  ASSERT_DONE(run("forward image.h5 scan.h5 -o out.h5 --device cpu"));
  EXPECT_TRUE(hdf5::File::open(path("out.h5")).dataset("/kspace").exceeds_single());
  const auto made = read("out.h5");
  EXPECT_EQ(largest_difference(made.trajectory.k, scan.trajectory.k), 0);
  EXPECT_EQ(largest_difference(made.sensitivity_maps->in_double, scan.sensitivity_maps->in_double), 0);
  EXPECT_EQ(largest_difference(made.field_map_in_double, scan.field_map_in_double), 0);
  EXPECT_EQ(largest_difference(*made.sample_time_s, *scan.sample_time_s), 0);
  EXPECT_EQ(made.geometry.position_mm, scan.geometry.position_mm);
  EXPECT_EQ(made.geometry.fov_mm, scan.geometry.fov_mm);
  EXPECT_FALSE(made.noise.has_value());
}

TEST_F(Forward, gives_samples_where_the_scan_holds_zeros_and_drops_its_calibration) {
  auto scan = random_scan_in_double({16, 12, 1}, 3, 10, 30);
  scan.calibration = Calibration{scan.trajectory, {scan.kspace.values}};
  const auto samples = scan.kspace.sample_count();
  for (std::int64_t coil = 0; coil < 3; ++coil)
    for (std::int64_t m = 0; m < samples; ++m)
      if (m / 10 % 2 == 1) {
        scan.kspace.values[coil * samples + m] = {};
        scan.kspace.in_double[coil * samples + m] = {};
      }
  const auto image = random_image_in_double(scan.geometry);
  write(scan, image);
  EXPECT_EQ(read("scan.h5").kspace.sample_count(), samples / 2);
  for (const std::string maps : {"", " --no-maps"}) {
    ASSERT_DONE(run("forward image.h5 scan.h5 -o out.h5 --device cpu --force" + maps));
    const auto made = read("out.h5");
    EXPECT_EQ(made.kspace.sample_count(), samples);
    EXPECT_EQ(made.kspace.coil_count(), maps.empty() ? 3 : 1);
    EXPECT_FALSE(made.calibration.has_value());
  }
}

TEST_F(Forward, stored_adjoint_is_that_of_the_oracle) {
  auto scan = random_scan_in_double({16, 12, 5}, 4, 10, 30);
  write(scan, random_image_in_double(scan.geometry));
  ASSERT_EQ(run("recon scan.h5 -o out --method adjoint --transform direct --precision double --device cpu "
                "--compress off"),
            0)
      << text("err");
  const auto image = read_image(path("out.h5")).images.at(0);
  ASSERT_FALSE(image.in_double.empty());
  EXPECT_LE(metrics::relative_l2(image.in_double, oracle_adjoint(scan, scan.kspace.in_double)), tolerance);
}

TEST_F(Forward, volumes_are_those_asked_for) {
  std::vector<Scan> scans;
  for (unsigned slice = 0; slice < 3; ++slice) {
    scans.push_back(random_scan_in_double({16, 12, 1}, 2, 10, 30));
    scans.back().sensitivity_maps =
        random_scan_in_double({16, 12, 1}, 2, 10, 30, 20 + slice).sensitivity_maps;
  }
  write_scan(path("scan.h5"), ScanFormat::fhd, {1, 3, 10, scans});
  const auto& geometry = scans[0].geometry;
  const ImageSeries two{1, 2, {random_image_in_double(geometry, 3), random_image_in_double(geometry, 4)}};
  write_image("image.h5", two);
  EXPECT_EQ(run("forward image.h5 scan.h5 -o out --device cpu"), 1);
  EXPECT_CONTAINS(text("err"), "--slices");
  ASSERT_DONE(run("forward image.h5 scan.h5 -o out --slices 2,0 --device cpu"));
  EXPECT_LE(
      metrics::relative_l2(read("out.h5", 0).kspace.in_double, oracle_forward(scans[2], two.images[0], true)),
      tolerance);
  EXPECT_LE(
      metrics::relative_l2(read("out.h5", 1).kspace.in_double, oracle_forward(scans[0], two.images[1], true)),
      tolerance);
}

TEST_F(Forward, a_cropped_image_is_put_back_into_its_matrix) {
  auto scan = random_scan_in_double({16, 13, 1}, 2, 10, 30);
  scan.cropped_matrix_size = {7, 0, 0};
  auto whole = random_image_in_double(scan.geometry);
  Geometry cropped = scan.geometry;
  cropped.matrix_size[0] = 7;
  cropped.fov_mm[0] *= 7.0 / 16;
  Image image{Array<Complex<float>>(cropped.image_shape()), cropped,
              Array<Complex<double>>(cropped.image_shape())};
  for (std::int64_t y = 0; y < 13; ++y)
    for (std::int64_t x = 0; x < 16; ++x) {
      auto& voxel = whole.in_double[y * 16 + x];
      const auto inside = x - (16 / 2 - 7 / 2);
      if (inside < 0 || inside >= 7)
        voxel = {};
      else
        image.in_double[y * 7 + inside] = voxel;
    }
  image.values = converted<Complex<float>>(image.in_double);
  write(scan, image);
  ASSERT_DONE(run("forward image.h5 scan.h5 -o out --device cpu"));
  EXPECT_LACKS(text("out"), "note      along");
  EXPECT_LE(metrics::relative_l2(read("out.h5").kspace.in_double, oracle_forward(scan, whole, true)),
            tolerance);
}

TEST_F(Forward, refuses_what_does_not_fit) {
  const auto scan = random_scan_in_double({16, 12, 1}, 2, 10, 30);
  Geometry other = scan.geometry;
  other.matrix_size = {12, 16, 1};
  write(scan, random_image_in_double(other));
  expect_failure("forward image.h5 scan.h5 -o out", 1, "16 x 12");
  EXPECT_FALSE(exists("out.h5"));
  other = scan.geometry;
  other.fov_mm[0] = 300;
  write(scan, random_image_in_double(other));
  expect_failure("forward image.h5 scan.h5 -o image.h5 --force", 1, "the input");
  expect_failure("forward image.h5 scan.h5 --maps image.h5 -o absent/out", 1, "absent");
  expect_failure("forward image.h5 scan.h5 --dataset /rho -o out", 1, "/rho");
  expect_failure("forward image.h5 scan.h5 -o out --precision half", 2,
                 "--precision: expected single, double");
  ASSERT_DONE(run("forward image.h5 scan.h5 -o out --device cpu"));
  EXPECT_CONTAINS(text("out"), "FOV of 300 mm");
  expect_failure("forward image.h5 scan.h5 -o out --device cpu", 1, "--force");
}

}  // namespace
}  // namespace fhd::io
