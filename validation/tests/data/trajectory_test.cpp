// Counts, extents, angles and gradient limits of every trajectory.
#include "data/trajectory.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace {

using namespace fhd;
using data::design_trajectory;
using data::TrajectoryKind;
using data::TrajectorySettings;
using std::numbers::pi;
constexpr double proton_hz_per_t = 42.577478518e6;

TrajectorySettings settings_of(TrajectoryKind kind, std::array<int, 3> matrix_size) {
  TrajectorySettings settings;
  settings.kind = kind;
  settings.matrix_size = matrix_size;
  settings.fov_mm = {240, 240, matrix_size[2] > 1 ? 240.0 : 5.0};
  return settings;
}

const std::vector<TrajectoryKind> kinds_2d{TrajectoryKind::cartesian, TrajectoryKind::radial,
                                           TrajectoryKind::golden_radial, TrajectoryKind::spiral,
                                           TrajectoryKind::variable_density_spiral};
const std::vector<TrajectoryKind> kinds_3d{TrajectoryKind::cartesian,
                                           TrajectoryKind::stack_of_stars,
                                           TrajectoryKind::stack_of_spirals,
                                           TrajectoryKind::golden_means_radial_3d,
                                           TrajectoryKind::phyllotaxis_radial_3d,
                                           TrajectoryKind::twisted_projection};

std::vector<TrajectorySettings> all_settings() {
  std::vector<TrajectorySettings> all;
  for (auto kind : kinds_2d)
    for (std::array<int, 3> n :
         {std::array{32, 32, 1}, std::array{33, 20, 1}, std::array{2, 2, 1}, std::array{64, 63, 1}})
      for (double undersampling : {1.0, 2.5})
        all.push_back(settings_of(kind, n)), all.back().undersampling = undersampling;
  for (auto kind : kinds_3d)
    for (std::array<int, 3> n : {std::array{16, 16, 16}, std::array{9, 12, 5}, std::array{8, 8, 2}})
      for (double undersampling : {1.0, 3.0})
        all.push_back(settings_of(kind, n)), all.back().undersampling = undersampling;
  return all;
}

std::string text_of(const TrajectorySettings& s) {
  return std::string(name_of(s.kind)) + " " + std::to_string(s.matrix_size[0]) + "x" +
         std::to_string(s.matrix_size[1]) + "x" + std::to_string(s.matrix_size[2]) + " / " +
         std::to_string(s.undersampling);
}

TEST(Trajectory, counts_agree_and_k_stays_within_half_the_matrix) {
  for (const auto& settings : all_settings()) {
    SCOPED_TRACE(text_of(settings));
    const auto design = design_trajectory(settings);
    const std::int64_t samples = design.readout_count * design.readout_length;
    ASSERT_GE(samples, 2);
    ASSERT_TRUE(design.trajectory.k.shape() == Shape({3, samples}));
    ASSERT_TRUE(design.sample_time_s.shape() == Shape({samples}));
    EXPECT_GT(design.undersampling,
              0.7);  // a count rounded up: least for the pi / 2 x 2 diameters of 2 x 2 voxels
    EXPECT_GT(design.dwell_s, 0);
    for (int axis = 0; axis < 3; ++axis)
      for (std::int64_t m = 0; m < samples; ++m) {
        const double k = design.trajectory.k[axis * samples + m];
        ASSERT_LE(std::abs(k), settings.matrix_size[axis] / 2.0 * (1 + 1e-12))
            << "axis " << axis << ", sample " << m;
        if (settings.matrix_size[2] == 1 && axis == 2) {
          ASSERT_EQ(k, 0);
        }
      }
    for (std::int64_t m = 0; m < samples; ++m)
      ASSERT_LE(std::abs(design.sample_time_s[m] - double(m % design.readout_length) * design.dwell_s),
                1e-15);
  }
}

TEST(Trajectory, reaches_every_edge_and_the_centre_in_steps_of_at_most_one_cycle_per_fov) {
  for (const auto& settings : all_settings()) {
    SCOPED_TRACE(text_of(settings));
    const auto design = design_trajectory(settings);
    const std::int64_t samples = design.trajectory.sample_count();
    const auto k = [&](int axis, std::int64_t m) { return design.trajectory.k[axis * samples + m]; };
    std::array<double, 3> largest{};
    std::set<std::int64_t> readouts;  // that cross k_x = k_y = 0
    bool centre = false;
    for (std::int64_t m = 0; m < samples; ++m) {
      double step = 0;
      for (int axis = 0; axis < 3; ++axis) {
        largest[axis] = std::max(largest[axis], std::abs(k(axis, m)));
        if (m % design.readout_length > 0) step += std::pow(k(axis, m) - k(axis, m - 1), 2);
      }
      ASSERT_LE(std::sqrt(step), 1 + 1e-9);
      if (k(0, m) != 0 || k(1, m) != 0) continue;
      readouts.insert(m / design.readout_length);
      centre = centre || k(2, m) == 0;
    }
    // The last sample of a readout lies up to 1 cycle/FOV inside; the nearest readout up to half an angle beside an axis,
    // which costs another (pi / 2 / N)^2 N / 2 < 1 cycle/FOV.
    for (int axis = 0; axis < 3; ++axis)
      if (settings.undersampling == 1 && settings.matrix_size[axis] > 1) {
        EXPECT_GE(largest[axis], settings.matrix_size[axis] / 2.0 - 2) << "axis " << axis;
      }
    EXPECT_TRUE(centre);
    EXPECT_EQ(readouts.size(),
              static_cast<std::size_t>(settings.kind == TrajectoryKind::cartesian ? settings.matrix_size[2]
                                                                                  : design.readout_count));
  }
}

TEST(Cartesian, visits_every_position_once) {
  for (std::array<int, 3> n : {std::array{8, 7, 1}, std::array{5, 6, 4}}) {
    const auto design = design_trajectory(settings_of(TrajectoryKind::cartesian, n));
    const std::int64_t samples = design.trajectory.sample_count();
    ASSERT_EQ(samples, n[0] * n[1] * n[2]);
    std::set<std::tuple<double, double, double>> seen;
    for (std::int64_t m = 0; m < samples; ++m) {
      const auto& k = design.trajectory.k;
      seen.insert({k[m], k[samples + m], k[2 * samples + m]});
      for (int axis = 0; axis < 3; ++axis) {
        EXPECT_GE(k[axis * samples + m], -(n[axis] / 2));
        EXPECT_LE(k[axis * samples + m], (n[axis] - 1) / 2);
        EXPECT_EQ(k[axis * samples + m], std::round(k[axis * samples + m]));
      }
    }
    EXPECT_EQ(static_cast<std::int64_t>(seen.size()), samples);
  }
}

TEST(Cartesian, undersampling_keeps_every_rth_line_and_the_centre) {
  for (int r : {2, 3, 4, 7}) {
    auto settings = settings_of(TrajectoryKind::cartesian, {4, 31, 1});
    settings.undersampling = r;
    const auto design = design_trajectory(settings);
    const std::int64_t samples = design.trajectory.sample_count();
    EXPECT_EQ(design.readout_count, 2 * (15 / r) + 1);
    for (std::int64_t m = 0; m < samples; ++m) EXPECT_EQ(std::fmod(design.trajectory.k[samples + m], r), 0);
  }
}

double angle_of(const data::DesignedTrajectory& design, std::int64_t readout) {
  const std::int64_t samples = design.trajectory.sample_count(), m = readout * design.readout_length;
  return std::atan2(-design.trajectory.k[samples + m],
                    -design.trajectory.k[m]);  // the first sample lies at -N/2
}

TEST(Radial, golden_angle_is_111_246_degrees) {
  const auto design = design_trajectory(settings_of(TrajectoryKind::golden_radial, {64, 64, 1}));
  for (std::int64_t readout = 1; readout < design.readout_count; ++readout) {
    double step = (angle_of(design, readout) - angle_of(design, readout - 1)) * 180 / pi;
    if (step < 0) step += 360;
    EXPECT_NEAR(step, 111.24611797498107, 1e-9);
  }
}

TEST(Radial, uniform_diameters_are_nyquist_spaced_and_undersampling_divides_their_count) {
  auto settings = settings_of(TrajectoryKind::radial, {64, 64, 1});
  auto design = design_trajectory(settings);
  EXPECT_EQ(design.readout_count, 101);  // ceil(64 pi / 2)
  EXPECT_EQ(design.readout_length, 128);
  for (std::int64_t readout = 1; readout < design.readout_count; ++readout)
    EXPECT_NEAR(angle_of(design, readout) - angle_of(design, readout - 1), pi / 101, 1e-12);
  settings.undersampling = 4;
  design = design_trajectory(settings);
  EXPECT_EQ(design.readout_count, 26);
  EXPECT_NEAR(design.undersampling, 32 * pi / 26, 1e-12);
  settings.undersampling = 1;
  settings.readout_count = 13;
  settings.readout_length = 70;
  design = design_trajectory(settings);
  EXPECT_EQ(design.readout_count, 13);
  EXPECT_EQ(design.readout_length, 70);
}

TEST(Radial3D, diameters_cover_the_half_sphere_evenly) {
  for (auto kind : {TrajectoryKind::golden_means_radial_3d, TrajectoryKind::phyllotaxis_radial_3d}) {
    const auto design = design_trajectory(settings_of(kind, {24, 24, 24}));
    EXPECT_EQ(design.readout_count, static_cast<std::int64_t>(std::ceil(pi / 2 * 24 * 24)));
    const std::int64_t samples = design.trajectory.sample_count();
    // |d_z| of an even cover is uniform in [0, 1]: mean 1/2, mean square 1/3. So are the other axes, as
    // |d_x|.
    for (int axis = 0; axis < 3; ++axis) {
      double mean = 0, square = 0;
      for (std::int64_t readout = 0; readout < design.readout_count; ++readout) {
        const double d = std::abs(design.trajectory.k[axis * samples + readout * design.readout_length]) / 12;
        mean += d / double(design.readout_count);
        square += d * d / double(design.readout_count);
      }
      // Independent random directions would give 0.29 / sqrt(905) = 0.01; these are more even than random.
      EXPECT_NEAR(mean, 0.5, 0.01) << name_of(kind) << axis;
      EXPECT_NEAR(square, 1.0 / 3, 0.01) << name_of(kind) << axis;
    }
  }
}

TEST(Spiral, turns_are_one_cycle_per_fov_apart_times_the_undersampling) {
  for (double undersampling : {1.0, 3.0}) {
    auto settings = settings_of(TrajectoryKind::spiral, {64, 64, 1});
    settings.undersampling = undersampling;
    const auto design = design_trajectory(settings);
    const std::int64_t samples = design.trajectory.sample_count();
    const double interleaves = double(design.readout_count);
    for (std::int64_t m = 1; m < samples; ++m) {
      const double x = design.trajectory.k[m], y = design.trajectory.k[samples + m], r = std::hypot(x, y);
      if (m % design.readout_length == 0) continue;
      // r = interleaves undersampling angle / 2 pi, whatever the speed. Samples are interpolated between 16
      // steps per dwell time, along chords: off by up to (0.05 cycles/FOV)^2 / 8 / r.
      const double angle = 2 * pi * r / (interleaves * undersampling) +
                           2 * pi * double(m / design.readout_length) / interleaves;
      EXPECT_LE(std::hypot(x - r * std::cos(angle), y - r * std::sin(angle)), 1e-3);
    }
  }
}

TEST(Spiral, keeps_to_the_gradient_and_slew_limits) {
  for (auto kind : {TrajectoryKind::spiral, TrajectoryKind::variable_density_spiral})
    for (std::int64_t interleaves : {1, 8}) {
      auto settings = settings_of(kind, {96, 96, 1});
      settings.readout_count = interleaves;
      settings.largest_gradient_t_per_m = 0.022;
      settings.largest_slew_t_per_m_s = 120;
      const auto design = design_trajectory(settings);
      const std::int64_t samples = design.trajectory.sample_count();
      const double scale = 1 / (proton_hz_per_t * 0.24 * design.dwell_s);  // cycles/FOV per sample -> T/m
      double largest_gradient = 0, largest_slew = 0;
      std::int64_t at_gradient_limit = 0;
      for (std::int64_t m = 2; m < design.readout_length; ++m) {
        double first = 0, second = 0;
        for (int axis = 0; axis < 2; ++axis) {
          const double* k = design.trajectory.k.data() + axis * samples + m;
          first += std::pow((k[0] - k[-1]) * scale, 2);
          second += std::pow((k[0] - 2 * k[-1] + k[-2]) * scale / design.dwell_s, 2);
        }
        largest_gradient = std::max(largest_gradient, std::sqrt(first));
        largest_slew = std::max(largest_slew, std::sqrt(second));
        at_gradient_limit += std::sqrt(first) >= 0.99 * 0.022;
      }
      EXPECT_LE(largest_gradient, 0.022 * (1 + 1e-4));  // the curve is longer than Euler's steps say
      // Euler steps of 1/16 of a dwell time: 2 % covers their error at the centre, where the speed changes
      // fastest.
      EXPECT_LE(largest_slew, 120 * 1.02);
      EXPECT_GE(largest_slew, 120 * 0.95);
      EXPECT_GE(at_gradient_limit, design.readout_length / 10);  // the outer part runs at constant speed
    }
}

TEST(Spiral, variable_density_puts_turns_closer_at_the_centre) {
  auto settings = settings_of(TrajectoryKind::variable_density_spiral, {64, 64, 1});
  settings.readout_count = 1;
  settings.undersampling = 3;
  const auto design = design_trajectory(settings);
  const std::int64_t samples = design.trajectory.sample_count();
  double angle = 0, last_radius = 0;
  std::vector<double> radius_of_turn{0};
  for (std::int64_t m = 1; m < samples; ++m) {
    const double x0 = design.trajectory.k[m - 1], y0 = design.trajectory.k[samples + m - 1];
    const double x = design.trajectory.k[m], y = design.trajectory.k[samples + m];
    if (m > 1) angle += std::atan2(x0 * y - y0 * x, x0 * x + y0 * y);
    last_radius = std::hypot(x, y);
    if (angle >= 2 * pi * double(radius_of_turn.size())) radius_of_turn.push_back(last_radius);
  }
  ASSERT_GE(radius_of_turn.size(), 5u);
  EXPECT_NEAR(radius_of_turn[1], 0.5, 0.1);  // half a cycle/FOV at the centre
  const auto last = radius_of_turn.size() - 1;
  EXPECT_NEAR(radius_of_turn[last] - radius_of_turn[last - 1], 3, 0.4);  // 3 at the edge
}

TEST(Spiral, readout_length_sets_the_sampling_of_the_same_curve) {
  auto settings = settings_of(TrajectoryKind::spiral, {64, 64, 1});
  settings.readout_length = 3000;
  const auto design = design_trajectory(settings);
  EXPECT_EQ(design.readout_length, 3000);
  const std::int64_t samples = design.trajectory.sample_count();
  EXPECT_NEAR(std::hypot(design.trajectory.k[2999], design.trajectory.k[samples + 2999]), 32, 0.1);
  settings.readout_length = 100;
  EXPECT_THROW(design_trajectory(settings), Error);  // steps longer than 1 cycle/FOV
}

TEST(Stacks, repeat_the_same_pattern_in_every_plane) {
  for (auto kind : {TrajectoryKind::stack_of_stars, TrajectoryKind::stack_of_spirals}) {
    const auto design = design_trajectory(settings_of(kind, {16, 16, 5}));
    const std::int64_t samples = design.trajectory.sample_count(), plane = samples / 5;
    ASSERT_EQ(plane * 5, samples);
    for (std::int64_t m = 0; m < samples; ++m) {
      EXPECT_EQ(design.trajectory.k[m], design.trajectory.k[m % plane]);
      EXPECT_EQ(design.trajectory.k[samples + m], design.trajectory.k[samples + m % plane]);
      EXPECT_EQ(design.trajectory.k[2 * samples + m], double(m / plane) - 2);
    }
  }
}

TEST(Trajectory, rejects_contradictory_or_hostile_settings) {
  const auto rejects = [](auto change) {
    auto settings = settings_of(TrajectoryKind::golden_radial, {32, 32, 1});
    change(settings);
    EXPECT_THROW(design_trajectory(settings), Error);
  };
  const double nan = std::numeric_limits<double>::quiet_NaN(),
               infinity = std::numeric_limits<double>::infinity();
  for (int n : {0, -1, 1, 4097, std::numeric_limits<int>::max()})
    rejects([&](auto& s) { s.matrix_size[0] = n; });
  rejects([](auto& s) { s.matrix_size[2] = 0; });
  rejects([](auto& s) { s.matrix_size[2] = 4; });  // a 2D trajectory for a 3D matrix
  for (auto kind : {TrajectoryKind::stack_of_stars, TrajectoryKind::stack_of_spirals,
                    TrajectoryKind::golden_means_radial_3d})
    rejects([&](auto& s) { s.kind = kind; });  // and the other way round
  for (double value : {0.0, 0.5, -1.0, nan, infinity}) rejects([&](auto& s) { s.undersampling = value; });
  for (double value : {0.0, -240.0, nan, infinity}) {
    rejects([&](auto& s) { s.fov_mm[1] = value; });
    rejects([&](auto& s) { s.dwell_s = value; });
    rejects([&](auto& s) { s.largest_gradient_t_per_m = value; });
    rejects([&](auto& s) { s.largest_slew_t_per_m_s = value; });
  }
  rejects([](auto& s) { s.readout_count = -3; });
  rejects([](auto& s) { s.readout_length = 1; });
  rejects([](auto& s) { s.readout_count = std::int64_t{1} << 30, s.readout_length = 1 << 10; });
  rejects([](auto& s) { s.readout_count = 20, s.undersampling = 2; });
  rejects([](auto& s) { s.kind = TrajectoryKind::cartesian, s.readout_count = 20; });
  rejects([](auto& s) { s.kind = TrajectoryKind::cartesian, s.readout_length = 64; });
}

TEST(Trajectory, twisted_projections_are_straight_then_evenly_dense_at_one_speed) {
  auto settings = settings_of(TrajectoryKind::twisted_projection, {32, 32, 32});
  const auto design = design_trajectory(settings);
  const std::int64_t samples = design.trajectory.sample_count(), length = design.readout_length;
  const auto k = [&](int axis, std::int64_t m) { return design.trajectory.k[axis * samples + m]; };
  EXPECT_NEAR(static_cast<double>(design.readout_count), 0.2 * pi * 32 * 32, 1);
  EXPECT_NEAR(design.sample_time_s[length - 1], 16e-3, 1e-9);
  std::vector<double> radii;
  for (std::int64_t m = 0; m < length; ++m)
    radii.push_back(std::hypot(k(0, m + 100 * length), k(1, m + 100 * length), k(2, m + 100 * length)));
  EXPECT_EQ(radii.front(), 0);
  EXPECT_NEAR(radii.back(), 16, 1e-9);
  double straight = radii[1];
  for (std::int64_t m = 1; m < length; ++m) {
    const std::int64_t at = m + 100 * length;
    const double step = std::hypot(k(0, at) - k(0, at - 1), k(1, at) - k(1, at - 1), k(2, at) - k(2, at - 1));
    EXPECT_NEAR(step, straight, 0.05 * straight) << m;  // a chord of a curve
    EXPECT_NEAR(k(2, at) / radii[m], k(2, at + length - m - 1) / 16, 1e-9) << "the cone, " << m;
    if (radii[m - 1] <= 0.2 * 16) continue;
    EXPECT_NEAR(std::pow(radii[m], 3) - std::pow(radii[m - 1], 3), 3 * straight * std::pow(0.2 * 16, 2),
                0.02 * straight * std::pow(0.2 * 16, 2));
  }
  settings.readout_count = 2 * design.readout_count;  // straight for twice as long
  EXPECT_LT(design_trajectory(settings).readout_length, length);
}

}  // namespace
