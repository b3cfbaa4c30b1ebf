// Frames of continuous acquisitions, DICOM, ISMRMRD images and maps of the noise in fhd batch.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "io/result/results.hpp"
#include "validation/tests/program.hpp"

namespace fhd::tests {
namespace {

namespace fs = std::filesystem;

class BatchProducts : public SmallScanTest {
 protected:
  void prepare() override {
    fs::create_directory(path("scans"));
    for (const char* name : {"a", "b"})
      ASSERT_DONE(run(std::string("simulate -o ") + name +
                      " --matrix 24 --coils 3 --readouts 200 --breaths 8 --bins 3 --seed " +
                      (*name == 'a' ? "1" : "2")));
    for (const char* name : {"a.h5", "b.h5"}) fs::rename(path(name), path(std::string("scans/") + name));
  }
  int batch(const std::string& arguments) const {
    return run("batch scans -o results --device cpu --cache off " + arguments);
  }
  /// Returns whether the program was built with DCMTK.
  bool has_dicom() const { return fs::exists(fs::path(program()).parent_path() / "fhd_dicom.so"); }
  bool summary_says(const std::string& words) const { return text("out").find(words) != std::string::npos; }
  int recon(const std::string& arguments) const {
    return run("recon scans/a.h5 -o alone --force --device cpu " + arguments);
  }
  nlohmann::json row(const std::string& name) const {
    const auto summary = nlohmann::json::parse(text("results/summary.json"));
    for (const auto& scan : summary.at("scans"))
      if (scan.at("name") == name) return scan;
    ADD_FAILURE() << name << " is not in the summary";
    return {};
  }
};

TEST_F(BatchProducts, frames_are_those_of_recon) {
  for (const std::string options :
       {"--spokes-per-frame 13 --sliding 8 --regularizer llr:0.01", "--gate a.motion.txt --phase --strict"}) {
    ASSERT_EQ(batch(options), 0) << options << text("err") << text("out");
    ASSERT_EQ(recon(options), 0) << options << text("err");
    const auto made = io::read_image(path("results/a.h5")), alone = io::read_image(path("alone.h5"));
    ASSERT_EQ(made.images.size(), alone.images.size());
    for (std::size_t i = 0; i < made.images.size(); ++i) {
      const auto &ours = made.images[i].values, &theirs = alone.images[i].values;
      EXPECT_TRUE(std::equal(ours.begin(), ours.end(), theirs.begin())) << i;
    }
    EXPECT_EQ(row("a")["images"], made.images.size()) << options;
  }
}

TEST_F(BatchProducts, frames_are_made_again_where_the_options_or_the_signal_differ) {
  const std::string options = "--gate a.motion.txt --frames 3";
  ASSERT_DONE(batch(options));
  ASSERT_DONE(batch(options));
  EXPECT_EQ(row("a")["status"], "unchanged");
  fs::rename(path("b.motion.txt"), path("moved.txt"));
  std::ofstream(path("a.motion.txt"), std::ios::app) << "\n";
  ASSERT_DONE(batch(options));
  EXPECT_EQ(row("a")["status"], "finished") << "another content";
  ASSERT_DONE(batch("--gate a.motion.txt --frames 4"));
  EXPECT_EQ(row("a")["status"], "finished") << "another number";
  EXPECT_EQ(io::read_image(path("results/b.h5")).repetition_count, 4);
}

TEST_F(BatchProducts, frames_are_made_of_some_scans_by_a_recipe_and_what_cannot_be_fails_alone) {
  ASSERT_DONE(run("simulate -o scans/c --matrix 24 --coils 3 --repetitions 2"));
  for (const char* ending : {".truth.h5", ".truth.png"}) fs::remove(path(std::string("scans/c") + ending));
  std::ofstream(path("recipe.toml")) << "[\"[ac]\"]\nframes = 4\nregularizer = \"temporal-tv:0.02\"\n";
  EXPECT_EQ(batch("--recipe recipe.toml"), 1);
  EXPECT_EQ(io::read_image(path("results/a.h5")).repetition_count, 4);
  EXPECT_EQ(io::read_image(path("results/b.h5")).repetition_count, 1);
  EXPECT_EQ(row("c")["status"], "failed");
  EXPECT_EQ(row("c")["why"],
            "--frames, --spokes-per-frame and --gate: expected one repetition, found 2; choose it: "
            "--repetitions 0");
  EXPECT_FALSE(exists("results/c.h5"));
  EXPECT_EQ(batch("--frames 999"), 1) << "more than readouts";
  EXPECT_NE(row("a").value("why", "").find("--frames"), std::string::npos) << row("a");
}

TEST_F(BatchProducts, a_dicom_series_that_lost_a_file_is_made_again) {
  if (!has_dicom()) GTEST_SKIP() << "fhd was built without DCMTK";
  ASSERT_DONE(batch("--dicom"));
  for (const char* name : {"a", "b"})
    EXPECT_TRUE(fs::is_regular_file(path(std::string("results/") + name + "_dicom/image_0001.dcm"))) << name;
  ASSERT_DONE(batch("--dicom"));
  EXPECT_TRUE(summary_says("2 unchanged")) << text("out");
  fs::remove(path("results/a_dicom/image_0001.dcm"));
  ASSERT_DONE(batch("--dicom"));
  EXPECT_TRUE(summary_says("1 unchanged")) << text("out");
  EXPECT_TRUE(fs::is_regular_file(path("results/a_dicom/image_0001.dcm")));
}

TEST_F(BatchProducts, a_folder_of_others_is_not_replaced_by_dicom) {
  if (!has_dicom()) GTEST_SKIP() << "fhd was built without DCMTK";
  fs::create_directories(path("results/a_dicom"));
  std::ofstream(path("results/a_dicom/letter.txt")) << "mine";
  EXPECT_EQ(batch("--dicom"), 1);
  EXPECT_EQ(text("results/a_dicom/letter.txt"), "mine");
  EXPECT_FALSE(exists("results/a.h5"));
  EXPECT_TRUE(exists("results/b_dicom/image_0001.dcm")) << text("err");
}

TEST_F(BatchProducts, images_for_viewers_and_noise_maps_are_products) {
  ASSERT_DONE(batch("--ismrmrd-images --noise-map 4 --regularizer identity"));
  for (const char* ending : {"_images.h5", "_noise.nii.gz", "_snr.nii.gz"}) {
    const auto file = path(std::string("results/b") + ending);
    EXPECT_TRUE(fs::remove(file)) << ending;
    ASSERT_DONE(batch("--ismrmrd-images --noise-map 4 --regularizer identity"));
    EXPECT_TRUE(summary_says("1 finished, 1 unchanged") && fs::exists(file)) << text("out");
  }
  EXPECT_EQ(batch("--noise-map 4 --frames 2"), 2);
}

}  // namespace
}  // namespace fhd::tests
