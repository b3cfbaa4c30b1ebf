// --partial-fourier of simulate and recon: what is refused, in one line, and what is told.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "validation/tests/program.hpp"

namespace fhd::tests {
namespace {

class PartialFourierCommand : public ReconTest {
 protected:
  void prepare() override {
    ASSERT_EQ(run("simulate -o scan --trajectory cartesian --matrix 64 --coils 2 --partial-fourier 0.625 "
                  "--repetitions 2"),
              0)
        << text("err");
  }
};

TEST_F(PartialFourierCommand, is_told_with_a_certificate_and_a_verdict) {
  ASSERT_DONE(recon("--partial-fourier phase --strict"));
  EXPECT_NE(
      text("out").find("note      partial Fourier: k-space reaches 8 cycles/FOV on one side and 31 on the "
                       "other; the image is real but for the phase of the centre"),
      std::string::npos)
      << text("out");
  const auto images = nlohmann::json::parse(text("out.json"))["images"];
  ASSERT_EQ(images.size(), 2u);
  for (const auto& image : images) {
    EXPECT_EQ(image["settings"]["partial Fourier"], "phase");
    EXPECT_TRUE(image["certificate"]["passed"]) << image["certificate"].dump();
  }
  ASSERT_DONE(run("check scan.h5"));
  EXPECT_CONTAINS(text("out"), "-> --partial-fourier phase, where the phase of the object is smooth");
  ASSERT_EQ(recon(""), 0);
  EXPECT_FALSE(nlohmann::json::parse(text("out.json"))["images"][0]["settings"].contains("partial Fourier"));
}

TEST_F(PartialFourierCommand, refuses_what_does_not_go_together) {
  const auto refused = [&](const std::string& arguments, const std::string& line) {
    EXPECT_NE(recon("--partial-fourier phase " + arguments), 0) << arguments;
    EXPECT_EQ(text("err"), "fhd: " + line + "\n");
    EXPECT_FALSE(exists("out.json")) << arguments;
  };
  for (const std::string method : {"gridded", "adjoint", "fft"})
    refused("--method " + method, "--partial-fourier with --method " + method +
                                      ": these options contradict each other; leave out --partial-fourier");
  refused("--regularizer wavelet:0.01",
          "--partial-fourier phase: does not go together with --regularizer wavelet; leave one of them out");
  refused("--lambda auto",
          "--partial-fourier phase: does not go together with --lambda auto; leave one of them out");
  refused("--repetitions 0 --noise-map 10",
          "--partial-fourier phase: does not go together with --noise-map; leave one of them out");
  refused("--frames 2 --repetitions 0",
          "--partial-fourier phase: does not go together with frames; leave one of them out");
  ASSERT_EQ(run("simulate -o scan --trajectory cartesian --matrix 32 --coils 2"), 0);
  refused(
      "",
      "--partial-fourier phase: expected a scan that leaves out most of one side of k-space, found one that "
      "reaches as far on both sides; leave it out: nothing is missing that it could fill in");
}

TEST_F(PartialFourierCommand, simulate_refuses_shares_that_make_no_sense) {
  for (const std::string wrong : {"0.5", "1.1", "nan", "-1"}) {
    EXPECT_NE(run("simulate -o other --trajectory cartesian --matrix 16 --partial-fourier " + wrong), 0);
    EXPECT_EQ(
        text("err").find("fhd: partial Fourier: expected a share of k-space above 0.5 and up to 1, such as "
                         "0.625, found "),
        0u)
        << text("err");
  }
  EXPECT_NE(run("simulate -o other --matrix 16 --partial-fourier 0.7"), 0);
  EXPECT_EQ(text("err"),
            "fhd: golden-radial trajectory: expected the whole of k-space, found partial Fourier; leave "
            "--partial-fourier out, or use --trajectory cartesian\n");
  EXPECT_FALSE(exists("other.h5"));
}

}  // namespace
}  // namespace fhd::tests
