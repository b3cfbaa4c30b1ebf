// Mistakes that arms show where they meet, in scans without maps and of one coil: the cause, and none in scans that are right.
#include "validation/verdict/arm_tests.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <functional>
#include <numbers>

#include "validation/tests/validation/verdict/planted.hpp"
#include "validation/verdict/readouts.hpp"

namespace fhd {
namespace {

using data::TrajectoryKind;
using Index = std::int64_t;

/// Multiplies the samples by factor(readout, k along y in cycles/FOV, |k|).
void multiply(data::Simulation& made,
              const std::function<std::complex<double>(Index, double, double)>& factor) {
  const auto& k = made.scan.trajectory.k;
  const Index all = made.scan.kspace.sample_count();
  change_samples(made, [&](Complex<float> d, Index, Index readout, Index place) {
    const Index m = readout * made.readout_length + place;
    const auto f = factor(readout, k[all + m], std::hypot(k[m], k[all + m]));
    return Complex<float>(Complex<double>(f.real(), f.imag()) * Complex<double>(d));
  });
}

void lose_a_readout(data::Simulation& made) {
  const Index readouts = made.readout_count;
  move_readouts(made, [=](Index j) { return j < readouts / 3 ? j : std::min(j + 1, readouts - 1); });
}
void shuffle(data::Simulation& made) {
  move_readouts(made, [&](Index j) { return 3 * j % made.readout_count; });
}
void random_phases(data::Simulation& made) {
  multiply(made, [](Index j, double, double) { return std::polar(1.0, 117.0 * static_cast<double>(j * j)); });
}
void breathe(data::Simulation& made) {
  multiply(made, [&](Index j, double k_y, double) {
    const double share = static_cast<double>(j) / static_cast<double>(made.readout_count);
    return std::polar(1.0, -2 * std::numbers::pi * k_y * 2 / 64 * std::sin(2 * std::numbers::pi * 7 * share));
  });
}
void weigh_by_density(data::Simulation& made) {
  multiply(made, [](Index, double, double radius) { return std::complex<double>(radius / 32); });
}
/// Tells the trajectory of four samples later.
void delay(data::Simulation& made) {
  auto& k = made.scan.trajectory.k;
  const auto told = k;
  for (Index i = 0; i < k.size(); ++i) {
    const Index n = i % made.readout_length, last = made.readout_length - 1;
    k[i] = told[i - n + std::min(n + 4, last)];
  }
}

struct PlantedInArms {
  const char* name;
  TrajectoryKind kind;
  int coils;
  const char* code;
  void (*plant)(data::Simulation&);
};

class Arms : public testing::TestWithParam<PlantedInArms> {};

TEST_P(Arms, tell_what_makes_them_contradict_each_other) {
  const auto& planted = GetParam();
  auto made = simulated(planted.kind, {64, 64, 1}, planted.coils);
  planted.plant(made);
  const Verdict v = verdict_of(made.scan);
  ASSERT_TRUE(v.cause) << v.sentence;
  EXPECT_EQ(v.cause->code, planted.code) << v.cause->text;
  EXPECT_EQ(v.judgement, Verdict::Judgement::unexplained) << v.sentence;
}

INSTANTIATE_TEST_SUITE_P(
    All, Arms,
    testing::Values(
        PlantedInArms{"lost_in_spiral_of_one_coil", TrajectoryKind::spiral, 1, "order", lose_a_readout},
        PlantedInArms{"shuffled_spiral", TrajectoryKind::spiral, 6, "exchange", shuffle},
        PlantedInArms{"phases_of_radial", TrajectoryKind::golden_radial, 1, "phase", random_phases},
        PlantedInArms{"breathing_radial", TrajectoryKind::golden_radial, 4, "motion", breathe},
        PlantedInArms{"density_radial", TrajectoryKind::golden_radial, 4, "window", weigh_by_density},
        PlantedInArms{"density_spiral", TrajectoryKind::spiral, 1, "window", weigh_by_density},
        PlantedInArms{"delayed_spiral", TrajectoryKind::spiral, 1, "delays", delay}),
    [](const auto& planted) { return std::string(planted.param.name); });

TEST(Arms, agree_in_scans_that_are_right) {
  for (const auto kind :
       {TrajectoryKind::golden_radial, TrajectoryKind::spiral, TrajectoryKind::variable_density_spiral})
    for (const int coils : {1, 6}) {
      const Verdict v = verdict_of(simulated(kind, {64, 64, 1}, coils).scan);
      EXPECT_FALSE(v.cause) << data::name_of(kind) << ": " << v.cause->text;
    }
}

/// A scan of two tissues, an object and one of half its size, whose signals recover each in its own time.
data::Simulation two_tissues() {
  auto made = simulated(TrajectoryKind::golden_radial, {64, 64, 1}, 1);
  const auto inner = simulated(TrajectoryKind::golden_radial, {64, 64, 1}, 1, 0.5).scan;
  made.scan.sensitivity_maps.reset();
  for (Index i = 0; i < inner.kspace.values.size(); ++i) {
    const auto time = static_cast<double>(i / made.readout_length) / static_cast<double>(made.readout_count);
    const auto slow = static_cast<float>(1 - 0.7 * std::exp(-2 * time)),
               fast = static_cast<float>(1 - 0.7 * std::exp(-6 * time));
    made.scan.kspace.values[i] = slow * made.scan.kspace.values[i] + fast * inner.kspace.values[i];
  }
  return made;
}

TEST(Arms, take_tissues_that_recover_apart_for_contrast) {
  const Verdict v = verdict_of(two_tissues().scan);
  EXPECT_TRUE(!v.cause || v.cause->code == "signal") << v.cause->text;
  EXPECT_EQ(v.judgement, Verdict::Judgement::varies) << v.sentence;
}

TEST(Arms, tell_another_order_beside_the_contrast_of_tissues) {
  const auto cause_of = [](const data::Simulation& made) {
    const auto& scan = made.scan;
    const VerifierInput<float> input{.trajectory = scan.trajectory,
                                     .matrix_size = scan.geometry.matrix_size,
                                     .samples = scan.kspace.values.data(),
                                     .maps = nullptr};
    return validation::cause_beside_contrast(input, validation::readout_starts(scan.trajectory),
                                             2 * std::pow(made.noise_standard_deviation, 2));
  };
  auto made = two_tissues();
  EXPECT_FALSE(cause_of(made));
  shuffle(made);
  const auto cause = cause_of(made);
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->finding.code, "exchange") << cause->finding.text;
}

}  // namespace
}  // namespace fhd
