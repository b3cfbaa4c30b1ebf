// --regularizer with wavelet, tv and tgv: what is refused, in one line, and what results say.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "validation/tests/program.hpp"

namespace fhd::tests {
namespace {

class SparseCommand : public ReconTest {
 protected:
  void prepare() override { ASSERT_DONE(run("simulate -o scan --matrix 32 --coils 4 --undersampling 2")); }
  nlohmann::json report() const { return nlohmann::json::parse(text("out.json"))["images"][0]; }
  /// A usage error of this line, and no result.
  void expect_refused(const std::string& arguments, const std::string& line) const {
    EXPECT_EQ(recon(arguments), 2) << arguments;
    const auto error = text("err"), help = std::string("; see 'fhd recon --help'");
    EXPECT_TRUE(error == "fhd: " + line + "\n" || error == "fhd: " + line + help + "\n")
        << arguments << ": " << error;
    EXPECT_FALSE(exists("out.json")) << arguments;
  }
};

TEST_F(SparseCommand, terms_that_make_no_sense_are_refused) {
  const std::string strength =
      "--regularizer: expected a strength above 0 behind wavelet, such as wavelet:0.01, or auto, found ";
  for (const char* wrong : {"0", "-1", "nan", "inf", "abc", "1e999", "", "0.1:2"})
    expect_refused(std::string("--regularizer wavelet:") + wrong, strength + "'" + wrong + "'");
  for (const char* wrong : {"1e-7", "11", "1e300"})
    EXPECT_EQ(recon(std::string("--regularizer tv:") + wrong), 2) << wrong;
  expect_refused("--regularizer tv:11",
                 "--regularizer: expected a strength of tv in [1e-6, 10], such as 0.01, found 11");
  expect_refused(
      "--regularizer identity:auto,tv:0.1",
      "--regularizer: expected a strength above 0 behind identity, such as identity:0.01, found 'auto'");
  expect_refused(
      "--regularizer tv,wavelet:auto",
      "--regularizer: expected one strength from the noise (auto) at most, found 2; the noise decides one "
      "number: give the others theirs, such as tv:0.005");
  expect_refused("--regularizer wavlet:0.1",
                 "--regularizer: expected identity, roughness, wavelet, tv, tgv, temporal-tv, llr, found "
                 "'wavlet'; did you mean "
                 "'wavelet'?");
  expect_refused("--regularizer tv:0.1,",
                 "--regularizer: expected identity, roughness, wavelet, tv, tgv, temporal-tv, llr, found ''");
  expect_refused("--regularizer tv:0.1,tgv:1,tv:0.2", "--regularizer: expected tv once, found tv twice");
  expect_refused("--regularizer identity:0.1,roughness:0.1",
                 "--regularizer: expected one of identity and roughness, found both");
  expect_refused(
      "--regularizer identity,tv:0.1",
      "--regularizer: expected a strength behind identity too, such as identity:0.01, found none; in a sum "
      "every term has its own, and --lambda is not taken");
}

TEST_F(SparseCommand, options_that_do_not_go_with_terms_are_refused) {
  const std::string contradict = ": these options contradict each other; ";
  expect_refused("--regularizer tv:0.1 --lambda 0.1",
                 "--lambda with --regularizer tv:0.1" + contradict + "leave out --lambda");
  expect_refused("--regularizer tv:0.1 --lambda auto",
                 "--lambda with --regularizer tv:0.1" + contradict + "leave out --lambda");
  expect_refused("--regularizer identity:0.1 --lambda 0.1",
                 "--lambda with --regularizer identity:0.1" + contradict + "leave out --lambda");
  expect_refused("--regularizer tv:0.1 --method gridded",
                 "--regularizer with --method gridded" + contradict + "leave out --regularizer");
  expect_refused("--regularizer tv:0.1 --prior prior.nii", "--prior with --regularizer tv:0.1" + contradict +
                                                               "add roughness:0.01, which the prior weights");
}

TEST_F(SparseCommand, the_report_tells_terms_solver_and_objective) {
  ASSERT_DONE(recon("--regularizer identity:0.001,wavelet:0.01,tv:0.005"));
  const auto made = report();
  EXPECT_EQ(made["settings"]["regularizer"], "identity,wavelet:0.01,tv:0.005");
  EXPECT_EQ(made["settings"]["lambda"], "0.001 of the mean eigenvalue");
  EXPECT_EQ(made["settings"]["solver"], "ADMM");
  EXPECT_EQ(made["settings"]["iterations"], 100);
  EXPECT_EQ(made["settings"]["tolerance"], 0.005);
  ASSERT_EQ(made["terms"].size(), 2u);
  EXPECT_EQ(made["terms"][0]["name"], "wavelet");
  EXPECT_EQ(made["terms"][1]["strength"], 0.005);
  EXPECT_EQ(made["objectives"].size(), made["relative_residuals"].size());
  EXPECT_LT(made["objectives"].back().get<double>(), 1);
  EXPECT_TRUE(made["certificate"]["passed"]);
  ASSERT_DONE(run("report out.h5"));
  EXPECT_CONTAINS(text("out.html"), "[\"solver\",\"ADMM\"]");
  EXPECT_CONTAINS(text("out.html"), "[\"objective, of that of an image of zeros\",\"0.");
}

TEST_F(SparseCommand, a_floor_is_told_and_identity_0_leaves_it_out) {
  ASSERT_DONE(recon("--regularizer wavelet:0.01"));
  EXPECT_EQ(report()["settings"]["lambda"], "below the noise");
  EXPECT_EQ(report()["settings"]["regularizer"], "wavelet:0.01");
  EXPECT_GT(report()["lambda"].get<double>(), 0);
  EXPECT_CONTAINS(text("out"), "is added as a floor");
  ASSERT_DONE(recon("--regularizer identity:0,wavelet:0.01"));
  EXPECT_EQ(report()["settings"]["lambda"], 0);
  EXPECT_EQ(report()["lambda"], 0);
  EXPECT_LACKS(text("out"), "floor");
  std::filesystem::remove(path("out.json"));
  expect_refused("--regularizer identity:0",
                 "--regularizer: expected a strength above 0 behind identity, such as identity:0.01, found '0'");
}

TEST_F(SparseCommand, a_strength_is_found_and_its_search_told_and_drawn) {
  for (const char* term : {"tv", "tv:auto"}) {
    ASSERT_DONE(recon(std::string("--regularizer wavelet:0.001,") + term));
    const auto made = report();
    EXPECT_EQ(made["settings"]["regularizer"], "wavelet:0.001,tv:auto");
    EXPECT_EQ(made["terms"][0]["strength"], 0.001);
    EXPECT_GT(made["terms"][1]["strength"].get<double>(), 0);
    EXPECT_GE(made["strength_curve"].size(), 4u);
    EXPECT_GT(made["noise_residual"].get<double>(), 0);
    EXPECT_CONTAINS(text("out"), "strength ");
  }
  ASSERT_DONE(run("report out.h5"));
  EXPECT_CONTAINS(text("out.html"), "strength_curve\":[{");
  EXPECT_CONTAINS(text("out.html"), "Choice of the strength");
}

TEST_F(SparseCommand, a_quadratic_term_alone_goes_by_conjugate_gradient_as_ever) {
  ASSERT_DONE(recon("--regularizer identity:0.05"));
  const auto strength = report();
  ASSERT_DONE(recon(""));
  const auto plain = report();
  EXPECT_EQ(strength["relative_residuals"], plain["relative_residuals"]) << "0.05 is the default";
  EXPECT_FALSE(plain.contains("terms"));
  EXPECT_FALSE(plain["settings"].contains("solver"));
}

TEST_F(SparseCommand, a_limit_of_iterations_is_kept_and_told) {
  ASSERT_DONE(recon("--regularizer tgv:0.01 --iterations 3 --tolerance 1e-9"));
  EXPECT_EQ(report()["iterations"], 3);
  EXPECT_FALSE(report()["converged"]);
  EXPECT_CONTAINS(text("out"), "stopped by --iterations");
}

}  // namespace
}  // namespace fhd::tests
