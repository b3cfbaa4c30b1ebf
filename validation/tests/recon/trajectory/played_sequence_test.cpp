// Positions of a sequence, beside integrals in closed form.
#include "recon/trajectory/played_sequence.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace fhd {
namespace {

constexpr double rounding = 1e-13;  // of sums of some dozen doubles of size 1

/// Rises in 1 s, stays for 2 s, falls in 1 s.
std::shared_ptr<const GradientShape> trapezoid() {
  return std::make_shared<const GradientShape>(GradientShape{{0, 1, 3, 4}, {0, 1, 1, 0}, 4});
}

/// Returns the area of amplitude 2 until t.
double area_of_trapezoid(double t) {
  if (t < 0) return 0;
  if (t < 1) return t * t;
  if (t < 3) return 1 + 2 * (t - 1);
  return t < 4 ? 6 - (4 - t) * (4 - t) : 6;
}

SequenceBlock block_of(double duration, double amplitude, std::int64_t samples, double dwell, double delay) {
  SequenceBlock block;
  block.duration_s = duration;
  if (amplitude != 0) block.gradients[0] = {trapezoid(), amplitude, 0, 0, 0};
  block.samples = {delay, dwell, samples};
  return block;
}

SequenceBlock pulse_of(PulseUse use, double at, double duration) {
  SequenceBlock block;
  block.duration_s = duration;
  block.pulse = use;
  block.pulse_s = at;
  return block;
}

struct Found {
  std::vector<double> x, y, z, time;
};
Found sampled(const PlayedSequence& played, std::int64_t acquisition, std::int64_t first = 0,
              std::int64_t count = -1) {
  if (count < 0) count = played.sample_count(acquisition);
  const auto n = static_cast<std::size_t>(count);
  Found found{std::vector<double>(n), std::vector<double>(n), std::vector<double>(n), std::vector<double>(n)};
  played.sample(acquisition, first, count, {found.x.data(), found.y.data(), found.z.data()},
                found.time.data());
  return found;
}

TEST(PlayedSequence, integrates_a_trapezoid_to_the_middle_of_each_dwell_time) {
  PlayedSequence played;
  played.play(pulse_of(PulseUse::excitation, 0.25, 0.5));
  played.play(block_of(5, 2, 49, 0.1, 0.03));
  ASSERT_EQ(played.acquisition_count(), 1);
  EXPECT_TRUE(played.is_excited(0));
  EXPECT_NEAR(played.start_s(0), 0.5 + 0.03 + 0.05, rounding);
  const auto found = sampled(played, 0), part = sampled(played, 0, 20, 9);
  for (int i = 0; i < 49; ++i) {
    const double t = 0.03 + (i + 0.5) * 0.1;
    EXPECT_NEAR(found.x[std::size_t(i)], area_of_trapezoid(t), rounding) << i;
    EXPECT_NEAR(found.time[std::size_t(i)], t + 0.25, rounding) << i;
    if (i >= 20 && i < 29) {
      EXPECT_EQ(part.x[std::size_t(i - 20)], found.x[std::size_t(i)]);
    }
  }
}

TEST(PlayedSequence, begins_at_an_excitation_and_turns_round_at_a_refocusing_pulse) {
  PlayedSequence played;
  played.play(block_of(4, 3, 1, 1, 3.5));               // ahead of all pulses: 9
  played.play(pulse_of(PulseUse::excitation, 0.5, 1));  // 0
  played.play(block_of(4, 2, 0, 0, 0));                 // 6
  played.play(pulse_of(PulseUse::refocusing, 0.5, 1));  // -6
  played.play(block_of(4, 2, 4, 1, 0));                 // -6 ... 0
  played.play(pulse_of(PulseUse::none, 0.5, 1));        // stays
  played.play(block_of(4, 2, 4, 1, 0));                 // 0 ... 6
  EXPECT_FALSE(played.is_excited(0));
  EXPECT_NEAR(sampled(played, 0).x[0], 9, rounding);
  const auto echo = sampled(played, 1), later = sampled(played, 2);
  for (int i = 0; i < 4; ++i) {
    EXPECT_NEAR(echo.x[std::size_t(i)], area_of_trapezoid(i + 0.5) - 6, rounding);
    EXPECT_NEAR(later.x[std::size_t(i)], area_of_trapezoid(i + 0.5), rounding);
    // 5 s from the excitation to the refocusing pulse, at which time turns to -5 s.
    EXPECT_NEAR(echo.time[std::size_t(i)], -5 + 0.5 + i + 0.5, rounding);
  }
  EXPECT_EQ(played.count_of(PulseUse::refocusing), 1);
}

TEST(PlayedSequence, knows_a_pulse_and_samples_in_one_block) {
  for (const auto use : {PulseUse::excitation, PulseUse::refocusing}) {
    PlayedSequence played;
    played.play(pulse_of(PulseUse::excitation, 0, 1));
    auto block = block_of(4, 2, 4, 1, 0);
    block.pulse = use;
    block.pulse_s = 2;
    played.play(block);
    played.play(block_of(4, 0, 1, 1, 0));
    const auto found = sampled(played, 0);
    const double sign = use == PulseUse::refocusing ? -1 : 0;
    for (int i = 0; i < 4; ++i) {
      const double t = i + 0.5, area = area_of_trapezoid(t), turned = sign * area_of_trapezoid(2);
      EXPECT_NEAR(found.x[std::size_t(i)], i < 2 ? area : turned + area - area_of_trapezoid(2), rounding);
      EXPECT_NEAR(found.time[std::size_t(i)], i < 2 ? 1 + t : sign * 3 + t - 2, rounding);
    }
    EXPECT_NEAR(sampled(played, 1).x[0], sign * 3 + 3, rounding);
  }
}

TEST(PlayedSequence, joins_the_open_ends_of_a_shape_by_straight_lines) {
  GradientShape shape{{0.5, 1.5, 2.5}, {1, 2, 4}, 3, true};
  GradientEvent event{std::make_shared<const GradientShape>(shape), 10, 6, -8, 1};
  const double times[] = {0.5, 1, 1.5, 2.5, 3.5, 4, 9};
  double areas[7] = {100, 0, 0, 0, 0, 0, 0};
  add_areas(event, times, areas);
  const double expected[] = {100, 0, 4, 19, 49, 49 + 8, 49 + 8};  // (6 + 10) / 4, + 15, + 30, (40 - 8) / 4
  for (int i = 0; i < 7; ++i) EXPECT_NEAR(areas[i], expected[i], rounding) << i;
}

TEST(PlayedSequence, turns_the_gradients_of_a_block_by_its_quaternion) {
  const double half = std::sqrt(0.5);
  const auto about_z = rotation_of({2 * half, 0, 0, 2 * half});  // 90 degrees, of length 2
  PlayedSequence played;
  auto block = block_of(4, 2, 1, 1, 3.5);
  block.rotation = about_z;
  played.play(block);
  block.rotation.reset();
  played.play(block);
  const auto turned = sampled(played, 0), both = sampled(played, 1);
  EXPECT_NEAR(turned.x[0], 0, rounding);
  EXPECT_NEAR(turned.y[0], 6, rounding);
  EXPECT_NEAR(both.x[0], 6, rounding);
  EXPECT_NEAR(both.y[0], 6, rounding);
  const auto about_diagonal = rotation_of({0.5, 0.5, 0.5, 0.5});  // x to y, y to z
  EXPECT_NEAR(about_diagonal[1][0], 1, rounding);
  EXPECT_NEAR(about_diagonal[2][1], 1, rounding);
}

}  // namespace
}  // namespace fhd
