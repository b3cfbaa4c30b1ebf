// `fhd recon` and `fhd batch --field-map auto`, and the warning that names it.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "io/result/results.hpp"
#include "validation/doctor/diagnosis.hpp"
#include "validation/metrics.hpp"
#include "validation/tests/program.hpp"

namespace fhd::tests {
namespace {

Array<Complex<double>> magnitudes_of(const Image& image) {
  auto values = values_of<double>(image);
  for (auto& value : values) value = {abs(value), 0};
  return values;
}

class FieldMapAuto : public SmallScanTest {
 protected:
  void simulate(const std::string& name, const std::string& more) const {
    ASSERT_DONE(run("simulate -o " + name + " --matrix 32 --coils 4 --snr 30 --trajectory spiral " + more));
  }
  Image recon(const std::string& scan, const std::string& options) const {
    EXPECT_EQ(
        run("recon " + scan + ".h5 -o out --force --device cpu --repetitions 0 --iterations 10 " + options),
        0)
        << text("err");
    return io::read_image(path("out.h5")).images.front();
  }
  /// Relative l2 of the magnitude after the best scale.
  double error_of(const Image& image, const std::string& scan) const {
    const Image truth = io::read_image(path(scan + ".truth.h5")).images.front();
    return metrics::nrmse_best_scale(magnitudes_of(image), magnitudes_of(truth));
  }
  static double difference(const Image& a, const Image& b) {
    return metrics::relative_l2(values_of<double>(a), values_of<double>(b));
  }
  void expect_refused(const std::string& arguments, int status, const std::string& words) const {
    expect_failure("recon " + arguments + " -o none --device cpu", status, words);
    EXPECT_FALSE(exists("none.h5"));
  }
};

TEST_F(FieldMapAuto, gives_the_image_of_a_scan_without_a_field) {
  const std::string echoes = "--interleaves 2 --echo-times 2.3,6.9";  // long readouts
  simulate("field", "--field-hz 100 " + echoes);
  simulate("even", echoes);
  const double even = error_of(recon("even", ""), "even");
  EXPECT_LE(error_of(recon("field", "--field-map auto"), "field"), 1.2 * even);
  EXPECT_CONTAINS(text("out"),
                  "Hz was found in the echoes at 2.3, 6.9 ms; known but for multiples of 217 Hz");
  const auto report = nlohmann::json::parse(text("out.json"));
  EXPECT_NE(report["images"][0]["messages"].dump().find("was found in the echoes"), std::string::npos);
  EXPECT_NE(report["environment"]["command_line"].dump().find("--field-map auto"), std::string::npos);
  EXPECT_GT(error_of(recon("field", ""), "field"), 1.5 * even);
}

TEST_F(FieldMapAuto, is_the_map_of_the_command_beside_it) {
  simulate("field", "--field-hz 100 --interleaves 2 --echo-times 2.3,6.9");
  ASSERT_DONE(run("fieldmap field.h5 -o b0.h5 --device cpu"));
  EXPECT_LE(difference(recon("field", "--field-map auto"), recon("field", "--field-map b0.h5")), 1e-6);
  // Echoes keep their phase whatever the image is solved with.
  EXPECT_DONE(run("recon field.h5 -o sparse --device cpu --field-map auto --regularizer tv:0.005"));
}

TEST_F(FieldMapAuto, of_echoes_nearer_than_any_are_is_refused_and_no_field_is_told) {
  simulate("near", "--field-hz 100 --interleaves 2 --echo-times 2.3,2.31");  // TE in s would look so
  expect_refused("near.h5 --field-map auto", 1,
                 "echoes at times 0.1 ms or more apart, found 2.3 and 2.31 ms");
  EXPECT_DONE(run("recon near.h5 -o out --device cpu --repetitions 0 --iterations 3"));
  EXPECT_LACKS(text("err"), "off-resonance");
}

TEST_F(FieldMapAuto, corrects_frames) {
  simulate("field", "--field-hz 100 --interleaves 4 --echo-times 2.3,6.9");
  ASSERT_DONE(run("fieldmap field.h5 -o b0.h5 --device cpu"));
  const std::string frames = "--frames 2 --regularizer identity:0.01,temporal-tv:0.01 ";
  const Image corrected = recon("field", frames + "--field-map auto");
  const auto report = nlohmann::json::parse(text("out.json"));
  ASSERT_EQ(report["images"].size(), 2u);
  EXPECT_TRUE(report["images"][1]["certificate"]["passed"]);
  EXPECT_NE(report["images"][0]["messages"].dump().find("was found in the echoes"), std::string::npos);
  EXPECT_NE(report["images"][0]["messages"].dump().find("off-resonance: "), std::string::npos);
  EXPECT_LE(difference(corrected, recon("field", frames + "--field-map b0.h5")), 1e-6);
  // Half of the readouts: most of the error is not of the field.
  EXPECT_LE(error_of(corrected, "field"),
            0.95 * error_of(recon("field", frames + "--field-map off"), "field"));
}

TEST_F(FieldMapAuto, off_leaves_out_the_map_of_the_scan) {
  simulate("field", "--field-hz 100 --interleaves 2 --echo-times 2.3");
  ASSERT_DONE(run("convert field.h5 own.h5 --to fhd --field-map field.field.h5"));
  const Image uncorrected = recon("field", ""), corrected = recon("own", "");
  EXPECT_LE(difference(recon("own", "--field-map off"), uncorrected), 1e-6);
  EXPECT_GT(difference(corrected, uncorrected), 0.05);
}

TEST_F(FieldMapAuto, is_named_where_echoes_show_that_the_image_suffers) {
  const std::string words = "The echoes show off-resonance up to ", remedy = "--field-map auto";
  simulate("strong", "--field-hz 100 --interleaves 2 --echo-times 2.3,6.9");
  ASSERT_EQ(run("check strong.h5"), 0);
  EXPECT_CONTAINS(text("out"), "warning   " + words);
  EXPECT_CONTAINS(text("out"), remedy);
  recon("strong", "");
  EXPECT_CONTAINS(text("err"), "warning: image 1: " + words);
  EXPECT_EQ(run("recon strong.h5 -o none --device cpu --strict"), 1);
  EXPECT_EQ(run("batch strong.h5 -o results --device cpu --cache off --strict"), 1);
  recon("strong", "--field-map auto");
  EXPECT_LACKS(text("err"), words);
  recon("strong", "--field-map off");
  EXPECT_NE(text("err").find(words), std::string::npos) << "what is lost is still told: " << text("err");
  simulate("weak", "--field-hz 10 --interleaves 2 --echo-times 2.3,6.9");
  ASSERT_EQ(run("check weak.h5"), 0);
  EXPECT_LACKS(text("out"), words);
  simulate("one", "--field-hz 100 --interleaves 2 --echo-times 2.3");
  ASSERT_EQ(run("check one.h5"), 0);
  EXPECT_LACKS(text("out"), words);
}

TEST_F(FieldMapAuto, of_a_batch_is_each_scans_own) {
  std::filesystem::create_directory(path("scans"));
  for (const std::string hz : {"60", "100"})
    simulate("scans/s" + hz, "--field-hz " + hz +
                                 " --interleaves 2 --echo-times 2.3,6.9 && rm scans/*.truth.h5 "
                                 "scans/*.field.h5");
  simulate("scans/one", "--interleaves 2 && rm scans/*.truth.h5");
  EXPECT_EQ(run("batch scans -o results --device cpu --cache off --iterations 10 --field-map auto"), 1)
      << "of one echo";
  EXPECT_CONTAINS(text("results/summary.json"), "two or more echoes");
  for (const std::string name : {"s60", "s100"}) {
    const Image alone = recon("scans/" + name, "--field-map auto"),
                together = io::read_image(path("results/" + name + ".h5")).images.front();
    EXPECT_LE(difference(together, alone), 1e-6) << name;
  }
}

TEST_F(FieldMapAuto, what_it_cannot_do_is_refused_in_one_line) {
  simulate("one", "--echo-times 2.3");
  expect_refused(
      "one.h5 --field-map auto", 1,
      "--field-map auto: expected a scan of two or more echoes (ISMRMRD: contrasts), found one echo in "
      "one.h5; make the map of several scans with 'fhd fieldmap'");
  simulate("untold", "--repetitions 2");
  ASSERT_DONE(run("convert untold.h5 plain.h5 --to fhd"));
  expect_refused(
      "plain.h5 --field-map auto", 1,
      "expected an echo time (TE) of each echo, found none in the header of plain.h5; make the map with "
      "'fhd fieldmap --echo-times MS,MS...'");
  simulate("echoes", "--echo-times 2.3,6.9");
  expect_refused("echoes.h5 --field-map auto --method gridded", 2,
                 "--field-map auto: does not go together with a method other than cg");
  expect_refused("echoes.h5 --field-map auto --frames 3", 1,
                 "expected one repetition, found 2; choose it: --repetitions 0");
  expect_refused("echoes.h5 --field-map auto --field-map-unit hz", 2, "--field-map-unit");
  expect_refused("echoes.h5 --field-map auto --coils none", 1, "expected sensitivity maps, or one coil");
  EXPECT_EQ(run("check echoes.h5 --field-map auto"), 2);
  EXPECT_CONTAINS(text("err"), "which 'fhd recon' and 'fhd batch' alone take");
}

}  // namespace
}  // namespace fhd::tests
