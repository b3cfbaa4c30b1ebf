// Samples on the ramps of a readout gradient beside those of equal distances.
#include "io/scan/mrd/ramp_regridding.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "recon/error.hpp"

namespace fhd::io::mrd {
namespace {

TEST(RampRegridding, gives_the_samples_of_equal_distances) {
  // A line source at 0.2 FOV, shifted by the receiver's frequency, in both directions.
  const RampShape shape{2, 160, 240, 160, 32, 496, 160};
  const RampRegridding regridding(shape, 160, "test");
  const double flat_step = 3.1 * 160 / 393.6;
  const auto& k = regridding.positions();
  // The first sample lies 33.55 us behind the start; 80 + 240 + 80 in all, 3.2 of them ahead and 3.2 behind the samples.
  EXPECT_NEAR(k[0], (33.55 * 33.55 / 320 - 200) * 160 / 393.6, 1e-9);
  EXPECT_NEAR(k[80], 0.5 * flat_step, 1e-9);
  EXPECT_NEAR(k[159], -k[0], 1e-9);
  const auto ramp = [](double us) {
    return 320 / std::numbers::pi * (1 - std::cos(std::numbers::pi * us / 320));
  };
  const double half = 120 + ramp(160);
  EXPECT_NEAR(RampRegridding({4, 160, 240, 160, 32, 496, 160}, 160, "test").positions()[0],
              (ramp(33.55) - half) * 80 / (half - ramp(32)), 1e-9);
  const double at = 0.1, offset = 0.02, flat = 496.0 / 160 * 160 / 393.6;
  for (const bool reversed : {false, true}) {
    std::vector<float> values, expected;
    for (std::size_t s = 0; s < 160; ++s) {
      const double sign = reversed ? -1 : 1, u = static_cast<double>(s) - 79.5,
                   angle = 2 * std::numbers::pi * sign * (k[s] * at + offset * (k[s] - flat * u)),
                   even = 2 * std::numbers::pi * sign * u * at;
      values.insert(values.end(), {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))});
      expected.insert(expected.end(),
                      {static_cast<float>(std::cos(even)), static_cast<float>(std::sin(even))});
    }
    const auto found = regridding(values, 1, offset, reversed);
    double difference = 0;
    for (std::size_t i = 0; i < found.size(); ++i) difference += std::pow(found[i] - expected[i], 2);
    EXPECT_LT(std::sqrt(difference / 160), 1e-3);
  }
}

TEST(RampRegridding, refuses_gradients_that_are_none) {
  for (const RampShape& shape : {RampShape{3, 160, 240, 160, 32, 496, 160},
                                 {2, -1, 240, 160, 32, 496, 160},
                                 {2, 160, 240, 160, 32, 4960, 160},
                                 {2, 160, 240, 160, 32, 496, 1 << 20}})
    EXPECT_THROW(RampRegridding(shape, 160, "test"), Error);
}

}  // namespace
}  // namespace fhd::io::mrd
