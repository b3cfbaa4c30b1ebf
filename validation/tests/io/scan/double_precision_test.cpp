// Numbers of 64 bits in scan and image files: used as they are where that is asked for.
#include <gtest/gtest.h>

#include "io/hdf5/hdf5.hpp"
#include "io/result/results.hpp"
#include "validation/tests/io/double_scans.hpp"

namespace fhd::io {
namespace {

using InDouble = FolderTest;

TEST_F(InDouble, scans_come_back_as_they_were_written) {
  const auto scan = random_scan_in_double({8, 6, 2}, 3, 10, 4);
  const auto other = random_scan_in_double({8, 6, 2}, 3, 10, 4, 9);
  auto second = scan;
  second.kspace = other.kspace;
  second.sensitivity_maps = other.sensitivity_maps;
  write_scan(path("one.h5"), ScanFormat::fhd, {1, 1, 10, {scan}});
  write_scan(path("two.h5"), ScanFormat::fhd, {1, 2, 10, {scan, second}});
  for (const auto& [name, slice, expected] :
       {std::tuple{"one.h5", 0, &scan}, {"two.h5", 0, &scan}, {"two.h5", 1, &second}}) {
    const auto read = open_scan(path(name), double_options)->read(slice, 0);
    EXPECT_EQ(largest_difference(read.kspace.in_double, expected->kspace.in_double), 0) << name;
    EXPECT_EQ(largest_difference(read.kspace.values, expected->kspace.values), 0) << name;
    EXPECT_EQ(largest_difference(read.sensitivity_maps->in_double, expected->sensitivity_maps->in_double), 0);
    EXPECT_EQ(largest_difference(read.field_map_in_double, expected->field_map_in_double), 0) << name;
  }
}

TEST_F(InDouble, is_not_kept_in_single_precision) {
  const auto scan = random_scan_in_double({8, 6, 1}, 2, 10, 4);
  write_scan(path("scan.h5"), ScanFormat::fhd, {1, 1, 10, {scan}});
  const auto read = open_scan(path("scan.h5"))->read(0, 0);
  EXPECT_TRUE(read.kspace.in_double.empty());
  EXPECT_TRUE(read.sensitivity_maps->in_double.empty());
  EXPECT_TRUE(read.field_map_in_double.empty());
  EXPECT_EQ(largest_difference(read.kspace.values, scan.kspace.values), 0);
  EXPECT_EQ(largest_difference(*read.field_map, *scan.field_map), 0);
}

TEST_F(InDouble, is_not_made_of_files_in_single_precision) {
  write_scan(path("scan.h5"), ScanFormat::fhd, {1, 1, 10, {random_scan({8, 6, 1}, 2, 10, 4)}});
  EXPECT_FALSE(hdf5::File::open(path("scan.h5")).dataset("/kspace").exceeds_single());
  const auto read = open_scan(path("scan.h5"), double_options)->read(0, 0);
  EXPECT_TRUE(read.kspace.in_double.empty());
  EXPECT_TRUE(read.sensitivity_maps->in_double.empty());
  EXPECT_TRUE(read.field_map_in_double.empty());
}

TEST_F(InDouble, other_formats_say_that_they_round) {
  const auto scan = random_scan_in_double({8, 6, 1}, 2, 10, 4);
  for (const auto format : {ScanFormat::ismrmrd, ScanFormat::bart, ScanFormat::impatient}) {
    std::string lost;
    for (const auto& sentence :
         write_scan(path("s" + std::to_string(int(format))), format, {1, 1, 10, {scan}}))
      lost += sentence;
    EXPECT_CONTAINS(lost, "rounded to single precision");
  }
}

TEST_F(InDouble, a_scan_whose_precisions_disagree_is_refused) {
  auto scan = random_scan_in_double({8, 6, 1}, 2, 10, 4);
  EXPECT_NO_THROW(scan.validate("scan"));
  scan.kspace.values[7].re *= 2;  // as a step would that forgets the other
  EXPECT_REFUSED(scan.validate("scan"), "k-space in double precision");
  scan.kspace.in_double = {};
  scan.sensitivity_maps->in_double[5].im += 1e-3;
  EXPECT_REFUSED(scan.validate("scan"), "sensitivity maps in double precision");
  scan.sensitivity_maps->in_double = {};
  scan.field_map_in_double[3] += 1;
  EXPECT_REFUSED(scan.validate("scan"), "field map in double precision");
}

TEST_F(InDouble, images_come_back_as_they_were_written) {
  Geometry geometry;
  geometry.matrix_size = {6, 5, 4};
  geometry.fov_mm = {60, 50, 40};
  const ImageSeries series{1, 2, {random_image_in_double(geometry, 1), random_image_in_double(geometry, 5)}};
  const OutputLock lock(path("set"));
  FileSet files(lock);
  write_image_file(files, path("image.h5"), {{"/image", &series}});
  files.commit();
  const auto read = read_image(path("image.h5"));
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(largest_difference(read.images.at(i).in_double, series.images[i].in_double), 0);
    EXPECT_EQ(largest_difference(read.images.at(i).values, series.images[i].values), 0);
  }
}

TEST_F(InDouble, one_image_needs_no_further_axes) {
  Geometry geometry;
  geometry.matrix_size = {6, 5, 1};
  const auto image = random_image_in_double(geometry);
  for (const auto& extents : {hdf5::Extents{5, 6}, hdf5::Extents{1, 5, 6}}) {
    auto file = hdf5::File::create(path("image.h5"), path("image.h5"));
    file.write("/rho", image.in_double.data(), extents);
    file.close();
    const auto read = read_image(path("image.h5"), "/rho");
    ASSERT_EQ(read.images.size(), 1u);
    EXPECT_EQ(read.images[0].geometry.matrix_size, geometry.matrix_size);
    EXPECT_EQ(largest_difference(read.images[0].in_double, image.in_double), 0);
  }
}

}  // namespace
}  // namespace fhd::io
