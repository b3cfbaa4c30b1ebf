// `fhd fieldmap` as a user runs it: echoes of a simulated field, whose k-space is in closed form.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <string>

#include "io/hdf5/hdf5.hpp"
#include "io/result/results.hpp"
#include "io/scan/companion_files.hpp"
#include "io/scan/scan_file.hpp"
#include "validation/metrics.hpp"
#include "validation/tests/program.hpp"

namespace {

using namespace fhd;
namespace fs = std::filesystem;

class FieldMapCommand : public tests::ProgramTest {
 protected:
  void simulate(const std::string& name, const std::string& more) const {
    ASSERT_DONE(run("simulate -o " + name + " --matrix 48 --coils 4 --snr 30 --trajectory spiral " + more));
  }
  Array<double> map(const std::string& name) const {
    return io::hdf5::File::open(path(name)).dataset("/field_map").read<double>({1, 48, 48});
  }
  void expect_refused(const std::string& arguments, int status, const std::string& words) const {
    expect_failure("fieldmap -o none.h5 " + arguments, status, words);
    EXPECT_FALSE(exists("none.h5"));
  }
};

/// Standard deviation of a map that were not smoothed where the signal is the mean one of SNR 30: of the
/// difference of two phases, 1 / SNR each.
double noise_of_a_voxel_hz(double apart_s) { return std::sqrt(2.0) / 30 / (2 * std::numbers::pi * apart_s); }

Array<Complex<double>> magnitudes_of(const Image& image) {
  auto values = values_of<double>(image);
  for (auto& value : values) value = {abs(value), 0};
  return values;
}

double magnitude_error(const Image& image, const Image& truth) {
  return metrics::nrmse_best_scale(magnitudes_of(image), magnitudes_of(truth));
}

TEST_F(FieldMapCommand, finds_the_field_that_recon_then_corrects) {
  simulate("echoes", "--field-hz 100 --echo-times 2.3,6.9");
  ASSERT_DONE(run("fieldmap echoes.h5 -o b0 --device cpu"));
  EXPECT_CONTAINS(text("out"), "wrote     b0.h5");
  const auto found = map("b0.h5"), true_map = map("echoes.field.h5");
  const Image ideal = io::read_image(path("echoes.truth.h5"), "/image_ideal").images.front();
  double sum = 0, count = 0;
  for (std::int64_t p = 0; p < found.size(); ++p)
    if (abs(ideal.values[p]) > 0.05)
      sum += std::pow((found[p] - true_map[p]) / (2 * std::numbers::pi), 2), ++count;
  EXPECT_LE(std::sqrt(sum / count), noise_of_a_voxel_hz(4.6e-3));  // smoothing lessens it
  EXPECT_CONTAINS(text("out"), "image     slice 0, echo 0: ");
  EXPECT_CONTAINS(text("out"), "iterations, residual");

  const auto recon = [&](const std::string& scan, const std::string& options) {
    EXPECT_DONE(run("recon " + scan + ".h5 -o out --force --device cpu --repetitions 0 " + options));
    return io::read_image(path("out.h5")).images.front();
  };
  const Image truth = io::read_image(path("echoes.truth.h5")).images.front();
  const double corrected = magnitude_error(recon("echoes", "--field-map b0.h5"), truth);
  simulate("even", "");
  const double unspoiled = magnitude_error(recon("even", ""), truth);
  EXPECT_LE(corrected, 1.2 * unspoiled);

  // A NIfTI file has the same values; a map of half the matrix is interpolated.
  ASSERT_DONE(run("fieldmap echoes.h5 -o b0.nii.gz --device cpu"));
  const auto nifti = io::read_nifti_volume(path("b0.nii.gz")).values;
  ASSERT_EQ(nifti.size(), found.size());
  for (std::int64_t p = 0; p < found.size(); ++p) EXPECT_EQ(nifti[p], static_cast<float>(found[p]));
  ASSERT_DONE(
      run("simulate -o small --matrix 24 --coils 4 --snr 30 --trajectory spiral --field-hz 100 --echo-times "
          "2.3,6.9"));
  ASSERT_DONE(run("fieldmap small.h5 -o coarse --device cpu"));
  EXPECT_LE(magnitude_error(recon("echoes", "--field-map coarse.h5"), truth), 1.5 * unspoiled);
  EXPECT_CONTAINS(text("out"),
                  "the field map was taken from coarse.h5, in rad/s, interpolated at the voxels");
}

TEST_F(FieldMapCommand, takes_echoes_from_scans_of_their_own) {
  simulate("one", "--field-hz 80 --echo-times 3");
  simulate("two", "--field-hz 80 --echo-times 5 --seed 2");
  ASSERT_DONE(run("fieldmap two.h5 one.h5 -o b0.h5 --device cpu"));  // sorted by their times
  const auto found = map("b0.h5"), true_map = map("one.field.h5");
  const auto middle = 24 * 48 + 24;
  EXPECT_NEAR(found[middle] / (2 * std::numbers::pi), true_map[middle] / (2 * std::numbers::pi),
              noise_of_a_voxel_hz(2e-3));
}

TEST_F(FieldMapCommand, takes_delays_found_in_the_first_scan_for_all) {
  for (const std::string echo : {"3", "5"})
    ASSERT_EQ(
        run("simulate -o echo" + echo + " --matrix 48 --coils 4 --snr 30 --field-hz 60 --delay 0.6,-0.3 " +
            "--echo-times " + echo + " --seed " + echo),
        0)
        << text("err");
  ASSERT_DONE(run("fieldmap echo3.h5 echo5.h5 -o b0.h5 --device cpu --trajectory-correction auto"));
  const auto said = text("out");
  const auto note = said.find("note      the trajectory was corrected for gradient delays of 0.");
  EXPECT_NE(note, std::string::npos) << said;
  EXPECT_EQ(said.find("corrected for gradient delays", note + 30), std::string::npos) << "once: " << said;
}

TEST_F(FieldMapCommand, makes_a_map_of_a_scan_that_has_one_already) {
  simulate("one", "--field-hz 80 --echo-times 3");
  simulate("two", "--field-hz 80 --echo-times 5 --seed 2");
  ASSERT_DONE(run("convert one.h5 own.h5 --to fhd --field-map one.field.h5"));
  ASSERT_DONE(run("convert two.h5 other.h5 --to fhd"));
  ASSERT_DONE(run("fieldmap own.h5 other.h5 --echo-times 3,5 -o b0.h5 --device cpu"));
  expect_refused(
      "one.h5 two.h5 --field-map one.field.h5", 2,
      "--field-map: expected none: the map is made from the echoes, found one.field.h5; leave it out");
}

TEST_F(FieldMapCommand, says_what_is_open_and_what_it_overrides) {
  simulate("echoes", "--field-hz 200 --echo-times 2,6.6");
  ASSERT_DONE(run("fieldmap echoes.h5 -o b0.h5 --device cpu"));
  EXPECT_CONTAINS(text("out"), "known but for multiples of 217 Hz");
  const auto found = map("b0.h5"), true_map = map("echoes.field.h5");
  const auto middle = 24 * 48 + 24;  // a turn is 217 Hz
  EXPECT_NEAR(found[middle] / (2 * std::numbers::pi), true_map[middle] / (2 * std::numbers::pi), 10);
  ASSERT_DONE(run("fieldmap echoes.h5 -o b0.h5 --device cpu --force --echo-times 2,7"));
  EXPECT_CONTAINS(text("out"), "echoes.h5: the header says TE 6.6 ms, 7 ms of --echo-times is used");
  simulate("three", "--field-hz 100 --echo-times 2,3,6.6");
  ASSERT_DONE(run("fieldmap three.h5 -o b0.h5 --device cpu --force"));
  EXPECT_LACKS(text("out"), "known but for");
}

TEST_F(FieldMapCommand, refuses_names_that_are_none_and_echoes_that_are_one) {
  simulate("one", "--echo-times 2");
  expect_refused("one.h5 one.h5 --echo-times 2,6", 1, "expected echoes with values of their own");
  for (const std::string name : {"''", "folder/", "b.nii", "b.png"}) {
    EXPECT_EQ(run("fieldmap one.h5 one.h5 --echo-times 2,6 -o " + name), 2) << name;
    EXPECT_EQ(text("err").find(name == "''" ? "fhd: --output: " : "fhd: -o "), 0u) << text("err");
  }
  EXPECT_EQ(run("fieldmap one.h5 one.h5 -o b0.h5 --smoothing nan"), 2);
  EXPECT_CONTAINS(text("err"), "--smoothing: expected a number from 0 to 100, found 'nan'");
}

TEST_F(FieldMapCommand, refuses_echoes_of_other_places) {
  simulate("one", "--echo-times 3");
  simulate("two", "--echo-times 5 --seed 2");
  const auto moved = [&](const auto& change) {
    ASSERT_DONE(run("convert two.h5 moved.h5 --to fhd --force"));
    auto series = io::read_all(*io::open_scan(path("moved.h5")));
    change(series.scans.front().geometry);
    io::write_scan(path("moved.h5"), io::ScanFormat::fhd, series);
  };
  ASSERT_DONE(run("convert one.h5 first.h5 --to fhd"));
  const auto expect = [&] {
    expect_refused("first.h5 moved.h5 --echo-times 3,5", 1,
                   "moved.h5, slice 0: expected the FOV, position and directions of first.h5, found others");
  };
  moved([](Geometry& geometry) { geometry.position_mm[2] += 5; });  // the next slice
  expect();
  moved([](Geometry& geometry) { geometry.fov_mm = {200, 200, 5}; });
  expect();
  moved([](Geometry& geometry) { std::swap(geometry.read_direction, geometry.phase_direction); });
  expect();
  moved(
      [](Geometry& geometry) { geometry.position_mm[0] += 0.01; });  // rounding: a five-hundredth of a voxel
  EXPECT_DONE(run("fieldmap first.h5 moved.h5 --echo-times 3,5 -o b0.h5 --device cpu"));
}

TEST_F(FieldMapCommand, refuses_echoes_that_tell_no_field) {
  simulate("single", "--echo-times 2.3");
  expect_refused("single.h5", 1, "expected two or more echoes");
  simulate("same", "--echo-times 2.3 --seed 2");
  expect_refused("single.h5 same.h5", 1, "echoes at times 0.1 ms or more apart, found 2.3 and 2.3 ms");
  simulate("untold", "");
  expect_refused(
      "single.h5 untold.h5", 1,
      "an echo time (TE) of each of the 2 echoes, found none; give them with 'fhd fieldmap --echo-times");
  expect_refused("single.h5 untold.h5 --echo-times 2.3", 1, "2 times, one for each echo, found 1");
  for (const std::string times : {"6,2", "2,2", "0,2", "2,nan", "a", "2,", "-1,3", "1,1e9"})
    expect_refused("single.h5 untold.h5 --echo-times=" + times, 2, "--echo-times: expected times in ms");
  simulate("other", "--echo-times 6.9 --interleaves 7");
  expect_refused("single.h5 other.h5", 1, "expected echoes at the same k-space positions");
  expect_refused("single.h5 absent.h5", 1, "absent.h5");
  expect_refused("single.h5 untold.h5 --echo-times 2.3,6.9 --method gridded", 2, "found --method gridded");
  EXPECT_EQ(run("fieldmap single.h5 untold.h5 --echo-times 2.3,6.9 -o absent/b0.h5"), 1);
  EXPECT_CONTAINS(text("err"), "absent");
  ASSERT_EQ(run("fieldmap single.h5 untold.h5 --echo-times 2.3,6.9 -o single.h5 --force"), 1);
  EXPECT_CONTAINS(text("err"), "another file than the input");
  fs::copy_file(path("single.h5"), path("maps.h5"));
  const auto before = tests::bytes_of(path("maps.h5"));
  ASSERT_EQ(run("fieldmap single.h5 untold.h5 --echo-times 2.3,6.9 --maps maps.h5 -o maps.h5 --force"), 1);
  EXPECT_CONTAINS(text("err"), "another file than the input");
  EXPECT_EQ(tests::bytes_of(path("maps.h5")), before);
}

}  // namespace
