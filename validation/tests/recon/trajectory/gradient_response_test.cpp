// Gradient responses against what is known of them in closed form, and against designs that are played in finer
// steps.
#include "recon/trajectory/gradient_response.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <numbers>

#include "data/trajectory.hpp"
#include "validation/tests/problems.hpp"

namespace fhd {
namespace {

using tests::largest_difference;

constexpr double pi = std::numbers::pi, step_hz = 100;
using Transfer = std::function<Complex<double>(int axis, double hz)>;

Complex<double> turned(double angle) { return {std::cos(angle), std::sin(angle)}; }

/// Up to 100 kHz, on both sides of 0 or on one.
GradientResponse response_of(const Transfer& h, bool two_sided = true) {
  GradientResponse response;
  for (int i = two_sided ? -1000 : 0; i <= 1000; ++i) response.frequencies_hz.push_back(i * step_hz);
  const auto count = static_cast<std::int64_t>(response.frequencies_hz.size());
  response.values = Array<Complex<double>>({3, count});
  for (int axis = 0; axis < 3; ++axis)
    for (std::int64_t i = 0; i < count; ++i)
      response.values[axis * count + i] = h(axis, response.frequencies_hz[static_cast<std::size_t>(i)]);
  response.validate("response");
  return response;
}

GradientResponse delay_of(const std::array<double, 3>& delay_s) {
  return response_of([=](int axis, double hz) { return turned(-2 * pi * hz * delay_s[axis]); });
}

/// 1 / (1 + i 2 pi f tau): exponential in time.
GradientResponse low_pass(double time_s) {
  return response_of([=](int axis, double hz) {
    const double x = 2 * pi * hz * time_s * (1 + 0.3 * axis);
    return Complex<double>(1 / (1 + x * x), -x / (1 + x * x));
  });
}

/// A designed scan and what it takes to play it.
struct Design {
  explicit Design(data::TrajectoryKind kind) {
    settings.kind = kind;
    geometry.matrix_size = settings.matrix_size = {48, 44, 1};
    geometry.fov_mm = settings.fov_mm = {240, 220, 5};
    design = data::design_trajectory(settings);
    for (std::int64_t m = 0; m <= design.trajectory.sample_count(); m += design.readout_length)
      starts.push_back(m);
  }
  data::TrajectorySettings settings;
  Geometry geometry;
  data::DesignedTrajectory design;
  ReadoutStarts starts;
  const Array<double>& k() const { return design.trajectory.k; }
  Trajectory played_by(const GradientResponse& response) const {
    return played(design.trajectory, geometry, starts, design.dwell_s, response);
  }
  Trajectory delayed_by(const GradientDelays& delays) const {
    return delayed(design.trajectory, geometry, starts, delays);
  }
  Scan scan() const {
    Scan made;
    made.geometry = geometry;
    made.trajectory = design.trajectory;
    made.sample_time_s = design.sample_time_s;
    made.kspace.values = Array<Complex<float>>({1, design.trajectory.sample_count()});
    return made;
  }
};

TEST(GradientResponse, of_one_leaves_positions_and_of_a_delay_is_that_of_the_correction_of_delays) {
  for (const auto kind : {data::TrajectoryKind::spiral, data::TrajectoryKind::golden_radial}) {
    const Design scan(kind);
    const auto same = scan.played_by(response_of([](int, double) { return Complex<double>(1, 0); }));
    EXPECT_LE(largest_difference(same.k, scan.k()), 1e-12);
    const std::array<double, 3> delays{0.8, -0.6, 0};
    const double dwell_s = scan.design.dwell_s;
    const auto found = scan.played_by(delay_of({delays[0] * dwell_s, delays[1] * dwell_s, 0}));
    // The table is linear between frequencies: right to (2 pi tau step)^2 / 8 = 3e-7 of a gradient. Spirals: a
    // cubic, and waves of the same samples, differ where the design has corners, at its first sample.
    EXPECT_LE(largest_difference(found.k, scan.delayed_by(GradientDelays::along_axes(delays)).k),
              kind == data::TrajectoryKind::spiral ? 2e-3 : 1e-4)
        << "cycles/FOV";
    EXPECT_GT(largest_difference(found.k, scan.k()), 0.2);
  }
}

TEST(GradientResponse, of_a_low_pass_holds_a_steady_gradient_back_by_its_time) {
  const Design scan(data::TrajectoryKind::golden_radial);
  const double time_s = 20e-6;
  const auto found = scan.played_by(low_pass(time_s));
  const auto& k = scan.k();
  const auto samples = scan.design.trajectory.sample_count(), length = scan.design.readout_length;
  double error = 0;
  for (int axis = 0; axis < 2; ++axis)
    for (std::int64_t m = 0; m + 1 < samples; ++m) {
      if (m % length == length - 1) continue;
      const auto at = axis * samples + m;
      const double lag = (k[at + 1] - k[at]) * time_s * (1 + 0.3 * axis) / scan.design.dwell_s;
      error = std::max(error, std::abs(found.k[at] - k[at] + lag));
    }
  // For a lag of up to 5 cycles/FOV, the table, linear between frequencies, changes its time by up to (2 pi 26 us
  // 100 Hz)^2 = 3e-4 of itself at 0 Hz, and again as much between the first frequencies.
  EXPECT_LE(error, 5e-3);
}

TEST(GradientResponse, is_what_a_design_in_finer_steps_plays) {
  for (const auto kind : {data::TrajectoryKind::spiral, data::TrajectoryKind::golden_radial,
                          data::TrajectoryKind::variable_density_spiral, data::TrajectoryKind::cartesian}) {
    const Design scan(kind);
    const auto response = low_pass(6e-6);
    auto settings = scan.settings;
    settings.response = std::make_shared<GradientResponse>(response);
    const auto truth = data::design_trajectory(settings);
    EXPECT_LE(largest_difference(scan.played_by(response).k, truth.trajectory.k), 0.02)
        << static_cast<int>(kind);
    EXPECT_GT(largest_difference(scan.k(), truth.trajectory.k), 0.5);
  }
}

TEST(GradientResponse, acts_along_the_axes_of_the_magnet) {
  const Design upright(data::TrajectoryKind::golden_radial);
  Design scan = upright;
  const double c = std::cos(0.4), s = std::sin(0.4), dwell_s = scan.design.dwell_s;
  scan.geometry.read_direction = {c, s, 0};
  scan.geometry.phase_direction = {s, -c, 0};  // a sign is none of its business
  const double tau[] = {0.9, 0.3};             // samples
  const auto found = scan.played_by(delay_of({tau[0] * dwell_s, tau[1] * dwell_s, 0}));
  GradientDelays delays;  // sum of tau_p u_p u_p^T, in the axes of the image
  delays.samples[0] = {c * c * tau[0] + s * s * tau[1], c * s * (tau[0] - tau[1]), 0};
  delays.samples[1] = {delays.samples[0][1], s * s * tau[0] + c * c * tau[1], 0};
  EXPECT_LE(largest_difference(found.k, upright.delayed_by(delays).k), 1e-4);
  scan.geometry.fov_mm = {0, 0, 0};
  EXPECT_THROW(scan.played_by(delay_of({})), Error);
}

TEST(GradientResponse, of_negative_frequencies_is_that_of_a_real_one) {
  const Transfer h = [](int axis, double hz) { return turned(-2 * pi * hz * 3e-6 * (1 + axis)); };
  const auto one = response_of(h, false), two = response_of(h);
  EXPECT_EQ(one.bandwidth_hz(), two.bandwidth_hz());
  for (const double hz : {0.0, 50.0, 12345.6, 99999.0, 2e5})
    for (int axis = 0; axis < 3; ++axis) {
      EXPECT_LE(abs(one.at(axis, hz) - two.at(axis, hz)), 1e-12) << hz;
      EXPECT_LE(abs(one.at(axis, -hz) - conj(one.at(axis, hz))), 1e-12) << hz;
    }
  EXPECT_LE(abs(one.at(1, 12345.6) - h(1, 12345.6)), 1e-5);  // (2 pi 6e-6 100)^2 / 8 = 2e-6
}

TEST(GradientResponse, leaves_samples_out_that_move_beyond_the_matrix) {
  const Design design(data::TrajectoryKind::golden_radial);
  const Scan scan = design.scan(), moved = with_response(scan, design.starts, low_pass(20e-6));
  moved.validate("moved scan");
  EXPECT_LT(moved.kspace.sample_count(), scan.kspace.sample_count());
  ASSERT_EQ(moved.messages.size(), 2u);
  EXPECT_EQ(moved.messages[0].text.find("the gradient response moved samples by up to "), 0u);
}

TEST(GradientResponse, what_it_needs_is_told_in_one_line) {
  const Design design(data::TrajectoryKind::spiral);
  Scan scan = design.scan();
  scan.sample_time_s.reset();
  const auto line = [&](const GradientResponse& response) -> std::string {
    try {
      with_response(scan, design.starts, response);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const auto identity = response_of([](int, double) { return Complex<double>(1, 0); });
  EXPECT_EQ(line(identity).find("gradient response: expected a scan that tells when its samples were taken"),
            0u);
  scan.sample_time_s = design.design.sample_time_s;
  EXPECT_EQ(line(identity), "");
  auto narrow = identity;
  narrow.frequencies_hz = {0, 500};
  narrow.values = Array<Complex<double>>({3, 2});
  for (auto& h : narrow.values) h = {1, 0};
  EXPECT_EQ(
      line(narrow).find("gradient response: expected one that covers the gradients of the scan, found one up "
                        "to 500 Hz"),
      0u)
      << line(narrow);
  (*scan.sample_time_s)[5] += 0.5 * design.design.dwell_s;
  EXPECT_EQ(line(identity).find("gradient response: expected samples that are evenly spaced"), 0u);
  auto wrong = identity;
  wrong.frequencies_hz[7] = wrong.frequencies_hz[8];
  EXPECT_THROW(wrong.validate("response"), Error);
  wrong = identity;
  wrong.values[3] = {NAN, 0};
  EXPECT_THROW(wrong.validate("response"), Error);
  for (auto& h : wrong.values) h = {0.85, 0};
  EXPECT_THROW(wrong.validate("response"), Error);
}

}  // namespace
}  // namespace fhd
