// Maps of the noise: against SENSE's formula, against repeated scans, and against a dense inverse.
#include "recon/pipeline/noise_map.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "data/simulate.hpp"
#include "recon/coils/noise.hpp"
#include "validation/metrics.hpp"
#include "validation/oracle.hpp"
#include "validation/sense_oracle.hpp"
#include "validation/tests/io/io_scans.hpp"
#include "validation/tests/messages.hpp"

namespace fhd {
namespace {

using io::error_of;

/// Relative l2 error of a standard deviation estimated from so many complex images: of twice as many real numbers.
double scatter(int images) { return 1 / std::sqrt(4.0 * (images - 1)); }

data::SimulationSettings scan_settings(data::TrajectoryKind kind, int matrix, double undersampling,
                                       double snr = 30) {
  data::SimulationSettings settings;
  settings.trajectory.kind = kind;
  settings.trajectory.matrix_size = {matrix, matrix, 1};
  settings.trajectory.fov_mm = {240, 240, 5};
  settings.trajectory.undersampling = undersampling;
  settings.coil_count = 8;
  settings.snr = snr;
  settings.noise_samples = 65536;
  return settings;
}

Scan cartesian(int undersampling, int matrix = 24) {
  return data::simulate(scan_settings(data::TrajectoryKind::cartesian, matrix, undersampling)).scan;
}

/// Returns settings that take the samples and maps as they are.
Settings least_squares_with(double lambda, int iterations = 60) {
  Settings settings{
      LeastSquares{.lambda = OfLargestEigenvalue{lambda}, .iterations = iterations, .tolerance = 1e-6}};
  settings.coils.whitening = NoiseWhitening::off;
  return settings;
}

Execution one_thread() { return {Device::cpu(), 1}; }

NoiseMapResult maps_of(const Scan& scan, const Settings& settings, std::int64_t replicas) {
  const auto made = reconstruct(scan, settings, one_thread());
  return noise_maps(made, scan, settings, one_thread(), {replicas});
}

template <class T>
Array<Complex<double>> values(const Array<T>& real) {
  Array<Complex<double>> result(real.shape());
  for (std::int64_t i = 0; i < real.size(); ++i) result[i] = Complex<double>(real[i], 0);
  return result;
}

TEST(NoiseMap, g_factor_of_cartesian_sense_is_that_of_the_formula) {
  for (const int reduction : {2, 3}) {
    const Scan scan = cartesian(reduction);
    const auto formula =
        oracle::sense_g_factor(converted<Complex<double>>(scan.sensitivity_maps->values), 1, reduction);
    // The noise readouts tell the covariance of a pair of coils to 1 / sqrt(65536) of their variance, eight of
    // which weigh together in a voxel.
    const auto exact = maps_of(scan, least_squares_with(0), 0);
    EXPECT_LE(metrics::relative_l2(values(exact.maps.g_factor), values(formula)), 8.0 / 256) << reduction;
    EXPECT_EQ(exact.summary.method, "exact");
    constexpr int replicas = 500;
    const auto drawn = maps_of(scan, least_squares_with(0), replicas);
    EXPECT_LE(metrics::relative_l2(values(drawn.maps.g_factor), values(formula)), 0.03) << reduction;
    // The scatter over 576 voxels of much the same g-factor is within a fifth of what chance predicts.
    EXPECT_NEAR(metrics::relative_l2(values(drawn.maps.g_factor), values(exact.maps.g_factor)),
                scatter(replicas), 0.2 * scatter(replicas))
        << reduction;
  }
}

TEST(NoiseMap, replicas_scatter_as_repeated_scans_do) {
  constexpr int repetitions = 500;
  auto settings = scan_settings(data::TrajectoryKind::golden_radial, 24, 2);
  settings.repetition_count = repetitions;
  auto made = data::simulate(settings);
  Scan scan = made.scan;
  Reconstructor reconstructor({}, one_thread());
  const auto first = reconstructor(scan);
  Array<Complex<double>> sum(first.image.values.shape());
  Array<double> squares(sum.shape());
  const auto add = [&](const Image& image) {
    for (std::int64_t i = 0; i < sum.size(); ++i) {
      const auto away = Complex<double>(image.values[i]) - Complex<double>(first.image.values[i]);
      sum[i] += away, squares[i] += norm(away);
    }
  };
  add(first.image);
  for (const auto& repetition : made.further_repetitions) {
    scan.kspace.values = repetition;
    add(reconstructor(scan).image);
  }
  const auto maps = noise_maps(first, made.scan, {}, one_thread(), {repetitions}).maps;
  double away = 0, all = 0, largest = 0;
  for (const auto& value : first.image.values) largest = std::max<double>(largest, abs(value));
  for (std::int64_t i = 0; i < sum.size(); ++i) {
    if (!(abs(first.image.values[i]) > 0.1 * largest)) continue;
    const double repeated = std::sqrt((squares[i] - norm(sum[i]) / repetitions) / (repetitions - 1) / 2);
    away += std::pow(maps.deviation[i] / repeated - 1, 2);
    ++all;
  }
  ASSERT_GT(all, 100);
  // Both by chance: sqrt(2) scatter(500) = 3.2 %, of some hundred voxels; the rest is for what they share with
  // neighbours.
  EXPECT_LE(std::sqrt(away / all), 0.05);
  EXPECT_GE(std::sqrt(away / all), 0.02) << "another realisation of the noise";
}

/// The rows of least squares for a unit at every sample, by the oracle: what noise of variance 1 becomes.
Array<double> dense_deviation(const Scan& scan, double lambda, double variance) {
  const auto& n = scan.geometry.matrix_size;
  const auto r = oracle::voxel_positions(n);
  const auto maps = converted<Complex<double>>(scan.sensitivity_maps->values);
  const auto encoding = oracle::encoding_matrix(scan.trajectory.k, r, maps);
  const std::int64_t rows = encoding.extent(0);
  Array<double> deviation(scan.geometry.image_shape());
  for (std::int64_t row = 0; row < rows; ++row) {
    Array<Complex<double>> unit({rows});
    unit[row] = 1;
    const auto image = oracle::least_squares(encoding, unit, lambda, oracle::identity_matrix(n));
    for (std::int64_t p = 0; p < deviation.size(); ++p) deviation[p] += norm(image[p]) * variance;
  }
  for (auto& value : deviation) value = std::sqrt(value / 2);
  return deviation;
}

TEST(NoiseMap, exact_way_is_that_of_the_dense_inverse_with_lambda) {
  auto settings = scan_settings(data::TrajectoryKind::cartesian, 8, 2);
  settings.coil_count = 4;
  const auto made = data::simulate(settings);
  Scan scan = made.scan;
  // White noise of variance 2 to the last bit: every value of +-1 +-i, uncorrelated between coils by Walsh's
  // signs.
  auto& noise = scan.noise.emplace(Shape{4, 16});
  for (std::int64_t i = 0; i < noise.size(); ++i) {
    const auto sign = [](std::int64_t bits) {
      return __builtin_popcountll(static_cast<unsigned long long>(bits)) % 2;
    };
    const std::int64_t coil = i / 16, sample = i % 16;
    noise[i] = {sign(sample & (coil + 1)) ? -1.0F : 1.0F, sign(sample & (coil + 1)) ? -1.0F : 1.0F};
  }
  const auto reconstruction = reconstruct(scan, least_squares_with(0.05), one_thread());
  const auto maps = noise_maps(reconstruction, scan, least_squares_with(0.05), one_thread(), {0}).maps;
  const auto dense = dense_deviation(scan, reconstruction.report.lambda, 2);
  EXPECT_LE(metrics::relative_l2(values(maps.deviation), values(dense)), 1e-6);  // maps are floats: 6e-8 each
}

/// The image of a fully sampled Cartesian scan without lambda is S^H d / N S^H S, whose real part has the deviation
/// sigma / sqrt(N) |S|.
Array<double> full_deviation(const data::Simulation& made) {
  const auto& maps = made.scan.sensitivity_maps->values;
  Array<double> deviation(made.scan.geometry.image_shape());
  for (std::int64_t i = 0; i < maps.size(); ++i)
    deviation[i % deviation.size()] += norm(Complex<double>(maps[i]));
  for (auto& value : deviation) value = made.noise_standard_deviation / std::sqrt(deviation.size() * value);
  return deviation;
}

TEST(NoiseMap, is_in_the_unit_of_the_image_whether_coils_are_whitened_or_not) {
  auto made = data::simulate(scan_settings(data::TrajectoryKind::cartesian, 24, 1));
  const auto expected = full_deviation(made);
  // Coils of unlike gains: the image stays.
  Scan& scan = made.scan;
  const auto amplify = [](Array<Complex<float>>& values) {
    for (std::int64_t i = 0; i < values.extent(0); ++i)
      for (std::int64_t j = 0; j < values.size() / values.extent(0); ++j)
        values[i * (values.size() / values.extent(0)) + j] *= static_cast<float>(1 + i);
  };
  for (auto* values : {&scan.kspace.values, &scan.sensitivity_maps->values, &*scan.noise}) amplify(*values);
  const Settings by_default{LeastSquares{.lambda = OfLargestEigenvalue{0}}};
  const auto reconstruction = reconstruct(scan, by_default, one_thread());
  const auto exact = noise_maps(reconstruction, scan, by_default, one_thread(), {0});
  for (std::int64_t i = 0; i < exact.maps.snr.size(); ++i)
    ASSERT_NEAR(exact.maps.snr[i] * exact.maps.deviation[i], abs(reconstruction.image.values[i]),
                1e-5 * abs(reconstruction.image.values[i]));
  EXPECT_NEAR(exact.summary.g_factor, 1, 8.0 / 256) << "nothing unfolds without gaps";
  EXPECT_LE(metrics::relative_l2(values(exact.maps.deviation), values(expected)), 8.0 / 256);  // as above
  constexpr int replicas = 200;
  const auto drawn = maps_of(scan, by_default, replicas);
  EXPECT_LE(metrics::relative_l2(values(drawn.maps.deviation), values(expected)),
            8.0 / 256 + 1.2 * scatter(replicas));
  // The amplified coils, weighed by their squares, give more noise where they are not whitened.
  const auto plain = maps_of(scan, least_squares_with(0), 0);
  EXPECT_GE(plain.summary.deviation, 1.01 * exact.summary.deviation);
}

TEST(NoiseMap, of_a_scan_without_noise_readouts_is_of_the_level_that_the_verdict_finds) {
  auto made = data::simulate(scan_settings(data::TrajectoryKind::cartesian, 24, 1));
  made.scan.noise.reset();
  const double sigma = made.noise_standard_deviation;
  auto reconstruction = reconstruct(made.scan, least_squares_with(0), one_thread());
  auto& verdict = reconstruction.report.verdict.emplace();
  verdict.noise_variance =
      2 * sigma * sigma / 9;  // less than the edge of k-space tells: a third of the deviation
  const auto maps = noise_maps(reconstruction, made.scan, least_squares_with(0), one_thread(), {0}).maps;
  auto covariance = covariance_to_draw(known_noise(made.scan));
  double level = 0;
  for (int coil = 0; coil < 8; ++coil) level += covariance[9 * coil].re / 8;
  ASSERT_GT(level, verdict.noise_variance);
  for (auto& value : covariance) value *= verdict.noise_variance / level;
  const auto expected = sense_noise(made.scan, covariance, 0);
  EXPECT_LE(metrics::relative_l2(values(maps.deviation), values(expected)),
            1e-6);  // maps are floats: 6e-8 each
}

TEST(NoiseMap, a_fully_sampled_point_is_as_wide_as_its_kernel) {
  // sin(pi x) / (N tan(pi x / N)) is 1/2 at x = 0.6034 for N = 24 and 0.6034 ... for larger even N, the sinc's
  // half width.
  const auto result = maps_of(cartesian(1), least_squares_with(0), 0);
  ASSERT_EQ(result.summary.widths.size(), 5u);
  for (const auto& [voxel, width, width_mm] : result.summary.widths) {
    for (const int axis : {0, 1}) EXPECT_NEAR(width[axis], 1.2067, 5e-3);
    for (const int axis : {0, 1}) EXPECT_NEAR(width_mm[axis], 10 * width[axis], 1e-9);  // voxels of 10 mm
    EXPECT_EQ(width[2], 0);
  }
}

TEST(NoiseMap, undersampling_and_lambda_widen_a_point) {
  const Scan scan = data::simulate(scan_settings(data::TrajectoryKind::golden_radial, 24, 4)).scan;
  const auto weak = maps_of(scan, least_squares_with(1e-4), 2),
             strong = maps_of(scan, least_squares_with(0.3), 2);
  EXPECT_GT(strong.summary.widths.front().width_mm[0], weak.summary.widths.front().width_mm[0]);
  EXPECT_GT(weak.summary.widths.front().width_mm[0], 1.2 * 10);
}

TEST(NoiseMap, of_images_without_maps_and_of_sparse_terms_is_said_to_be_of_this_image) {
  const auto has_note = [](const NoiseMapResult& result, const std::string& words) {
    return tests::tells(result.messages, words);
  };
  const Scan scan = cartesian(1);
  Settings settings = least_squares_with(0);
  settings.coils.maps = CoilMaps::none;
  const auto roots = maps_of(scan, settings, 50);
  EXPECT_TRUE(roots.maps.g_factor.empty());
  EXPECT_TRUE(roots.summary.widths.empty());
  EXPECT_TRUE(has_note(roots, "not linear"));
  // Where the signal is far above the noise a root of a sum of squares has the noise of one coil: sigma /
  // sqrt(samples).
  const auto made = data::simulate(scan_settings(data::TrajectoryKind::cartesian, 24, 1));
  EXPECT_NEAR(roots.summary.deviation / (made.noise_standard_deviation / 24), 1, 0.1);
  settings = least_squares_with(0, 30);
  std::get<LeastSquares>(settings.method).sparse = {{SparseKind::tv, 0.01}};
  const auto sparse = maps_of(scan, settings, 4);
  EXPECT_TRUE(has_note(sparse, "not linear"));
  EXPECT_TRUE(sparse.summary.widths.empty());
  EXPECT_TRUE(sparse.maps.g_factor.empty());
  EXPECT_GT(sparse.summary.deviation, 0);
}

TEST(NoiseMap, of_an_adjoint_is_the_root_of_the_sum_of_squares_of_the_encoding) {
  const auto made = data::simulate(scan_settings(data::TrajectoryKind::golden_radial, 24, 2));
  constexpr int replicas = 200;
  Settings settings{PlainAdjoint{}};
  settings.coils.whitening = NoiseWhitening::off;
  const auto maps = maps_of(made.scan, settings, replicas).maps;
  EXPECT_TRUE(maps.g_factor.empty()) << "its unit is not that of the image";
  const Scan& scan = made.scan;
  const std::int64_t voxels = scan.geometry.voxel_count();
  Array<double> expected(maps.deviation.shape());
  for (std::int64_t p = 0; p < voxels; ++p) {
    for (std::int64_t c = 0; c < 8; ++c) expected[p] += norm(scan.sensitivity_maps->values[c * voxels + p]);
    expected[p] = made.noise_standard_deviation * std::sqrt(expected[p] * scan.trajectory.sample_count());
  }
  // Neighbours of an undersampled adjoint share noise: some tens of numbers are independent, of which scatter
  // varies by 1/4.
  EXPECT_LE(metrics::relative_l2(values(maps.deviation), values(expected)), 1.5 * scatter(replicas));
}

TEST(NoiseMap, of_gridded_images_and_of_a_searched_lambda) {
  const Scan scan = data::simulate(scan_settings(data::TrajectoryKind::golden_radial, 24, 2)).scan;
  const auto gridded = maps_of(scan, {ConventionalGridding{}}, 50).summary;
  // pi / 4 of k-space is measured, at most: the deviation falls by as much, and rises by sqrt(4 / 3) for a density
  // of 1 / k (less where weights do not fill the gaps).
  EXPECT_LE(gridded.g_factor, 1);
  EXPECT_GE(gridded.g_factor, 0.5);
  const auto searched = maps_of(scan, {LeastSquares{.lambda = FromNoise{}}}, 4);
  EXPECT_GT(searched.summary.deviation, 0);
}

TEST(NoiseMap, is_refused_where_there_is_nothing_to_say) {
  Scan scan = cartesian(2);
  const auto settings = least_squares_with(0);
  const auto made = reconstruct(scan, settings, one_thread());
  const auto message = [&](std::int64_t replicas) {
    return error_of([&] { noise_maps(made, scan, settings, one_thread(), {replicas}); });
  };
  EXPECT_CONTAINS(message(1), "--noise-map: expected 2 ... 100000 replicas, found 1");
  EXPECT_CONTAINS(message(-3), "found -3");
  EXPECT_CONTAINS(message(100001), "found 100001");
  scan.noise->fill_zero();
  EXPECT_CONTAINS(message(4), "noise map: expected a noise level, found noise readouts of zeros");
  scan.noise.reset();
  scan.kspace.values.fill_zero();
  EXPECT_CONTAINS(message(4), "zeros at the edge of k-space");
  const Scan radial = data::simulate(scan_settings(data::TrajectoryKind::golden_radial, 24, 1)).scan;
  EXPECT_CONTAINS(error_of([&] { maps_of(radial, settings, 0); }),
                  "exact noise map: expected a Cartesian scan");
  EXPECT_CONTAINS(error_of([&] { maps_of(cartesian(2), {ConventionalGridding{}}, 0); }),
                  "--noise-map exact: does not go together with a method other than cg");
  Scan denser = cartesian(2);
  denser.trajectory.k[0] = denser.trajectory.k[1];  // one position twice, another never
  EXPECT_CONTAINS(error_of([&] { maps_of(denser, settings, 0); }), "as many samples at each position");
}

TEST(NoiseMap, is_refused_before_the_work_where_that_is_known) {
  const auto refused = [](const NoiseMapRequest& request, const Settings& settings, const Scan& scan) {
    return error_of([&] { require_noise_maps_can(request, settings, scan); });
  };
  const Scan radial = data::simulate(scan_settings(data::TrajectoryKind::golden_radial, 24, 1)).scan;
  EXPECT_CONTAINS(refused({0}, {}, radial), "exact noise map: expected a Cartesian scan");
  EXPECT_EQ(refused({4}, {}, radial), "");
  Scan scan = cartesian(2);
  EXPECT_EQ(refused({0}, {}, scan), "");
  Settings sparse;
  std::get<LeastSquares>(sparse.method).sparse = {{SparseKind::tv, 0.01}};
  EXPECT_CONTAINS(error_of([&] { require_noise_maps_can({0}, sparse); }),
                  "--noise-map exact: does not go together with --regularizer tv");
  Settings no_maps;
  no_maps.coils.maps = CoilMaps::none;
  EXPECT_CONTAINS(refused({0}, no_maps, scan), "expected sensitivity maps, or one coil, found 8 coils");
  scan.field_map.emplace(scan.geometry.image_shape());
  scan.sample_time_s.emplace(Shape{scan.kspace.sample_count()});
  EXPECT_CONTAINS(refused({0}, {}, scan), "expected a scan without a field map, fields or decay");
  scan.noise->fill_zero();
  EXPECT_CONTAINS(refused({4}, {}, scan), "found noise readouts of zeros");
}

TEST(NoiseLike, has_the_covariance_asked_for) {
  constexpr std::int64_t samples = 100000;
  Array<Complex<double>> covariance({3, 3});
  // L L^H of L = (1; 1+i 2; 0 i 0): the third coil is not independent of the second row alone, rank 3 with a small
  // pivot.
  const Complex<double> l[3][3] = {{1, 0, 0}, {{1, 1}, 2, 0}, {0, {0, 1}, 0.1}};
  for (int i = 0; i < 9; ++i)
    for (int j = 0; j < 3; ++j) covariance[i] += l[i / 3][j] * conj(l[i % 3][j]);
  const auto found = noise_covariance(noise_like(covariance, samples, 7)).values;
  for (int i = 0; i < 9; ++i) {
    const double of_pair = std::sqrt(covariance[i / 3 * 4].re * covariance[i % 3 * 4].re);
    EXPECT_LE(abs(found[i] - covariance[i]), 4 * of_pair / std::sqrt(double(samples)))
        << i;  // 4 standard errors
  }
}

TEST(NoiseLike, is_the_same_for_the_same_number_and_unrelated_for_another) {
  Array<Complex<double>> covariance({2, 2});
  covariance[0] = covariance[3] = 1;
  const auto once = noise_like(covariance, 5000, 1), again = noise_like(covariance, 5000, 1),
             other = noise_like(covariance, 5000, 2);
  EXPECT_TRUE(std::equal(once.begin(), once.end(), again.begin()));
  Complex<double> product;
  for (std::int64_t i = 0; i < once.size(); ++i)
    product += conj(Complex<double>(once[i])) * Complex<double>(other[i]);
  EXPECT_LE(abs(product), 4 * std::sqrt(10000.0));  // 4 standard deviations of a sum of as many products
  Array<Complex<double>> one({1, 1});
  one[0] = 1;
  for (const std::uint64_t seed : {0, 1}) {  // nor is it the noise of a simulated scan
    const auto drawn = noise_like(one, 10000, seed);
    Array<Complex<float>> simulated({1, 10000});
    data::add_noise(simulated, std::sqrt(0.5), seed);
    product = {};
    for (std::int64_t i = 0; i < 10000; ++i)
      product += conj(Complex<double>(drawn[i])) * Complex<double>(simulated[i]);
    EXPECT_LE(abs(product), 4 * std::sqrt(10000.0)) << seed;
  }
  Array<Complex<double>> singular({2, 2});  // the same noise in both coils
  for (auto& value : singular) value = 1;
  const auto shared = noise_like(singular, 100, 1);
  for (int m = 0; m < 100; ++m) EXPECT_EQ(shared[m].re, shared[100 + m].re);
}

}  // namespace
}  // namespace fhd
