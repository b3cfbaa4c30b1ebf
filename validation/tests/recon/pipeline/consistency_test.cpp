// The whole chain: images that come back through F and conjugate gradient, closed-form phantoms with noise,
// and real scans against pictures made elsewhere.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>

#include "data/simulate.hpp"
#include "io/hdf5/hdf5.hpp"
#include "io/result/results.hpp"
#include "io/scan/scan_file.hpp"
#include "recon/pipeline/reconstruct.hpp"
#include "recon/transform/transform.hpp"
#include "validation/metrics.hpp"
#include "validation/oracle.hpp"
#include "validation/tests/problems.hpp"
#include "validation/tests/program.hpp"

namespace {

using namespace fhd;
using data::TrajectoryKind;

data::TrajectorySettings trajectory_settings(TrajectoryKind kind, std::array<int, 3> matrix,
                                             double undersampling) {
  data::TrajectorySettings settings;
  settings.kind = kind;
  settings.matrix_size = matrix;
  settings.fov_mm = {240, 240, matrix[2] == 1 ? 5.0 : 240.0};
  settings.undersampling = undersampling;
  return settings;
}

/// The phantom's voxel means, blurred by a Gaussian of 1.2 voxels: its transform falls to 8e-4 at |k| = N/2,
/// so that next to nothing lies in the corners of k-space, which radial and spiral scans never visit.
Array<Complex<double>> smooth_phantom(std::array<int, 3> matrix) {
  const auto ideal = data::ideal_image(data::Phantom::shepp_logan(matrix[2] == 1 ? 2 : 3), matrix);
  Array<Complex<double>> image = converted<Complex<double>>(ideal);
  const std::array<std::int64_t, 3> stride{1, matrix[0], std::int64_t{matrix[0]} * matrix[1]};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (matrix[axis] == 1) continue;
    const auto sharp = image;
    image.fill_zero();
    for (std::int64_t p = 0; p < image.size(); ++p)
      for (std::int64_t shift = -6; shift <= 6; ++shift) {
        const auto n = p / stride[axis] % matrix[axis] + shift;
        if (n < 0 || n >= matrix[axis]) continue;
        const double weight = std::exp(-static_cast<double>(shift * shift) / (2 * 1.2 * 1.2));
        image[p] += weight / (1.2 * std::sqrt(2 * std::numbers::pi)) * sharp[p + shift * stride[axis]];
      }
  }
  return image;
}

/// A trajectory whose samples lie 1 / 1.5 cycles/FOV apart where the design's lie 1 apart: made for a FOV
/// of 1.5 times the size with as many times the voxels. Turns of a spiral exactly at Nyquist's distance leave
/// null vectors of F.
Trajectory well_sampled(TrajectoryKind kind, std::array<int, 3> matrix) {
  auto larger = matrix;
  for (int& n : larger)
    if (n > 1) n = n * 3 / 2;
  auto trajectory = data::design_trajectory(trajectory_settings(kind, larger, 1)).trajectory;
  const auto samples = trajectory.sample_count();
  for (std::int64_t i = 0; i < trajectory.k.size(); ++i)
    trajectory.k[i] *= static_cast<double>(matrix[static_cast<std::size_t>(i / samples)]) /
                       larger[static_cast<std::size_t>(i / samples)];
  return trajectory;
}

/// The relative error of an image that went through F (direct, double) and came back by conjugate gradient.
double consistency_error(TrajectoryKind kind, std::array<int, 3> matrix, Precision precision,
                         TransformKind transform) {
  Scan scan;
  scan.geometry.matrix_size = matrix;
  scan.trajectory = well_sampled(kind, matrix);
  const auto image = smooth_phantom(matrix);
  const auto direct = make_direct_transform<double>(scan.trajectory, matrix, Device::cpu());
  Array<Complex<double>> samples(direct->samples_shape(1));
  direct->forward(Array<Complex<double>>(image).reshaped(direct->images_shape(1)), samples);
  scan.kspace.values = converted<Complex<float>>(samples);
  const Settings settings{
      LeastSquares{
          .transform = {transform}, .lambda = OfLargestEigenvalue{0}, .iterations = 100, .tolerance = 1e-6},
      precision};
  return metrics::relative_l2(converted<Complex<double>>(reconstruct(scan, settings).image.values), image);
}

// 1e-3 is the demand. Conjugate gradient leaves the tolerance 1e-6 of the residual, times the root of the
// condition number, and what the phantom has outside the sampled disc of k-space, below 1e-3 of 8e-4.
constexpr double consistency = 1e-3;

TEST(Consistency, image_comes_back) {
  using enum TransformKind;
  using enum Precision;
  const struct {
    TrajectoryKind kind;
    std::array<int, 3> matrix;
    Precision precision;
    TransformKind transform;
  } cases[] = {{TrajectoryKind::spiral, {64, 64, 1}, single_precision, direct},
               {TrajectoryKind::spiral, {64, 64, 1}, double_precision, direct},
               {TrajectoryKind::spiral, {63, 63, 1}, single_precision, gridded},
               {TrajectoryKind::radial, {64, 64, 1}, single_precision, direct},
               {TrajectoryKind::radial, {64, 64, 1}, double_precision, direct},
               {TrajectoryKind::golden_radial, {51, 51, 1}, single_precision, gridded},
               {TrajectoryKind::golden_means_radial_3d, {24, 24, 24}, single_precision, direct},
               {TrajectoryKind::phyllotaxis_radial_3d, {21, 21, 21}, single_precision, gridded}};
  for (const auto& [kind, matrix, precision, transform] : cases)
    EXPECT_LE(consistency_error(kind, matrix, precision, transform), consistency)
        << name_of(kind) << ", " << matrix[0] << " voxels";
}

struct PhantomErrors {
  double cg, gridded;
};

/// NRMSE (best scale) of both methods with their default settings against the band-limited truth.
PhantomErrors phantom_errors(TrajectoryKind kind, std::array<int, 3> matrix, double undersampling,
                             int coils) {
  data::SimulationSettings simulation_settings;
  simulation_settings.trajectory = trajectory_settings(kind, matrix, undersampling);
  simulation_settings.coil_count = coils;
  const auto simulation = data::simulate(simulation_settings);
  const auto error = [&](const Method& method) {
    const auto image = reconstruct(simulation.scan, {method}).image;
    return metrics::nrmse_best_scale(converted<Complex<double>>(image.values),
                                     converted<Complex<double>>(simulation.band_limited.values));
  };
  return {error(LeastSquares{}), error(ConventionalGridding{})};
}

TEST(Phantom, undersampled_cg_error_is_at_most_half_of_the_gridded_error) {
  for (const auto& errors : {phantom_errors(TrajectoryKind::spiral, {96, 96, 1}, 2, 8),
                             phantom_errors(TrajectoryKind::stack_of_spirals, {32, 32, 32}, 3, 8)})
    EXPECT_LE(errors.cg, errors.gridded / 2);
}

#define SKIP_WITHOUT_SCANS(folder)                                   \
  if (!std::filesystem::exists(std::string(FHD_SCANS) + "/" folder)) \
  GTEST_SKIP() << "no scans at " << FHD_SCANS << "/" folder

/// The first picture of a file of upstream reconstructions: /images/image_1/data [picture][1][1][y][x],
/// magnitudes.
Array<Complex<double>> upstream_picture(const std::string& path) {
  const auto dataset = io::hdf5::File::open(path).dataset("/images/image_1/data");
  const auto& extents = dataset.extents();
  return converted<Complex<double>>(dataset.read<float>({extents[3], extents[4]}, {0, 0, 0}));
}

TEST(JemrisSpiral, images_correlate_with_the_upstream_pictures) {
  SKIP_WITHOUT_SCANS("jemris_ismrmrd_spiral");
  const std::string folder = std::string(FHD_SCANS) + "/jemris_ismrmrd_spiral/";
  for (const std::string name : {"clean", "CS", "Susc70Mhz"}) {
    SCOPED_TRACE(name);
    const auto scan = io::open_scan(folder + "raw/signals_spiralout_" + name + "_slc30.h5")->read(0, 0);
    const auto picture = upstream_picture(folder + "recon_by_upstream/reco_spiralout_" + name + "_slc30.h5");
    for (const Method& method : {Method(LeastSquares{}), Method(ConventionalGridding{})}) {
      const auto image = converted<Complex<double>>(reconstruct(scan, {method}).image.values);
      ASSERT_EQ(image.size(), picture.size());
      EXPECT_GE(metrics::magnitude_correlation(image, picture), 0.97) << "method " << method.index();
    }
  }
}

using ImpatientBrain = tests::ProgramTest;

TEST_F(ImpatientBrain, converts_and_reconstructs_within_one_gigabyte) {
  SKIP_WITHOUT_SCANS("impatient_brain_spiral");
  const auto scan_path = path("brain.h5");
  ASSERT_EQ(run("convert '" FHD_SCANS "/impatient_brain_spiral/64x64x16-4coils' " + scan_path), 0);
  const auto outcome = measured({"recon", scan_path, "-o", path("image"), "--quiet"});
  ASSERT_EQ(outcome.status, 0) << text("err_bg");
  const double peak_mib = outcome.peak_bytes / (1 << 20);
  EXPECT_LE(peak_mib, 1024);

  const auto series = io::read_image(path("image.h5"));
  ASSERT_EQ(series.images.size(), 1u);
  const auto image = converted<Complex<double>>(series.images[0].values);
  ASSERT_EQ(image.shape(), (Shape{16, 64, 64}));

  // Every second voxel of one slice by the oracle: SENSE adjoint over sum |S|^2, of samples weighted by the
  // speed along the spiral, the area of k-space that a sample of evenly spaced turns stands for. It is the
  // conventional image; least squares differs from it by its regularisation and noise (measured: 0.994).
  const auto scan = io::open_scan(scan_path)->read(0, 0);
  const auto samples = scan.kspace.sample_count();
  const auto& k = scan.trajectory.k;
  auto weighted = converted<Complex<double>>(scan.kspace.values);
  for (std::int64_t i = 0; i < weighted.size(); ++i) {
    const auto m = i % samples;
    const bool same_plane = m + 1 < samples && k[2 * samples + m + 1] == k[2 * samples + m];
    const auto neighbour = same_plane ? m + 1 : m - 1;
    weighted[i] *= std::hypot(k[neighbour] - k[m], k[samples + neighbour] - k[samples + m]);
  }
  const auto positions = oracle::voxel_positions({64, 64, 16});
  const auto maps = converted<Complex<double>>(scan.sensitivity_maps->values);
  constexpr std::int64_t voxels = 16 * 64 * 64, chosen = 32 * 32, slice = 5;
  Array<double> r({3, chosen});
  Array<Complex<double>> chosen_maps({4, chosen}), chosen_image({chosen});
  for (std::int64_t i = 0; i < chosen; ++i) {
    const auto p = (slice * 64 + 2 * (i / 32)) * 64 + 2 * (i % 32);
    for (int axis = 0; axis < 3; ++axis) r[axis * chosen + i] = positions[axis * voxels + p];
    for (int coil = 0; coil < 4; ++coil) chosen_maps[coil * chosen + i] = maps[coil * voxels + p];
    chosen_image[i] = image[p];
  }
  auto expected = oracle::sense_adjoint(k, r, weighted, chosen_maps);
  for (std::int64_t i = 0; i < chosen; ++i) {
    double sensitivity = 0;
    for (int coil = 0; coil < 4; ++coil) sensitivity += norm(chosen_maps[coil * chosen + i]);
    expected[i] *= 1 / sensitivity;
  }
  EXPECT_GE(metrics::magnitude_correlation(chosen_image, expected), 0.98);
}

}  // namespace
