// `--girf` of recon, batch, compare, fieldmap and simulate, and the files that it takes.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <numbers>
#include <string>
#include <vector>

#include "io/hdf5/hdf5.hpp"
#include "io/result/results.hpp"
#include "io/scan/companion_files.hpp"
#include "validation/metrics.hpp"
#include "validation/tests/program.hpp"

namespace fhd::tests {
namespace {

constexpr double time_s = 6e-6;

class GirfCommand : public SmallScanTest {
 protected:
  /// /girf up to 100 kHz in steps of 100 Hz, of every axis.
  void write_girf(const std::string& name, const std::function<Complex<double>(double hz)>& h) const {
    std::vector<Complex<double>> values;
    std::vector<double> hz;
    for (int i = -1000; i <= 1000; ++i) hz.push_back(100.0 * i);
    for (int axis = 0; axis < 3; ++axis)
      for (const double f : hz) values.push_back(h(f));
    const auto count = static_cast<std::int64_t>(values.size()) / 3;
    auto file = io::hdf5::File::create(path(name), path(name));
    file.write("/girf", values.data(), {3, count});
    file.write("/frequency_hz", hz.data(), {static_cast<std::int64_t>(hz.size())});
    file.close();
  }
  static Complex<double> low_pass(double hz) {
    const double x = 2 * std::numbers::pi * hz * time_s;
    return {1 / (1 + x * x), -x / (1 + x * x)};
  }
  void simulate(const std::string& name, const std::string& more) const {
    ASSERT_DONE(run("simulate -o " + name + " --matrix 32 --coils 4 --snr 30 " + more));
  }
  Image recon(const std::string& scan, const std::string& options = "") const {
    EXPECT_DONE(run("recon " + scan + ".h5 -o out --force --device cpu " + options));
    return io::read_image(path("out.h5")).images.front();
  }
  static double difference(const Image& a, const Image& b) {
    return metrics::relative_l2(values_of<double>(a), values_of<double>(b));
  }
};

TEST_F(GirfCommand, gives_the_image_of_perfect_gradients) {
  write_girf("girf.h5", low_pass);
  for (const std::string kind : {"golden-radial", "spiral"}) {
    simulate("clean", "--trajectory " + kind);
    simulate("played", "--girf girf.h5 --trajectory " + kind);
    const Image truth = io::read_image(path("clean.truth.h5")).images.front();
    const double clean = difference(recon("clean"), truth);
    EXPECT_GT(difference(recon("played"), truth), 2 * clean) << kind;
    EXPECT_LE(difference(recon("played", "--girf girf.h5"), truth), 1.1 * clean) << kind;
    EXPECT_CONTAINS(text("out"), "note      the gradient response moved samples by up to ");
    const auto pieces = nlohmann::json::parse(text("out.json"))["input"]["pieces"];
    ASSERT_EQ(pieces.size(), 1u);
    EXPECT_EQ(pieces[0]["what"], "gradient response");
  }
}

TEST_F(GirfCommand, says_that_directions_were_assumed_where_the_scan_tells_none) {
  write_girf("girf.h5", low_pass);
  simulate("scan", "--readouts 40");
  ASSERT_DONE(run("convert scan.h5 told.h5 --to fhd"));
  std::filesystem::copy_file(path("told.h5"), path("silent.h5"));
  const auto id = H5Fopen(path("silent.h5").c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  for (const char* name : {"read_direction", "phase_direction", "slice_direction"})
    ASSERT_GE(H5Adelete(id, name), 0) << name;
  H5Fclose(id);
  const auto says = [&] {
    const std::string words = "the scan does not tell the directions of its axes";
    const auto out = text("out");
    const auto first = out.find(words);
    return first == std::string::npos ? 0 : out.find(words, first + 1) == std::string::npos ? 1 : 2;
  };
  const Image told = recon("told", "--girf girf.h5");
  EXPECT_EQ(says(), 0) << text("out");
  const Image silent = recon("silent", "--girf girf.h5");
  EXPECT_EQ(says(), 1) << text("out");
  EXPECT_EQ(difference(silent, told), 0) << "the axes assumed are those of the simulation";
  recon("silent");
  EXPECT_EQ(says(), 0) << "nothing depends on them";
}

TEST_F(GirfCommand, is_taken_by_other_commands_and_for_frames) {
  write_girf("girf.h5", low_pass);
  simulate("scan", "--girf girf.h5 --echo-times 2,4 --readouts 40");
  EXPECT_DONE(run("fieldmap scan.h5 -o b0.h5 --device cpu --girf girf.h5"));
  EXPECT_DONE(run("compare scan.h5 -o compared --device cpu --girf girf.h5 --iterations 3"));
  EXPECT_DONE(run("recon scan.h5 -o frames --device cpu --girf girf.h5 --frames 2 --repetitions 0"));
  const Image alone = recon("scan", "--girf girf.h5 --repetitions 0");
  EXPECT_DONE(run("batch scan.h5 -o results --device cpu --cache off --girf girf.h5 --repetitions 0"));
  EXPECT_LE(difference(io::read_image(path("results/scan.h5")).images.front(), alone), 1e-6);
  EXPECT_EQ(run("recon scan.h5 -o girf --force --device cpu --girf girf.h5"), 1) << "no file that is read";
}

TEST_F(GirfCommand, what_is_no_response_is_refused_in_one_line) {
  simulate("scan", "");
  const auto expect = [&](const std::string& name, const std::string& words) {
    EXPECT_EQ(run("recon scan.h5 -o none --device cpu --girf " + name), 1) << name;
    EXPECT_CONTAINS(text("err"), words);
    EXPECT_EQ(text("err").find('\n') + 1, text("err").size()) << "one line: " << text("err");
    EXPECT_FALSE(exists("none.h5"));
  };
  expect("absent.h5", "absent.h5: expected a file");
  expect("scan.h5",
         "scan.h5: expected impulse responses: /girf with /frequency_hz, or /impulse_response with "
         "/time_s, found neither");
  write_girf("good.h5", low_pass);
  ASSERT_DONE(run("convert scan.h5 untimed.cfl --to bart"));
  EXPECT_EQ(run("recon untimed.cfl --matrix 32 -o none --device cpu --girf good.h5"), 1);
  EXPECT_CONTAINS(text("err"), "expected a scan that tells when its samples were taken");
}

}  // namespace
}  // namespace fhd::tests
