// The direct transform, Q and the general sum against the oracle.
#include "recon/transform/direct/direct.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "recon/transform/direct/direct_cost.hpp"
#include "recon/transform/direct/sample_groups.hpp"
#include "validation/tests/recon/transform/transform_checks.hpp"

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

  static void expect_accuracy(const Trajectory& trajectory, std::array<int, 3> matrix, std::int64_t coils) {
    const auto errors = tests::errors_of_direct<T>(trajectory, matrix, coils, Device::cpu());
    EXPECT_LE(errors.forward, tolerance);
    EXPECT_LE(errors.adjoint, tolerance);
    EXPECT_LE(errors.adjointness, adjointness);
  }
};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(DirectTransform, Precisions);

TYPED_TEST(DirectTransform, equals_the_oracle_and_its_conjugate_transpose) {
  unsigned seed = 1;
  for (const auto& c : tests::transform_cases()) {
    SCOPED_TRACE(c.text());
    this->expect_accuracy(random_trajectory(c.matrix_size, c.samples, seed++), c.matrix_size, c.coils);
  }
}

TYPED_TEST(DirectTransform, refuses_arrays_of_another_shape) {
  const std::array<int, 3> matrix{6, 5, 1};
  tests::expect_wrong_arrays_are_refused(
      *make_direct_transform<TypeParam>(random_trajectory(matrix, 50, 1), matrix, Device::cpu()));
}

TYPED_TEST(DirectTransform, refuses_a_trajectory_without_samples_or_axes) {
  EXPECT_THROW(make_direct_transform<TypeParam>({Array<double>({3, 0})}, {4, 4, 1}, Device::cpu()), Error);
  EXPECT_THROW(make_direct_transform<TypeParam>({Array<double>({2, 9})}, {4, 4, 1}, Device::cpu()), Error);
  EXPECT_THROW(make_direct_transform<TypeParam>({Array<double>({3, 9})}, {4, 0, 1}, Device::cpu()), Error);
}

template <class T>
class DirectPointSpread : public DirectTransform<T> {};
TYPED_TEST_SUITE(DirectPointSpread, Precisions);

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
    const auto weights = tests::uneven_weights(c.samples);
    for (const auto* w : {static_cast<const Array<double>*>(nullptr), &weights})
      EXPECT_LE(tests::error_of_point_spread<TypeParam>(trajectory, c.matrix_size, w, Device::cpu()),
                this->tolerance);
  }
}

/// Trajectories whose samples share positions along x, or along x and y: mirrored, stacked, on a grid; with
/// more than SampleGroups::most_slots of one |k_x|, -0, and samples that occur twice.
std::vector<std::pair<Trajectory, std::array<int, 3>>> shared_trajectories() {
  std::vector<std::pair<Trajectory, std::array<int, 3>>> cases;
  using enum data::TrajectoryKind;
  for (const auto kind : {radial, golden_radial, spiral, cartesian})
    cases.emplace_back(tests::designed(kind, {24, 21, 1}), std::array{24, 21, 1});
  for (const auto kind : {stack_of_stars, stack_of_spirals, cartesian, phyllotaxis_radial_3d})
    cases.emplace_back(tests::designed(kind, {11, 12, 9}), std::array{11, 12, 9});
  Trajectory few{Array<double>({3, 400})};
  for (std::int64_t m = 0; m < 400; ++m) {
    few.k[m] = static_cast<double>(m % 7 - 3) * (m % 2 == 0 ? -1.0 : 1.0);  // 0 and -0 among them
    few.k[400 + m] = static_cast<double>(m % 5) - 2.25;
    few.k[800 + m] = 0.37 * static_cast<double>(m % 3);
  }
  cases.emplace_back(few, std::array<int, 3>{8, 7, 3});
  return cases;
}

TYPED_TEST(DirectPointSpread, and_transform_of_samples_that_share_positions_equal_the_oracle) {
  for (const auto& [trajectory, matrix] : shared_trajectories()) {
    SCOPED_TRACE(std::to_string(trajectory.sample_count()) + " samples");
    for (const std::int64_t coils : {1, 5}) this->expect_accuracy(trajectory, matrix, coils);
    const auto weights = tests::uneven_weights(trajectory.sample_count());
    EXPECT_LE(tests::error_of_point_spread<TypeParam>(trajectory, matrix, &weights, Device::cpu()),
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
  const auto trajectory = tests::designed(data::TrajectoryKind::stack_of_stars, {32, 32, 20});
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

TYPED_TEST(DirectTransform, holds_the_bytes_that_its_cost_says) {
  const auto expect_bytes = [](const Trajectory& trajectory, std::array<int, 3> matrix, std::int64_t coils) {
    SCOPED_TRACE(matrix[0]);
    tests::expect_bytes_of_cost<TypeParam>(coils, Device::cpu(), [&] {
      return make_direct_transform<TypeParam>(trajectory, matrix, Device::cpu());
    });
  };
  expect_bytes(random_trajectory({96, 80, 1}, 12000, 1), {96, 80, 1}, 6);
  expect_bytes(tests::designed(data::TrajectoryKind::stack_of_stars, {32, 32, 16}), {32, 32, 16}, 3);
  expect_bytes(random_trajectory({24, 24, 24}, 8000, 2), {24, 24, 24}, 2);
}

TEST(DirectCost, counts_pairs_and_shares_positions) {
  const auto single = Precision::single_precision;
  const std::array<int, 3> matrix_size{32, 20, 10};
  const TransformSizes alone{matrix_size, {1000, 1000, 1000}, single, Device::cpu()},
      shared{matrix_size, {1000, 100, 400}, single, Device::cpu()},
      unknown{matrix_size, {1000}, single, Device::cpu()},
      gpu{matrix_size, {1000, 100, 400}, single, Device::cuda()};
  const auto unit = WorkUnit::pair;
  const auto pairs = [&](const TransformSizes& sizes) {
    return DirectCost(sizes).adjoint(3).at(unit, single);
  };
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
                                 oracle::adjoint(k, r, tests::in_double(values), off)),
            1e-12);
}

}  // namespace
