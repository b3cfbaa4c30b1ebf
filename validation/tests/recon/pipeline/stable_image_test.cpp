// The floor beside sparse terms, and the places that are held.
#include "recon/pipeline/stable_image.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "data/simulate.hpp"
#include "recon/pipeline/reconstruct.hpp"
#include "validation/metrics.hpp"
#include "validation/tests/messages.hpp"

namespace fhd {
namespace {

constexpr int n = 64;

TEST(Floor, finds_the_voxel_that_is_the_most_times_brighter_than_its_surroundings) {
  const Shape shape{1, 40, 40};
  Array<Complex<float>> first(shape), image(shape);
  std::fill(first.begin(), first.end(), Complex<float>(1));
  first[20 * 40 + 5] = Complex<float>(4);  // the block of 0 ... 7, 16 ... 23, and those beside it may be 8
  std::copy(first.begin(), first.end(), image.begin());
  const Surroundings surroundings(first);
  std::vector<char> marked(static_cast<std::size_t>(surroundings.block_count()), 0);
  ASSERT_EQ(marked.size(), 25U);
  EXPECT_FALSE(surroundings.hot_voxels(image, marked).voxel);
  image[19 * 40 + 12] = Complex<float>(0, 7);  // beside the bright voxel
  image[3 * 40 + 30] = Complex<float>(0, -5);  // not beside it
  image[36 * 40 + 39] = Complex<float>(2.5F);
  const auto hot = surroundings.hot_voxels(image, marked);
  ASSERT_TRUE(hot.voxel);
  EXPECT_EQ(*hot.voxel, 3 * 40 + 30);
  EXPECT_NEAR(hot.times, 5, 1e-6);
  // Blocks x 2 ... 4, y 0 ... 1 and x 3 ... 4, y 3 ... 4 are marked.
  EXPECT_EQ(std::count(marked.begin(), marked.end(), 1), 10);
  EXPECT_TRUE(marked[2] && marked[9] && marked[18] && marked[24]);
}

/// Three times undersampled, 8 coils; the maps are a fiftieth of what they were in a disc, where there is signal.
data::Simulation spiral(bool spoiled, data::TrajectoryKind kind = data::TrajectoryKind::spiral) {
  data::SimulationSettings settings;
  settings.trajectory.matrix_size = {n, n, 1};
  settings.trajectory.fov_mm = {240, 240, 5};
  settings.trajectory.kind = kind;
  settings.trajectory.undersampling = 3;
  settings.coil_count = 8;
  settings.snr = 30;
  auto made = data::simulate(settings);
  if (spoiled)
    for (std::int64_t i = 0; i < made.scan.sensitivity_maps->values.size(); ++i)
      if (std::hypot(i % n - 40.0, i / n % n - 26.0) < 8) made.scan.sensitivity_maps->values[i] *= 0.02F;
  return made;
}

Settings with(SparsePenalty term, LambdaChoice lambda) {
  LeastSquares method;
  method.lambda = lambda;
  method.sparse = {term};
  method.iterations = sparse_iterations;
  method.tolerance = sparse_tolerance;
  return {method};
}

double brightest(const Reconstruction& made) {
  double most = 0;
  for (const auto& value : made.image.values) most = std::max<double>(most, abs(value));
  return most;
}

TEST(Floor, holds_the_image_where_the_maps_vanish_and_names_the_place) {
  const auto scan = spiral(true).scan;
  const double least_squares = brightest(reconstruct(scan, {}, {Device::cpu(), 1}));
  for (const SparsePenalty term : {SparsePenalty{SparseKind::wavelet, 0.005}, {SparseKind::tv, 0.005}}) {
    const auto burst = reconstruct(scan, with(term, OfLargestEigenvalue{0}), {Device::cpu(), 1}),
               held = reconstruct(scan, with(term, BelowNoise{}), {Device::cpu(), 1});
    EXPECT_GE(brightest(burst), 3 * least_squares) << "the scan tests nothing";
    EXPECT_LE(brightest(held), 1.5 * least_squares) << name_of(term.kind);
    for (const auto* made : {&burst, &held}) {
      ASSERT_TRUE(holds(made->report.messages, "hot_spot", Severity::suspicion));
      const HotSpot& spot = *made->report.hot_spot;
      EXPECT_EQ(spot.is_held, made == &held);
      EXPECT_GE(spot.times, 2);
      EXPECT_LE(std::hypot(spot.voxel[0] - 40.0, spot.voxel[1] - 26.0), 9);
    }
  }
}

TEST(Floor, keeps_the_search_of_a_strength_where_the_image_is_stable) {
  const auto scan = spiral(true).scan;
  const double least_squares = brightest(reconstruct(scan, {}, {Device::cpu(), 1}));
  const auto made = reconstruct(scan, with({SparseKind::wavelet, {}}, BelowNoise{}), {Device::cpu(), 1});
  EXPECT_GE(made.report.strength_curve.size(), 4U);
  EXPECT_LE(brightest(made), 1.5 * least_squares);
}

TEST(Floor, is_not_seen_in_images_of_good_scans) {
  for (const auto kind : {data::TrajectoryKind::spiral, data::TrajectoryKind::golden_radial}) {
    const auto made = spiral(false, kind);
    for (const SparsePenalty term : {SparsePenalty{SparseKind::wavelet, 0.005}, {SparseKind::tgv, 0.005}}) {
      const auto without = reconstruct(made.scan, with(term, OfLargestEigenvalue{0}), {Device::cpu(), 1}),
                 floored = reconstruct(made.scan, with(term, BelowNoise{}), {Device::cpu(), 1});
      const auto of = [](const Reconstruction& each) {
        return converted<Complex<double>>(each.image.values);
      };
      const auto truth = converted<Complex<double>>(made.band_limited.values);
      EXPECT_GT(floored.report.lambda, 0);
      EXPECT_LE(metrics::nrmse_best_scale(of(floored), truth),
                1.01 * metrics::nrmse_best_scale(of(without), truth));
      // Less than both are from the minimum: sparse_tolerance.
      EXPECT_LE(metrics::relative_l2(of(floored), of(without)), 0.01);
      EXPECT_FALSE(holds(floored.report.messages, "hot_spot", Severity::note));
      EXPECT_TRUE(holds(floored.report.messages, "floor", Severity::note));
    }
  }
}

TEST(Floor, needs_sparse_terms) {
  EXPECT_THROW(validate({LeastSquares{.lambda = BelowNoise{}}}), Error);
  EXPECT_THROW(validate(with({SparseKind::tv, 0.01}, BelowNoise{0})), Error);
  EXPECT_NO_THROW(validate(with({SparseKind::tv, 0.01}, BelowNoise{})));
}

}  // namespace
}  // namespace fhd
