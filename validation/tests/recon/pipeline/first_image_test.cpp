// A first image tells the misfit of the samples, which decides the default lambda of Cartesian scans.
#include "recon/pipeline/first_image.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "data/simulate.hpp"
#include "recon/pipeline/reconstruct.hpp"
#include "validation/metrics.hpp"
#include "validation/tests/messages.hpp"

namespace fhd {
namespace {

TEST(FirstImage, tells_the_magnitude_below_which_half_of_the_energy_lies) {
  Array<Complex<double>> image(Shape{1, 1, 6});
  const double values[] = {0, 3, 1, 2, 0, 3};  // squares 1, 4, 9, 9: half of 23 is passed by the first 9
  for (int i = 0; i < 6; ++i) image[i] = Complex<double>(0, values[i]);
  EXPECT_EQ(magnitude_of(image), 3);
  image[1] = image[5] = Complex<double>(1);  // 1, 1, 1, 4: half of 7 is passed by the 4
  EXPECT_EQ(magnitude_of(image), 2);
  image.fill_zero();
  EXPECT_EQ(magnitude_of(image), 0);
}

TEST(FirstImage, tells_the_misfit_of_a_sample_over_the_squared_magnitude_whatever_its_factor) {
  // E^H E = 4; 4 values whose |d|^2 is that of E rho, 4 * 18, and 8 beside it: 2 for each value.
  const Shape shape{1, 1, 2};
  Model<double> model;
  model.problem.normal = hermitian_operator<double>(shape, Device::cpu(), [](const auto& in, auto& out) {
    copy(in, out);
    scale(out, 4.0);
  });
  Array<Complex<double>> samples(Shape{1, 4}), image(shape), fhd(shape);
  samples[0] = Complex<double>(std::sqrt(4 * 18.0)), samples[3] = Complex<double>(0, std::sqrt(8.0));
  fhd[0] = Complex<double>(12), fhd[1] = Complex<double>(0, 12);
  const Settings settings;
  const Execution execution{Device::cpu(), 1};
  const Services services;
  RunLog log(Device::cpu(), {});
  for (const double factor : {1.0, 0.5}) {
    const double c = 3 * factor;
    image[0] = Complex<double>(c), image[1] = Complex<double>(0, c);
    EXPECT_NEAR(misfit_over_image(model, image, c, fhd, samples, {settings, execution, services, log}),
                2 / (c * c), 1e-12);
  }
}

/// Every `distance`-th line of 64, and 16 in the centre; 8 coils.
data::Simulation with_gaps(double snr, int distance) {
  data::SimulationSettings settings;
  settings.trajectory.kind = data::TrajectoryKind::cartesian;
  settings.trajectory.matrix_size = {64, 64, 1};
  settings.trajectory.fov_mm = {240, 240, 5};
  settings.coil_count = 8;
  settings.snr = snr;
  auto made = data::simulate(settings);
  auto& maps = made.scan.sensitivity_maps->values;  // of one in all, as maps of a scan
  for (std::int64_t p = 0; p < 64 * 64; ++p) {
    float square = 0;
    for (std::int64_t c = 0; c < 8; ++c) square += norm(maps[c * 64 * 64 + p]);
    for (std::int64_t c = 0; c < 8; ++c) maps[c * 64 * 64 + p] *= 1 / std::sqrt(square);
    made.band_limited.values[p] *= std::sqrt(square);
  }
  const auto& k = made.scan.trajectory.k;
  const std::int64_t all = made.scan.trajectory.sample_count();
  std::vector<std::int64_t> kept;
  for (std::int64_t m = 0; m < all; ++m)
    if (const auto line = std::lround(k[all + m]); std::abs(line) < 8 || (line + 64) % distance == 0)
      kept.push_back(m);
  const auto count = static_cast<std::int64_t>(kept.size());
  Array<double> places(Shape{3, count});
  Array<Complex<float>> values(Shape{8, count});
  for (std::int64_t i = 0; i < count; ++i) {
    for (int axis = 0; axis < 3; ++axis) places[axis * count + i] = k[axis * all + kept[i]];
    for (std::int64_t c = 0; c < 8; ++c) values[c * count + i] = made.scan.kspace.values[c * all + kept[i]];
  }
  made.scan.trajectory.k = std::move(places);
  made.scan.kspace.values = std::move(values);
  made.scan.sample_time_s.reset();
  return made;
}

double share_of(const Report& report, const Scan& scan) {
  Settings settings{LeastSquares{.lambda = OfMeanEigenvalue{}}};
  return report.lambda / reconstruct(scan, settings, {Device::cpu(), 1}).report.lambda *
         OfMeanEigenvalue{}.share;
}

TEST(StandardLambda, of_a_cartesian_scan_with_gaps_is_near_the_best) {
  for (const auto& [snr, distance] : {std::pair{100.0, 4}, {50.0, 3}, {10.0, 3}, {20.0, 2}}) {
    const auto made = with_gaps(snr, distance);
    const auto error_with = [&](const LambdaChoice& lambda) {
      const auto image =
          reconstruct(made.scan, {LeastSquares{.lambda = lambda}}, {Device::cpu(), 1}).image.values;
      return metrics::nrmse_best_scale(converted<Complex<double>>(image),
                                       converted<Complex<double>>(made.band_limited.values));
    };
    double best = 1;
    for (const double share : {0.001, 0.003, 0.01, 0.03, 0.1, 0.3})
      best = std::min(best, error_with(OfMeanEigenvalue{share}));
    EXPECT_LE(error_with(StandardLambda{}), 1.06 * best) << snr << ", every " << distance;
  }
}

TEST(StandardLambda, grows_with_the_noise_and_is_told) {
  double before = 0;
  for (const double snr : {100.0, 30.0, 8.0}) {
    const auto made = with_gaps(snr, 3);
    const auto report = reconstruct(made.scan, {}, {Device::cpu(), 1}).report;
    const double share = share_of(report, made.scan);
    EXPECT_GT(share, 2 * before);
    EXPECT_LE(share, 0.55);  // half of the mean, on a grid of 1.2
    EXPECT_TRUE(tests::tells(report.messages, "from what a first image leaves"));
    before = share;
  }
}

TEST(StandardLambda, is_not_raised_where_maps_are_uneven) {
  auto made = with_gaps(8, 3);
  EXPECT_GT(share_of(reconstruct(made.scan, {}, {Device::cpu(), 1}).report, made.scan), 0.06);
  auto& maps = made.scan.sensitivity_maps->values;
  for (std::int64_t i = 0; i < maps.size(); ++i) maps[i] *= 0.2F + 0.8F * static_cast<float>(i % 64) / 64;
  EXPECT_LE(share_of(reconstruct(made.scan, {}, {Device::cpu(), 1}).report, made.scan), 0.055);
}

TEST(StandardLambda, of_other_scans_is_a_twentieth_of_the_mean_eigenvalue) {
  data::SimulationSettings settings;
  settings.trajectory.matrix_size = {32, 32, 1};
  settings.trajectory.fov_mm = {240, 240, 5};
  settings.coil_count = 4;
  for (const auto kind : {data::TrajectoryKind::golden_radial, data::TrajectoryKind::cartesian}) {
    settings.trajectory.kind = kind;
    const Scan scan = data::simulate(settings).scan;
    const auto report = reconstruct(scan, {}, {Device::cpu(), 1}).report;
    EXPECT_NEAR(share_of(report, scan), 0.05, 1e-12);
    EXPECT_FALSE(holds(report.messages, "lambda", Severity::note));
  }
}

}  // namespace
}  // namespace fhd
