// Gradient delays as a user meets them: --delay, --trajectory-correction, fhd check.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "io/result/results.hpp"
#include "io/scan/scan_file.hpp"
#include "validation/metrics.hpp"
#include "validation/tests/program.hpp"

namespace {

using namespace fhd;

class DelaysCommand : public tests::ProgramTest {
 protected:
  /// A radial scan of 32 x 32 voxels; `more` options of it.
  void simulate(const std::string& more) const {
    ASSERT_EQ(run("simulate -o scan --matrix 32 --coils 4 --snr 20 " + more), 0) << text("err");
  }
  Image recon(const std::string& options) const {
    EXPECT_EQ(run("recon scan.h5 -o out --force --device cpu " + options), 0) << text("err");
    return io::read_image(path("out.h5")).images.front();
  }
  static double difference(const Image& a, const Image& b) {
    return metrics::relative_l2(values_of<double>(a), values_of<double>(b));
  }
};

TEST_F(DelaysCommand, recon_finds_and_corrects_them_before_calibration) {
  simulate("--no-maps");
  const Image undelayed = recon("");
  simulate("--no-maps --delay 0.6,-0.3");
  const Image delayed = recon(""), corrected = recon("--trajectory-correction auto");
  EXPECT_NE(text("out").find("note      the trajectory was corrected for gradient delays of 0.6"),
            std::string::npos)
      << text("out");
  EXPECT_NE(text("out.json").find("corrected for gradient delays"), std::string::npos);
  // Noise is the same, its place in k-space is not; the maps are found anew.
  EXPECT_LE(difference(corrected, undelayed), 0.05);
  EXPECT_GT(difference(delayed, undelayed), 0.1);
  EXPECT_LE(difference(recon("--trajectory-correction 0.6,-0.3"), corrected), 0.01);
}

TEST_F(DelaysCommand, are_corrected_in_calibration_readouts_too) {
  // So small that no sample leaves the matrix.
  const std::string correction = "--trajectory-correction 0.12,-0.1";
  simulate("--no-maps");
  const Image of_centre = recon(correction);
  auto series = io::read_all(*io::open_scan(path("scan.h5")));
  Scan& scan = series.scans.front();
  scan.calibration = Calibration{scan.trajectory, scan.kspace};
  io::write_scan(path("scan.h5"), io::ScanFormat::fhd, series);
  EXPECT_LE(difference(recon(correction), of_centre), 1e-6) << "its own samples as calibration";
}

TEST_F(DelaysCommand, of_zero_leave_the_image_as_it_is) {
  simulate("--delay 0.6,-0.3");
  const Image untouched = recon(""), zero = recon("--trajectory-correction 0,0"),
              off = recon("--trajectory-correction off");
  EXPECT_TRUE(std::equal(zero.values.begin(), zero.values.end(), untouched.values.begin()));
  EXPECT_TRUE(std::equal(off.values.begin(), off.values.end(), untouched.values.begin()));
}

TEST_F(DelaysCommand, check_warns_where_they_matter) {
  simulate("--delay 0.6,-0.3");
  ASSERT_EQ(run("check scan.h5"), 0);
  EXPECT_NE(text("out").find("warning  Gradient delays of 0.6"), std::string::npos) << text("out");
  EXPECT_NE(text("out").find("--trajectory-correction auto"), std::string::npos);
  simulate("");
  ASSERT_EQ(run("check scan.h5"), 0);
  EXPECT_EQ(text("out").find("warning  Gradient delays"), std::string::npos) << text("out");
}

TEST_F(DelaysCommand, recon_warns_of_them_as_check_does) {
  ASSERT_EQ(run("simulate -o scan --matrix 48 --coils 4 --trajectory variable-density-spiral --delay 0.6,-0.4"), 0);
  ASSERT_EQ(run("recon scan.h5 -o out --device cpu"), 0) << text("err");
  EXPECT_NE(text("out").find("data explained"), std::string::npos) << "the verdict alone does not tell";
  EXPECT_NE(text("err").find("warning: image 1: Gradient delays of 0.6"), std::string::npos) << text("err");
  EXPECT_EQ(run("recon scan.h5 -o strict --device cpu --strict"), 1);
  EXPECT_NE(text("err").find("Gradient delays of 0.6"), std::string::npos) << text("err");
  EXPECT_FALSE(std::filesystem::exists(path("strict.h5")));
  EXPECT_EQ(run("recon scan.h5 -o strict --device cpu --strict --trajectory-correction auto"), 0) << text("err");
  EXPECT_EQ(run("batch scan.h5 -o results --device cpu --cache off --strict"), 1);
}

TEST_F(DelaysCommand, hide_no_object_beyond_the_field_of_view) {
  ASSERT_EQ(run("simulate -o scan --matrix 48 --coils 4 --trajectory radial --delay 0.5,-0.4"), 0);
  recon("");
  EXPECT_NE(text("err").find("likeliest cause: a gradient delay: the trajectory is ahead of the data. "
                             "Remedy: --trajectory-correction auto."),
            std::string::npos)
      << text("err");
  EXPECT_EQ(text("err").find("beyond the field of view"), std::string::npos) << text("err");
}

TEST_F(DelaysCommand, too_long_to_be_found_are_given_by_hand) {
  ASSERT_EQ(run("simulate -o scan --matrix 48 --coils 4 --delay 4,4"), 0);
  recon("--trajectory-correction auto");
  EXPECT_NE(text("out").find("the trajectory was not corrected for gradient delays"), std::string::npos);
  EXPECT_EQ(text("err").find("Remedy: --trajectory-correction auto."), std::string::npos) << text("err");
  EXPECT_NE(text("err").find("or, where that finds none, with 4,4"), std::string::npos) << text("err");
  recon("--trajectory-correction 4,4");
  EXPECT_EQ(text("err"), "");
  ASSERT_EQ(run("check scan.h5"), 0);
  EXPECT_NE(text("out").find("note     Gradient delays were not found"), std::string::npos) << text("out");
  EXPECT_EQ(run("recon scan.h5 -o none --trajectory-correction 100,100"), 1);
  EXPECT_NE(text("err").find("at least half of the samples"), std::string::npos) << text("err");
}

TEST_F(DelaysCommand, what_cannot_be_corrected_is_said_in_one_line) {
  simulate("--trajectory cartesian");
  recon("--trajectory-correction auto");
  EXPECT_NE(text("out").find(
                "note      the trajectory was not corrected for gradient delays: the scan is Cartesian"),
            std::string::npos)
      << text("out");
}

TEST_F(DelaysCommand, values_that_are_none_are_refused) {
  simulate("");
  for (const std::string value : {"0.5", "sometimes", "1,2,3,4", "nan,1", "1,inf", "1e9,0", "1,", "'1 ,2'"}) {
    EXPECT_EQ(run("recon scan.h5 -o none --trajectory-correction=" + value), 2) << value;
    EXPECT_EQ(text("err").find("fhd: --trajectory-correction: expected"), 0u) << text("err");
    EXPECT_EQ(run("simulate -o none --delay=" + value), 2) << value;
    EXPECT_EQ(text("err").find("fhd: --delay: expected"), 0u) << text("err");
  }
  EXPECT_FALSE(std::filesystem::exists(path("none.h5")));
}

}  // namespace
