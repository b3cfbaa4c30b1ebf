// Double precision from the samples to the image: nothing on the way is rounded to single.
#include <gtest/gtest.h>

#include "recon/coils/noise.hpp"
#include "recon/pipeline/reconstruct.hpp"
#include "validation/certificate.hpp"
#include "validation/metrics.hpp"
#include "validation/oracle.hpp"
#include "validation/tests/io/double_scans.hpp"

namespace fhd {
namespace {

using Values = oracle::Values;

Scan scan_of(std::array<int, 3> matrix_size, std::int64_t coils) {
  auto scan = io::random_scan_in_double(matrix_size, coils, 10, 40);
  scan.field_map.reset();
  scan.field_map_in_double = {};
  return scan;
}

Settings double_settings(const Method& method) {
  return {method, Precision::double_precision, CoilSettings::as_they_are()};
}

PlainAdjoint direct_adjoint() { return {{.kind = TransformKind::direct}}; }

LeastSquares direct_least_squares() {
  LeastSquares method;
  method.transform.kind = TransformKind::direct;
  method.lambda = OfLargestEigenvalue{1e-2};
  method.iterations = 300;
  method.tolerance = 1e-14;
  return method;
}

/// sum_c matrix[v][c] values[c], by plain loops.
Values mixed(const Values& matrix, const Values& values) {
  const auto rows = matrix.extent(0), coils = matrix.extent(1), length = values.size() / coils;
  Values result({rows, length});
  for (std::int64_t v = 0; v < rows; ++v)
    for (std::int64_t c = 0; c < coils; ++c)
      for (std::int64_t i = 0; i < length; ++i)
        result[v * length + i] += matrix[v * coils + c] * values[c * length + i];
  return result;
}

Values oracle_adjoint(const Scan& scan, const Values& samples, const Values& maps) {
  return oracle::sense_adjoint(scan.trajectory.k, oracle::voxel_positions(scan.geometry.matrix_size), samples,
                               maps);
}

TEST(DoublePrecision, adjoint_equals_the_oracle_as_it_is_handed_out) {
  for (const auto& n : {std::array{16, 12, 1}, {9, 8, 7}}) {
    const auto scan = scan_of(n, 3);
    const auto result =
        reconstruct(scan, double_settings(direct_adjoint()), {}, {{}, validation::make_verifier()});
    EXPECT_LE(metrics::relative_l2(result.image.in_double, oracle_adjoint(scan, scan.kspace.in_double,
                                                                          scan.sensitivity_maps->in_double)),
              1e-12);
    ASSERT_TRUE(result.report.certificate.has_value());
    EXPECT_LE(result.report.certificate->adjoint_error, 1e-12);  // the samples in double are what it checks
  }
}

TEST(DoublePrecision, image_in_single_is_the_one_in_double_rounded) {
  const auto scan = scan_of({16, 12, 1}, 3);
  const auto image = reconstruct(scan, double_settings(direct_adjoint())).image;
  EXPECT_EQ(io::largest_difference(image.values, converted<Complex<float>>(image.in_double)), 0);
  auto settings = double_settings(direct_adjoint());
  settings.precision = Precision::single_precision;
  EXPECT_TRUE(reconstruct(scan, settings).image.in_double.empty());
}

TEST(DoublePrecision, whitening_and_compression_do_not_round) {
  auto scan = scan_of({16, 12, 1}, 5);
  scan.noise = io::random_scan({4, 4, 1}, 5, 10, 20, 7).kspace.values;
  auto settings = double_settings(direct_adjoint());
  settings.coils = {};
  settings.coils.compression = VirtualCoils{3};
  const auto whitened = whitening(noise_covariance(*scan.noise)).matrix;
  const auto d = mixed(whitened, scan.kspace.in_double),
             s = mixed(whitened, scan.sensitivity_maps->in_double);
  const auto compressed = compress_to_count(converted<Complex<float>>(d), 3).matrix;
  const auto image = reconstruct(scan, settings).image;
  EXPECT_LE(
      metrics::relative_l2(image.in_double, oracle_adjoint(scan, mixed(compressed, d), mixed(compressed, s))),
      1e-12);
}

TEST(DoublePrecision, mixing_of_a_scan_in_single_precision_does_not_round_either) {
  auto scan = scan_of({16, 12, 1}, 5);
  scan.kspace.in_double = {};
  scan.sensitivity_maps->in_double = {};
  scan.noise = io::random_scan({4, 4, 1}, 5, 10, 20, 7).kspace.values;
  auto settings = double_settings(direct_adjoint());
  settings.coils = {};
  const auto whitened = whitening(noise_covariance(*scan.noise)).matrix;
  const auto expected =
      oracle_adjoint(scan, mixed(whitened, converted<Complex<double>>(scan.kspace.values)),
                     mixed(whitened, converted<Complex<double>>(scan.sensitivity_maps->values)));
  EXPECT_LE(metrics::relative_l2(reconstruct(scan, settings).image.in_double, expected), 1e-12);
}

TEST(DoublePrecision, conjugate_gradient_solves_the_system_of_the_numbers_in_double) {
  const auto scan = scan_of({7, 6, 1}, 2);
  const auto result = reconstruct(scan, double_settings(direct_least_squares()));
  const auto matrix = oracle::encoding_matrix(scan.trajectory.k, oracle::voxel_positions({7, 6, 1}),
                                              scan.sensitivity_maps->in_double);
  const auto expected = oracle::least_squares(matrix, scan.kspace.in_double, result.report.lambda,
                                              oracle::identity_matrix({7, 6, 1}));
  EXPECT_LE(metrics::relative_l2(result.image.in_double, expected), 1e-11);
}

TEST(DoublePrecision, cropping_keeps_it) {
  auto scan = scan_of({16, 12, 1}, 2);
  const auto whole = reconstruct(scan, double_settings(direct_adjoint())).image;
  scan.cropped_matrix_size = {7, 0, 0};
  const auto image = reconstruct(scan, double_settings(direct_adjoint())).image;
  ASSERT_EQ(image.in_double.shape(), (Shape{1, 12, 7}));
  for (std::int64_t y = 0; y < 12; ++y)
    for (std::int64_t x = 0; x < 7; ++x)
      EXPECT_EQ(image.in_double[y * 7 + x], whole.in_double[y * 16 + x + 5]);
}

}  // namespace
}  // namespace fhd
