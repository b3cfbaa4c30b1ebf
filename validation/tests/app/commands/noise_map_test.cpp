// --noise-map: what is refused, in one line, and what is written.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "io/hdf5/hdf5.hpp"
#include "validation/tests/program.hpp"

namespace fhd::tests {
namespace {

class NoiseMapCommand : public ReconTest {
 protected:
  void prepare() override {
    ASSERT_EQ(
        run("simulate -o scan --trajectory cartesian --matrix 16 --coils 4 --undersampling 2 --repetitions 2 "
            "--noise-readouts 1000"),
        0)
        << text("err");
  }
  nlohmann::json report() const { return nlohmann::json::parse(text("out.json"))["images"][0]; }
};

TEST_F(NoiseMapCommand, numbers_that_make_no_sense_are_refused) {
  for (const std::string wrong : {"nan", "0", "-2", "2.5", "inf", "exactly"}) {
    EXPECT_EQ(recon("--repetitions 0 --noise-map " + wrong), 2) << wrong;
    EXPECT_EQ(text("err"), "fhd: --noise-map: expected a number of replicas, or exact, found '" + wrong +
                               "'; 100 tell the deviation to 5 %\n");
    EXPECT_FALSE(exists("out.json"));
  }
  for (const std::string wrong : {"1", "100001", "1000000000"}) {
    EXPECT_EQ(recon("--repetitions 0 --noise-map " + wrong), 2) << wrong;
    EXPECT_EQ(text("err"), "fhd: --noise-map: expected 2 ... 100000 replicas, found " + wrong + "\n");
  }
}

TEST_F(NoiseMapCommand, several_volumes_and_what_is_no_lattice_are_refused) {
  EXPECT_EQ(recon("--noise-map 4"), 1);
  EXPECT_EQ(text("err"),
            "fhd: --noise-map: expected one volume, found 2; choose one with --repetitions and --slices\n");
  const std::map<std::string, std::string> others{
      {"--method gridded --allow-folding", "a method other than cg"},
      {"--regularizer wavelet:0.01", "--regularizer wavelet"}};
  for (const auto& [other, words] : others) {
    EXPECT_EQ(recon("--repetitions 0 --noise-map exact " + other), 2);
    EXPECT_EQ(text("err"), "fhd: --noise-map exact: does not go together with " + words +
                               "; ask for a number of replicas, such as 100\n");
    EXPECT_EQ(text("out"), "") << "nothing was begun";
  }
  EXPECT_FALSE(exists("out.json"));
  EXPECT_FALSE(exists("out_noise.nii.gz"));
}

TEST_F(NoiseMapCommand, an_image_is_written_although_its_noise_cannot_be_told) {
  ASSERT_EQ(run("simulate -o scan --trajectory cartesian --matrix 16 --coils 1 --undersampling 2 "
                "--noise-readouts 1000"),
            0)
      << text("err");
  EXPECT_DONE(recon("--noise-map exact --lambda 0 --allow-folding"));
  EXPECT_NE(text("out").find(
                "note      the maps of the noise were not made: exact noise map: expected coils that tell "
                "the 2 aliases of a voxel apart"),
            std::string::npos)
      << text("out");
  EXPECT_TRUE(exists("out.nii.gz"));
  EXPECT_FALSE(exists("out_noise.nii.gz"));
  EXPECT_LACKS(text("out"), "out_noise.nii.gz");
}

TEST_F(NoiseMapCommand, says_how_uncertain_it_is) {
  ASSERT_DONE(recon("--repetitions 0 --noise-map 3 --quiet"));
  ASSERT_DONE(run("simulate -o few --matrix 16 --coils 2 --noise-readouts 1"));
  ASSERT_DONE(run("recon few.h5 -o out --force --device cpu --noise-map 2"));
  EXPECT_CONTAINS(text("out"),
                  "the level of the noise is from 1 sample of each coil, which tell its deviation to 50 %");
  EXPECT_CONTAINS(text("out"), "of 2 pseudo-replicas (a voxel's deviation to 50 %)");
  ASSERT_DONE(recon("--force --repetitions 0 --noise-map exact --iterations 1"));
  EXPECT_CONTAINS(text("out"), "exact of the converged image, and this one stopped before");
}

TEST_F(NoiseMapCommand, maps_are_written_beside_the_image_and_summed_up) {
  for (const auto& [how, method] : {std::pair{"exact", "exact"}, std::pair{"8", "pseudo-replicas"}}) {
    ASSERT_DONE(recon(std::string("--repetitions 1 --noise-map ") + how));
    for (const char* name : {"out_noise.nii.gz", "out_snr.nii.gz", "out_gfactor.nii.gz"}) {
      EXPECT_TRUE(exists(name)) << name;
      EXPECT_NE(text("out").find(name), std::string::npos) << name;
    }
    const auto noise = report()["noise"];
    EXPECT_EQ(noise["method"], method);
    EXPECT_GT(noise["deviation"].get<double>(), 0);
    EXPECT_GT(noise["g_factor"].get<double>(), 0.5);
    EXPECT_TRUE(noise["noise_is_measured"]);
    EXPECT_EQ(noise["point_widths"].size(), 5u);
    const auto file = io::hdf5::File::open(path("out.h5"));
    for (const char* name : {"/noise/standard_deviation", "/noise/snr", "/noise/g_factor"})
      EXPECT_TRUE(file.has(name));
  }
  ASSERT_DONE(run("report out.h5"));
  EXPECT_CONTAINS(text("out.html"), "Noise and sharpness");
  ASSERT_DONE(recon("--repetitions 1"));
  EXPECT_CONTAINS(text("out"), "out_snr.nii.gz is of an earlier run; this one makes none");
}

TEST_F(NoiseMapCommand, a_file_of_another_result_is_left_alone) {
  ASSERT_DONE(run("recon scan.h5 -o out_noise --device cpu --repetitions 0"));
  EXPECT_EQ(run("recon scan.h5 -o out --device cpu --repetitions 0 --noise-map 2"), 1);
  EXPECT_CONTAINS(text("err"), "out_noise");
  EXPECT_FALSE(exists("out.json"));
}

}  // namespace
}  // namespace fhd::tests
