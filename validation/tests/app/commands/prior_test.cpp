// fhd simulate --prior-image, and fhd recon --prior with it.
#include <gtest/gtest.h>

#include "io/result/results.hpp"
#include "validation/metrics.hpp"
#include "validation/tests/program.hpp"

namespace fhd {
namespace {

class PriorCommand : public tests::ProgramTest {
 protected:
  Array<Complex<double>> image(const std::string& options) const {
    EXPECT_DONE(run("recon sodium.h5 -o image " + options));
    return converted<Complex<double>>(io::read_image(path("image.h5")).images.front().values);
  }
};

TEST_F(PriorCommand, a_simulated_prior_image_brings_recon_nearer_to_the_truth) {
  ASSERT_EQ(run("simulate -o sodium --matrix 16 --dimensions 3 --trajectory radial-3d --coils 1 --snr 4 "
                "--prior-image"),
            0)
      << text("err");
  const auto truth =
      converted<Complex<double>>(io::read_image(path("sodium.truth.h5")).images.front().values);
  const std::string roughness = "--regularizer roughness --lambda 1e-3",
                    prior = " --prior sodium.prior.nii.gz";
  const auto plain = image(roughness), weighted = image(roughness + prior);

  EXPECT_CONTAINS(text("out"), "anatomical prior ");
  EXPECT_LE(metrics::nrmse_best_scale(weighted, truth), 0.95 * metrics::nrmse_best_scale(plain, truth));
  // A prior that shows no edge weighs the roughness everywhere alike.
  EXPECT_LE(metrics::relative_l2(image(roughness + prior + " --prior-strength 1e-6"), plain), 1e-5);
}

TEST_F(PriorCommand, what_is_no_nifti_image_is_refused_by_its_name) {
  ASSERT_DONE(run("simulate -o " + path("flat") + " --matrix 12 --coils 1"));
  EXPECT_EQ(run("recon " + path("flat.h5") + " --prior " + path("flat.truth.png") + " -o " + path("image")),
            1);
  EXPECT_CONTAINS(text("err"), "flat.truth.png");
}

}  // namespace
}  // namespace fhd
