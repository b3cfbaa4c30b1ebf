// Tests the ordinary rest: what scans in vivo leave over is named and quiet, and excuses no mistake.
#include "validation/verdict/ordinary.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

#include "data/simulate.hpp"
#include "recon/pipeline/reconstruct.hpp"
#include "validation/certificate.hpp"
#include "validation/verdict/judgement.hpp"

namespace fhd {
namespace {

using data::TrajectoryKind;
using Index = std::int64_t;
using Judgement = Verdict::Judgement;

data::Simulation simulated(TrajectoryKind kind, int matrix, int coils, double object_scale = 1) {
  data::SimulationSettings settings;
  settings.trajectory.kind = kind;
  settings.trajectory.matrix_size = {matrix, matrix, 1};
  settings.trajectory.fov_mm = {240, 240, 5};
  settings.coil_count = coils;
  settings.object_scale = object_scale;
  return data::simulate(settings);
}

Verdict verdict_of(const Scan& scan) {
  Settings settings;
  settings.outside_fov = OutsideFov::off;
  return reconstruct(scan, settings, {}, {nullptr, validation::make_verifier()}).report.verdict.value();
}

TEST(OrdinaryRest, is_not_sought_where_little_is_left_over) {
  const auto v = verdict_of(simulated(TrajectoryKind::golden_radial, 48, 4).scan);
  EXPECT_EQ(v.judgement, Judgement::explained);
  EXPECT_TRUE(v.ordinary.empty());
  EXPECT_EQ(v.ordinary_limit, 0);
}

TEST(OrdinaryRest, of_an_object_beyond_the_field_of_view_is_tissue_outside) {
  const auto scan = simulated(TrajectoryKind::spiral, 64, 6, 1.15).scan;
  const auto v = verdict_of(scan);
  EXPECT_GT(v.unexplained, validation::right_limit);
  EXPECT_EQ(v.judgement, Judgement::ordinary) << v.sentence;
  ASSERT_FALSE(v.ordinary.empty());
  EXPECT_EQ(v.ordinary.front().code, codes::outside_fov) << v.sentence;
  EXPECT_GT(v.ordinary.front().share, 0.3);
  EXPECT_NE(v.sentence.find("tissue outside the field of view"), std::string::npos);
}

TEST(OrdinaryRest, of_breath_is_motion) {
  auto made = simulated(TrajectoryKind::golden_radial, 48, 4);
  const Index all = made.scan.kspace.sample_count();
  for (Index i = 0; i < made.scan.kspace.values.size(); ++i) {  // 0.8 voxels along y, every 12 readouts
    const Index m = i % all, readout = m / made.readout_length;
    const double shift = 0.8 / 48 * std::sin(2 * std::numbers::pi * static_cast<double>(readout) / 12);
    const double phase = -2 * std::numbers::pi * made.scan.trajectory.k[all + m] * shift;
    made.scan.kspace.values[i] =
        made.scan.kspace.values[i] *
        Complex<float>(static_cast<float>(std::cos(phase)), static_cast<float>(std::sin(phase)));
  }
  const auto v = verdict_of(made.scan);
  EXPECT_GT(v.unexplained, validation::right_limit);
  ASSERT_FALSE(v.ordinary.empty()) << v.sentence;
  EXPECT_EQ(v.ordinary.front().code, "motion") << v.ordinary.front().text;
}

TEST(OrdinaryRest, excuses_no_readouts_in_another_order) {
  auto made = simulated(TrajectoryKind::golden_radial, 48, 4);
  const auto told = made.scan.kspace.values;
  const Index all = made.scan.kspace.sample_count(), length = made.readout_length, part = 10 * length;
  for (Index i = 0; i < told.size(); ++i)
    made.scan.kspace.values[i] = told[i - i % all + (i % all + part) % all];
  const auto v = verdict_of(made.scan);
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
    auto scan = simulated(kind, 48, 6).scan;
    scan.sensitivity_maps.reset();
    auto noisy = scan;
    add_noise(0.03, 5, noisy);
    const auto v = verdict_of(noisy);
    EXPECT_EQ(v.judgement, Judgement::explained) << v.sentence;
    add_noise(0.03, 1, scan);
    const Index all = scan.kspace.sample_count();
    for (Index i = all; i < 2 * all; ++i) scan.kspace.values[i] = {};
    add_noise(0.03, 30, scan);
    const auto broken = verdict_of(scan);
    ASSERT_TRUE(broken.cause) << broken.sentence;
    EXPECT_EQ(broken.cause->code, "coil");
  }
}

TEST(OrdinaryRest, holds_a_scale_of_k_that_maps_of_the_samples_follow) {
  auto scan = simulated(TrajectoryKind::golden_radial, 64, 6).scan;
  add_noise(0.02, 1, scan);
  for (auto& k : scan.trajectory.k) k *= 0.95;
  const auto told = verdict_of(scan);
  ASSERT_TRUE(told.cause) << told.sentence;
  EXPECT_EQ(told.cause->code, "scale");
  EXPECT_NEAR(told.cause->amount, -5, 4 * told.cause->uncertainty) << told.cause->text;
  scan.sensitivity_maps.reset();
  auto found = verdict_of(scan);
  validation::drop_what_maps_follow(found);
  EXPECT_FALSE(found.cause) << found.sentence;
  EXPECT_EQ(found.judgement, Judgement::explained) << found.sentence;
}

}  // namespace
}  // namespace fhd
