// fhd batch with --dicom, --ismrmrd-images and --noise-map: their files are products of a scan, too.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "validation/tests/program.hpp"

namespace fhd::tests {
namespace {

namespace fs = std::filesystem;

class BatchFormats : public SmallScanTest {
 protected:
  void prepare() override {
    fs::create_directory(path("scans"));
    for (const char* name : {"a", "b"}) {
      ASSERT_EQ(run(std::string("simulate -o ") + name +
                    " --matrix 16 --coils 2 --noise-readouts 64 --seed " + (*name == 'a' ? "1" : "2")),
                0)
          << text("err");
      fs::rename(path(std::string(name) + ".h5"), path(std::string("scans/") + name + ".h5"));
    }
  }
  int batch(const std::string& arguments) const {
    return run("batch scans -o results --device cpu --cache off " + arguments);
  }
  /// Returns whether the program was built with DCMTK.
  bool has_dicom() const { return fs::exists(fs::path(program()).parent_path() / "fhd_dicom.so"); }
  bool summary_says(const std::string& words) const { return text("out").find(words) != std::string::npos; }
};

TEST_F(BatchFormats, a_dicom_series_that_lost_a_file_is_made_again) {
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

TEST_F(BatchFormats, a_folder_of_others_is_not_replaced_by_dicom) {
  if (!has_dicom()) GTEST_SKIP() << "fhd was built without DCMTK";
  fs::create_directories(path("results/a_dicom"));
  std::ofstream(path("results/a_dicom/letter.txt")) << "mine";
  EXPECT_EQ(batch("--dicom"), 1);
  EXPECT_EQ(text("results/a_dicom/letter.txt"), "mine");
  EXPECT_FALSE(exists("results/a.h5"));
  EXPECT_TRUE(exists("results/b_dicom/image_0001.dcm")) << text("err");
}

TEST_F(BatchFormats, images_for_viewers_and_noise_maps_are_products) {
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
