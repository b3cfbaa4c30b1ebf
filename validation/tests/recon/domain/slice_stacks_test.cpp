#include "recon/domain/slice_stacks.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace fhd {
namespace {

using Numbers = std::vector<std::size_t>;

/// A slice along the z of LPS, at `place` on it.
Geometry axial(double place) {
  Geometry slice;
  slice.matrix_size = {8, 6, 1};
  slice.fov_mm = {80, 60, 4};
  slice.position_mm = {1, 2, place};
  return slice;
}

/// A slice along x, at `place` on it.
Geometry sagittal(double place) {
  auto slice = axial(0);
  slice.read_direction = {0, 1, 0}, slice.phase_direction = {0, 0, -1}, slice.slice_direction = {-1, 0, 0};
  slice.position_mm = {-place, 2, 3};
  return slice;
}

std::vector<Numbers> numbers_of(const std::vector<Geometry>& slices) {
  std::vector<Numbers> numbers;
  for (const auto& stack : stacks_of(slices)) numbers.push_back(stack.slices);
  return numbers;
}

struct StackCase {
  const char* name;
  std::vector<Geometry> slices;
  std::vector<Numbers> expected;
};

class SliceStacks : public testing::TestWithParam<StackCase> {};

TEST_P(SliceStacks, are_of_like_directions_and_in_the_order_of_places) {
  EXPECT_EQ(numbers_of(GetParam().slices), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(
    Slices, SliceStacks,
    testing::Values(
        StackCase{"none", {}, {}}, StackCase{"one", {axial(3)}, {{0}}},
        StackCase{"interleaved", {axial(0), axial(10), axial(20), axial(5), axial(15)}, {{0, 3, 1, 4, 2}}},
        StackCase{"descending", {axial(10), axial(5), axial(0)}, {{2, 1, 0}}},
        StackCase{"against_the_axis", {sagittal(1), sagittal(0)}, {{1, 0}}},
        StackCase{"localizer", {sagittal(2), axial(5), sagittal(1), axial(0)}, {{2, 0}, {3, 1}}},
        StackCase{"one_place", {axial(3), axial(3), axial(3)}, {{0, 1, 2}}},
        StackCase{"each_place_twice", {axial(0), axial(5), axial(5.005), axial(0)}, {{0, 1}, {3, 2}}},
        StackCase{"one_place_twice", {axial(0), axial(5), axial(5)}, {{0, 1}, {2}}},
        StackCase{"no_numbers", {axial(std::nan("")), axial(1)}, {{0, 1}}}),
    [](const auto& each) { return std::string(each.param.name); });

TEST(SliceStacks, of_rounded_directions_are_one) {
  auto slices = std::vector{axial(0), axial(4)};
  slices[1].read_direction = {1, 5e-5, 0};
  EXPECT_EQ(stacks_of(slices).size(), 1U);
  slices[1].read_direction = {1, 5e-4, 0};
  EXPECT_EQ(stacks_of(slices).size(), 2U);
}

TEST(SliceStacks, of_slabs_are_one_each_in_the_order_of_places) {
  auto slices = std::vector{axial(40), axial(0)};
  for (auto& slab : slices) slab.matrix_size[2] = 8;
  EXPECT_EQ(numbers_of(slices), (std::vector<Numbers>{{1}, {0}}));
  slices[1].position_mm = slices[0].position_mm;
  EXPECT_EQ(numbers_of(slices), (std::vector<Numbers>{{0, 1}})) << "their places are not stated";
}

TEST(SliceStacks, say_how_slices_follow_each_other) {
  const auto even = stacks_of({axial(0), axial(12), axial(6)}).front();
  EXPECT_TRUE(even.is_even());
  EXPECT_NEAR(even.step_mm, 6, 1e-12);
  EXPECT_NEAR(even.voxel_to_lps_mm[2][2], 6, 1e-12);
  EXPECT_NEAR(even.voxel_to_lps_mm[2][3], 0, 1e-12);
  EXPECT_NEAR(even.voxel_to_lps_mm[0][3], 1 - 4 * 10.0, 1e-12);

  const auto uneven = stacks_of({axial(0), axial(12), axial(4)}).front();
  EXPECT_FALSE(uneven.is_even());
  EXPECT_NEAR(uneven.step_mm, 6, 1e-12) << "the mean";
  EXPECT_NEAR(uneven.misplaced_mm, 2, 1e-12);

  const auto unplaced = stacks_of({axial(7), axial(7)}).front();
  EXPECT_FALSE(unplaced.states_places);
  EXPECT_TRUE(unplaced.is_even());
  EXPECT_NEAR(unplaced.voxel_to_lps_mm[2][2], 4, 1e-12) << "the thickness";
}

TEST(SliceStacks, of_as_many_slices_as_counters_hold_take_no_time_for_each_pair) {
  constexpr std::size_t count = 65535;
  EXPECT_EQ(numbers_of(std::vector<Geometry>(count / 2, axial(1))).size(), 1u);
  std::vector<Geometry> turning, twice;
  for (std::size_t i = 0; i < count; ++i) {
    auto slice = axial(0);
    const double angle = 1e-3 * static_cast<double>(i);
    slice.read_direction = {std::cos(angle), std::sin(angle), 0};
    slice.phase_direction = {-std::sin(angle), std::cos(angle), 0};
    turning.push_back(slice);
    twice.push_back(axial(i == 0 ? 1 : 0));
  }
  EXPECT_GT(numbers_of(turning).size(), 6000u);
  EXPECT_EQ(numbers_of(twice).size(), count - 1);
}

}  // namespace
}  // namespace fhd
