#include "recon/pipeline/risk.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace fhd {
namespace {

TEST(LeastRisk, of_a_parabola_on_a_logarithmic_axis_is_found_exactly) {
  for (const double at : {0.002, 0.009, 0.013, 0.4}) {
    int tried = 0;
    const auto found = least_risk({0.01, 1e-5, 1}, [&](double value) {
      ++tried;
      return std::pow(std::log(value / at), 2) - 3;
    });
    EXPECT_FALSE(found.is_at_limit);
    // Not nearer to a value tried before than a tenth of a step, and one of a grid of 2 %.
    EXPECT_NEAR(std::log(found.at / at), 0, 0.1 * std::log(2.5) + 0.01);
    EXPECT_LE(tried, 8);
  }
}

TEST(LeastRisk, beyond_the_range_is_told) {
  const RiskRange range{0.05, 0.008, 1};
  for (const double slope : {-1.0, 1.0}) {
    const auto found = least_risk(range, [&](double value) {
      EXPECT_GE(value, range.least);
      EXPECT_LE(value, range.largest);
      return slope * value;
    });
    EXPECT_TRUE(found.is_at_limit);
    EXPECT_NEAR(found.at, slope > 0 ? 0.008 : 0.05 * std::pow(2.5, 3), 1e-12);
  }
}

}  // namespace
}  // namespace fhd
