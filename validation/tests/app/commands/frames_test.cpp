// fhd recon --frames, --spokes-per-frame, --sliding, and fhd simulate --dynamic.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "io/hdf5/hdf5.hpp"
#include "io/result/results.hpp"
#include "io/scan/scan_file.hpp"
#include "validation/metrics.hpp"
#include "validation/tests/program.hpp"

namespace fhd::tests {
namespace {

class FramesCommand : public ReconTest {
 protected:
  void prepare() override {
    ASSERT_DONE(run("simulate -o scan --matrix 24 --coils 4 --readouts 31 --dynamic 6"));
  }
};

TEST_F(FramesCommand, contradictions_and_sizes_that_do_not_fit_are_refused_in_one_line) {
  expect_refused("--frames 4 --spokes-per-frame 3", 2,
                 "--frames with --spokes-per-frame: these options contradict each other; leave out --frames");
  expect_refused("--sliding 4", 2, "--sliding: expected --spokes-per-frame beside it, found none");
  expect_refused(
      "--regularizer temporal-tv:0.01", 2,
      "one image: does not go together with --regularizer temporal-tv; leave it out, or reconstruct "
      "frames (--frames, --spokes-per-frame, --gate)");
  expect_refused("--frames 40", 1, "--frames: expected 2 ... 31, of the 31 readouts of the scan, found 40");
  expect_refused("--spokes-per-frame 31", 1,
                 "--spokes-per-frame: expected 1 ... 30, of the 31 readouts of the scan, found 31");
  expect_refused("--spokes-per-frame 6 --sliding 7", 1,
                 "--sliding: expected 1 ... 6, the readouts of a frame, found 7");
  expect_refused("--frames 5 --method gridded", 2,
                 "frames: does not go together with a method other than cg; leave one of them out");
  expect_refused("--frames 5 --regularizer tgv:0.01", 2,
                 "frames: does not go together with --regularizer tgv; use tv in its place");
  for (const std::string wrong : {"0", "1", "-3", "abc", "1e99", "2.5", "99999999999999999999", "3,4"})
    expect_refused("--frames " + wrong, 2,
                   "--frames: expected a whole number from 2, found '" + wrong + "'; see 'fhd recon --help'");
}

TEST_F(FramesCommand, a_scan_that_does_not_know_its_readouts_is_refused) {
  auto series = io::read_all(*io::open_scan(path("scan.h5")));
  series.readout_length = 0;
  io::write_scan(path("plain.h5"), io::ScanFormat::fhd, series);
  EXPECT_EQ(run("recon plain.h5 -o out --frames 4 --device cpu"), 1);
  EXPECT_EQ(text("err"),
            "fhd: frames: expected a scan made of readouts of equal length, found one that does not say "
            "where its readouts begin; convert it to ISMRMRD, or add the attribute readout_length (samples) "
            "to an fhd HDF5 file\n");
}

TEST_F(FramesCommand, readouts_of_zeros_leave_a_gap_that_is_told) {
  auto series = io::read_all(*io::open_scan(path("scan.h5")));
  Scan& scan = series.scans.front();
  const std::int64_t length = series.readout_length, count = scan.kspace.sample_count();
  for (std::int64_t coil = 0; coil < 4; ++coil)
    for (std::int64_t m = 14 * length; m < 17 * length; ++m) scan.kspace.values[coil * count + m] = {};
  io::write_scan(path("gap.h5"), io::ScanFormat::ismrmrd, series);
  ASSERT_DONE(run("recon gap.h5 -o out --device cpu --spokes-per-frame 6"));
  EXPECT_CONTAINS(text("err"), "3 readouts are left out between others, from number 14 on");
  const auto images = nlohmann::json::parse(text("out.json"))["images"];
  ASSERT_EQ(images.size(), 4u);
  EXPECT_EQ(images[2]["first_readout"], 12);
  EXPECT_EQ(images[3]["first_readout"], 21);
  EXPECT_EQ(run("recon gap.h5 -o out --force --device cpu --spokes-per-frame 6 --strict"), 1);
}

TEST_F(FramesCommand, values_of_any_size_make_frames_and_zeros_none) {
  const auto with_factor = [&](float factor) {
    auto series = io::read_all(*io::open_scan(path("scan.h5")));
    for (auto& value : series.scans.front().kspace.values) value = {factor * value.re, factor * value.im};
    series.scans.front().sensitivity_maps.reset();
    io::write_scan(path("small.h5"), io::ScanFormat::ismrmrd, series);
    return run("recon small.h5 -o out --force --device cpu --frames 5");
  };
  EXPECT_EQ(with_factor(1e-30f), 0) << text("err");
  EXPECT_EQ(with_factor(0), 1);
  EXPECT_EQ(text("err"),
            "fhd: frames: expected coils with signal, which tells their sensitivity maps, found k-space of "
            "zeros\n");
}

TEST_F(FramesCommand, of_a_scan_whose_trajectory_is_corrected_are_whole_readouts) {
  // Some samples of some spokes leave the matrix: 1 of twice as many as voxels moves by half a cycle/FOV.
  ASSERT_DONE(run("simulate -o scan --matrix 24 --coils 4 --readouts 31 --dynamic 6 --delay 1.6,0.8"));
  const auto truth = io::read_image(path("scan.truth.h5"));
  const auto error = [&](const std::string& options) {
    EXPECT_DONE(recon("--spokes-per-frame 6 --regularizer identity:0.01,llr:0.01 " + options));
    const auto made = io::read_image(path("out.h5"));
    EXPECT_EQ(made.repetition_count, 5);
    double sum = 0;
    for (std::size_t t = 0; t < 5; ++t)
      sum +=
          metrics::relative_l2(values_of<double>(made.images.at(t)), values_of<double>(truth.images.at(t))) /
          5;
    return sum;
  };
  const double corrected = error("--trajectory-correction 1.6,0.8");
  EXPECT_CONTAINS(text("out"), "samples were left out");
  EXPECT_CONTAINS(text("out"), "frames    5 of 6 readouts");
  EXPECT_LE(corrected, 0.8 * error(""));  // which moves the centre of every spoke by half a voxel of k-space
}

TEST_F(FramesCommand, results_hold_frames_in_the_place_of_repetitions) {
  ASSERT_DONE(recon("--spokes-per-frame 6 --regularizer identity:0.01,temporal-tv:0.01,llr:0.01"));
  EXPECT_NE(text("out").find(
                "frames    5 of 6 readouts, at times that the scan does not tell (no TR); the last 1 of 31 "
                "readouts are in no frame"),
            std::string::npos)
      << text("out");
  const auto report = nlohmann::json::parse(text("out.json"));
  ASSERT_EQ(report["images"].size(), 5u);
  const auto& third = report["images"][2];
  EXPECT_EQ(third["repetition"], 2);
  EXPECT_EQ(third["first_readout"], 12);
  EXPECT_EQ(third["settings"]["frames"], 5);
  EXPECT_EQ(third["settings"]["readouts per frame"], 6);
  EXPECT_EQ(third["settings"]["regularizer"], "identity,temporal-tv:0.01,llr:0.01");
  EXPECT_EQ(third["terms"].size(), 2u);
  EXPECT_TRUE(third["certificate"]["passed"]);
  const auto file = io::hdf5::File::open(path("out.h5"));
  EXPECT_EQ(file.text_attribute("/image", "repetitions_are"), "frames");
  EXPECT_EQ(file.number_attribute("/image", "first_readouts"), (std::vector<double>{0, 6, 12, 18, 24}));
  EXPECT_EQ(io::read_image(path("out.h5")).repetition_count, 5);
  EXPECT_EQ(io::read_image(path("out.h5"), "/gridded").repetition_count, 5);
  EXPECT_EQ(io::read_image(path("scan.truth.h5")).repetition_count, 5);
  ASSERT_DONE(run("report out.h5"));
}

}  // namespace
}  // namespace fhd::tests
