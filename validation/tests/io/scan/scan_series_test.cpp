// Series of volumes: what may be written as one, the files that a scan consists of, and fields of view that are none.
#include <gtest/gtest.h>

#include <filesystem>

#include "io/scan/scan_file.hpp"
#include "io/scan/scan_parts.hpp"
#include "validation/tests/io/io_scans.hpp"

namespace fhd::io {
namespace {

using ScanSeriesTest = FolderTest;

TEST_F(ScanSeriesTest, of_volumes_that_differ_are_not_written) {
  const auto refusal = [&](const ScanSeries& series, ScanFormat format = ScanFormat::fhd) {
    return error_of([&] { write_scan(path("x.h5"), format, series); });
  };
  const auto one = random_scan({8, 8, 1}, 2, 20, 4);
  EXPECT_CONTAINS(refusal({1, 2, 20, {one}}), "2 scans [repetition][slice], found 1");
  EXPECT_CONTAINS(refusal({1, 2, 20, {one, random_scan({8, 8, 1}, 3, 20, 4)}}), "the same coils and matrix");
  EXPECT_CONTAINS(refusal({1, 2, 20, {one, random_scan({8, 6, 1}, 2, 20, 4)}}), "the same coils and matrix");
  EXPECT_CONTAINS(refusal({1, 2, 20, {one, random_scan({8, 8, 1}, 2, 20, 5)}}),
                  "as many samples in every slice");
  EXPECT_CONTAINS(refusal({1, 2, 20, {one, one}}, ScanFormat::impatient),
                  "one slice and one repetition (IMPATIENT)");
  EXPECT_TRUE(std::filesystem::is_empty(folder()));
}

TEST_F(ScanSeriesTest, says_which_parts_a_format_has_no_place_for) {
  auto scan = random_scan({8, 8, 1}, 2, 20, 4);
  scan.noise = Array<Complex<float>>({2, 3});
  scan.cropped_matrix_size = {4, 4, 1};
  const auto lost = lost_parts(scan, true);
  EXPECT_EQ(lost, (Sentences{"The field map is not written.", "The noise is not written.",
                             "The sample times are not written.", "The matrix to crop to is not written."}));
  EXPECT_EQ(lost_parts(scan, false).size(), 2u);
}

TEST_F(ScanSeriesTest, consists_of_the_files_that_are_there) {
  const ScanSeries series{1, 1, 20, {random_scan({8, 8, 1}, 2, 20, 4)}};
  write_scan(path("x.h5"), ScanFormat::fhd, series);
  EXPECT_EQ(files_of_scan(path("x.h5")), std::vector<std::string>{path("x.h5")});
  write_scan(path("b.cfl"), ScanFormat::bart, series);
  const std::vector<std::string> pair{path("b.cfl"),      path("b.hdr"),      path("b_traj.cfl"),
                                      path("b_traj.hdr"), path("b_sens.cfl"), path("b_sens.hdr")};
  EXPECT_EQ(files_of_scan(path("b.cfl")), pair);
  EXPECT_EQ(files_of_scan(path("b")), pair);
  write_scan(path("folder"), ScanFormat::impatient, series);
  const auto files = files_of_scan(path("folder"));
  ASSERT_GE(files.size(), 5u);
  EXPECT_TRUE(std::is_sorted(files.begin(), files.end()));
  for (const auto& file : files) EXPECT_TRUE(file.starts_with(path("folder/"))) << file;
}

TEST_F(ScanSeriesTest, is_converted_volume_by_volume) {
  const ScanSeries series{2, 1, 20, {random_scan({8, 8, 1}, 2, 20, 4), random_scan({8, 8, 1}, 2, 20, 4, 7)}};
  write_scan(path("x.h5"), ScanFormat::fhd, series);
  const auto file = open_scan(path("x.h5"));
  convert_scan(*file, path("x.h5"), {}, path("y.h5"), ScanFormat::fhd);
  const auto read = open_scan(path("y.h5"));
  EXPECT_EQ(read->summary().repetition_count, 2);
  EXPECT_EQ(largest_difference(read->read(0, 1).kspace.values, series.scans[1].kspace.values), 0);
  for (const auto& [slice, repetition] : {std::pair{1, 0}, {0, 2}, {-1, 0}, {0, -1}})
    EXPECT_CONTAINS(error_of([&, s = slice, r = repetition] { read->read(s, r); }), "from 0 to");
}

TEST(Corrections, are_applied_in_their_order_and_copies_have_lists_of_their_own) {
  fhd::io::ScanSource source;
  source.summary.readout_length = 10;
  source.read = [](std::int64_t, std::int64_t) {
    auto scan = random_scan({8, 8, 1}, 1, 10, 2);
    scan.field_map.reset();
    return scan;
  };
  fhd::io::ScanFile file(source);
  const auto adding = [](const char* remark) {
    return [remark](fhd::Scan& scan, fhd::io::VolumeContext& context) {
      scan.messages.push_back({"test", fhd::Severity::note, remark});
      context.readout_length /= 2;
    };
  };
  file.add(adding("first"));
  auto copy = file;
  copy.add(adding("second"));
  for (int time = 0; time < 2; ++time) EXPECT_EQ(copy.read(0, 0).messages.size(), 2u);
  EXPECT_EQ(copy.summary().readout_length, 2);
  EXPECT_EQ(file.read(0, 0).messages.size(), 1u);
  EXPECT_EQ(file.summary().readout_length, 5);
}

TEST_F(ScanSeriesTest, of_a_fov_that_is_none_is_refused) {
  auto scan = random_scan({8, 8, 1}, 2, 20, 4);
  scan.geometry.fov_mm = {240, 1e6, 5};
  write_scan(path("x.h5"), ScanFormat::fhd, {1, 1, 20, {scan}});
  EXPECT_REFUSED(open_scan(path("x.h5")), "a FOV from 0.001 to 100000 mm along each axis");
  EXPECT_REFUSED(open_scan(path("x.h5")), "found 1e+06 mm along y");
  ReadOptions told;
  told.fov_mm = {240, 240, 5};
  EXPECT_EQ(open_scan(path("x.h5"), told)->summary().geometry.fov_mm[1], 240);
}

TEST(Echoes, are_the_contrasts_of_the_first_repetition_phase_and_set) {
  ScanSummary summary;
  summary.repetition_counters = {{0, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0},
                                 {0, 0, 0, 1}, {1, 0, 0, 0}, {0, 2, 0, 0}};
  summary.repetition_count = 6;
  EXPECT_EQ(echoes_of(summary), (std::vector<std::int64_t>{0, 1, 5}));
}

TEST(Echoes, are_all_repetitions_where_a_file_does_not_count) {
  ScanSummary summary;
  summary.repetition_count = 3;
  EXPECT_EQ(echoes_of(summary), (std::vector<std::int64_t>{0, 1, 2}));
}

TEST(Echoes, are_at_the_times_of_their_contrast) {
  ScanSummary summary;
  summary.repetition_counters = {{0, 1, 0, 0}, {0, 0, 0, 0}, {0, 2, 0, 0}};
  summary.repetition_count = 3;
  summary.echo_times_s = {0.002, 0.004};
  EXPECT_EQ(echo_time_s(summary, 0), 0.004);
  EXPECT_EQ(echo_time_s(summary, 1), 0.002);
  EXPECT_FALSE(echo_time_s(summary, 2));
  summary.repetition_counters.clear();
  EXPECT_EQ(echo_time_s(summary, 1), 0.002);
}

}  // namespace
}  // namespace fhd::io
