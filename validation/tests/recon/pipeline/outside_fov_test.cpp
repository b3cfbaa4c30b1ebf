// Objects beyond the field of view: seen where the samples tell them apart, and reconstructed on a larger matrix.
#include "recon/pipeline/outside_fov.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "data/simulate.hpp"
#include "recon/array/fft.hpp"
#include "recon/pipeline/estimate.hpp"
#include "recon/pipeline/reconstruct.hpp"
#include "validation/metrics.hpp"
#include "validation/tests/messages.hpp"
#include "validation/tests/problems.hpp"

namespace fhd {
namespace {

using data::TrajectoryKind;

/// Simulates a scan without sensitivity maps, so that these are found.
data::Simulation head(TrajectoryKind kind, std::array<int, 3> matrix, double object_scale, int coils = 8,
                      std::int64_t readouts = 0) {
  data::SimulationSettings settings;
  settings.trajectory.kind = kind;
  settings.trajectory.matrix_size = matrix;
  settings.trajectory.fov_mm = {240, 240, matrix[2] == 1 ? 5.0 : 240.0};
  settings.trajectory.readout_count = readouts;
  settings.coil_count = coils;
  settings.object_scale = object_scale;
  auto simulation = data::simulate(settings);
  simulation.scan.sensitivity_maps.reset();
  return simulation;
}

Settings with(OutsideFov outside_fov) {
  Settings settings;
  settings.outside_fov = outside_fov;
  return settings;
}

/// Returns the error of magnitudes against the truth as the coils together see it.
double error_of(const Image& image, const data::Simulation& simulation) {
  const auto& truth = simulation.band_limited.values;
  const std::int64_t voxels = truth.size();
  const auto& matrix = simulation.scan.geometry.matrix_size;
  const auto coils = static_cast<int>(simulation.scan.kspace.coil_count());
  const auto maps = data::CoilArray(matrix[2] > 1 ? 3 : 2, coils).maps(matrix);
  Array<Complex<double>> seen(truth.shape()), found(truth.shape());
  for (std::int64_t p = 0; p < voxels; ++p) {
    double square = 0;
    for (int coil = 0; coil < coils; ++coil) square += norm(Complex<double>(maps.values[coil * voxels + p]));
    seen[p] = Complex<double>(abs(truth[p]) * std::sqrt(square));
    found[p] = Complex<double>(abs(image.values[p]));
  }
  return metrics::nrmse_best_scale(found, seen);
}

bool speaks_of_outside_fov(const Report& report) {
  return tests::tells(report.messages, "reaches beyond the field of view");
}

TEST(MatrixForObject, keeps_what_fits_and_what_cannot_be_told_apart) {
  constexpr std::array<int, 3> matrix{128, 65, 1};
  const AxisView fits{1, 0.55, 0.05}, not_told{0.5, 0.9, 0}, flat{};
  EXPECT_EQ(matrix_for_object(matrix, {fits, not_told, flat}), matrix);
}

TEST(MatrixForObject, holds_the_object_in_an_even_matrix_of_small_factors_at_most_twice_as_large) {
  for (const int n : {2, 11, 33, 65, 127, 128, 251})
    for (const double reach : {0.6, 0.7, 0.93, 1.0}) {
      const auto matrix = matrix_for_object({n, n, 1}, {AxisView{1, reach, 0.04}, {}, {}});
      EXPECT_EQ(matrix[0] % 2, 0) << n;
      EXPECT_EQ(good_fft_size(matrix[0]), matrix[0]) << n;
      EXPECT_LE(matrix[0], 2 * n);
      // The largest such number below 2 N may be 10 % less.
      EXPECT_GE(matrix[0], std::min(2 * reach, 1.8) * n) << n << ", " << reach;
      EXPECT_EQ(matrix[1], n);
    }
}

TEST(ResolvedField, follows_the_distances_of_samples_about_the_centre) {
  const auto resolved = [](TrajectoryKind kind, std::array<int, 3> matrix) {
    return resolved_field(head(kind, matrix, 1, 1).scan);
  };
  constexpr FieldFactors plane{2, 2, 1};
  EXPECT_EQ(resolved(TrajectoryKind::cartesian, {32, 32, 1}), own_field);
  EXPECT_EQ(resolved(TrajectoryKind::golden_radial, {33, 32, 1}), plane);
  EXPECT_EQ(resolved(TrajectoryKind::variable_density_spiral, {64, 64, 1}), plane);
  for (const int n : {24, 48, 64, 128})
    EXPECT_EQ(resolved(TrajectoryKind::spiral, {n, n, 1}), own_field) << n;
  EXPECT_EQ(resolved(TrajectoryKind::stack_of_spirals, {24, 24, 24}), own_field);
  EXPECT_EQ(resolved(TrajectoryKind::stack_of_stars, {24, 24, 16}), plane);
  EXPECT_EQ(resolved(TrajectoryKind::golden_means_radial_3d, {24, 24, 24}), (FieldFactors{2, 2, 2}));
}

TEST(ResolvedField, leaves_axes_that_are_cropped_already_and_asks_the_reference_too) {
  Scan scan = head(TrajectoryKind::golden_radial, {32, 32, 1}, 1, 2).scan;
  scan.cropped_matrix_size = {16, 0, 0};
  EXPECT_EQ(resolved_field(scan), (FieldFactors{1, 2, 1}));
  const Scan coarse = head(TrajectoryKind::cartesian, {32, 32, 1}, 1, 2).scan;
  scan.calibration = Calibration{coarse.trajectory, coarse.kspace};
  EXPECT_EQ(resolved_field(scan), own_field);
}

TEST(ResolvedField, knows_readouts_of_a_cartesian_scan_with_half_the_step) {
  Scan scan = head(TrajectoryKind::cartesian, {64, 32, 1}, 1, 1).scan;
  scan.geometry.matrix_size[0] = 32;  // of half the FOV: the steps along x are half a cycle
  for (std::int64_t m = 0; m < scan.trajectory.sample_count(); ++m) scan.trajectory.k[m] /= 2;
  EXPECT_EQ(resolved_field(scan), (FieldFactors{2, 1, 1}));
}

TEST(OutsideFov, an_object_inside_leaves_every_bit_as_it_is) {
  for (const auto kind : {TrajectoryKind::golden_radial, TrajectoryKind::variable_density_spiral,
                          TrajectoryKind::spiral, TrajectoryKind::cartesian})
    for (const double scale : {0.7, 1.05}) {
      const Scan scan = head(kind, {48, 47, 1}, scale, 4).scan;
      const auto looked = reconstruct(scan, with(OutsideFov::automatic)),
                 off = reconstruct(scan, with(OutsideFov::off));
      EXPECT_FALSE(speaks_of_outside_fov(looked.report)) << name_of(kind) << ", " << scale;
      EXPECT_EQ(metrics::relative_l2(converted<Complex<double>>(looked.image.values),
                                     converted<Complex<double>>(off.image.values)),
                0)
          << name_of(kind) << ", " << scale;
    }
}

TEST(OutsideFov, noise_alone_is_no_object) {
  Scan scan = head(TrajectoryKind::golden_radial, {48, 48, 1}, 1, 4).scan;
  scan.kspace.values = tests::random_values<float>(scan.kspace.values.shape(), 7);
  EXPECT_EQ(object_beyond_fov(scan, resolved_field(scan)).matrix_size, scan.geometry.matrix_size);
  scan.kspace.values.fill_zero();
  EXPECT_EQ(object_beyond_fov(scan, resolved_field(scan)).matrix_size, scan.geometry.matrix_size);
}

TEST(OutsideFov, are_the_same_after_another_scan_of_the_trajectory_or_of_another) {
  const Scan wide = head(TrajectoryKind::golden_radial, {48, 48, 1}, 1.4, 4).scan,
             inside = head(TrajectoryKind::golden_radial, {48, 48, 1}, 0.7, 4).scan,
             other = head(TrajectoryKind::variable_density_spiral, {48, 48, 1}, 1.4, 4).scan;
  std::optional<CalibrationSystem> kept;
  for (const Scan* scan : {&wide, &inside, &other, &wide}) {
    const auto resolved = resolved_field(*scan);
    const auto alone = object_beyond_fov(*scan, resolved),
               after = object_beyond_fov(*scan, resolved, Device::cpu(), &kept);
    EXPECT_EQ(after.matrix_size, alone.matrix_size);
    EXPECT_EQ(after.energy_share, alone.energy_share);
  }
}

TEST(OutsideFov, an_object_below_the_noise_beyond_the_fov_is_left) {
  Scan scan = head(TrajectoryKind::golden_radial, {48, 48, 1}, 1.4, 4).scan;
  const auto resolved = resolved_field(scan);
  EXPECT_GT(object_beyond_fov(scan, resolved).matrix_size[1], 48);
  double energy = 0;
  for (const auto& value : scan.kspace.values) energy += norm(Complex<double>(value));
  // Noise readouts of ten times the largest energy that the scan could have by itself.
  scan.noise = tests::random_values<float>({4, 1000}, 3);
  for (auto& value : *scan.noise) value *= static_cast<float>(std::sqrt(10 * energy));
  EXPECT_EQ(object_beyond_fov(scan, resolved).matrix_size, scan.geometry.matrix_size);
}

TEST(LongOutsideFov, tissue_beyond_the_fov_no_longer_spoils_the_image) {
  struct Case {
    TrajectoryKind kind;
    std::array<int, 3> matrix;
    double scale;
    int coils;
    std::array<bool, 3> beyond;
  };
  // Shepp-Logan heads are 0.69 x 0.92 FOV (x 0.9 in 3D, but with little energy at the poles) times the scale.
  const Case cases[] = {{TrajectoryKind::golden_radial, {64, 64, 1}, 1.4, 8, {false, true, false}},
                        {TrajectoryKind::golden_radial, {64, 64, 1}, 1.4, 1, {false, true, false}},
                        {TrajectoryKind::radial, {65, 63, 1}, 1.7, 8, {true, true, false}},
                        {TrajectoryKind::variable_density_spiral, {64, 64, 1}, 1.4, 8, {false, true, false}},
                        {TrajectoryKind::stack_of_stars, {32, 32, 12}, 1.4, 4, {false, true, false}},
                        {TrajectoryKind::golden_means_radial_3d, {24, 24, 24}, 1.4, 4, {false, true, false}}};
  for (const auto& [kind, matrix, scale, coils, beyond] : cases) {
    const std::string what = std::string(name_of(kind)) + ", " + std::to_string(coils) + " coils";
    const auto simulation = head(kind, matrix, scale, coils), inside = head(kind, matrix, 1, coils);
    const auto made = reconstruct(simulation.scan, with(OutsideFov::automatic));
    EXPECT_TRUE(speaks_of_outside_fov(made.report)) << what;
    ASSERT_TRUE(made.prepared.has_value()) << what;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      EXPECT_EQ(made.prepared->geometry.matrix_size[axis] > matrix[axis], beyond[axis])
          << what << ", axis " << axis;
      EXPECT_NEAR(made.image.geometry.fov_mm[axis], simulation.scan.geometry.fov_mm[axis], 1e-9) << what;
    }
    EXPECT_EQ(made.image.geometry.matrix_size, matrix) << what;
    const Settings gridded{ConventionalGridding{}, Precision::single_precision, CoilSettings::as_they_are()};
    EXPECT_EQ(reconstruct(*made.prepared, gridded).image.geometry.matrix_size, matrix) << what;
    EXPECT_EQ(made.image.values.shape(), simulation.band_limited.values.shape()) << what;
    const double with_it = error_of(made.image, simulation),
                 without = error_of(reconstruct(simulation.scan, with(OutsideFov::off)).image, simulation),
                 nothing_outside = error_of(reconstruct(inside.scan, with(OutsideFov::off)).image, inside);
    // Twice the error of an object that fits, whose edges are as sharp, or less; without, several times that.
    EXPECT_LE(with_it, 2 * nothing_outside) << what;
    EXPECT_LE(with_it, 0.4 * without) << what << ": " << with_it << " against " << without;
  }
}

TEST(OutsideFov, what_ends_at_the_fov_keeps_the_scan_there_and_says_so) {
  auto simulation = head(TrajectoryKind::golden_radial, {48, 48, 1}, 1.4, 4);
  Scan scan = simulation.scan;
  scan.sensitivity_maps = data::CoilArray(2, 4).maps({48, 48, 1});
  const auto of_maps = reconstruct(scan, {});
  EXPECT_TRUE(speaks_of_outside_fov(of_maps.report));
  EXPECT_EQ(
      metrics::relative_l2(converted<Complex<double>>(of_maps.image.values),
                           converted<Complex<double>>(reconstruct(scan, with(OutsideFov::off)).image.values)),
      0);
  Settings espirit;
  espirit.coils.maps = CoilMaps::espirit;  // maps of the file are not used
  EXPECT_GT(reconstruct(scan, espirit).prepared->geometry.matrix_size[1], 48);
  scan.sensitivity_maps.reset();
  scan.field_map = Array<float>({1, 48, 48});
  const auto of_field = reconstruct(scan, {});
  EXPECT_TRUE(speaks_of_outside_fov(of_field.report));
  EXPECT_EQ(of_field.prepared->geometry.matrix_size[1], 48);
}

TEST(OutsideFov, another_order_of_axes_gives_the_same_image) {
  const Scan scan = head(TrajectoryKind::golden_radial, {32, 48, 1}, 1.5, 2).scan;
  Scan turned = scan;  // x, y -> y, z
  turned.geometry.matrix_size = {1, 32, 48};
  turned.geometry.fov_mm = {5, 240, 240};
  const std::int64_t samples = scan.trajectory.sample_count();
  for (std::int64_t i = 0; i < 2 * samples; ++i) turned.trajectory.k[samples + i] = scan.trajectory.k[i];
  std::fill_n(turned.trajectory.k.data(), samples, 0.0);
  const auto expected = reconstruct(scan, {}).image, found = reconstruct(turned, {}).image;
  EXPECT_EQ(found.geometry.matrix_size, (std::array{1, 32, 48}));
  EXPECT_LE(metrics::nrmse_best_scale(converted<Complex<double>>(found.values),
                                      converted<Complex<double>>(expected.values)),
            0.05);  // the look differs in radius, and so may the matrix
}

TEST(OutsideFov, sizes_are_those_of_the_matrix_that_is_reconstructed) {
  const Scan scan = head(TrajectoryKind::golden_radial, {48, 48, 1}, 1.4, 4).scan;
  const auto larger = sizes_of(scan, Settings{}), own = sizes_of(scan, with(OutsideFov::off));
  EXPECT_EQ(own.matrix_size, scan.geometry.matrix_size);
  EXPECT_EQ(larger.matrix_size, reconstruct(scan, {}).prepared->geometry.matrix_size);
  EXPECT_GT(estimate(larger, {}).host.peak_bytes(), estimate(own, {}).host.peak_bytes());
  EXPECT_EQ(sizes_of(scan, Settings{ConventionalGridding{}}).matrix_size, scan.geometry.matrix_size);
}

}  // namespace
}  // namespace fhd
