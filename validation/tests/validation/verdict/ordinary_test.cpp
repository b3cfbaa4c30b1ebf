// Tests the ordinary rest: what scans in vivo leave over is named and quiet, and excuses no mistake.
#include "validation/verdict/ordinary.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

#include "validation/tests/validation/verdict/planted.hpp"
#include "validation/verdict/judgement.hpp"

namespace fhd {
namespace {

using data::TrajectoryKind;
using Index = std::int64_t;
using Judgement = Verdict::Judgement;

Verdict verdict_inside(const Scan& scan) {
  Settings settings;
  settings.outside_fov = OutsideFov::off;
  return verdict_of(scan, settings);
}

TEST(OrdinaryRest, is_not_sought_where_little_is_left_over) {
  const auto v = verdict_inside(simulated(TrajectoryKind::golden_radial, {48, 48, 1}, 4).scan);
  EXPECT_EQ(v.judgement, Judgement::explained);
  EXPECT_TRUE(v.ordinary.empty());
  EXPECT_EQ(v.ordinary_limit, 0);
}

TEST(OrdinaryRest, of_an_object_beyond_the_field_of_view_is_tissue_outside) {
  const auto scan = simulated(TrajectoryKind::spiral, {64, 64, 1}, 6, 1.15).scan;
  const auto v = verdict_inside(scan);
  EXPECT_GT(v.unexplained, validation::right_limit);
  EXPECT_EQ(v.judgement, Judgement::ordinary) << v.sentence;
  ASSERT_FALSE(v.ordinary.empty());
  EXPECT_EQ(v.ordinary.front().code, codes::outside_fov) << v.sentence;
  EXPECT_GT(v.ordinary.front().share, 0.3);
  EXPECT_NE(v.sentence.find("tissue outside the field of view"), std::string::npos);
}

TEST(OrdinaryRest, of_breath_is_motion) {
  auto made = simulated(TrajectoryKind::golden_radial, {48, 48, 1}, 4);
  const auto& trajectory = made.scan.trajectory;
  change_samples(
      made, [&](Complex<float> d, Index, Index readout, Index place) {  // 0.8 voxels along y, every 12
        const double shift = 0.8 / 48 * std::sin(2 * std::numbers::pi * static_cast<double>(readout) / 12),
                     k_y = trajectory.k[trajectory.sample_count() + readout * made.readout_length + place],
                     phase = -2 * std::numbers::pi * k_y * shift;
        return d * Complex<float>(static_cast<float>(std::cos(phase)), static_cast<float>(std::sin(phase)));
      });
  const auto v = verdict_inside(made.scan);
  EXPECT_GT(v.unexplained, validation::right_limit);
  ASSERT_FALSE(v.ordinary.empty()) << v.sentence;
  EXPECT_EQ(v.ordinary.front().code, "motion") << v.ordinary.front().text;
}

TEST(OrdinaryRest, excuses_no_readouts_in_another_order) {
  auto made = simulated(TrajectoryKind::golden_radial, {48, 48, 1}, 4);
  move_readouts(made, [&](Index j) { return (j + 10) % made.readout_count; });
  const auto v = verdict_inside(made.scan);
  EXPECT_EQ(v.judgement, Judgement::unexplained) << v.sentence;
  EXPECT_LT(v.ordinary_limit, 0.12);
}

/// Adds noise of this size, over the root mean square of all samples, and `loud` times as much to coil 1.
void add_noise(double size, double loud, Scan& scan) {
  auto& values = scan.kspace.values;
  double square = 0;
  for (const auto& value : values) square += static_cast<double>(norm(value));
  std::mt19937 generator(7);
  const Index all = scan.kspace.sample_count();
  std::normal_distribution<double> normal(0,
                                          size * std::sqrt(square / static_cast<double>(values.size()) / 2));
  for (Index i = 0; i < values.size(); ++i) {
    const double factor = i / all == 1 ? loud : 1;
    values[i] += Complex<float>(static_cast<float>(factor * normal(generator)),
                                static_cast<float>(factor * normal(generator)));
  }
}

TEST(OrdinaryRest, holds_the_noise_of_a_noisy_coil_and_not_a_coil_of_noise) {
  for (const auto kind : {TrajectoryKind::golden_radial, TrajectoryKind::spiral}) {
    auto scan = simulated(kind, {48, 48, 1}, 6).scan;
    scan.sensitivity_maps.reset();
    auto noisy = scan;
    add_noise(0.03, 5, noisy);
    const auto v = verdict_inside(noisy);
    EXPECT_EQ(v.judgement, Judgement::explained) << v.sentence;
    add_noise(0.03, 1, scan);
    const Index all = scan.kspace.sample_count();
    for (Index i = all; i < 2 * all; ++i) scan.kspace.values[i] = {};
    add_noise(0.03, 30, scan);
    const auto broken = verdict_inside(scan);
    ASSERT_TRUE(broken.cause) << broken.sentence;
    EXPECT_EQ(broken.cause->code, "coil");
  }
}

TEST(OrdinaryRest, holds_a_scale_of_k_that_maps_of_the_samples_follow) {
  auto scan = simulated(TrajectoryKind::golden_radial, {64, 64, 1}, 6).scan;
  add_noise(0.02, 1, scan);
  for (auto& k : scan.trajectory.k) k *= 0.95;
  const auto told = verdict_inside(scan);
  ASSERT_TRUE(told.cause) << told.sentence;
  EXPECT_EQ(told.cause->code, "scale");
  EXPECT_NEAR(told.cause->amount, -5, 4 * told.cause->uncertainty) << told.cause->text;
  scan.sensitivity_maps.reset();
  auto found = verdict_inside(scan);
  validation::drop_what_maps_follow(found);
  EXPECT_FALSE(found.cause) << found.sentence;
  EXPECT_EQ(found.judgement, Judgement::explained) << found.sentence;
}

}  // namespace
}  // namespace fhd
