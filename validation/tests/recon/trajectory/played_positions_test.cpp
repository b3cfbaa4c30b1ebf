#include "recon/trajectory/played_positions.hpp"

#include <gtest/gtest.h>

namespace fhd {
namespace {

TEST(StepAhead, is_0_where_a_readout_sets_out_from_rest) {
  // A gradient that rises with the first dwell time, sampled in the middle of each: 0.5, 1.5, 2.5 squared.
  for (const double rounding : {-1e-12, 0.0, 1e-12}) {
    const double k[]{0.25, 2.25 + rounding, 6.25};
    EXPECT_EQ(step_ahead(k, 3), 0) << rounding;
  }
  const double turning[]{0, 1, 4}, flat[]{-3, -2, -1}, falling[]{0, 2, 3};
  EXPECT_EQ(step_ahead(turning, 3), 0);
  EXPECT_EQ(step_ahead(flat, 3), 1);
  EXPECT_EQ(step_ahead(falling, 3), 2);
}

}  // namespace
}  // namespace fhd
