// The direct transform, Q and the general sum against the oracle.
#include "recon/transform/direct/direct.hpp"

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "data/trajectory.hpp"
#include "recon/transform/direct/direct_cost.hpp"
#include "recon/transform/direct/sample_groups.hpp"
#include "recon/transform/transform.hpp"
#include "validation/metrics.hpp"
#include "validation/oracle.hpp"
#include "validation/tests/problems.hpp"

namespace {

using namespace fhd;
using tests::random_trajectory;
using tests::random_values;

template <class T>
class DirectTransform : public ::testing::Test {
 protected:
  // Single precision: a phase of up to N/2 x 1/2 turns rounded at 6e-8 of itself and of the factors' products
  // gives 1e-5 for N = 256 (measured, physics of the direct sum); 3e-5 bounds it. Double: the same 2^-29
  // smaller is 2e-14; recurrences and sums over 1e5 terms add a factor below 50.
  static constexpr double tolerance = sizeof(T) == 4 ? 3e-5 : 1e-12;
  // Forward and adjoint use the same exponentials, so that only the rounding of the sums is left: 6e-8
  // (1e-16) times the root of the number of terms, relative to |Ax||y|.
  static constexpr double adjointness = sizeof(T) == 4 ? 1e-6 : 1e-13;
};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(DirectTransform, Precisions);

TYPED_TEST(DirectTransform, forward_equals_the_oracle) {
  unsigned seed = 1;
  for (const auto& c : tests::transform_cases()) {
    SCOPED_TRACE(c.text());
    const auto trajectory = random_trajectory(c.matrix_size, c.samples, seed++);
    const auto transform = make_direct_transform<TypeParam>(trajectory, c.matrix_size, Device::cpu());
    const auto images = random_values<TypeParam>(transform->images_shape(c.coils), seed++);
    Array<Complex<TypeParam>> samples(transform->samples_shape(c.coils));
    transform->forward(images, samples);
    const auto expected = oracle::forward(trajectory.k, oracle::voxel_positions(c.matrix_size),
                                          converted<Complex<double>>(images));
    EXPECT_LE(metrics::relative_l2(converted<Complex<double>>(samples), expected), this->tolerance);
  }
}

TYPED_TEST(DirectTransform, adjoint_equals_the_oracle) {
  unsigned seed = 101;
  for (const auto& c : tests::transform_cases()) {
    SCOPED_TRACE(c.text());
    const auto trajectory = random_trajectory(c.matrix_size, c.samples, seed++);
    const auto transform = make_direct_transform<TypeParam>(trajectory, c.matrix_size, Device::cpu());
    const auto samples = random_values<TypeParam>(transform->samples_shape(c.coils), seed++);
    Array<Complex<TypeParam>> images(transform->images_shape(c.coils));
    transform->adjoint(samples, images);
    const auto expected = oracle::adjoint(trajectory.k, oracle::voxel_positions(c.matrix_size),
                                          converted<Complex<double>>(samples));
    EXPECT_LE(metrics::relative_l2(converted<Complex<double>>(images), expected), this->tolerance);
  }
}

TYPED_TEST(DirectTransform, adjoint_is_conjugate_transpose) {
  unsigned seed = 201;
  for (const auto& c : tests::transform_cases()) {
    SCOPED_TRACE(c.text());
    const auto transform = make_direct_transform<TypeParam>(
        random_trajectory(c.matrix_size, c.samples, seed++), c.matrix_size, Device::cpu());
    const auto x = random_values<TypeParam>(transform->images_shape(c.coils), seed++);
    const auto y = random_values<TypeParam>(transform->samples_shape(c.coils), seed++);
    Array<Complex<TypeParam>> ax(y.shape()), ahy(x.shape());
    transform->forward(x, ax);
    transform->adjoint(y, ahy);
    EXPECT_LE(tests::adjointness_error(x, ax, y, ahy), this->adjointness);
  }
}

TYPED_TEST(DirectTransform, overwrites_what_was_in_the_output) {
  const std::array<int, 3> matrix{6, 5, 4};
  const auto transform =
      make_direct_transform<TypeParam>(random_trajectory(matrix, 50, 1), matrix, Device::cpu());
  const auto images = random_values<TypeParam>(transform->images_shape(2), 2);
  auto fresh = Array<Complex<TypeParam>>(transform->samples_shape(2)),
       used = random_values<TypeParam>(fresh.shape(), 3);
  transform->forward(images, fresh);
  transform->forward(images, used);
  EXPECT_TRUE(std::equal(fresh.begin(), fresh.end(), used.begin()));
  auto fresh_images = Array<Complex<TypeParam>>(images.shape()), used_images = images;
  transform->adjoint(fresh, fresh_images);
  transform->adjoint(fresh, used_images);
  EXPECT_TRUE(std::equal(fresh_images.begin(), fresh_images.end(), used_images.begin()));
}

TYPED_TEST(DirectTransform, refuses_arrays_of_another_shape) {
  const std::array<int, 3> matrix{6, 5, 1};
  const auto transform =
      make_direct_transform<TypeParam>(random_trajectory(matrix, 50, 1), matrix, Device::cpu());
  Array<Complex<TypeParam>> images(transform->images_shape(2)), samples(transform->samples_shape(3)),
      flat({30});
  EXPECT_THROW(transform->forward(images, samples), Error);
  EXPECT_THROW(transform->adjoint(samples, images), Error);
  EXPECT_THROW(transform->forward(flat, samples), Error);
}

TYPED_TEST(DirectTransform, refuses_a_trajectory_without_samples_or_axes) {
  EXPECT_THROW(make_direct_transform<TypeParam>({Array<double>({3, 0})}, {4, 4, 1}, Device::cpu()), Error);
  EXPECT_THROW(make_direct_transform<TypeParam>({Array<double>({2, 9})}, {4, 4, 1}, Device::cpu()), Error);
  EXPECT_THROW(make_direct_transform<TypeParam>({Array<double>({3, 9})}, {4, 0, 1}, Device::cpu()), Error);
}

template <class T>
class DirectPointSpread : public DirectTransform<T> {};
TYPED_TEST_SUITE(DirectPointSpread, Precisions);

/// The oracle's q on the periodic grid, with the unreachable differences n = -N set to zero.
oracle::Values expected_point_spread(const Trajectory& trajectory, std::array<int, 3> matrix_size,
                                     const Array<double>& weights) {
  auto q = oracle::q(trajectory.k, oracle::difference_positions(matrix_size), weights);
  const auto grid = difference_grid(matrix_size);
  for (std::int64_t i = 0; i < q.size(); ++i) {
    const std::array<std::int64_t, 3> n{i % grid[0], i / grid[0] % grid[1], i / grid[0] / grid[1]};
    for (int axis = 0; axis < 3; ++axis)
      if (matrix_size[axis] > 1 && n[axis] == matrix_size[axis]) q[i] = 0.0;
  }
  return q;
}

TYPED_TEST(DirectPointSpread, equals_the_oracle_with_and_without_weights) {
  unsigned seed = 301;
  for (const auto& c : {tests::TransformCase{{1, 1, 1}, 1, 1},
                        {{7, 1, 1}, 30, 1},
                        {{1, 6, 1}, 9, 1},
                        {{16, 15, 1}, 1025, 1},
                        {{5, 6, 7}, 300, 1},
                        {{12, 1, 9}, 127, 1},
                        {{64, 64, 1}, 333, 1},
                        {{2, 2, 2}, 1, 1}}) {
    SCOPED_TRACE(c.text());
    const auto trajectory = random_trajectory(c.matrix_size, c.samples, seed++);
    Array<double> weights({c.samples}), ones({c.samples});
    for (std::int64_t m = 0; m < c.samples; ++m) ones[m] = 1, weights[m] = 0.5 + static_cast<double>(m % 7);
    const auto q = point_spread_direct<TypeParam>(trajectory, c.matrix_size, nullptr, Device::cpu());
    EXPECT_LE(metrics::relative_l2(converted<Complex<double>>(q),
                                   expected_point_spread(trajectory, c.matrix_size, ones)),
              this->tolerance);
    const auto weighted = point_spread_direct<TypeParam>(trajectory, c.matrix_size, &weights, Device::cpu());
    EXPECT_LE(metrics::relative_l2(converted<Complex<double>>(weighted),
                                   expected_point_spread(trajectory, c.matrix_size, weights)),
              this->tolerance);
  }
}

TYPED_TEST(DirectPointSpread, is_conjugate_symmetric) {
  const std::array<int, 3> matrix{6, 5, 4}, grid = difference_grid(matrix);
  const auto q = converted<Complex<double>>(
      point_spread_direct<TypeParam>(random_trajectory(matrix, 200, 1), matrix, nullptr, Device::cpu()));
  ASSERT_EQ(q.shape(), (Shape{grid[2], grid[1], grid[0]}));
  auto mirrored = q;
  for (int z = 0; z < grid[2]; ++z)
    for (int y = 0; y < grid[1]; ++y)
      for (int x = 0; x < grid[0]; ++x) {
        const std::array<std::int64_t, 3> n{(grid[0] - x) % grid[0], (grid[1] - y) % grid[1],
                                            (grid[2] - z) % grid[2]};
        mirrored[(std::int64_t{z} * grid[1] + y) * grid[0] + x] =
            conj(q[(n[2] * grid[1] + n[1]) * grid[0] + n[0]]);
      }
  // Only differences on the edges of the computed half may be computed twice; they differ by rounding.
  EXPECT_LE(metrics::relative_l2(mirrored, q), this->adjointness);
}

/// Trajectories whose samples share positions along x, or along x and y: mirrored, stacked, on a grid; with
/// more than SampleGroups::most_slots of one |k_x|, -0, and samples that occur twice.
std::vector<std::pair<Trajectory, std::array<int, 3>>> shared_trajectories() {
  std::vector<std::pair<Trajectory, std::array<int, 3>>> cases;
  using Kind = data::TrajectoryKind;
  for (const Kind kind : {Kind::radial, Kind::golden_radial, Kind::spiral, Kind::cartesian}) {
    data::TrajectorySettings settings;
    settings.kind = kind;
    settings.matrix_size = {24, 21, 1};
    cases.emplace_back(data::design_trajectory(settings).trajectory, settings.matrix_size);
  }
  for (const Kind kind :
       {Kind::stack_of_stars, Kind::stack_of_spirals, Kind::cartesian, Kind::phyllotaxis_radial_3d}) {
    data::TrajectorySettings settings;
    settings.kind = kind;
    settings.matrix_size = {11, 12, 9};
    settings.fov_mm = {200, 210, 150};
    cases.emplace_back(data::design_trajectory(settings).trajectory, settings.matrix_size);
  }
  Trajectory few{Array<double>({3, 400})};
  for (std::int64_t m = 0; m < 400; ++m) {
    few.k[m] = static_cast<double>(m % 7 - 3) * (m % 2 == 0 ? -1.0 : 1.0);  // 0 and -0 among them
    few.k[400 + m] = static_cast<double>(m % 5) - 2.25;
    few.k[800 + m] = 0.37 * static_cast<double>(m % 3);
  }
  cases.emplace_back(few, std::array<int, 3>{8, 7, 3});
  return cases;
}

TYPED_TEST(DirectTransform, adjoint_of_samples_that_share_positions_equals_the_oracle) {
  unsigned seed = 501;
  for (const auto& [trajectory, matrix] : shared_trajectories())
    for (const std::int64_t coils : {1, 5}) {
      SCOPED_TRACE(std::to_string(trajectory.sample_count()) + " samples");
      const auto transform = make_direct_transform<TypeParam>(trajectory, matrix, Device::cpu());
      const auto samples = random_values<TypeParam>(transform->samples_shape(coils), seed++);
      Array<Complex<TypeParam>> images(transform->images_shape(coils));
      transform->adjoint(samples, images);
      const auto expected =
          oracle::adjoint(trajectory.k, oracle::voxel_positions(matrix), converted<Complex<double>>(samples));
      EXPECT_LE(metrics::relative_l2(converted<Complex<double>>(images), expected), this->tolerance);
    }
}

TYPED_TEST(DirectPointSpread, of_samples_that_share_positions_equals_the_oracle) {
  for (const auto& [trajectory, matrix] : shared_trajectories()) {
    SCOPED_TRACE(std::to_string(trajectory.sample_count()) + " samples");
    Array<double> weights({trajectory.sample_count()});
    for (std::int64_t m = 0; m < weights.size(); ++m) weights[m] = 0.5 + static_cast<double>(m % 7);
    const auto q = point_spread_direct<TypeParam>(trajectory, matrix, &weights, Device::cpu());
    EXPECT_LE(metrics::relative_l2(converted<Complex<double>>(q),
                                   expected_point_spread(trajectory, matrix, weights)),
              this->tolerance);
  }
}

TEST(SampleGroups, every_sample_is_in_one_place_of_its_positions) {
  for (const auto& [trajectory, matrix] : shared_trajectories()) {
    const SampleGroups groups(trajectory);
    const std::int64_t samples = trajectory.sample_count();
    const double *kx = trajectory.k.data(), *ky = kx + samples;
    std::vector<int> seen(static_cast<std::size_t>(samples));
    for (const auto& block : groups.blocks())
      for (int m = 0; m < block.groups; ++m) {
        const auto place_of = [&](int slot) {
          return groups.places()[static_cast<std::size_t>(block.first +
                                                          std::int64_t{slot} * SampleGroups::block_size + m)];
        };
        const std::int64_t first = groups.order()[static_cast<std::size_t>(place_of(0).begin)];
        for (int slot = 0; slot < block.slots; ++slot) {
          const auto place = place_of(slot);
          for (int i = 0; i < place.count; ++i) {
            const std::int64_t sample = groups.order()[static_cast<std::size_t>(place.begin + i)];
            ++seen[static_cast<std::size_t>(sample)];
            EXPECT_EQ(kx[sample], place.sign * kx[first]);
            EXPECT_EQ(ky[sample], ky[groups.order()[static_cast<std::size_t>(place.begin)]]);
          }
        }
      }
    for (const int count : seen) EXPECT_EQ(count, 1);
  }
}

TEST(SampleGroups, partitions_of_a_stack_and_halves_of_a_spoke_are_taken_together) {
  data::TrajectorySettings settings;
  settings.kind = data::TrajectoryKind::stack_of_stars;
  settings.matrix_size = {32, 32, 20};
  settings.fov_mm = {200, 200, 200};
  const auto trajectory = data::design_trajectory(settings).trajectory;
  const SampleGroups groups(trajectory);
  // 20 partitions; of the 2 N samples of a spoke all but the first (-N/2) and the centre have a mirror image.
  EXPECT_LE(groups.count().xy, trajectory.sample_count() / 20);
  EXPECT_LE(groups.count().x, groups.count().xy * 34 / 64);
  // Nothing is shared: the samples stay in their order.
  const auto random = random_trajectory({32, 32, 1}, 1000, 1);
  const SampleGroups alone(random);
  EXPECT_EQ(alone.count().x, 1000);
  EXPECT_TRUE(std::is_sorted(alone.order().begin(), alone.order().end()));
}

/// Bytes that the C library has handed out.
double bytes_in_use() {
  const auto info = mallinfo2();
  return static_cast<double>(info.uordblks) + static_cast<double>(info.hblkhd);
}

TYPED_TEST(DirectTransform, holds_the_bytes_that_its_cost_says) {
  data::TrajectorySettings settings;
  settings.kind = data::TrajectoryKind::stack_of_stars;
  settings.matrix_size = {64, 64, 16};
  settings.fov_mm = {200, 200, 200};
  const auto stack = data::design_trajectory(settings).trajectory;
  struct Case {
    std::array<int, 3> matrix_size;
    Trajectory trajectory;
    std::int64_t coils;
  };
  for (const auto& [matrix_size, trajectory, coils] :
       {Case{{192, 160, 1}, random_trajectory({192, 160, 1}, 40000, 1), 6}, Case{{64, 64, 16}, stack, 3},
        Case{{40, 40, 40}, random_trajectory({40, 40, 40}, 20000, 2), 2}}) {
    SCOPED_TRACE(matrix_size[0]);
    const auto images = random_values<TypeParam>({coils, matrix_size[2], matrix_size[1], matrix_size[0]}, 3);
    auto back = images;
    Array<Complex<TypeParam>> samples({coils, trajectory.sample_count()});
    const double before = bytes_in_use();
    const auto transform = make_direct_transform<TypeParam>(trajectory, matrix_size, Device::cpu());
    const double made = bytes_in_use();
    transform->forward(images, samples);
    transform->adjoint(samples, back);
    const double used = bytes_in_use();
    transform->forward(images, samples);
    transform->adjoint(samples, back);
    EXPECT_EQ(bytes_in_use(), used) << "scratch is made once";
    const DirectCost cost({matrix_size, count_samples(trajectory), precision_of<TypeParam>(), Device::cpu()});
    EXPECT_NEAR(static_cast<double>(cost.bytes()), made - before, 0.15 * (made - before));
    EXPECT_NEAR(static_cast<double>(cost.scratch_bytes(coils)), used - made, 0.15 * (used - made));
  }
}

TEST(DirectCost, counts_pairs_and_shares_positions) {
  const auto single = Precision::single_precision;
  const std::array<int, 3> matrix_size{32, 20, 10};
  const TransformSizes alone{matrix_size, {1000, 1000, 1000}, single, Device::cpu()},
      shared{matrix_size, {1000, 100, 400}, single, Device::cpu()},
      unknown{matrix_size, {1000}, single, Device::cpu()},
      gpu{matrix_size, {1000, 100, 400}, single, Device::cuda()};
  const auto unit = WorkUnit::pair;
  const auto pairs = [&](const TransformSizes& sizes) { return DirectCost(sizes).adjoint(3).at(unit, single); };
  EXPECT_EQ(pairs(unknown), pairs(alone)) << "where it is not known, all positions differ";
  EXPECT_LT(pairs(shared), 0.6 * pairs(alone));
  EXPECT_EQ(DirectCost(gpu, {GpuSums::fast}).adjoint(3).at(unit, single), 3 * 6400.0 * 1000);
  // Tensor cores take whole tiles, three products to a pair in two parts.
  const auto products =
      DirectCost(gpu, {GpuSums::tensor_cores}).adjoint(3).at(WorkUnit::matrix_product, single);
  EXPECT_GE(products, 3 * 3 * 6400.0 * 1000);
  EXPECT_LE(products, 8 * 3 * 3 * 6400.0 * 1000);
  EXPECT_GE(pairs(shared), 3 * 6400.0 * 100);
  EXPECT_EQ(DirectCost(shared).accuracy(), 3e-5);
}

TEST(GeneralSum, equals_the_oracle_at_arbitrary_positions) {
  const auto k = tests::random_positions(301, 60, 1), r = tests::random_positions(203, 0.5, 2);
  const auto samples = random_values<double>({3, 301}, 3), images = random_values<double>({2, 203}, 4);
  EXPECT_LE(metrics::relative_l2(general_sum(k, r, +1.0, samples), oracle::adjoint(k, r, samples)), 1e-12);
  EXPECT_LE(metrics::relative_l2(general_sum(r, k, -1.0, images), oracle::forward(k, r, images)), 1e-12);
}

TEST(GeneralSum, takes_time_as_a_further_axis) {
  // Source (k, t), target (r, omega / 2 pi): the off-resonance term of the signal model.
  const std::int64_t samples = 90, points = 70;
  const auto k = tests::random_positions(samples, 8, 5), r = tests::random_positions(points, 0.5, 6);
  oracle::OffResonance off{Array<double>({points}), Array<double>({samples})};
  Array<double> sources({4, samples}), targets({4, points});
  std::copy(k.begin(), k.end(), sources.begin());
  std::copy(r.begin(), r.end(), targets.begin());
  for (std::int64_t m = 0; m < samples; ++m)
    sources[3 * samples + m] = off.time_s[m] = 5e-4 * static_cast<double>(m);
  for (std::int64_t p = 0; p < points; ++p) {
    off.omega_rad_per_s[p] = 17.0 * static_cast<double>(p) - 600;
    targets[3 * points + p] = off.omega_rad_per_s[p] / (2 * std::numbers::pi);
  }
  const auto values = random_values<float>({2, samples}, 7);
  EXPECT_LE(metrics::relative_l2(general_sum(sources, targets, +1.0, values),
                                 oracle::adjoint(k, r, converted<Complex<double>>(values), off)),
            1e-12);
}

}  // namespace
