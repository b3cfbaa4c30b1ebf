// Cartesian scans that leave out one side of k-space, from scan to image.
#include "recon/pipeline/partial_fourier.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <string>

#include "data/simulate.hpp"
#include "recon/pipeline/frames.hpp"
#include "recon/pipeline/noise_map.hpp"
#include "recon/pipeline/reconstruct.hpp"
#include "recon/solve/conjugate_gradient.hpp"
#include "recon/solve/problem.hpp"
#include "validation/certificate.hpp"
#include "validation/metrics.hpp"
#include "validation/oracle.hpp"
#include "validation/tests/io/io_scans.hpp"
#include "validation/tests/problems.hpp"

namespace fhd {
namespace {

using tests::random_values;

/// Returns A^H A of a dense A [row][column].
template <class T>
std::shared_ptr<const HermitianOperator<T>> dense_normal(Array<Complex<T>> matrix) {
  const auto rows = matrix.extent(0), columns = matrix.extent(1);
  return hermitian_operator<T>({columns}, Device::cpu(),
                               [matrix = std::move(matrix), rows, columns](const auto& in, auto& out) {
                                 out.fill_zero();
                                 for (std::int64_t i = 0; i < rows; ++i) {
                                   Complex<T> sum;
                                   for (std::int64_t j = 0; j < columns; ++j)
                                     sum += matrix[i * columns + j] * in[j];
                                   for (std::int64_t j = 0; j < columns; ++j)
                                     out[j] += conj(matrix[i * columns + j]) * sum;
                                 }
                               });
}

template <class T>
Problem<T> real_problem(std::int64_t rows, std::int64_t columns, bool is_real = true) {
  Problem<T> problem;
  problem.normal = dense_normal(random_values<T>({rows, columns}, 1));
  problem.is_real = is_real;
  return problem;
}

template <class T>
Array<Complex<T>> real_values(Shape shape, unsigned seed) {
  auto values = random_values<T>(shape, seed);
  keep_real_part(values);
  return values;
}

TEST(RealImages, are_found_by_conjugate_gradient_as_by_dense_least_squares_of_real_numbers) {
  // More unknowns than complex rows, fewer than real ones: only a real solution is determined.
  constexpr std::int64_t rows = 30, columns = 40;
  const auto matrix = random_values<double>({rows, columns}, 1);
  const auto truth = real_values<double>({columns}, 4);
  Array<Complex<double>> d({rows}), b({columns}), x({columns});
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) d[i] += matrix[i * columns + j] * truth[j];
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) b[j] += conj(matrix[i * columns + j]) * d[i];
  keep_real_part(b);
  const auto problem = real_problem<double>(rows, columns);
  conjugate_gradient(problem.system(), b, x, {.iterations = 200, .tolerance = 1e-13});
  EXPECT_LE(metrics::relative_l2(x, truth), 1e-8);
  for (const auto& value : x) EXPECT_EQ(value.im, 0);
}

/// The default shades the images of coils whose sensitivities are not even: an error of its own.
constexpr OfLargestEigenvalue little_lambda{0.004};

LeastSquares by_phase(const LambdaChoice& lambda = {}) {
  LeastSquares method;
  method.lambda = lambda;
  method.partial_fourier = PartialFourier::phase;
  return method;
}

data::Simulation simulated(double share, int coils, std::optional<double> snr = 200,
                           std::array<int, 3> matrix_size = {64, 64, 1}) {
  data::SimulationSettings settings;
  settings.trajectory.kind = data::TrajectoryKind::cartesian;
  settings.trajectory.matrix_size = matrix_size;
  if (matrix_size[2] > 1) settings.trajectory.fov_mm = {240, 240, 240};
  settings.trajectory.partial_fourier = share;
  settings.coil_count = coils;
  settings.snr = snr;
  settings.field_hz = 60;  // with the time of the echo a wave of +-1.9 rad
  settings.echo_times_s = {5e-3};
  return data::simulate(settings);
}

Array<Complex<double>> magnitude(const Image& image) {
  Array<Complex<double>> values(image.values.shape());
  for (std::int64_t p = 0; p < values.size(); ++p) values[p] = abs(image.values[p]);
  return values;
}

/// Returns the error of the magnitude.
double error_of(const data::Simulation& made, const LeastSquares& method) {
  return metrics::nrmse_best_scale(magnitude(reconstruct(made.scan, {method}).image),
                                   magnitude(made.band_limited));
}

/// Returns the share of the error of missing lines that is left: 1 without the method, 0 with the error of all lines.
double share_left(double share, int coils, const std::array<int, 3>& matrix_size) {
  const auto made = simulated(share, coils, 200, matrix_size), whole = simulated(1, coils, 200, matrix_size);
  const LeastSquares plain{.lambda = little_lambda};
  const double least = error_of(whole, plain);
  return (error_of(made, by_phase(little_lambda)) - least) / (error_of(made, plain) - least);
}

TEST(PartialFourier, takes_most_of_the_error_off_where_phase_is_smooth) {
  for (const int coils : {1, 4})
    for (const double share : {0.625, 0.75}) {
      const double left = share_left(share, coils, {64, 64, 1});
      EXPECT_LE(left, 0.5) << coils << " coils, " << share;
    }
}

TEST(PartialFourier, works_along_any_axis_of_a_volume) {
  EXPECT_LE(share_left(0.625, 2, {32, 64, 8}), 0.5);
  const auto made = simulated(0.625, 2, 200, {32, 64, 8});
  // The y and z axes are exchanged.
  Scan other(made.scan);
  const std::int64_t samples = other.trajectory.sample_count();
  for (std::int64_t m = 0; m < samples; ++m)
    std::swap(other.trajectory.k[samples + m], other.trajectory.k[2 * samples + m]);
  other.geometry.matrix_size = {32, 8, 64};
  other.sensitivity_maps.reset();
  other.kspace.values = Array<Complex<float>>({1, samples});
  std::copy_n(made.scan.kspace.values.data(), samples, other.kspace.values.data());
  EXPECT_EQ(missing_side(other).axis, 2);
  EXPECT_EQ(missing_side(other).reach, 8);
  EXPECT_EQ(missing_side(other).longest, 31);
}

/// Makes a scan of 32 x 32 voxels, one coil, with the lines from -9 to 15: a Gaussian of which nothing else is measurable, at
/// k = 9 exp(-2 (pi 3.5 k / 32)^2) = 5e-9 of it, with a phase that changes by 0.5 rad across it.
Scan complete_scan() {
  constexpr int n = 32;
  Scan scan;
  scan.geometry.matrix_size = {n, n, 1};
  scan.trajectory.k = Array<double>({3, 25 * n});
  Array<Complex<double>> image({1, n, n});
  for (std::int64_t p = 0; p < image.size(); ++p) {
    const double y = static_cast<double>(p / n) - 16, x = static_cast<double>(p % n) - 16;
    const double angle = 0.7 + 0.25 * std::sin(2 * std::numbers::pi * y / 64),
                 value = std::exp(-(x * x + y * y) / (2 * 3.5 * 3.5));
    image[p] = {value * std::cos(angle), value * std::sin(angle)};
  }
  for (std::int64_t m = 0; m < 25 * n; ++m) {
    scan.trajectory.k[m] = static_cast<double>(m % n) - 16;
    scan.trajectory.k[25 * n + m] = static_cast<double>(m / n) - 9;
  }
  const auto samples = oracle::forward(scan.trajectory.k, oracle::voxel_positions(scan.geometry.matrix_size),
                                       std::move(image).reshaped({1, n * n}));
  scan.kspace.values = converted<Complex<float>>(samples);
  return scan;
}

TEST(PartialFourier, changes_nothing_where_nothing_is_missing_and_phase_is_smooth) {
  const Scan scan = complete_scan();
  const auto without = reconstruct(scan, {LeastSquares{}}), with = reconstruct(scan, {by_phase()});
  EXPECT_LE(metrics::relative_l2(magnitude(with.image), magnitude(without.image)), 1e-3);
}

TEST(PartialFourier, has_the_phase_of_the_object_and_a_certificate_that_holds) {
  const auto made = simulated(0.75, 4, {});
  for (const auto precision : {Precision::single_precision, Precision::double_precision}) {
    const Services services{.verifier = validation::make_verifier(), .gridded_accuracy = 1e-4};
    const auto plain = reconstruct(made.scan, {LeastSquares{}, precision}, {}, services),
               real = reconstruct(made.scan, {by_phase(), precision}, {}, services);
    ASSERT_TRUE(real.report.certificate);
    EXPECT_TRUE(real.report.certificate->passed) << real.report.certificate->error();
    EXPECT_LE(real.report.certificate->true_residual, 2e-4);
    EXPECT_TRUE(real.report.converged);
    // Both are the object with its phase: one that the maps kept would be 1.9 rad away.
    EXPECT_LE(metrics::nrmse_best_scale(converted<Complex<double>>(real.image.values),
                                        converted<Complex<double>>(plain.image.values)),
              0.3);
    ASSERT_TRUE(real.gridded && plain.gridded);
    EXPECT_LE(metrics::relative_l2(converted<Complex<double>>(real.gridded->values),
                                   converted<Complex<double>>(plain.gridded->values)),
              1e-5);
  }
}

TEST(PartialFourier, crops_the_phase_with_the_image) {
  auto made = simulated(0.75, 1);
  const auto whole = reconstruct(made.scan, {by_phase()}).image;
  made.scan.cropped_matrix_size = {31, 0, 0};
  const auto part = reconstruct(made.scan, {by_phase()}).image;
  ASSERT_EQ(part.values.shape(), (Shape{1, 64, 31}));
  for (std::int64_t y = 0; y < 64; ++y)
    for (std::int64_t x = 0; x < 31; ++x)
      EXPECT_EQ(abs(part.values[y * 31 + x] - whole.values[y * 64 + x + 32 - 15]), 0);
}

std::string line_of(const Scan& scan, const Settings& settings) {
  return io::error_of([&] { reconstruct(scan, settings); });
}

TEST(PartialFourier, refuses_scans_that_it_does_not_fit) {
  const std::string subject = "--partial-fourier phase: expected ";
  const auto whole = simulated(1, 1);
  EXPECT_EQ(line_of(whole.scan, {by_phase()}),
            subject +
                "a scan that leaves out most of one side of k-space, found one that reaches as far on both "
                "sides; leave it out: nothing is missing that it could fill in");
  const auto partial = simulated(0.625, 2);
  Settings no_maps{by_phase()};
  no_maps.coils.maps = CoilMaps::none;
  EXPECT_EQ(line_of(partial.scan, no_maps), subject +
                                                "sensitivity maps, or one coil, found 2 coils without maps; "
                                                "leave out --coils none");
  Scan with_field(partial.scan);
  with_field.field_map = partial.field_map;
  EXPECT_EQ(
      line_of(with_field, {by_phase()}),
      subject + "a scan without a field map, fields or decay, found one with it; leave one of them out");
  Scan shifted(partial.scan);
  for (auto& k : shifted.trajectory.k) k *= 0.99;
  EXPECT_EQ(
      line_of(shifted, {by_phase()}),
      subject +
          "a Cartesian scan, whose samples lie on integer positions of k-space, found another one; leave "
          "it out: it is about lines that a Cartesian scan leaves out");
  const auto least = simulated(33.0 / 64, 1);
  EXPECT_EQ(
      line_of(least.scan, {by_phase()}),
      subject +
          "both sides up to 2 cycles/FOV at least, which tell the phase, found one side up to 1; leave it "
          "out");
  // A quarter of k-space: two sides are missing.
  Scan quarter = symmetric_centre(partial.scan, {0, 100, 100});
  std::vector<std::int64_t> kept;
  for (std::int64_t m = 0; m < quarter.trajectory.sample_count(); ++m)
    if (quarter.trajectory.k[m] >= -8) kept.push_back(m);
  quarter.trajectory.k = columns_of(quarter.trajectory.k, kept);
  quarter.kspace.values = columns_of(quarter.kspace.values, kept);
  quarter.sample_time_s.reset();
  EXPECT_EQ(line_of(quarter, {by_phase()}),
            subject +
                "one axis of which a side is missing, found 2 such axes; leave "
                "it out: the phase cannot fill in what is missing on both");
}

TEST(PartialFourier, takes_gaps_of_undersampling_for_no_missing_side) {
  data::SimulationSettings settings;
  settings.trajectory.kind = data::TrajectoryKind::cartesian;
  settings.trajectory.matrix_size = {16, 32, 1};
  for (const double undersampling : {1, 2, 3, 4}) {
    settings.trajectory.undersampling = undersampling;
    settings.trajectory.partial_fourier = 1;
    EXPECT_THROW(missing_side(data::simulate(settings).scan), Error) << undersampling;
    settings.trajectory.partial_fourier = 0.7;
    EXPECT_EQ(missing_side(data::simulate(settings).scan).axis, 1) << undersampling;
  }
}

TEST(PartialFourier, refuses_settings_that_contradict_it) {
  const auto scan = simulated(0.625, 2).scan;
  auto sparse = by_phase();
  sparse.sparse = {{SparseKind::tv, 0.01}};
  EXPECT_EQ(line_of(scan, {sparse}),
            "--partial-fourier phase: does not go together with --regularizer tv; leave one of them out");
  auto searched = by_phase();
  searched.lambda = FromNoise{};
  EXPECT_EQ(line_of(scan, {searched}),
            "--partial-fourier phase: does not go together with --lambda auto; leave one of them out");
  EXPECT_THROW(require_noise_maps_can({.replicas = 10}, {by_phase()}), Error);
  EXPECT_THROW(
      Reconstructor({by_phase()})(scan, lay_out_frames(scan.trajectory.sample_count(), 64, {.frames = 2})),
      Error);
  EXPECT_FALSE(takes_series({by_phase()}, {}, scan));
  EXPECT_TRUE(takes_series({LeastSquares{}}, {}, scan));
  EXPECT_NE(obstacle_to_group({by_phase()}, scan, 2), "");
}

TEST(PartialFourier, of_a_scan_of_zeros_is_zero) {
  auto scan = simulated(0.625, 1).scan;
  scan.kspace.values.fill_zero();
  const auto image = reconstruct(scan, {by_phase()}).image;
  for (const auto& value : image.values) EXPECT_EQ(abs(value), 0);
}

}  // namespace
}  // namespace fhd
