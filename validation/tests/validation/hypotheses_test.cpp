// Tests of hypotheses: planted mistakes are named, with their sizes.
#include "validation/verdict/hypotheses.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numbers>

#include "validation/tests/validation/verdict/planted.hpp"
#include "validation/verdict/readouts.hpp"

namespace fhd {
namespace {

using data::TrajectoryKind;
using Index = std::int64_t;

/// Calls change(m, j, J) for every sample m of readout j of J.
void for_samples(const Scan& scan, const std::function<void(Index, Index, Index)>& change) {
  const auto starts = validation::readout_starts(scan.trajectory);
  const auto readouts = static_cast<Index>(starts.size()) - 1;
  for (Index j = 0; j < readouts; ++j)
    for (Index m = starts[static_cast<std::size_t>(j)]; m < starts[static_cast<std::size_t>(j) + 1]; ++m)
      change(m, j, readouts);
}

/// Multiplies the values of sample m by a complex number.
void multiply(Scan& scan, Index m, double size, double phase) {
  const auto factor = Complex<float>(Complex<double>(size * std::cos(phase), size * std::sin(phase)));
  const Index all = scan.trajectory.sample_count();
  for (Index i = m; i < scan.kspace.values.size(); i += all)
    scan.kspace.values[i] = factor * scan.kspace.values[i];
}

void stay_inside(Scan& scan) {
  const Index all = scan.trajectory.sample_count();
  for (Index i = 0; i < 3 * all; ++i) {
    const double half = 0.5 * scan.geometry.matrix_size[static_cast<std::size_t>(i / all)];
    scan.trajectory.k[i] = std::clamp(scan.trajectory.k[i], -half, half);
  }
}

struct Planted {
  const char* name;
  std::function<void(Scan&)> plant;
  const char* code;
  double amount;
  const char* words;
};

double& k_of(Scan& scan, Index axis, Index m) {
  return scan.trajectory.k[axis * scan.trajectory.sample_count() + m];
}

void late(Scan& scan, double samples, bool odd_only) {
  const auto steps =
      validation::steps_along_readouts(scan.trajectory, validation::readout_starts(scan.trajectory));
  const Index all = scan.trajectory.sample_count();
  for_samples(scan, [&](Index m, Index j, Index) {
    for (Index axis = 0; axis < 3; ++axis)
      if (!odd_only || j % 2 == 1) k_of(scan, axis, m) += samples * steps[axis * all + m];
  });
  stay_inside(scan);
}

void scaled(Scan& scan, double x, double y, bool odd_only) {
  for_samples(scan, [&](Index m, Index j, Index) {
    if (odd_only && j % 2 == 0) return;
    k_of(scan, 0, m) *= x, k_of(scan, 1, m) *= y;
  });
  stay_inside(scan);
}

void moved(Scan& scan, double voxels_x, double voxels_y, double from) {
  const auto& n = scan.geometry.matrix_size;
  for_samples(scan, [&](Index m, Index j, Index readouts) {
    if (static_cast<double>(j) >= from * static_cast<double>(readouts))
      multiply(
          scan, m, 1,
          -2 * std::numbers::pi * (k_of(scan, 0, m) * voxels_x / n[0] + k_of(scan, 1, m) * voxels_y / n[1]));
  });
}

void turned(Scan& scan, double degrees, double from) {
  const double angle = degrees * std::numbers::pi / 180, c = std::cos(angle), s = std::sin(angle);
  for_samples(scan, [&](Index m, Index j, Index readouts) {
    if (static_cast<double>(j) < from * static_cast<double>(readouts)) return;
    const double x = k_of(scan, 0, m), y = k_of(scan, 1, m);
    k_of(scan, 0, m) = c * x - s * y, k_of(scan, 1, m) = s * x + c * y;
  });
  stay_inside(scan);
}

const Planted planted[] = {
    {"delay", [](Scan& s) { late(s, 0.5, false); }, "delays", 0.5, "samples late"},
    {"negative_delay", [](Scan& s) { late(s, -1, false); }, "delays", -1, "samples early"},
    {"long_delay", [](Scan& s) { late(s, 2, false); }, "delays", 2, "samples late"},
    {"delay_of_odd_readouts", [](Scan& s) { late(s, 0.5, true); }, "delays", 0.5, "every second readout"},
    {"scale_of_kx", [](Scan& s) { scaled(s, 0.97, 1, false); }, "scale", -3, "k along x is"},
    {"scale_of_k", [](Scan& s) { scaled(s, 0.95, 0.95, false); }, "scale", -5, "too short"},
    {"shear",
     [](Scan& s) {
       for_samples(s, [&](Index m, Index, Index) { k_of(s, 0, m) += 0.04 * k_of(s, 1, m); });
       stay_inside(s);
     },
     "shear", 4, "k_x holds"},
    {"scale_of_odd_readouts", [](Scan& s) { scaled(s, 0.97, 0.97, true); }, "readout_scale", -3,
     "of every second"},
    {"motion_after_a_third", [](Scan& s) { moved(s, 3, 0, 1. / 3); }, "motion", 3, "voxels along x"},
    {"motion_after_half", [](Scan& s) { moved(s, 0, 2, 0.5); }, "motion", 2, "voxels along y"},
    {"turned_after_half", [](Scan& s) { turned(s, 5, 0.5); }, "motion", 5, "turned by"},
    {"phase_of_odd_readouts",
     [](Scan& s) {
       for_samples(s, [&](Index m, Index j, Index) { multiply(s, m, 1, j % 2 == 0 ? 0 : 0.5); });
     },
     "phase", 28.6, "every second readout"},
};

class Hypotheses : public testing::TestWithParam<std::tuple<Planted, TrajectoryKind>> {};

TEST_P(Hypotheses, find_what_was_planted_and_its_size) {
  const auto& [mistake, kind] = GetParam();
  Scan scan = simulated(kind, {64, 64, 1}, 6).scan;
  mistake.plant(scan);
  const Verdict v = verdict_of(scan);
  std::string changes;
  for (const auto& change : v.changes) changes += "\n" + change.text + ": " + std::to_string(change.share);
  ASSERT_TRUE(v.cause) << v.sentence << changes;
  EXPECT_EQ(v.cause->code, mistake.code) << v.cause->text;
  EXPECT_NE(v.cause->text.find(mistake.words), std::string::npos) << v.cause->text;
  EXPECT_NEAR(v.cause->amount, mistake.amount, 0.15 * std::abs(mistake.amount)) << v.cause->text;
  // Four standard deviations, and what a small matrix cannot hold of an object far from its place.
  EXPECT_NEAR(v.cause->amount, mistake.amount, 4 * v.cause->uncertainty + 0.07 * std::abs(mistake.amount))
      << v.cause->text;
}

INSTANTIATE_TEST_SUITE_P(All, Hypotheses,
                         testing::Combine(testing::ValuesIn(planted),
                                          testing::Values(TrajectoryKind::golden_radial,
                                                          TrajectoryKind::spiral)),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param).name) +
                                  (std::get<1>(test.param) == TrajectoryKind::spiral ? "_spiral" : "_radial");
                         });

TEST(HypothesisTests, are_quiet_on_scans_that_are_right) {
  for (const auto kind : {TrajectoryKind::golden_radial, TrajectoryKind::spiral, TrajectoryKind::cartesian,
                          TrajectoryKind::stack_of_stars})
    for (const bool with_maps : {true, false}) {
      const bool is_3d = kind == TrajectoryKind::stack_of_stars;
      Scan scan = simulated(kind, {is_3d ? 24 : 64, is_3d ? 24 : 64, is_3d ? 12 : 1}, 6).scan;
      if (!with_maps) scan.sensitivity_maps.reset();
      const Verdict v = verdict_of(scan);
      EXPECT_FALSE(v.cause) << data::name_of(kind) << ": " << v.cause->text;
    }
}

}  // namespace
}  // namespace fhd
