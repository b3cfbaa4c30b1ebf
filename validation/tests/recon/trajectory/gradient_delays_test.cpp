// Gradient delays: found in simulated scans whose positions as played come from the design of the trajectory, and
// not from the interpolation under test.
#include "recon/trajectory/gradient_delays.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "data/coils.hpp"
#include "data/simulate.hpp"
#include "validation/tests/problems.hpp"

namespace fhd {
namespace {

using tests::largest_difference;

using data::TrajectoryKind;

data::SimulationSettings settings_of(TrajectoryKind kind, const std::array<double, 3>& delays) {
  data::SimulationSettings settings;
  settings.trajectory.kind = kind;
  settings.trajectory.matrix_size = {48, 44, 1};
  settings.trajectory.fov_mm = {240, 220, 5};
  settings.trajectory.delay_samples = delays;
  settings.coil_count = 4;
  settings.snr = 20;
  return settings;
}

ReadoutStarts starts_of(const Scan& scan, std::int64_t length) {
  ReadoutStarts starts;
  for (std::int64_t m = 0; m <= scan.kspace.sample_count(); m += length) starts.push_back(m);
  return starts;
}
ReadoutStarts starts_of(const data::Simulation& simulation) {
  return starts_of(simulation.scan, simulation.readout_length);
}

TEST(GradientDelays, of_zero_leave_every_bit_as_it_is) {
  const auto simulation = data::simulate(settings_of(TrajectoryKind::spiral, {}));
  const auto starts = starts_of(simulation);
  const Scan same = with_delays(simulation.scan, starts, {});
  const auto& k = simulation.scan.trajectory.k;
  EXPECT_EQ(
      std::memcmp(same.trajectory.k.data(), k.data(), sizeof(double) * static_cast<std::size_t>(k.size())),
      0);
  EXPECT_EQ(same.kspace.sample_count(), simulation.scan.kspace.sample_count());
  EXPECT_TRUE(same.messages.empty());
}

TEST(GradientDelays, move_spokes_to_where_they_were_played) {
  auto settings = settings_of(TrajectoryKind::golden_radial, {0.8, -1.3, 0}).trajectory;
  const auto played = data::design_trajectory(settings);
  settings.delay_samples = {};
  const auto nominal = data::design_trajectory(settings);
  Scan scan;
  scan.geometry.matrix_size = settings.matrix_size;
  scan.kspace.values = Array<Complex<float>>({1, nominal.trajectory.sample_count()});
  const auto found = delayed(nominal.trajectory, scan.geometry, starts_of(scan, nominal.readout_length),
                             GradientDelays::along_axes({0.8, -1.3, 0}));
  // Straight lines: a cubic is exact, and so is the line beyond the ends.
  EXPECT_LE(largest_difference(found.k, played.trajectory.k), 1e-11);
  EXPECT_GT(largest_difference(nominal.trajectory.k, played.trajectory.k), 0.5);
}

TEST(GradientDelays, along_other_axes_than_the_image_turn_its_shift) {
  // Delays tau along axes turned by an angle: a spoke along n moves by -sum_p tau_p (u_p . n) u_p steps, in mm.
  auto settings = settings_of(TrajectoryKind::golden_radial, {}).trajectory;
  const auto nominal = data::design_trajectory(settings);
  const double c = std::cos(0.4), s = std::sin(0.4), tau[] = {0.9, 0.3};
  GradientDelays delays;
  delays.samples[0] = {c * c * tau[0] + s * s * tau[1], c * s * (tau[0] - tau[1]), 0};
  delays.samples[1] = {delays.samples[0][1], s * s * tau[0] + c * c * tau[1], 0};
  Scan scan;
  scan.geometry.matrix_size = settings.matrix_size;
  scan.geometry.fov_mm = settings.fov_mm;
  const auto count = nominal.trajectory.sample_count();
  scan.kspace.values = Array<Complex<float>>({1, count});
  const auto found =
      delayed(nominal.trajectory, scan.geometry, starts_of(scan, nominal.readout_length), delays);
  double error = 0;
  const auto& k = nominal.trajectory.k;
  for (std::int64_t m = 1; m < count; ++m) {
    if (m % nominal.readout_length == 0) continue;
    const double x = (k[m] - k[m - 1]) / 240, y = (k[count + m] - k[count + m - 1]) / 220;  // cycles/mm
    error = std::max(
        error, std::abs(found.k[m] - k[m] + 240 * (delays.samples[0][0] * x + delays.samples[0][1] * y)));
    error = std::max(error, std::abs(found.k[count + m] - k[count + m] +
                                     220 * (delays.samples[1][0] * x + delays.samples[1][1] * y)));
  }
  EXPECT_LE(error, 1e-10);
}

TEST(GradientDelays, leave_out_samples_that_lie_beyond_the_matrix) {
  const auto simulation = data::simulate(settings_of(TrajectoryKind::golden_radial, {}));
  const auto starts = starts_of(simulation);
  const Scan moved = with_delays(simulation.scan, starts, GradientDelays::along_axes({2, 2, 0}));
  moved.validate("moved scan");
  const auto all = simulation.scan.kspace.sample_count(), left_out = all - moved.kspace.sample_count();
  // About two samples of each readout, where it leaves the ellipse.
  EXPECT_GT(left_out, 0);
  EXPECT_LE(left_out, 4 * simulation.readout_count);
  EXPECT_EQ(moved.sample_time_s->size(), moved.kspace.sample_count());
  ASSERT_EQ(moved.messages.size(), 1u);
  EXPECT_NE(moved.messages[0].text.find("beyond the matrix"), std::string::npos);
  EXPECT_THROW(with_delays(simulation.scan, starts, GradientDelays::along_axes({80, 80, 0})), Error)
      << "less than half is left";
}

TEST(GradientDelays, leave_readouts_whole_where_frames_are_cut_by_them) {
  const auto simulation = data::simulate(settings_of(TrajectoryKind::golden_radial, {}));
  const auto length = simulation.readout_length, all = simulation.scan.kspace.sample_count();
  const auto starts = starts_of(simulation.scan, length);
  const auto delays = GradientDelays::along_axes({2, 2, 0});
  const auto alone = with_delays(simulation.scan, starts, delays).kspace.sample_count();
  const Scan moved = with_delays(simulation.scan, starts, delays, {}, BeyondMatrix::columns);
  moved.validate("moved scan");
  const auto left = moved.kspace.sample_count() / simulation.readout_count;
  ASSERT_EQ(left * simulation.readout_count, moved.kspace.sample_count());
  EXPECT_LT(left, length);
  EXPECT_GE(left, length - 4);  // two samples at an end, and one for the ellipse at each
  EXPECT_LE(moved.kspace.sample_count(), alone);
  // Takes the same samples of every readout: the values tell which.
  const auto& before = simulation.scan.kspace.values;
  std::int64_t first = 0;
  while (!(before[first] == moved.kspace.values[0])) ASSERT_LT(++first, length);
  for (std::int64_t readout = 0; readout < simulation.readout_count; ++readout)
    for (std::int64_t m = 0; m < left; ++m)
      ASSERT_EQ(moved.kspace.values[readout * left + m], before[readout * length + first + m]);
  EXPECT_EQ(moved.sample_time_s->size(), moved.kspace.sample_count());
  EXPECT_LT(moved.kspace.sample_count(), all);
}

TEST(GradientDelays, move_the_calibration_too) {
  auto simulation = data::simulate(settings_of(TrajectoryKind::golden_radial, {}));
  Scan& scan = simulation.scan;
  scan.calibration.emplace();
  scan.calibration->trajectory = scan.trajectory;
  scan.calibration->kspace = scan.kspace;
  const auto starts = starts_of(scan, simulation.readout_length);
  const auto delays = GradientDelays::along_axes({0.3, -0.2, 0});
  const Scan moved = with_delays(scan, starts, delays, starts);
  const auto played = delayed(scan.trajectory, scan.geometry, starts, delays);
  EXPECT_EQ(largest_difference(moved.calibration->trajectory.k, played.k), 0);
  EXPECT_EQ(moved.calibration->kspace.sample_count(), scan.kspace.sample_count());
}

/// The delays found in a simulated scan are those that were put in, to 0.03 samples.
void expect_found(const data::SimulationSettings& settings) {
  const auto simulation = data::simulate(settings);
  const auto& delays = settings.trajectory.delay_samples;
  const auto found = estimate_delays(simulation.scan, starts_of(simulation));
  ASSERT_TRUE(found.found()) << found.obstacle;
  for (std::size_t axis = 0; axis < 2; ++axis)
    EXPECT_NEAR(found.delays.samples[axis][axis], delays[axis], 0.03) << "axis " << axis;
  EXPECT_TRUE(found.delays.are_diagonal());
  EXPECT_LE(found.inconsistency, found.inconsistency_before);
}

TEST(GradientDelays, of_many_kinds_of_scans_are_found) {
  expect_found(settings_of(TrajectoryKind::golden_radial, {0.7, -0.4, 0}));
  expect_found(settings_of(TrajectoryKind::radial, {2, 1.1, 0}));
  expect_found(settings_of(TrajectoryKind::golden_radial, {}));
  auto settings = settings_of(TrajectoryKind::spiral, {0.5, 1.2, 0});
  settings.trajectory.matrix_size = {128, 120, 1};
  settings.coil_count = 8;
  expect_found(settings);
  settings = settings_of(TrajectoryKind::golden_radial, {-1, 0.7, 0});
  settings.object_scale = 1.3;  // beyond the field of view
  expect_found(settings);
  settings = settings_of(TrajectoryKind::stack_of_stars, {0.6, 1.1, 0});
  settings.trajectory.matrix_size = {24, 24, 10};
  settings.trajectory.fov_mm = {240, 240, 100};
  expect_found(settings);
}

TEST(GradientDelays, of_turned_gradients_are_found_with_their_element_between_axes) {
  auto simulation = data::simulate(settings_of(TrajectoryKind::golden_radial, {}));
  Scan& scan = simulation.scan;
  const auto count = scan.kspace.sample_count(), length = simulation.readout_length;
  const double xx = 0.8, yy = 0.3, xy = 0.25;
  const data::CoilKSpace kspace(data::Phantom::shepp_logan(2), data::CoilArray(2, 4));
  std::vector<Complex<double>> values(4);
  const auto& k = scan.trajectory.k;
  for (std::int64_t m = 0; m < count; ++m) {
    const std::int64_t other = m % length == 0 ? m + 1 : m - 1;  // spokes are straight, their steps even
    const double sign = other < m ? 1 : -1, x = sign * (k[m] - k[other]) / 240,
                 y = sign * (k[count + m] - k[count + other]) / 220;
    kspace.values({k[m] - 240 * (xx * x + xy * y), k[count + m] - 220 * (xy * x + yy * y), 0}, values);
    for (std::int64_t coil = 0; coil < 4; ++coil)
      scan.kspace.values[coil * count + m] = Complex<float>(values[static_cast<std::size_t>(coil)]);
  }
  const auto found = estimate_delays(scan, starts_of(scan, length));
  ASSERT_TRUE(found.found()) << found.obstacle;
  EXPECT_NEAR(found.delays.samples[0][0], xx, 0.01);
  EXPECT_NEAR(found.delays.samples[1][1], yy, 0.01);
  EXPECT_NEAR(found.delays.samples[0][1], xy, 0.01);
  EXPECT_EQ(found.delays.samples[0][1], found.delays.samples[1][0]);
}

std::string obstacle_of(const data::Simulation& simulation) {
  return estimate_delays(simulation.scan, starts_of(simulation)).obstacle;
}

TEST(GradientDelays, are_not_found_where_nothing_tells_them) {
  EXPECT_NE(obstacle_of(data::simulate(settings_of(TrajectoryKind::cartesian, {}))).find("Cartesian"),
            std::string::npos);

  auto one_spoke = settings_of(TrajectoryKind::golden_radial, {});
  one_spoke.trajectory.readout_count = 1;
  EXPECT_FALSE(obstacle_of(data::simulate(one_spoke)).empty());

  auto noise = data::simulate(settings_of(TrajectoryKind::golden_radial, {}));
  for (auto& value : noise.scan.kspace.values) value = {};
  EXPECT_NE(obstacle_of(noise).find("too few samples"), std::string::npos);
  data::add_noise(noise.scan.kspace.values, 1, 7);
  EXPECT_FALSE(obstacle_of(noise).empty());
}

TEST(GradientDelays, are_looked_for_where_a_first_step_tells_some) {
  const auto looked_for = [](const data::SimulationSettings& settings) {
    const auto simulation = data::simulate(settings);
    return may_be_delayed(simulation.scan, starts_of(simulation));
  };
  for (const auto kind : {TrajectoryKind::golden_radial, TrajectoryKind::radial, TrajectoryKind::spiral}) {
    EXPECT_FALSE(looked_for(settings_of(kind, {}))) << data::name_of(kind);
    for (const double delay : {0.3, 1.0, -1.5})
      EXPECT_TRUE(looked_for(settings_of(kind, {delay, 0.2, 0}))) << data::name_of(kind) << delay;
  }
  auto noise = settings_of(TrajectoryKind::golden_radial, {});
  noise.snr = 0.01;
  EXPECT_FALSE(looked_for(noise));
}

TEST(GradientDelays, too_long_to_be_found_are_not_taken_for_others) {
  for (const auto& delays : {std::array<double, 3>{10, 8, 0}, {8, 6, 0}}) {
    auto settings = settings_of(TrajectoryKind::golden_radial, delays);
    settings.trajectory.matrix_size = {48, 48, 1};
    settings.snr = 30;
    EXPECT_FALSE(obstacle_of(data::simulate(settings)).empty()) << delays[0];
  }
}

TEST(GradientDelays, are_told_in_words) {
  Geometry geometry;
  geometry.matrix_size = {32, 32, 1};
  auto delays = GradientDelays::along_axes({0.5, -0.25, 3});
  EXPECT_EQ(in_words(delays, geometry), "0.500 samples along x, -0.250 along y");
  delays.samples[0][1] = delays.samples[1][0] = 0.0625;
  EXPECT_EQ(in_words(delays, geometry), "0.500 samples along x, -0.250 along y, 0.063 between x and y");
}

}  // namespace
}  // namespace fhd
