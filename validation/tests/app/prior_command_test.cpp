// fhd simulate --prior-image, and fhd recon --prior with it.
#include <gtest/gtest.h>

#include "io/result/results.hpp"
#include "recon/array/array.hpp"
#include "validation/metrics.hpp"
#include "validation/tests/program.hpp"

namespace fhd {
namespace {

class PriorCommand : public tests::ProgramTest {
 protected:
  Array<Complex<double>> image(const std::string& name) const {
    return converted<Complex<double>>(io::read_image(path(name)).images.at(0).values);
  }
};

TEST_F(PriorCommand, a_simulated_prior_image_makes_a_noisy_image_better) {
  ASSERT_EQ(run("simulate -o " + path("sodium") +
                " --matrix 16 --dimensions 3 --trajectory radial-3d --coils 1 --snr 4 --prior-image"),
            0)
      << text("err");
  const std::string recon = "recon --device cpu --lambda 0.03 " + path("sodium.h5") + " -o ";
  ASSERT_EQ(run(recon + path("plain") + " --regularizer roughness"), 0) << text("err");
  ASSERT_EQ(run(recon + path("guided") + " --prior " + path("sodium.prior.nii.gz")), 0) << text("err");
  const auto truth = image("sodium.truth.h5");
  const auto error = [&](const char* name) {
    const auto found = image(name);
    return metrics::relative_l2(metrics::scaled(found, metrics::best_scale(found, truth)), truth);
  };
  const double plain = error("plain.h5"), guided = error("guided.h5");
  EXPECT_LE(guided, 0.9 * plain);
  EXPECT_LE(plain, 1);  // an image at all
}

TEST_F(PriorCommand, what_is_no_nifti_image_is_refused_by_its_name) {
  ASSERT_EQ(run("simulate -o " + path("flat") + " --matrix 12 --coils 1"), 0) << text("err");
  EXPECT_EQ(run("recon " + path("flat.h5") + " --prior " + path("flat.truth.png") + " -o " + path("image")),
            2);
  EXPECT_NE(text("err").find("flat.truth.png"), std::string::npos) << text("err");
}

}  // namespace
}  // namespace fhd
