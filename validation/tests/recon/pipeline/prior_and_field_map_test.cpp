// Gains by the anatomical prior and the field map, from scan to image.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "data/simulate.hpp"
#include "recon/encoding/sense.hpp"
#include "recon/pipeline/reconstruct.hpp"
#include "validation/metrics.hpp"
#include "validation/oracle.hpp"
#include "validation/tests/messages.hpp"

namespace fhd {
namespace {

double error_of(const Image& image, const Array<Complex<float>>& truth) {
  return metrics::nrmse_best_scale(converted<Complex<double>>(image.values),
                                   converted<Complex<double>>(truth));
}

/// A sodium-like scan: 3D radial, undersampled, one coil, low signal; and the proton image of the same head,
/// finer.
struct SodiumCase {
  SodiumCase() {
    data::SimulationSettings settings;
    settings.trajectory.kind = data::TrajectoryKind::golden_means_radial_3d;
    settings.trajectory.matrix_size = {32, 32, 32};
    settings.trajectory.fov_mm = {240, 240, 240};
    settings.trajectory.undersampling = 2;
    settings.coil_count = 1;
    settings.snr = 4;
    simulation = data::simulate(settings);

    settings.trajectory.matrix_size = {64, 64, 64};
    Geometry fine = simulation.scan.geometry;
    fine.matrix_size = {64, 64, 64};
    proton.voxel_to_lps_mm = voxel_to_lps_mm(fine);
    const auto head = data::ideal_image(data::Phantom::shepp_logan(3), fine.matrix_size);
    proton.values = Array<float>(head.shape());
    // Another contrast than sodium's: brighter where the head is darker.
    for (std::int64_t p = 0; p < head.size(); ++p)
      proton.values[p] = static_cast<float>(100 * std::sqrt(std::abs(head[p])));
  }
  data::Simulation simulation;
  Volume proton;
};

TEST(LongAnatomicalPrior, lowers_the_error_of_a_sodium_like_scan_by_a_quarter) {
  const SodiumCase sodium;
  const auto best = [&](LeastSquares method) {
    double lowest = std::numeric_limits<double>::infinity();
    for (double lambda : {3e-5, 1e-4, 3e-4, 1e-3, 3e-3}) {
      method.lambda = OfLargestEigenvalue{lambda};
      method.iterations = 25;
      lowest = std::min(lowest, error_of(reconstruct(sodium.simulation.scan, {method}).image,
                                         sodium.simulation.ideal.values));
    }
    return lowest;
  };
  const double without = best({}), with = best({.regularizer = RoughnessPenalty{{{sodium.proton}}}});
  EXPECT_LE(with, 0.75 * without);
}

/// A two-coil spiral of 40 x 40 voxels whose readouts last 12 ms, with and without off-resonance of +-70 Hz.
struct FieldMapCase {
  FieldMapCase() {
    data::SimulationSettings settings;
    settings.trajectory.kind = data::TrajectoryKind::spiral;
    settings.trajectory.matrix_size = {40, 40, 1};
    settings.trajectory.dwell_s = 1e-5;
    settings.trajectory.readout_count = 4;
    settings.trajectory.undersampling = 1;
    settings.coil_count = 2;
    settings.snr = {};
    simulation = data::simulate(settings);
    Scan& scan = simulation.scan;
    field_map = Array<float>(scan.geometry.image_shape());
    for (int y = 0; y < 40; ++y)
      for (int x = 0; x < 40; ++x)
        field_map[y * 40 + x] =
            static_cast<float>(2 * 3.14159265 * 70 * std::sin(4.0 * x / 40) * std::cos(3.0 * y / 40));

    const auto positions = oracle::voxel_positions(scan.geometry.matrix_size);
    Array<double> omega(Shape{field_map.size()});
    for (std::int64_t p = 0; p < field_map.size(); ++p) omega[p] = field_map[p];
    const auto image = converted<Complex<double>>(simulation.band_limited.values);
    const auto maps = converted<Complex<double>>(scan.sensitivity_maps->values);
    resonant = scan;
    resonant.kspace.values = with_noise(oracle::sense_forward(scan.trajectory.k, positions, image, maps));
    shifted = scan;
    shifted.kspace.values = with_noise(oracle::sense_forward(
        scan.trajectory.k, positions, image, maps, oracle::OffResonance{omega, *scan.sample_time_s}));
  }
  static Array<Complex<float>> with_noise(const Array<Complex<double>>& samples) {
    Array<Complex<float>> noisy = converted<Complex<float>>(samples);
    data::add_noise(noisy, 0.05, 3);
    return noisy;
  }
  data::Simulation simulation;
  Array<float> field_map;
  Scan resonant, shifted;
};

TEST(FieldMap, corrected_error_is_near_that_of_the_field_free_scan) {
  const FieldMapCase c;
  const auto error = [&](Scan scan, bool map, NormalKind normal) {
    if (map) scan.field_map = c.field_map;
    const LeastSquares method{.normal = normal, .lambda = OfLargestEigenvalue{1e-5}, .iterations = 60};
    return error_of(reconstruct(scan, {method}).image, c.simulation.band_limited.values);
  };
  const double resonant = error(c.resonant, false, NormalKind::toeplitz);
  const double corrected = error(c.shifted, true, NormalKind::toeplitz);
  const double uncorrected = error(c.shifted, false, NormalKind::toeplitz);
  EXPECT_LE(corrected, 1.2 * resonant);
  EXPECT_GE(uncorrected, 2 * corrected) << "the map does not matter in this scan";
  EXPECT_NEAR(error(c.shifted, true, NormalKind::explicit_product), corrected, 1e-3);
}

/// Sample times that count from t0 later, t' = t - t0: exp(-i omega t) = exp(-i omega t0) exp(-i omega t'), so that the
/// solution is rho' = exp(-i omega t0) rho where the penalty takes no notice of phase.
TEST(FieldMap, another_origin_of_the_sample_times_turns_the_phase_and_nothing_else) {
  const FieldMapCase c;
  Scan scan = c.shifted;
  scan.field_map = c.field_map;
  const LeastSquares method{.lambda = OfLargestEigenvalue{1e-3}, .iterations = 30};
  const auto before = reconstruct(scan, {method}).image.values;
  constexpr double origin_s = 4e-3;
  for (double& t : *scan.sample_time_s) t -= origin_s;
  const auto after = reconstruct(scan, {method}).image.values;
  double square = 0, difference = 0, phase = 0;
  for (std::int64_t p = 0; p < before.size(); ++p) {
    const double angle = -static_cast<double>(c.field_map[p]) * origin_s;
    const auto turned = Complex<double>(std::cos(angle), std::sin(angle)) * Complex<double>(before[p]);
    square += norm(turned);
    difference += norm(Complex<double>(after[p]) - turned);
    phase += norm(Complex<double>(after[p]) - Complex<double>(before[p]));
  }
  // Single precision: rounding of the products, 1e-6, over 30 iterations.
  EXPECT_LE(std::sqrt(difference / square), 1e-4);
  EXPECT_GE(std::sqrt(phase / square), 0.1) << "the origin does not matter in this scan";
}

TEST(FieldMap, is_said_to_be_unused_without_sample_times_or_another_method) {
  const FieldMapCase c;
  Scan scan = c.shifted;
  scan.field_map = c.field_map;
  const auto mentions = [](const Report& report) {
    return tests::tells(report.messages, "the field map of the scan is not used");
  };
  EXPECT_FALSE(mentions(reconstruct(scan, Settings{}).report));
  EXPECT_FALSE(mentions(reconstruct(scan, {PlainAdjoint{}}).report));
  EXPECT_TRUE(mentions(reconstruct(scan, {ConventionalGridding{}}).report));
  scan.sample_time_s.reset();
  EXPECT_TRUE(mentions(reconstruct(scan, Settings{}).report));
}

/// Fields of second and third order of some 3 rad at the edge, off-resonance and decay.
TEST(Fields, are_corrected_by_factors_and_by_exact_sums) {
  const FieldMapCase c;
  Scan scan = c.resonant;
  scan.geometry.position_mm = {0, 0, 50};
  scan.field_map = c.field_map;
  scan.decay_per_s = Array<float>(scan.geometry.image_shape());
  std::fill(scan.decay_per_s->begin(), scan.decay_per_s->end(), 20.0F);
  const std::int64_t samples = scan.trajectory.sample_count();
  scan.fields =
      Fields{{FieldFunction::xy, FieldFunction::x2_y2, FieldFunction::zx2_zy2}, Array<double>({3, samples})};
  const double radius_m = 1e-3 * scan.geometry.fov_mm[0] / 2;
  for (std::int64_t l = 0; l < 3; ++l)
    for (std::int64_t m = 0; m < samples; ++m)
      scan.fields->coefficients[l * samples + m] =
          3 / std::pow(radius_m, l < 2 ? 2 : 3) * std::sin(300 * (*scan.sample_time_s)[m] + double(l));
  const auto image = converted<Complex<double>>(c.simulation.band_limited.values);
  scan.kspace.values = FieldMapCase::with_noise(exact_samples(image, scan, Device::cpu()));
  const auto made = [&](const Scan& of, TransformKind kind) {
    LeastSquares method{.lambda = OfLargestEigenvalue{1e-5}, .iterations = 60};
    method.transform.kind = kind, method.transform.accuracy = 1e-4;
    return reconstruct(of, {method});
  };
  const auto error = [&](const Reconstruction& of) {
    return error_of(of.image, c.simulation.band_limited.values);
  };
  const double without = error(made(c.resonant, TransformKind::automatic));
  const auto fast = made(scan, TransformKind::gridded), exact = made(scan, TransformKind::direct);
  EXPECT_TRUE(tests::tells(fast.report.messages, "full equation: ") &&
              tests::tells(fast.report.messages, " terms"));
  EXPECT_TRUE(tests::tells(exact.report.messages, "full equation: exact sums"));
  EXPECT_LE(error(fast), 1.2 * without);
  EXPECT_LE(error(exact), 1.2 * without);
  EXPECT_LE(error_of(fast.image, exact.image.values), 1e-2);
  EXPECT_LE(error(made(scan, TransformKind::automatic)), 1.2 * without);
  scan.fields.reset();
  EXPECT_GE(error(made(scan, TransformKind::gridded)), 2 * without)
      << "the fields do not matter in this scan";
}

}  // namespace
}  // namespace fhd
