// fhd recon --gate and --basis, and fhd simulate --breaths.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "io/hdf5/hdf5.hpp"
#include "io/result/results.hpp"
#include "io/scan/scan_file.hpp"
#include "validation/metrics.hpp"
#include "validation/tests/program.hpp"

namespace fhd::tests {
namespace {

class GatingCommand : public ReconTest {
 protected:
  void prepare() override {
    ASSERT_DONE(run("simulate -o scan --matrix 32 --coils 4 --readouts 241 --breaths 8 --bins 3"));
  }
  void write(const std::string& name, const std::string& words) const { std::ofstream(path(name)) << words; }
  double error() const {
    const auto made = io::read_image(path("out.h5")), truth = io::read_image(path("scan.truth.h5"));
    EXPECT_EQ(made.repetition_count, truth.repetition_count);
    double sum = 0;
    for (std::size_t t = 0; t < truth.images.size(); ++t)
      sum +=
          metrics::relative_l2(values_of<double>(made.images.at(t)), values_of<double>(truth.images.at(t)));
    return sum / static_cast<double>(truth.images.size());
  }
};

TEST_F(GatingCommand, bins_by_the_scan_itself_are_those_by_the_true_motion) {
  const std::string options = " --frames 3 --regularizer temporal-tv:0.02";
  ASSERT_DONE(recon("--gate scan.motion.txt" + options));
  const double by_truth = error();
  ASSERT_DONE(recon("--gate self" + options));
  EXPECT_LE(error(), 1.1 * by_truth);
  EXPECT_CONTAINS(text("out"), "frames    3 of 80 readouts, bins by self-gated, 8");
  EXPECT_CONTAINS(text("out"), "the last 1 of 241 readouts are in no frame");
  const auto report = nlohmann::json::parse(text("out.json"))["images"][1];
  EXPECT_EQ(report["settings"]["frames"], 3);
  EXPECT_EQ(std::string(report["settings"]["gate"]).find("self-gated, 8"), 0u);
  const auto file = io::hdf5::File::open(path("out.h5"));
  EXPECT_EQ(file.text_attribute("/image", "repetitions_are"), "bins");
  const auto bins = file.dataset("/gating/bin").read<double>({1, 241});
  const auto signal = file.dataset("/gating/signal").read<double>({1, 241});
  EXPECT_EQ(std::count(bins.begin(), bins.end(), 2), 80);
  EXPECT_EQ(bins[240], -1);
  ASSERT_DONE(run("report out.h5"));
  EXPECT_CONTAINS(text("out.html"), "\"gating\":{\"source\":\"self-gated, 8");
  for (std::int64_t a = 0; a < 240; ++a)
    for (std::int64_t b = 0; b < 240; ++b)
      ASSERT_TRUE(bins[a] >= bins[b] || signal[a] <= signal[b]) << a << ", " << b;
  // The signal of a result gates another scan.
  ASSERT_DONE(run("recon scan.h5 -o again --device cpu --gate out.h5" + options));
  const auto once = io::read_image(path("out.h5")), again = io::read_image(path("again.h5"));
  for (std::int64_t p = 0; p < once.images[1].values.size(); ++p)
    ASSERT_EQ(once.images[1].values[p], again.images[1].values[p]);
}

TEST_F(GatingCommand, heartbeats_of_the_file_become_bins) {
  auto series = io::read_all(*io::open_scan(path("scan.h5")));
  for (std::uint32_t r = 0; r < 241; ++r)
    series.scans.front().physiology_stamps.push_back({0, 10 * (r % 24), 0});
  io::write_scan(path("heart.h5"), io::ScanFormat::ismrmrd, series);
  ASSERT_DONE(run("recon heart.h5 -o out --device cpu --frames 8 --gate physiology:1"));
  const auto bins = io::hdf5::File::open(path("out.h5")).dataset("/gating/bin").read<double>({1, 241});
  for (std::int64_t r = 0; r < 240; ++r) EXPECT_EQ(bins[r], r % 24 / 3) << r;
  EXPECT_EQ(run("recon heart.h5 -o other --device cpu --gate physiology"), 1);
  EXPECT_EQ(
      text("err"),
      "fhd: --gate: expected two triggers or more in physiology time stamp 0, found 0; choose another time "
      "stamp, or gate by self or a file\n");
}

TEST_F(GatingCommand, contradictions_and_signals_that_do_not_fit_are_refused_in_one_line) {
  expect_refused(
      "--gate self --spokes-per-frame 10", 2,
      "--gate with --spokes-per-frame: these options contradict each other; say with --frames how many "
      "bins there are");
  expect_refused(
      "--gate physiology:3", 2,
      "--gate: expected physiology, physiology:0, physiology:1 or physiology:2, found 'physiology:3'");
  expect_refused(
      "--gate physiology", 1,
      "--gate: expected physiology time stamp 0 of the readouts of the scan, found none; gate by self, or by "
      "a file");
  expect_refused("--gate self --frames 242", 1,
                 "--frames: expected 2 ... 241, of the 241 readouts of the scan, found 242");
  for (const std::string value : {"nothing.txt", "Self"})
    expect_refused(
        "--gate " + value, 2,
        "--gate: expected self, physiology, physiology:K or a file, found '" + value + "', which is neither");
  expect_refused("--gate ''", 2,
                 "--gate: expected a value, found none; leave the option out; see 'fhd recon --help'");
  for (const std::string value : {"0", "-1", "2.5", "99999999999999999999999"})
    expect_refused(
        "--frames 4 --basis=" + value, 2,
        "--basis: expected a whole number from 1, or a file, found '" + value + "', which is neither");
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  expect_refused("--gate pipe", 1,
                 "pipe: expected a file, found a pipe, a device or a socket; save the scan as a file first");
  write("few.txt", "1\n2 # two\n\n3\n");
  expect_refused("--gate few.txt", 1, "few.txt: expected 241 numbers, one for each readout, found 3");
}

TEST_F(GatingCommand, files_of_signals_and_courses_are_inputs_that_force_leaves_alone) {
  ASSERT_DONE(recon("--gate self --frames 3"));
  const std::string before = text("out.h5");
  EXPECT_EQ(recon("--gate out.h5 --frames 3"), 1);
  EXPECT_CONTAINS(text("err"), "out.h5 is a piece of the scan");
  EXPECT_EQ(text("out.h5"), before);
  ASSERT_DONE(run("recon scan.h5 -o next --device cpu --gate out.h5 --frames 3"));
  const auto report = nlohmann::json::parse(text("next.json"));
  EXPECT_NE(report["input"].dump().find("gating signal"), std::string::npos) << report["input"];
}

TEST_F(GatingCommand, frames_in_a_subspace_of_their_own_or_of_a_file) {
  ASSERT_DONE(recon("--frames 12 --basis 3"));
  const auto report = nlohmann::json::parse(text("out.json"))["images"][7];
  EXPECT_EQ(report["settings"]["basis"], "3 leading courses");
  EXPECT_TRUE(report["certificate"]["passed"]);
  const auto file = io::hdf5::File::open(path("out.h5"));
  EXPECT_EQ(file.dataset("/subspace/basis").extents(), (io::hdf5::Extents{3, 12}));
  EXPECT_EQ(file.dataset("/subspace/components").complex_extents(), (io::hdf5::Extents{3, 1, 32, 32}));
  // The courses of a result are those of another.
  ASSERT_DONE(run("recon scan.h5 -o again --device cpu --frames 12 --basis out.h5"));
  const auto once = io::read_image(path("out.h5")), again = io::read_image(path("again.h5"));
  EXPECT_LE(metrics::relative_l2(values_of<double>(again.images[7]), values_of<double>(once.images[7])),
            1e-5);
}

TEST_F(GatingCommand, a_basis_that_does_not_fit_is_refused_in_one_line) {
  expect_refused(
      "--basis 3", 2,
      "one image: does not go together with --basis; leave it out, or reconstruct frames (--frames, "
      "--spokes-per-frame, --gate)");
  expect_refused("--frames 4 --basis 5", 1,
                 "--basis: expected 1 ... 4 components, the number of frames, found 5");
  write("wrong.txt", "1 2 3 4 5\n1 1 1 1 2\n");
  expect_refused("--frames 4 --basis wrong.txt", 1,
                 "--basis: expected courses of 4 numbers, one for each frame, found 2 rows of 5 numbers");
  write("twice.txt", "1 2 3 4\n2 4 6 8\n");
  expect_refused(
      "--frames 4 --basis twice.txt", 1,
      "--basis: expected courses of which none is a sum of others, or 0, found number 1 (from 0), which is");
  expect_refused("--frames 4 --basis 2 --regularizer temporal-tv:0.01", 2,
                 "--basis: does not go together with --regularizer temporal-tv; a subspace couples frames "
                 "already; leave one of them out");
}

}  // namespace
}  // namespace fhd::tests
