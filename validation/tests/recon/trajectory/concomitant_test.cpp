#include "recon/trajectory/concomitant.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "recon/error.hpp"

namespace fhd {
namespace {

using MatrixOfAxes = std::array<std::array<double, 3>, 3>;

constexpr double spiral_fov_m = 0.24, angle_per_s = 1e4, field_strength_t = 0.55;
constexpr double spiral_speed = 2 * std::numbers::pi * 32 / spiral_fov_m /
                                0.01;  // of k, rad/m/s: from the centre to 32 cycles/FOV in 10 ms

/// A spiral of constant angular velocity, K = spiral_speed t (cos wt, sin wt), in an oblique plane off the centre.
Scan circular_spiral(std::int64_t samples, double dwell_s, const MatrixOfAxes& directions) {
  Scan scan;
  scan.geometry.matrix_size = {64, 64, 1};
  scan.geometry.fov_mm = {1e3 * spiral_fov_m, 1e3 * spiral_fov_m, 5};
  scan.geometry.position_mm = {30, -50, 80};
  scan.geometry.read_direction = directions[0];
  scan.geometry.phase_direction = directions[1];
  scan.geometry.slice_direction = directions[2];
  scan.trajectory.k = Array<double>({3, samples});
  scan.sample_time_s = Array<double>({samples});
  for (std::int64_t m = 0; m < samples; ++m) {
    const double t = dwell_s * static_cast<double>(m),
                 k = spiral_speed * t * spiral_fov_m / (2 * std::numbers::pi);
    scan.trajectory.k[m] = k * std::cos(angle_per_s * t);
    scan.trajectory.k[samples + m] = k * std::sin(angle_per_s * t);
    (*scan.sample_time_s)[m] = 0.003 + t;
  }
  scan.kspace.values = Array<Complex<float>>({1, samples});
  return scan;
}

MatrixOfAxes oblique_axes() {
  const double a = 0.5, b = 0.8, ca = std::cos(a), sa = std::sin(a), cb = std::cos(b), sb = std::sin(b);
  return {{{ca, sa * cb, sa * sb}, {-sa, ca * cb, ca * sb}, {0, -sb, cb}}};
}

/// Integrals over time of g_u^2, g_v^2 and g_u g_v of that spiral in closed form, (T/m)^2 s; u, v: axes of the image.
std::array<double, 3> gradient_products(double t) {
  const double a = angle_per_s * t, c = spiral_speed / proton_gamma_rad_per_s_t;
  const double s2 = std::sin(2 * a), c2 = std::cos(2 * a), even = a / 2 + a * a * a / 6,
               odd = a * c2 / 4 + s2 / 8 - a * a * s2 / 4,
               mixed = a * s2 / 4 + a * a * c2 / 4 - c2 / 8 + 0.125;
  const double unit = c * c / angle_per_s;
  return {unit * (even + odd), unit * (even - odd), unit * mixed};
}

/// The phase at a place, in metres along L, P, S, from the integrals.
double phase_at(const std::array<double, 3>& r, double t, const MatrixOfAxes& directions) {
  const auto [uu, vv, uv] = gradient_products(t);
  const auto product = [&](int i, int j) {
    const auto &u = directions[0], &v = directions[1];
    return u[i] * u[j] * uu + v[i] * v[j] * vv + (u[i] * v[j] + v[i] * u[j]) * uv;
  };
  const auto [x, y, z] = r;
  return proton_gamma_rad_per_s_t / (2 * field_strength_t) *
         ((product(0, 0) + product(1, 1)) * z * z + product(2, 2) * (x * x + y * y) / 4 -
          product(0, 2) * x * z - product(1, 2) * y * z);
}

TEST(Concomitant, phases_of_a_circular_spiral_are_those_of_the_closed_form) {
  for (const double dwell_s : {2.5e-6, 5e-6}) {
    const auto samples = static_cast<std::int64_t>(0.01 / dwell_s);
    const MatrixOfAxes directions = oblique_axes();
    const Scan scan = circular_spiral(samples, dwell_s, directions);
    const Scan found = with_maxwell_terms(scan, {0, samples}, field_strength_t);
    const auto& fields = found.fields.value();
    ASSERT_EQ(fields.functions.size(), 4u);
    const auto positions = positions_in_magnet_m(found.geometry, fields);
    const std::int64_t voxels = positions.extent(1);
    double largest = 0, farthest = 0;
    for (const std::int64_t p : {std::int64_t{0}, std::int64_t{63}, voxels / 2, voxels - 64, voxels - 1})
      for (std::int64_t m = 0; m < samples; m += 7) {
        const std::array<double, 3> r{positions[p], positions[voxels + p], positions[2 * voxels + p]};
        double phase = 0;
        for (std::int64_t term = 0; term < 4; ++term)
          phase += fields.coefficients[term * samples + m] *
                   value_of(fields.functions[static_cast<std::size_t>(term)], r);
        const double expected = phase_at(r, dwell_s * static_cast<double>(m), directions);
        farthest = std::max(farthest, std::abs(phase - expected));
        largest = std::max(largest, std::abs(expected));
      }
    EXPECT_GE(largest, 10) << "there is something to be right about";
    EXPECT_LE(farthest, 1e-3) << dwell_s;
  }
}

TEST(Concomitant, terms_are_added_to_fields_along_their_axes_and_once) {
  Scan scan = circular_spiral(400, 2.5e-6, {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}});
  // A magnet whose z is the read direction: what is x, y of the image is z, x of the magnet.
  scan.fields.emplace(
      Fields{{FieldFunction::xy}, Array<double>({1, 400}), {{{0, 1, 0}, {0, 0, 1}, {1, 0, 0}}}});
  scan.fields->coefficients[3] = 7;
  const Scan found = with_maxwell_terms(scan, {0, 400}, field_strength_t, -1);
  ASSERT_EQ(found.fields->functions.size(), 5u);
  EXPECT_EQ(found.fields->coefficients[3], 7);
  const auto [uu, vv, uv] = gradient_products(2.5e-6 * 399);
  const double unit = proton_gamma_rad_per_s_t / (2 * field_strength_t);
  const auto last = [&](std::int64_t term) { return found.fields->coefficients[term * 400 + 399]; };
  EXPECT_NEAR(last(1), -unit * vv, 1e-4 * unit * vv);
  EXPECT_NEAR(last(2), -unit * uu / 4, 1e-4 * unit * uu);
  EXPECT_NEAR(last(3), unit * uv, 1e-4 * unit * uu);
  EXPECT_NEAR(last(4), 0, 1e-9);
  EXPECT_THROW((void)with_maxwell_terms(found, {0, 400}, field_strength_t), Error);
}

TEST(Concomitant, what_a_trajectory_does_not_tell_is_refused) {
  const MatrixOfAxes straight{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  const auto refused = [&](auto change, const ReadoutStarts& starts = {0, 100}) {
    Scan scan = circular_spiral(100, 2.5e-6, straight);
    change(scan);
    try {
      (void)with_maxwell_terms(std::move(scan), starts, field_strength_t);
    } catch (const Error& error) {
      return error.parts().expected;
    }
    return std::string();
  };
  EXPECT_EQ(refused([](Scan&) {}), "");
  EXPECT_NE(refused([](Scan& s) { s.sample_time_s.reset(); }), "");
  EXPECT_NE(refused([](Scan& s) { s.geometry.fov_mm[0] = 0; }), "");
  EXPECT_NE(refused([](Scan& s) { (*s.sample_time_s)[50] = (*s.sample_time_s)[49]; }), "");
  EXPECT_NE(refused([](Scan&) {}, {0, 98, 100}), "") << "a readout of two samples";
  EXPECT_NE(refused([](Scan& s) {
              for (double& t : *s.sample_time_s) t *= 1e-3;  // ms given for s
            }),
            "");
}

TEST(Concomitant, warns_where_phases_exceed_half_a_radian) {
  const Scan scan = circular_spiral(4000, 2.5e-6, oblique_axes());
  const auto at_low_field = warning_of_maxwell_terms(scan, {0, 4000}, 0.55);
  ASSERT_TRUE(at_low_field);
  EXPECT_EQ(at_low_field->severity, Severity::warning);
  EXPECT_FALSE(warning_of_maxwell_terms(scan, {0, 4000}, 60));
  EXPECT_NEAR(largest_maxwell_phase(scan, {0, 4000}, 0.55), 100 * largest_maxwell_phase(scan, {0, 4000}, 55),
              1e-6);
}

}  // namespace
}  // namespace fhd
