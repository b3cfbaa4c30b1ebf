// All slices and repetitions that are reconstructed are written and read; where a format has no room, that is told
// before the work.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>

#include "io/hdf5/hdf5.hpp"
#include "io/page/report_page.hpp"
#include "io/result/formats.hpp"
#include "io/result/nifti.hpp"
#include "io/result/picture.hpp"
#include "io/result/results.hpp"
#include "validation/tests/io/io_scans.hpp"

namespace fhd::io {
namespace {

ImageSeries series_of(std::int64_t repetitions, std::int64_t slices, bool with_positions = true) {
  ImageSeries series{repetitions, slices, {}};
  for (std::int64_t i = 0; i < repetitions * slices; ++i) {
    Image image;
    image.geometry.matrix_size = {2, 2, 1};
    image.geometry.fov_mm = {20, 20, 5};
    if (with_positions) image.geometry.position_mm = {1, 2, 0.5 * static_cast<double>(i % slices)};
    image.values = Array<Complex<float>>(image.geometry.image_shape());
    for (auto& value : image.values) value = {static_cast<float>(i), 1};
    series.images.push_back(std::move(image));
  }
  return series;
}

Provenance provenance_of(std::size_t images) {
  Provenance provenance{"1", "fhd recon scan.h5", "scan.h5", "crc32:1", "2024-01-01T00:00:00Z", {}, {}};
  provenance.reports.resize(images);
  return provenance;
}

class RoomTest : public FolderTest {};
using Room = RoomTest;

TEST_F(Room, of_results_is_for_any_number_of_slices) {
  // 342: more than 1024 numbers of positions; 3,000: more than 64 KiB of them.
  for (const std::int64_t slices : {342, 3000}) {
    const auto series = series_of(1, slices);
    write_results(path("out"), series, provenance_of(series.images.size()));
    EXPECT_LT(std::filesystem::file_size(path("out.h5")), 4U << 20) << "is made in memory";
    const auto read = read_image(path("out.h5"));
    ASSERT_EQ(read.slice_count, slices);
    for (const std::size_t i : {std::size_t{0}, std::size_t{341}, read.images.size() - 1}) {
      EXPECT_EQ(read.images[i].geometry.position_mm, series.images[i].geometry.position_mm) << i;
      EXPECT_EQ(largest_difference(read.images[i].values, series.images[i].values), 0) << i;
    }
    EXPECT_CONTAINS(report_page({path("out.h5")}), "slices");
  }
}

TEST_F(Room, of_results_is_for_any_number_of_repetitions) {
  const auto series = series_of(17000, 1);  // more than 64 KiB of their numbers
  write_results(path("out"), series, provenance_of(series.images.size()));
  EXPECT_EQ(hdf5::File::open(path("out.h5")).number_attribute("/image", "repetitions").back(), 16999);
}

TEST_F(Room, of_scans_is_for_any_number_of_slices) {
  ScanSeries series;
  series.slice_count = 3000;
  series.readout_length = 4;
  for (std::int64_t slice = 0; slice < series.slice_count; ++slice) {
    auto scan = random_scan({2, 2, 1}, 1, 4, 1);
    scan.sensitivity_maps.reset(), scan.field_map.reset(), scan.sample_time_s.reset();
    scan.geometry.position_mm = {0, 0, static_cast<double>(slice)};
    series.scans.push_back(std::move(scan));
  }
  write_scan(path("a.h5"), ScanFormat::fhd, series);
  const auto first = open_scan(path("a.h5"));
  convert_scan(*first, path("a.h5"), {}, path("b.mrd"), ScanFormat::ismrmrd);
  const auto second = open_scan(path("b.mrd"));
  convert_scan(*second, path("b.mrd"), {}, path("c.h5"), ScanFormat::fhd);
  const auto third = open_scan(path("c.h5"));
  ASSERT_EQ(third->summary().slice_count, series.slice_count);
  const auto scan = third->read(2999, 0);
  EXPECT_EQ(scan.geometry.position_mm[2], 2999);
  EXPECT_EQ(largest_difference(scan.kspace.values, series.scans.back().kspace.values), 0);
}

TEST_F(Room, that_a_scan_format_lacks_is_told_before_anything_is_read) {
  int reads = 0;
  ScanFile file({{}, [&](std::int64_t, std::int64_t) { return ++reads, Scan{}; }});
  file.editable_summary().slice_count = 65536;
  EXPECT_EQ(error_of([&] { convert_scan(file, "in.h5", {}, path("out.mrd"), ScanFormat::ismrmrd); }),
            path("out.mrd") +
                ": expected at most 65535 slices, repetitions and coils (ISMRMRD), found 65536 slices, 1 "
                "repetitions and 0 coils; write the fhd layout: NAME.h5");
  EXPECT_CONTAINS(error_of([&] { convert_scan(file, "in.h5", {}, path("out/"), ScanFormat::impatient); }),
                  "expected one slice and one repetition (IMPATIENT), found 65536 volumes");
  EXPECT_EQ(reads, 0);
}

/// Throws Error where a format has no room.
std::string refusal(const ResultRequest& request, std::array<int, 3> matrix_size, std::int64_t slices,
                    std::int64_t repetitions, std::int64_t largest = 0) {
  Geometry geometry;
  geometry.matrix_size = matrix_size;
  return error_of([&] { require_room(request, {geometry, slices, repetitions, largest}, "scan.h5"); });
}

TEST_F(Room, of_nifti_files_is_known_without_images) {
  EXPECT_EQ(refusal({"out"}, {64, 64, 1}, 32767, 32767), "");
  EXPECT_CONTAINS(refusal({"out"}, {64, 64, 1}, 32768, 1),
                  "scan.h5: expected at most 32767 slices and repetitions or frames (NIfTI-1), found 32768 "
                  "slices and 1 repetitions");
  EXPECT_CONTAINS(refusal({"out"}, {64, 64, 64}, 512, 1), "32768 slices");
  EXPECT_CONTAINS(refusal({"out"}, {64, 64, 1}, 1, 32768), "32768 repetitions");
}

TEST_F(Room, of_ismrmrd_images_is_known_without_images) {
  const ResultRequest request("out", {{"ismrmrd", ""}});
  EXPECT_EQ(refusal(request, {64, 64, 1}, 65535 / 5, 5, 65535), "");
  EXPECT_CONTAINS(refusal(request, {64, 64, 1}, 65536 / 4, 4), "65536 images");
  EXPECT_CONTAINS(refusal(request, {64, 64, 1}, 1, 1, 65536), "numbers up to 65535");
}

TEST_F(Room, ismrmrd_images_of_slices_that_state_one_position_are_stacked_as_in_the_nifti_file) {
  const auto series = series_of(1, 3, /*with_positions=*/false);
  write_results({path("out"), {{"ismrmrd", path("images.h5")}}}, series, provenance_of(3));
  const auto read = hdf5::File::open(path("images.h5"));
  struct Head {
    float position[3];
  } heads[3];
  const hsize_t three = 3;
  const hid_t array = H5Tarray_create2(H5T_NATIVE_FLOAT, 1, &three),
              type = H5Tcreate(H5T_COMPOUND, sizeof(Head));
  H5Tinsert(type, "position", 0, array);
  const auto dataset = read.open_dataset("/dataset/image_0/header");
  ASSERT_GE(H5Dread(dataset.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, heads), 0);
  H5Tclose(type), H5Tclose(array);
  const auto affine = affine_of(stacks_of(series).front());  // RAS: z as in LPS
  for (int slice = 0; slice < 3; ++slice) EXPECT_EQ(heads[slice].position[2], slice * affine[2][2]) << slice;
  EXPECT_EQ(heads[2].position[2], 10) << "twice 5 mm";
}

TEST_F(Room, of_a_picture_is_enough_for_the_largest_matrix) {
  std::vector<Image> images(64);
  for (auto& image : images) {
    image.geometry.matrix_size = {4096, 1, 1};
    image.values = Array<Complex<float>>(image.geometry.image_shape());
    std::fill(image.values.begin(), image.values.end(), Complex<float>(1, 0));
  }
  const auto picture = montage(images);
  EXPECT_LE(picture.width, 32768);
  EXPECT_GE(picture.width, 8 * 2048);
  EXPECT_EQ(picture.at(0, 0), 255);
}

}  // namespace
}  // namespace fhd::io
