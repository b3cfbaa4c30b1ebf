// Gradient delays as a user meets them: --delay, --trajectory-correction, fhd check.
#include <gtest/gtest.h>

#include <string>

#include "io/result/results.hpp"
#include "validation/metrics.hpp"
#include "validation/tests/program.hpp"

namespace {

using namespace fhd;

class DelaysCommand : public tests::ProgramTest {
 protected:
  /// A radial scan of 32 x 32 voxels; `more` options of it.
  void simulate(const std::string& more) const {
    ASSERT_DONE(run("simulate -o scan --matrix 32 --coils 4 --snr 20 " + more));
  }
  Image recon(const std::string& options) const {
    EXPECT_DONE(run("recon scan.h5 -o out --force --device cpu " + options));
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
  EXPECT_CONTAINS(text("out"), "note      the trajectory was corrected for gradient delays of 0.6");
  EXPECT_CONTAINS(text("out.json"), "corrected for gradient delays");
  // Noise is the same, its place in k-space is not; the maps are found anew.
  EXPECT_LE(difference(corrected, undelayed), 0.05);
  EXPECT_GT(difference(delayed, undelayed), 0.1);
  EXPECT_LE(difference(recon("--trajectory-correction 0.6,-0.3"), corrected), 0.01);
}

TEST_F(DelaysCommand, check_warns_where_they_matter) {
  simulate("--delay 0.6,-0.3");
  ASSERT_EQ(run("check scan.h5"), 0);
  EXPECT_CONTAINS(text("out"), "warning   Gradient delays of 0.6");
  EXPECT_CONTAINS(text("out"), "--trajectory-correction auto");
  simulate("");
  ASSERT_EQ(run("check scan.h5"), 0);
  EXPECT_LACKS(text("out"), "warning   Gradient delays");
}

TEST_F(DelaysCommand, recon_warns_of_them) {
  ASSERT_EQ(
      run("simulate -o scan --matrix 48 --coils 4 --trajectory variable-density-spiral --delay 0.6,-0.4"), 0);
  ASSERT_DONE(run("recon scan.h5 -o out --device cpu"));
  EXPECT_CONTAINS(text("out"), "likeliest cause: readouts are 0.6");
  EXPECT_CONTAINS(text("err"), "--trajectory-correction 0.6");
  EXPECT_EQ(run("recon scan.h5 -o strict --device cpu --strict"), 1);
  EXPECT_CONTAINS(text("err"), "readouts are 0.6");
  EXPECT_FALSE(exists("strict.h5"));
  EXPECT_DONE(run("recon scan.h5 -o strict --device cpu --strict --trajectory-correction auto"));
  EXPECT_EQ(run("batch scan.h5 -o results --device cpu --cache off --strict"), 1);
}

TEST_F(DelaysCommand, values_that_are_none_are_refused) {
  simulate("");
  for (const std::string value : {"0.5", "sometimes", "1,2,3,4", "nan,1", "1,inf", "1e9,0", "1,", "'1 ,2'"}) {
    EXPECT_EQ(run("recon scan.h5 -o none --trajectory-correction=" + value), 2) << value;
    EXPECT_EQ(text("err").find("fhd: --trajectory-correction: expected"), 0u) << text("err");
    EXPECT_EQ(run("simulate -o none --delay=" + value), 2) << value;
    EXPECT_EQ(text("err").find("fhd: --delay: expected"), 0u) << text("err");
  }
  EXPECT_FALSE(exists("none.h5"));
}

}  // namespace
