// `fhd simulate` as a user runs it: what it writes, what it says, what it refuses.
#include "data/simulate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "io/result/results.hpp"
#include "io/scan/companion_files.hpp"
#include "io/scan/scan_file.hpp"
#include "validation/metrics.hpp"
#include "validation/tests/io/io_scans.hpp"
#include "validation/tests/program.hpp"

namespace {

using namespace fhd;
namespace fs = std::filesystem;

struct Output {
  int status = -1;
  std::string text;  ///< stdout and stderr
};

class SimulateCommand : public tests::ProgramTest {
 protected:
  /// Runs `fhd simulate -o FOLDER/scan ...`.
  Output simulate(const std::string& arguments) const { return run("-o " + path("scan") + " " + arguments); }
  Output run(const std::string& arguments) const {
    const int status = ProgramTest::run("simulate " + arguments);
    return {status, text("out") + text("err")};
  }
  /// Returns the files that the program wrote.
  std::ptrdiff_t file_count() const {
    return std::count_if(fs::directory_iterator(folder()), fs::directory_iterator(), [](const auto& entry) {
      return entry.path().filename() != "out" && entry.path().filename() != "err";
    });
  }
};

TEST_F(SimulateCommand, writes_the_scan_its_maps_and_the_true_images) {
  const auto output = simulate("--matrix 32,30 --coils 3 --trajectory spiral --fov-mm 200,220 --seed 5");
  ASSERT_EQ(output.status, 0) << output.text;
  EXPECT_EQ(file_count(), 3);
  EXPECT_TRUE(exists("scan.truth.png"));

  data::SimulationSettings settings;
  settings.trajectory.kind = data::TrajectoryKind::spiral;
  settings.trajectory.matrix_size = {32, 30, 1};
  settings.trajectory.fov_mm = {200, 220, 5};
  settings.coil_count = 3;
  settings.seed = 5;
  const auto expected = data::simulate(settings);

  const auto file = io::open_scan(path("scan.h5"));
  EXPECT_EQ(file->summary().readout_length, expected.readout_length);
  const Scan scan = file->read(0, 0);
  EXPECT_EQ(scan.geometry.matrix_size, settings.trajectory.matrix_size);
  EXPECT_NEAR(scan.geometry.fov_mm[1], 220, 1e-3);
  EXPECT_EQ(io::largest_difference(scan.kspace.values, expected.scan.kspace.values), 0);
  EXPECT_LE(io::largest_difference(scan.trajectory.k, expected.scan.trajectory.k),
            1e-6);  // 16 in single precision
  EXPECT_LE(io::largest_difference(scan.sensitivity_maps->values, expected.scan.sensitivity_maps->values),
            1e-6);

  const auto truth = io::read_image(path("scan.truth.h5"));
  const auto ideal = io::read_image(path("scan.truth.h5"), "/image_ideal");
  ASSERT_EQ(truth.images.size(), 1u);
  EXPECT_EQ(truth.images[0].geometry.matrix_size, settings.trajectory.matrix_size);
  EXPECT_EQ(io::largest_difference(truth.images[0].values, expected.band_limited.values), 0);
  EXPECT_EQ(io::largest_difference(ideal.images.at(0).values, expected.ideal.values), 0);
}

TEST_F(SimulateCommand, writes_every_trajectory_and_leaves_maps_out_when_asked) {
  for (auto kind : data::trajectory_kinds) {
    const std::string matrix = data::dimensions_of(kind) == 3 ? "8,8,4" : "16";
    const auto output = simulate("--no-maps --snr none --phantom resolution --matrix " + matrix +
                                 " --trajectory " + std::string(name_of(kind)));
    ASSERT_EQ(output.status, 0) << output.text;
    const auto file = io::open_scan(path("scan.h5"));
    EXPECT_EQ(file->summary().cartesian, kind == data::TrajectoryKind::cartesian);
    EXPECT_FALSE(file->read(0, 0).sensitivity_maps.has_value());
  }
}

TEST_F(SimulateCommand, repetitions_are_the_same_scan_with_noise_of_their_own) {
  ASSERT_EQ(simulate("--matrix 16 --coils 2").status, 0);
  const auto alone = io::open_scan(path("scan.h5"))->read(0, 0);
  ASSERT_EQ(simulate("--matrix 16 --coils 2 --repetitions 3").status, 0);
  const auto file = io::open_scan(path("scan.h5"));
  ASSERT_EQ(file->summary().repetition_count, 3);
  for (int repetition = 0; repetition < 3; ++repetition) {
    const auto scan = file->read(0, repetition);
    EXPECT_TRUE(std::equal(scan.trajectory.k.begin(), scan.trajectory.k.end(), alone.trajectory.k.begin()));
    const auto& values = scan.kspace.values;
    EXPECT_EQ(std::equal(values.begin(), values.end(), alone.kspace.values.begin()), repetition == 0);
  }
}

/// |a - b| / |b|.
double distance(const Image& a, const Image& b) {
  return metrics::relative_l2(converted<Complex<double>>(a.values), converted<Complex<double>>(b.values));
}

TEST_F(SimulateCommand, slices_are_written_with_their_places_maps_and_true_images) {
  const std::string options = " --matrix 24,22 --coils 3 --slice-spacing 18 --trajectory ";
  ASSERT_EQ(simulate("--slices 4 --repetitions 2 --field-hz 40 --noise-readouts 50 --prior-image" + options +
                     "spiral")
                .status,
            0)
      << text("err");
  ASSERT_EQ(ProgramTest::run("convert scan.h5 other.h5 --to fhd"), 0) << text("err");
  for (const char* name : {"scan.h5", "other.h5"}) {
    const auto file = io::open_scan(path(name));
    ASSERT_EQ(file->summary().slice_count, 4) << name;
    ASSERT_EQ(file->summary().repetition_count, 2);
    const auto first = file->read(0, 0);
    for (int slice = 0; slice < 4; ++slice) {
      const auto scan = file->read(slice, 1);
      EXPECT_NEAR(scan.geometry.position_mm[2], 18 * (slice - 2), 1e-4) << name << " " << slice;
      ASSERT_TRUE(scan.sensitivity_maps && scan.noise && scan.sample_time_s);
      if (slice == 0) continue;
      EXPECT_FALSE(std::equal(scan.sensitivity_maps->values.begin(), scan.sensitivity_maps->values.end(),
                              first.sensitivity_maps->values.begin()));
    }
  }
  for (const char* dataset : {"/image", "/image_ideal"}) {
    const auto truth = io::read_image(path("scan.truth.h5"), dataset);
    ASSERT_EQ(truth.slice_count, 4);
    ASSERT_EQ(truth.images.size(), 4u);
    EXPECT_NEAR(truth.images[3].geometry.position_mm[2], 18, 1e-9);
    EXPECT_GE(distance(truth.images[0], truth.images[2]), 0.05) << "another section";
  }
  // One true image of a slice is that of all its repetitions.
  EXPECT_EQ(
      ProgramTest::run("compare scan.h5 -o compared --slice 3 --repetition 1 --iterations 2 --device cpu"), 0)
      << text("err");
  // The field map is of every slice too: without it the error is larger.
  ASSERT_EQ(ProgramTest::run("recon scan.h5 -o with --quiet --repetitions 0 --field-map scan.field.h5"), 0)
      << text("err");
  ASSERT_EQ(ProgramTest::run("recon scan.h5 -o without --quiet --repetitions 0"), 0) << text("err");
  const auto truth = io::read_image(path("scan.truth.h5")), with = io::read_image(path("with.h5")),
             without = io::read_image(path("without.h5"));
  for (std::size_t slice = 0; slice < 4; ++slice)
    EXPECT_LT(distance(with.images.at(slice), truth.images[slice]),
              distance(without.images.at(slice), truth.images[slice]))
        << slice;
}

TEST_F(SimulateCommand, slices_are_reconstructed_as_well_as_one_by_itself) {
  const std::string options = " --matrix 32 --coils 4 --snr none --trajectory variable-density-spiral";
  ASSERT_EQ(run("-o one --slices 1" + options).status, 0) << text("err");
  ASSERT_EQ(run("-o all --slices 5 --slice-spacing 20" + options).status, 0) << text("err");
  for (const std::string name : {"one", "all"})
    ASSERT_DONE(ProgramTest::run("recon " + name + ".h5 -o " + name + "_image --quiet"));
  const auto one = io::read_image(path("one_image.h5")), all = io::read_image(path("all_image.h5")),
             true_one = io::read_image(path("one.truth.h5")), truth = io::read_image(path("all.truth.h5"));
  ASSERT_EQ(all.images.size(), 5u);
  const auto places = io::read_nifti_volume(path("all_image.nii.gz")).voxel_to_lps_mm;
  EXPECT_NEAR(places[2][2], 20, 1e-4);  // mm from one slice to the next
  EXPECT_NEAR(places[2][3], -40, 1e-4);
  const double alone = distance(one.images[0], true_one.images[0]);
  for (std::size_t slice = 0; slice < 5; ++slice) {
    EXPECT_NEAR(all.images[slice].geometry.position_mm[2], 20 * (static_cast<double>(slice) - 2), 1e-4);
    const double error = distance(all.images[slice], truth.images[slice]);
    EXPECT_LE(error, 1.25 * alone) << slice;
    for (std::size_t other = 0; other < 5; ++other)
      if (other != slice) {
        EXPECT_GT(distance(all.images[slice], truth.images[other]), error) << slice << " is not " << other;
      }
  }
}

TEST_F(SimulateCommand, refuses_contradictory_and_hostile_options_in_one_line_and_writes_nothing) {
  for (const char* arguments : {"--coils 0",
                                "--coils 33",
                                "--matrix 0",
                                "--matrix 5000",
                                "--matrix 64,64,0",
                                "--matrix abc",
                                "--matrix ''",
                                "--snr -3",
                                "--snr nan",
                                "--snr 3dB",
                                "--undersampling 0.5",
                                "--fov-mm -2",
                                "--fov-mm 0",
                                "--trajectory zigzag",
                                "--phantom brain",
                                "--dimensions 4",
                                "--dimensions 3 --trajectory spiral",
                                "--dimensions 2 --matrix 16,16,8",
                                "--matrix 16,16 --trajectory stack-of-stars",
                                "--trajectory cartesian --readouts 12",
                                "--trajectory radial --spokes 12 --undersampling 2",
                                "--trajectory spiral --readout-samples 3",
                                "--readouts -4",
                                "--readouts 99999999999",
                                "--dynamic 0",
                                "--dynamic 1e9",
                                "--field-hz 1e308",
                                "--echo-times 0,1",
                                "--seed -1",
                                "--seed x",
                                "--repetitions 0",
                                "--repetitions 65536",
                                "--repetitions 60000 --matrix 64,64,64 --coils 32",
                                "--bins 3",
                                "--noise-readouts 3 --snr none",
                                "--slices 0",
                                "--slices 65536",
                                "--slices 2.5",
                                "--slices 100",
                                "--slices 3 --slice-spacing 150",
                                "--slices 3 --slice-spacing nan",
                                "--slice-spacing 5",
                                "--slices 3 --trajectory stack-of-stars",
                                "--slices 3 --dimensions 3",
                                "--slices 3 --matrix 16,16,8",
                                "--slices 3 --dynamic 13",
                                "--slices 3 --breaths 4",
                                "--repetitions 2 --dynamic 13",
                                "--prior-image --breaths 4",
                                "--slices 3 --repetitions 60000 --matrix 64 --coils 32"}) {
    const auto output = simulate(arguments);
    EXPECT_EQ(output.status, 2) << arguments << ": " << output.text;
    EXPECT_FALSE(output.text.empty());
    EXPECT_LE(output.text.size(), 300u) << "no number of 309 digits: " << output.text;
    EXPECT_EQ(std::count(output.text.begin(), output.text.end(), '\n'), 1)
        << arguments << ": " << output.text;
    EXPECT_EQ(file_count(), 0) << arguments;
  }
}

TEST_F(SimulateCommand, overwrites_its_own_scans_alone_unless_forced) {
  ASSERT_EQ(simulate("--matrix 16 --coils 1 --field-hz 50 --prior-image").status, 0);
  EXPECT_EQ(simulate("--matrix 16 --coils 1 --field-hz 50 --prior-image").status, 0) << "its own";
  for (const char* name : {"scan.h5", "scan.truth.h5", "scan.field.h5"}) {
    std::ofstream(path(name)) << "precious";
    const auto output = simulate("--matrix 16 --coils 1 --field-hz 50");
    EXPECT_EQ(output.status, 1) << name;
    EXPECT_EQ(output.text,
              "fhd: " + path(name) +
                  ": expected a new name, or an earlier scan of fhd simulate, found a file that another "
                  "has made; --force overwrites it, -o NAME writes beside it\n");
    EXPECT_EQ(text(name), "precious");
    EXPECT_EQ(simulate("--matrix 16 --coils 1 --field-hz 50 --force").status, 0);
  }
  std::ofstream(path("mine.truth.png")) << "precious";
  EXPECT_EQ(run("-o " + path("mine") + " --matrix 16").status, 1) << "no scan beside it says whose it is";
  EXPECT_FALSE(exists("mine.h5"));
}

TEST_F(SimulateCommand, reports_an_output_that_cannot_be_written_and_leaves_what_was_there) {
  const auto missing = run("-o " + path("nowhere/scan") + " --matrix 16");
  EXPECT_EQ(missing.status, 1) << missing.text;
  EXPECT_NE(missing.text.find("nowhere/scan.h5"), std::string::npos) << missing.text;

  std::ofstream(path("scan.h5")) << "precious";
  fs::create_directory(path("scan.truth.h5"));
  const auto blocked = simulate("--matrix 16");
  EXPECT_EQ(blocked.status, 1) << blocked.text;
  std::string content;
  std::ifstream(path("scan.h5")) >> content;
  EXPECT_EQ(content, "precious");
  EXPECT_EQ(file_count(), 2);
}

}  // namespace
