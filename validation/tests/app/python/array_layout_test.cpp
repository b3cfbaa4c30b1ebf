// Shapes and strides as others state them.
#include "app/python/array_layout.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace fhd::python {
namespace {

bool in_order(std::vector<std::int64_t> extents, std::vector<std::int64_t> strides) {
  return lies_in_order(extents, strides);
}

TEST(ArrayLayout, the_last_axis_is_fastest_and_axes_of_one_do_not_matter) {
  EXPECT_TRUE(in_order({}, {}));
  EXPECT_TRUE(in_order({2, 3, 4}, {12, 4, 1}));
  EXPECT_TRUE(in_order({2, 1, 4}, {4, -77, 1}));
  EXPECT_FALSE(in_order({2, 3}, {1, 2}));
  EXPECT_FALSE(in_order({2, 3}, {3, -1}));
  EXPECT_FALSE(in_order({2, 3}, {0, 1})) << "a row that is repeated";
  EXPECT_TRUE(in_order({5, 0, 4}, {-1, 99, 3})) << "no elements at all";
}

// The product of the extents was an overflow, which is undefined.
TEST(ArrayLayout, extents_that_no_memory_has_lie_in_no_order) {
  constexpr std::int64_t large = std::int64_t{1} << 40;
  EXPECT_FALSE(in_order({large, large, 2}, {2 * large, 2, 1}));
  EXPECT_FALSE(in_order({large, large}, {large, 1}));
  EXPECT_TRUE(in_order({large, large, 0}, {0, 0, 0}));
  EXPECT_FALSE(in_order({-2}, {1}));
}

}  // namespace
}  // namespace fhd::python
