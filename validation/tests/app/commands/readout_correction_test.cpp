// Corrects the readouts of a scan as a user asks: --omit-readouts, --omit-coils, --trajectory-scale, --remove-tone.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <string>

#include "io/result/results.hpp"
#include "io/scan/scan_file.hpp"
#include "validation/metrics.hpp"
#include "validation/tests/program.hpp"

namespace {

using namespace fhd;

class ReadoutCorrection : public tests::ProgramTest {
 protected:
  static constexpr int coils = 4, readouts = 50, length = 64;
  void SetUp() override {
    ProgramTest::SetUp();
    ASSERT_DONE(run("simulate -o scan --matrix 32 --coils 4 --snr 50 --readouts 50"));
  }
  /// Writes broken.h5, a copy of scan.h5 that `spoil` has changed.
  template <class Spoil>
  void write_broken(const Spoil& spoil) const {
    const auto file = io::open_scan(path("scan.h5"));
    auto series = io::read_all(*file);
    spoil(series.scans.front());
    io::write_scan(path("broken.h5"), io::ScanFormat::fhd, series);
  }
  Image recon(const std::string& scan, const std::string& options = "") const {
    EXPECT_DONE(run("recon " + scan + " -o out --force --device cpu --lambda 1e-2 " + options));
    return io::read_image(path("out.h5")).images.front();
  }
  /// Returns how far the image of broken.h5 is from that of scan.h5, both with these options.
  double difference(const std::string& options = "") const {
    const auto broken = values_of<double>(recon("broken.h5", options));
    return metrics::relative_l2(broken, values_of<double>(recon("scan.h5", options)));
  }
};

TEST_F(ReadoutCorrection, readouts_are_left_out) {
  write_broken([](Scan& scan) {
    for (const int r : {3, 4, 5, 17})
      for (int c = 0; c < coils; ++c)
        for (int m = 0; m < length; ++m) scan.kspace.values[(c * readouts + r) * length + m].re += 3;
  });
  EXPECT_GT(difference(), 0.05);
  EXPECT_EQ(difference("--omit-readouts 3-5,17"), 0);
  EXPECT_CONTAINS(text("out"), "readouts 3-5,17 were left out");
}

TEST_F(ReadoutCorrection, a_coil_is_left_out_with_its_map) {
  write_broken([](Scan& scan) {
    for (int m = 0; m < readouts * length; ++m) {
      auto& value = scan.kspace.values[2 * readouts * length + m];
      value = {-value.im, value.re};
    }
  });
  EXPECT_GT(difference(), 0.3);
  EXPECT_EQ(difference("--omit-coils 2"), 0);
}

TEST_F(ReadoutCorrection, positions_are_scaled) {
  write_broken([](Scan& scan) {
    for (int m = 0; m < readouts * length; ++m) scan.trajectory.k[m] *= 0.8;
  });
  const auto right = values_of<double>(recon("scan.h5"));
  EXPECT_GT(metrics::relative_l2(values_of<double>(recon("broken.h5")), right), 0.3);
  EXPECT_LT(metrics::relative_l2(values_of<double>(recon("broken.h5", "--trajectory-scale 1.25,1")), right),
            1e-4);
  EXPECT_CONTAINS(text("out"), "k-space positions were multiplied by 1.25, 1, 1");
}

TEST_F(ReadoutCorrection, a_tone_is_taken_off_and_nothing_where_there_is_none) {
  constexpr double turns = 0.137, advance = 0.31;  // cycles/sample; from readout to readout
  double dwell_s = 0;
  write_broken([&](Scan& scan) {
    dwell_s = (*scan.sample_time_s)[1] - (*scan.sample_time_s)[0];
    double energy = 0;
    for (const auto& d : scan.kspace.values) energy += norm(Complex<double>(d));
    const double size = 0.2 * std::sqrt(energy / static_cast<double>(scan.kspace.values.size()));
    for (int i = 0; i < coils * readouts * length; ++i) {
      const double angle = 2 * std::numbers::pi * (turns * (i % length) + advance * (i / length % readouts));
      scan.kspace.values[i] +=
          Complex<float>(Complex<double>{size * std::cos(angle), size * std::sin(angle)});
    }
  });
  const auto right = values_of<double>(recon("scan.h5"));
  const auto error = [&](const std::string& scan, const std::string& options) {
    return metrics::relative_l2(values_of<double>(recon(scan, options)), right);
  };
  const double before = error("broken.h5", "");
  EXPECT_GT(before, 0.05);
  EXPECT_LT(error("broken.h5", "--remove-tone auto"), before / 20);
  EXPECT_CONTAINS(text("out"), "was taken off the samples: 19.6");
  EXPECT_LT(error("broken.h5", "--remove-tone " + std::to_string(turns / dwell_s)), before / 20);
  EXPECT_EQ(error("scan.h5", "--remove-tone auto"), 0);
  EXPECT_CONTAINS(text("out"), "no tone was found");
}

TEST_F(ReadoutCorrection, numbers_that_are_none_are_refused) {
  for (const std::string option :
       {"--omit-readouts=50", "--omit-readouts=all", "--omit-readouts=x", "--omit-coils=4",
        "--omit-coils=0-3", "--omit-coils=-1", "--trajectory-scale=0", "--trajectory-scale=nan",
        "--trajectory-scale=1,2,3,4", "--remove-tone=x", "--remove-tone=nan", "--remove-tone=1e9"}) {
    EXPECT_NE(run("recon scan.h5 -o none " + option), 0) << option;
    EXPECT_CONTAINS(text("err"), option.substr(0, option.find('=')) + ": expected");
  }
  EXPECT_FALSE(exists("none.h5"));
}

}  // namespace
