// Sensitivity maps found from the scan itself, against the true maps of simulated scans and those of a real
// one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <ostream>

#include "data/simulate.hpp"
#include "io/scan/scan_file.hpp"
#include "recon/coils/maps.hpp"
#include "recon/encoding/sense.hpp"
#include "recon/pipeline/reconstruct.hpp"
#include "validation/metrics.hpp"
#include "validation/tests/io/io_scans.hpp"
#include "validation/tests/messages.hpp"
#include "validation/tests/problems.hpp"

namespace {

using namespace fhd;
using data::TrajectoryKind;
using io::error_of;

struct MapsCase {
  TrajectoryKind kind;
  std::array<int, 3> matrix_size;
  double undersampling;
  int coil_count;
  double snr;
  std::int64_t readout_count = 0;

  data::SimulationSettings settings() const {
    data::SimulationSettings settings;
    settings.trajectory.kind = kind;
    settings.trajectory.matrix_size = matrix_size;
    settings.trajectory.undersampling = undersampling;
    settings.trajectory.readout_count = readout_count;
    settings.coil_count = coil_count;
    settings.snr = snr;
    return settings;
  }
  std::string text() const {
    return std::string(data::name_of(kind)) + " " + std::to_string(matrix_size[0]) + "x" +
           std::to_string(matrix_size[1]) + "x" + std::to_string(matrix_size[2]) + " / " +
           std::to_string(static_cast<int>(undersampling)) + ", " + std::to_string(coil_count) +
           " coils, SNR " + std::to_string(static_cast<int>(snr));
  }
  friend std::ostream& operator<<(std::ostream& out, const MapsCase& c) { return out << c.text(); }
};

struct Agreement {
  double mean = 0, least = 1;
  std::int64_t voxels = 0, missing = 0, below_099 = 0;
};

/// |<true, estimated>| / (|true| |estimated|) over coils, at the voxels above 1 % of the largest of the
/// object.
Agreement agreement(const Array<Complex<float>>& truth, const Array<Complex<float>>& maps,
                    const Image& ideal) {
  const std::int64_t coils = truth.extent(0), voxels = ideal.values.size();
  double largest = 0;
  for (const auto& v : ideal.values) largest = std::max(largest, double(abs(v)));
  Agreement result;
  for (std::int64_t p = 0; p < voxels; ++p) {
    if (abs(ideal.values[p]) <= 0.01 * largest) continue;
    Complex<double> product;
    double a = 0, b = 0;
    for (std::int64_t coil = 0; coil < coils; ++coil) {
      const Complex<double> t(truth[coil * voxels + p]), m(maps[coil * voxels + p]);
      product += conj(t) * m;
      a += norm(t), b += norm(m);
    }
    ++result.voxels;
    const double cosine = b > 0 ? abs(product) / std::sqrt(a * b) : 0;
    result.mean += cosine;
    result.least = std::min(result.least, cosine);
    if (b == 0) ++result.missing;
    if (!(cosine >= 0.99)) ++result.below_099;
  }
  result.mean /= static_cast<double>(result.voxels);
  return result;
}

class Espirit : public testing::TestWithParam<MapsCase> {};

TEST_P(Espirit, spans_the_true_maps_inside_the_object) {
  const auto simulation = data::simulate(GetParam().settings());
  const auto& truth = simulation.scan.sensitivity_maps->values;
  const auto maps = estimate_maps(simulation.scan, MapMethod::espirit).maps.values;
  ASSERT_TRUE(maps.shape() == truth.shape());
  const auto found = agreement(truth, maps, simulation.ideal);
  EXPECT_GE(found.mean, 0.999);
  EXPECT_EQ(found.missing, 0);
  // At the very edge of the FOV, which is periodic for the maps and not for the coils, single voxels may
  // deviate.
  EXPECT_LE(static_cast<double>(found.below_099), 1e-3 * static_cast<double>(found.voxels));

  // Normalised to one, or zero.
  const std::int64_t coils = maps.extent(0), voxels = maps.size() / coils;
  for (std::int64_t p = 0; p < voxels; ++p) {
    double square = 0;
    for (std::int64_t coil = 0; coil < coils; ++coil)
      square += norm(Complex<double>(maps[coil * voxels + p]));
    if (square != 0) {
      ASSERT_NEAR(square, 1, 1e-5) << p;  // sums of a few coils in float
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Trajectories, Espirit,
    testing::Values(MapsCase{TrajectoryKind::radial, {128, 128, 1}, 1, 8, 30},
                    MapsCase{TrajectoryKind::radial, {128, 128, 1}, 4, 8, 30},
                    MapsCase{TrajectoryKind::radial, {97, 128, 1}, 2, 5, 30},
                    MapsCase{TrajectoryKind::radial, {128, 128, 1}, 2, 32, 30},
                    MapsCase{TrajectoryKind::radial, {128, 128, 1}, 2, 8, 5},
                    MapsCase{TrajectoryKind::cartesian, {64, 64, 1}, 1, 8, 30},
                    MapsCase{TrajectoryKind::spiral, {128, 128, 1}, 1, 8, 30},
                    MapsCase{TrajectoryKind::spiral, {128, 128, 1}, 2, 8, 30},
                    MapsCase{TrajectoryKind::spiral, {128, 128, 1}, 4, 8, 30},
                    MapsCase{TrajectoryKind::variable_density_spiral, {128, 128, 1}, 3, 8, 30},
                    MapsCase{TrajectoryKind::golden_means_radial_3d, {48, 48, 48}, 1, 8, 30, 900},
                    MapsCase{TrajectoryKind::stack_of_stars, {48, 48, 16}, 2, 8, 30}));

/// Error of the magnitudes against the band-limited truth times the coils' root of the sum of squares, which
/// is what maps normalised to one show.
struct Errors {
  double true_maps, espirit, adaptive;
};
Errors errors_of(const MapsCase& c) {
  const auto simulation = data::simulate(c.settings());
  Scan scan = simulation.scan;
  const auto sensitivity = root_sum_of_squares(scan.sensitivity_maps->values);
  const std::int64_t voxels = sensitivity.size();
  Array<Complex<double>> truth(sensitivity.shape());
  for (std::int64_t p = 0; p < voxels; ++p)
    truth[p] = double(abs(simulation.band_limited.values[p])) * sensitivity[p].re;
  for (std::int64_t i = 0; i < scan.sensitivity_maps->values.size(); ++i)
    scan.sensitivity_maps->values[i] *= 1 / sensitivity[i % voxels].re;
  const auto error = [&](CoilMaps maps) {
    Settings settings;
    settings.coils.maps = maps;
    const auto image = reconstruct(scan, settings).image;
    Array<Complex<double>> magnitude(sensitivity.shape());
    for (std::int64_t p = 0; p < voxels; ++p) magnitude[p] = double(abs(image.values[p]));
    return metrics::nrmse_best_scale(magnitude, truth);
  };
  return {error(CoilMaps::file), error(CoilMaps::espirit), error(CoilMaps::adaptive)};
}

class SelfMadeMaps : public testing::TestWithParam<MapsCase> {};

TEST_P(SelfMadeMaps, reconstruct_as_well_as_the_true_maps) {
  const auto errors = errors_of(GetParam());
  EXPECT_LE(errors.espirit, 1.15 * errors.true_maps);
  EXPECT_LE(errors.adaptive, 1.5 * errors.true_maps);  // the simpler choice
}

INSTANTIATE_TEST_SUITE_P(Undersampled, SelfMadeMaps,
                         testing::Values(MapsCase{TrajectoryKind::radial, {128, 128, 1}, 2, 8, 30},
                                         MapsCase{TrajectoryKind::radial, {128, 128, 1}, 3, 8, 30},
                                         MapsCase{TrajectoryKind::radial, {128, 128, 1}, 4, 8, 30},
                                         MapsCase{TrajectoryKind::spiral, {128, 128, 1}, 2, 8, 30},
                                         MapsCase{TrajectoryKind::spiral, {128, 128, 1}, 3, 8, 30},
                                         MapsCase{TrajectoryKind::spiral, {128, 128, 1}, 4, 8, 30},
                                         MapsCase{TrajectoryKind::radial, {128, 128, 1}, 4, 32, 30},
                                         MapsCase{TrajectoryKind::spiral, {128, 128, 1}, 4, 32, 30},
                                         MapsCase{TrajectoryKind::stack_of_stars, {48, 48, 6}, 2, 8, 30}));

const MapsCase small_case{TrajectoryKind::radial, {64, 64, 1}, 2, 6, 30};

TEST(SensitivityMaps, do_not_depend_on_the_size_of_the_data_and_come_out_the_same_twice) {
  Scan scan = data::simulate(small_case.settings()).scan;
  for (const auto method : {MapMethod::espirit, MapMethod::adaptive}) {
    const auto first = estimate_maps(scan, method).maps.values;
    EXPECT_EQ(io::largest_difference(estimate_maps(scan, method).maps.values, first), 0);
    Scan larger = scan;
    for (auto& d : larger.kspace.values) d *= 0x1p66f;  // a power of two: no other rounding
    EXPECT_EQ(io::largest_difference(estimate_maps(larger, method).maps.values, first), 0);
  }
}

TEST(SensitivityMaps, take_from_the_scan_before_what_the_trajectory_shares_and_nothing_else) {
  const Scan first = data::simulate(small_case.settings()).scan;
  Scan second = first, turned = first, narrow = first;
  for (std::int64_t i = 0; i < second.kspace.values.size(); ++i)
    second.kspace.values[i] += 0.1f * first.kspace.values[(7 * i + 3) % first.kspace.values.size()];
  const std::int64_t samples = first.trajectory.sample_count();
  for (std::int64_t m = 0; m < samples; ++m) turned.trajectory.k[m] *= -1;  // mirrored along x
  narrow.geometry.matrix_size = {32, 32, 1};
  std::optional<CalibrationSystem> kept;
  for (const Scan* scan : std::initializer_list<const Scan*>{&first, &second, &turned, &narrow, &first}) {
    const auto alone = estimate_maps(*scan, MapMethod::espirit).maps.values,
               after = estimate_maps(*scan, MapMethod::espirit, MapSetCount::one, Device::cpu(), {}, &kept)
                           .maps.values;
    EXPECT_EQ(io::largest_difference(after, alone), 0);
    ASSERT_TRUE(kept);
  }
  const CalibrationExtent extent{first.geometry.matrix_size, 16, 12, 12};
  EXPECT_TRUE(kept->is_of(second.trajectory, extent, Device::cpu()));
  EXPECT_FALSE(kept->is_of(turned.trajectory, extent, Device::cpu()));
  EXPECT_FALSE(kept->is_of(first.trajectory, {first.geometry.matrix_size, 15, 12, 12}, Device::cpu()));
  Scan moved = first;
  std::int64_t central = 0;
  while (std::hypot(first.trajectory.k[central], first.trajectory.k[samples + central]) > 5) ++central;
  moved.trajectory.k[central] += 1e-9;
  EXPECT_FALSE(kept->is_of(moved.trajectory, extent, Device::cpu()));
}

TEST(SensitivityMaps, of_a_volume_leave_nothing_behind) {
  const Scan scan =
      data::simulate(MapsCase{TrajectoryKind::golden_means_radial_3d, {24, 24, 24}, 1, 2, 30}.settings()).scan;
  std::optional<CalibrationSystem> kept;
  estimate_maps(scan, MapMethod::espirit, MapSetCount::one, Device::cpu(), {}, &kept);
  EXPECT_FALSE(kept.has_value());
}

TEST(SensitivityMaps, are_zero_in_the_corners_that_hold_nothing) {
  const auto simulation = data::simulate(small_case.settings());
  const auto maps = estimate_maps(simulation.scan, MapMethod::espirit).maps.values;
  for (std::int64_t coil = 0; coil < 6; ++coil)
    for (const std::int64_t corner : {0, 63, 63 * 64, 64 * 64 - 1})
      EXPECT_EQ(norm(maps[coil * 4096 + corner]), 0);
}

TEST(SensitivityMaps, of_tiny_matrices_are_made_without_fail) {
  for (const std::array<int, 3> matrix :
       {std::array{1, 1, 1}, {2, 2, 1}, {3, 1, 1}, {1, 9, 1}, {5, 4, 3}, {12, 11, 10}}) {
    Scan scan;
    scan.geometry.matrix_size = matrix;
    scan.trajectory = tests::random_trajectory(matrix, 500, 1);
    scan.kspace.values = tests::random_values<float>({3, 500}, 2);
    for (const auto method : {MapMethod::espirit, MapMethod::adaptive}) {
      const auto maps = estimate_maps(scan, method).maps.values;
      for (const auto& s : maps)
        ASSERT_LE(norm(s), 1.00001f) << matrix[0] << "x" << matrix[1] << "x" << matrix[2];
    }
  }
}

TEST(SensitivityMaps, refuse_zeros) {
  Scan scan = data::simulate(small_case.settings()).scan;
  for (auto& d : scan.kspace.values) d = {};
  EXPECT_CONTAINS(error_of([&] { estimate_maps(scan, MapMethod::espirit); }), "signal near the centre");
}

TEST(CoilPreparation, finds_maps_when_there_are_none_and_says_so) {
  Scan scan = data::simulate(small_case.settings()).scan;
  Settings settings;
  const auto with_file = reconstruct(scan, settings);
  scan.sensitivity_maps.reset();
  const auto without = reconstruct(scan, settings);
  const auto says = [](const Reconstruction& r, const std::string& value) {
    return std::any_of(r.report.settings.begin(), r.report.settings.end(),
                       [&](const auto& item) { return item.first == "coils" && item.second == value; });
  };
  EXPECT_TRUE(says(with_file, "maps of the scan"));
  EXPECT_TRUE(says(without, "espirit"));
  EXPECT_TRUE(std::any_of(without.report.stages.begin(), without.report.stages.end(),
                          [](const Stage& stage) { return stage.name == "sensitivity maps"; }));
  settings.coils.maps = CoilMaps::none;
  EXPECT_TRUE(says(reconstruct(scan, settings), "no maps"));
  // The gridded image of many coils stays the root of the sum of squares.
  settings = {ConventionalGridding{}};
  EXPECT_TRUE(says(reconstruct(scan, settings), "no maps"));
}

TEST(CoilPreparation, leaves_dead_coils_out) {
  const Scan scan = data::simulate(small_case.settings()).scan;
  const std::int64_t samples = scan.kspace.sample_count();
  Scan dead = scan;
  std::fill_n(dead.kspace.values.data() + 2 * samples, samples, Complex<float>());
  Scan five = scan;  // the same without that coil
  five.kspace.values = Array<Complex<float>>({5, samples});
  five.sensitivity_maps->values = Array<Complex<float>>({5, 1, 64, 64});
  for (std::int64_t coil = 0, from = 0; coil < 5; ++coil, ++from) {
    if (from == 2) ++from;
    std::copy_n(scan.kspace.values.data() + from * samples, samples,
                five.kspace.values.data() + coil * samples);
    std::copy_n(scan.sensitivity_maps->values.data() + from * 4096, 4096,
                five.sensitivity_maps->values.data() + coil * 4096);
  }
  for (const auto maps : {CoilMaps::file, CoilMaps::espirit}) {
    Settings settings;
    settings.coils.maps = maps;
    const auto with = reconstruct(dead, settings), without = reconstruct(five, settings);
    EXPECT_EQ(io::largest_difference(with.image.values, without.image.values), 0);
    EXPECT_TRUE(tests::tells(with.report.messages, "left out: 2"));
  }
}

TEST(CoilPreparation, of_zeros_gives_a_zero_image) {
  Scan scan = data::simulate(small_case.settings()).scan;
  scan.sensitivity_maps.reset();
  for (auto& d : scan.kspace.values) d = {};
  for (const auto& v : reconstruct(scan, {}).image.values) ASSERT_EQ(norm(v), 0);
}

TEST(CoilPreparation, refuses_what_the_scan_cannot_give) {
  Scan scan = data::simulate(small_case.settings()).scan;
  scan.sensitivity_maps.reset();
  Settings settings;
  settings.coils.maps = CoilMaps::file;
  EXPECT_CONTAINS(error_of([&] { reconstruct(scan, settings); }), "--coils espirit");
  const std::int64_t samples = scan.kspace.sample_count();
  Array<Complex<float>> one({1, samples});
  std::copy_n(scan.kspace.values.data(), samples, one.data());
  scan.kspace.values = one;
  settings.coils.maps = CoilMaps::adaptive;
  EXPECT_CONTAINS(error_of([&] { reconstruct(scan, settings); }), "more than one coil");
}

TEST(SensitivityMaps, of_a_real_head_give_the_image_of_the_maps_in_its_file) {
  const std::string directory = std::string(FHD_SCANS) + "/impatient_brain_spiral/64x64x16-4coils";
  if (!std::filesystem::exists(directory)) GTEST_SKIP() << directory << " is absent";
  const Scan scan = io::open_scan(directory)->read(0, 0);
  const auto magnitude = [&](CoilMaps maps) {
    // Both stopped at 1e-3: the maps of the file fit the data less well (|F rho - d| / |d| = 0.068, maps
    // found here 0.028, each coil on its own 0.020), and their image alone goes on to change afterwards.
    // Without a preconditioner, which is nearer to the converged image at the same residual.
    Settings settings{LeastSquares{.preconditioner = PreconditionerKind::none, .tolerance = 1e-3}};
    settings.coils.maps = maps;
    const auto result = reconstruct(scan, settings);
    Array<Complex<double>> values(result.image.values.shape());
    for (std::int64_t p = 0; p < values.size(); ++p) values[p] = double(abs(result.image.values[p]));
    return values;
  };
  const auto reference = magnitude(CoilMaps::file);
  // The head: above a tenth of the 99th percentile.
  std::vector<double> sorted;
  for (const auto& v : reference) sorted.push_back(v.re);
  std::sort(sorted.begin(), sorted.end());
  metrics::Mask head(reference.shape());
  for (std::int64_t p = 0; p < head.size(); ++p)
    head[p] = reference[p].re > 0.1 * sorted[sorted.size() * 99 / 100];
  for (const auto maps : {CoilMaps::espirit, CoilMaps::adaptive}) {
    const auto image = magnitude(maps);
    const auto scaled = metrics::scaled(image, metrics::best_scale(image, reference, head));
    const double ssim = metrics::ssim(scaled, reference, scan.geometry.matrix_size, head);
    EXPECT_GE(ssim, 0.95);
  }
}

}  // namespace
