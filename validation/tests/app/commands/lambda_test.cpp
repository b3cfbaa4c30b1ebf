// fhd recon --lambda auto beside the default.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "io/result/results.hpp"
#include "validation/metrics.hpp"
#include "validation/tests/program.hpp"

namespace fhd {
namespace {

class LambdaCommand : public tests::ProgramTest {
 protected:
  /// Returns the error against the truth after the best complex scale.
  double error(const std::string& options) const {
    EXPECT_DONE(run("recon scan.h5 -o image --force --device cpu --no-gridded-image " + options));
    const auto values = [&](const std::string& name) {
      return converted<Complex<double>>(io::read_image(path(name)).images.front().values);
    };
    return metrics::nrmse_best_scale(values("image.h5"), values("scan.truth.h5"));
  }
};

TEST_F(LambdaCommand, auto_is_not_worse_than_the_default_and_better_where_that_is_not_best) {
  struct Case {
    std::string scan;
    double largest;  ///< error over that of the default
  };
  for (const auto& [scan, largest] :
       {Case{"--trajectory golden-radial --undersampling 2 --coils 4 --snr 20", 1.1},
        Case{"--trajectory spiral --undersampling 2 --coils 4 --snr 5", 0.95},
        Case{"--trajectory cartesian --undersampling 2 --coils 4 --snr 10 --noise-readouts 4096", 1.1}}) {
    ASSERT_DONE(run("simulate -o scan --force --matrix 48 " + scan));
    const double by_default = error("");
    EXPECT_LE(error("--lambda auto"), largest * by_default) << scan;
    const auto report = nlohmann::json::parse(text("image.json"))["images"][0];
    ASSERT_GE(report["lambda_curve"].size(), 3u) << scan;
    const auto least = std::min_element(report["lambda_curve"].begin(), report["lambda_curve"].end(),
                                        [](const auto& a, const auto& b) { return a["risk"] < b["risk"]; });
    EXPECT_NEAR((*least)["lambda"].get<double>() * report["largest_eigenvalue"].get<double>() /
                    report["lambda"].get<double>(),
                1, 1e-6);
  }
  ASSERT_DONE(run("report image.h5"));
  EXPECT_CONTAINS(text("image.html"), "Choice of λ");
}

}  // namespace
}  // namespace fhd
