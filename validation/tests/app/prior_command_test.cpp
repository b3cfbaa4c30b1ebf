// fhd simulate --prior-image, and fhd recon --prior with it.
#include <gtest/gtest.h>

#include "validation/tests/program.hpp"

namespace fhd {
namespace {

using PriorCommand = tests::ProgramTest;

TEST_F(PriorCommand, a_simulated_prior_image_is_one_that_recon_takes) {
  ASSERT_EQ(run("simulate -o " + path("sodium") +
                " --matrix 16 --dimensions 3 --trajectory radial-3d --coils 1 --snr 4 --prior-image"),
            0)
      << text("err");
  EXPECT_EQ(
      run("recon " + path("sodium.h5") + " --prior " + path("sodium.prior.nii.gz") + " -o " + path("image")),
      0)
      << text("err");
}

}  // namespace
}  // namespace fhd
