// The gridded transform and density compensation on the device, at the accuracy that was asked for.
#include <cmath>
#include <limits>

#include "recon/transform/gridded/gridded.hpp"
#include "validation/tests/gpu.hpp"
#include "validation/tests/recon/transform/transform_checks.hpp"

namespace fhd {
namespace {

using tests::expect_accuracy;
using tests::identical;
using tests::in_double;
using tests::random_values;
using tests::relative_error;

/// Without CUDA these tests are built, and skipped.
template <class T>
std::unique_ptr<FourierTransform<T>> on_gpu(const Trajectory& trajectory, const GriddedCost& cost) {
  if constexpr (built_with_cuda)
    return make_gridded_transform_cuda<T>(trajectory, cost);
  else
    throw Error("a test", "a build with CUDA", "one without");
}

template <class T>
class GpuGridded : public tests::GpuTest {
 protected:
  static std::vector<double> accuracies() {
    if (sizeof(T) == 4) return {1e-2, 1e-3, 1e-4, 1e-5};
    return {1e-3, 1e-5, 1e-8, 1e-11};
  }
};
using Precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(GpuGridded, Precisions);
using GpuPointSpread = tests::GpuTest;
using GpuDensityCompensation = tests::GpuTest;

TYPED_TEST(GpuGridded, is_as_close_to_the_direct_transform_as_requested) {
  unsigned seed = 1001;
  for (const auto& c : tests::trajectories()) {
    SCOPED_TRACE(c.name);
    expect_accuracy<TypeParam>(c.trajectory, c.matrix_size, c.coils, this->accuracies(), Device::cuda(),
                               seed);
    seed += 2;
  }
  expect_accuracy<TypeParam>(tests::beyond_the_edge({12, 11, 1}), {12, 11, 1}, 1, {1e-5}, Device::cuda());
}

/// Two thirds of the samples lie within one grid point of k = 0.
Trajectory dense_centre(std::array<int, 3> matrix, std::int64_t samples) {
  auto trajectory = tests::random_trajectory(matrix, samples, 5);
  for (std::int64_t i = 0; i < 3 * samples; ++i)
    if (i % samples % 3 != 0) trajectory.k[i] *= 1.0 / matrix[static_cast<std::size_t>(i / samples)];
  return trajectory;
}

TYPED_TEST(GpuGridded, two_runs_give_the_same_bits) {
  const std::array<int, 3> matrix{30, 28, 26};
  const auto trajectory = dense_centre(matrix, 60000);
  const auto x = random_values<TypeParam>({5, 26, 28, 30}, 1).to(Device::cuda());
  const auto y = random_values<TypeParam>({5, 60000}, 2).to(Device::cuda());
  for (const double accuracy : {1e-2, 1e-5}) {  // products of halves, and split ones
    std::vector<Array<Complex<TypeParam>>> samples, images;
    for (int plan = 0; plan < 2; ++plan) {
      const auto transform = make_gridded_transform<TypeParam>(trajectory, matrix, accuracy, Device::cuda());
      for (int run = 0; run < 2; ++run) {
        transform->forward(x, samples.emplace_back(y.shape(), Device::cuda()));
        transform->adjoint(y, images.emplace_back(x.shape(), Device::cuda()));
      }
    }
    for (std::size_t i = 1; i < samples.size(); ++i) {
      EXPECT_TRUE(identical(samples[0], samples[i])) << accuracy;
      EXPECT_TRUE(identical(images[0], images[i])) << accuracy;
    }
  }
}

TYPED_TEST(GpuGridded, a_dense_centre_is_as_accurate_as_the_rest) {
  const std::array<int, 3> matrix{16, 15, 14};
  expect_accuracy<TypeParam>(dense_centre(matrix, 20000), matrix, 1, {1e-2, 1e-3, 1e-5}, Device::cuda());
}

TYPED_TEST(GpuGridded, samples_at_one_point_are_as_accurate_as_others) {
  // Sums of one tile by many runs; and across the periodic edge of all axes. Several coils: all samples of one are one
  // number, which may be small by chance.
  const std::array<int, 3> matrix{16, 18, 20};
  constexpr std::int64_t samples = 30000, coils = 6;
  for (const double at : {0.0, 0.123, 0.5}) {
    Trajectory trajectory{Array<double>({3, samples})};
    for (std::int64_t i = 0; i < 3 * samples; ++i)
      trajectory.k[i] = at * matrix[static_cast<std::size_t>(i / samples)];
    expect_accuracy<TypeParam>(trajectory, matrix, coils, {1e-2, 1e-5}, Device::cuda());
  }
}

TYPED_TEST(GpuGridded, values_far_from_one_are_as_accurate) {
  // The largest and the least sums are numbers of single precision.
  const std::array<int, 3> matrix{12, 14, 10};
  const auto trajectory = tests::random_trajectory(matrix, 2000, 3);
  const auto transform = make_gridded_transform<TypeParam>(trajectory, matrix, 1e-5, Device::cuda());
  const auto values = random_values<TypeParam>({1, 2000}, 4);
  Array<Complex<double>> of_one;
  for (const double scale : {1.0, 1e30, 1e-28}) {
    auto scaled = values;
    for (auto& v : scaled) v *= static_cast<TypeParam>(scale);
    Array<Complex<TypeParam>> image(transform->images_shape(1), Device::cuda());
    transform->adjoint(scaled.to(Device::cuda()), image);
    auto found = in_double(image);
    for (auto& v : found) v *= 1 / scale;
    if (scale == 1) of_one = found;
    EXPECT_LE(relative_error(found, of_one), 1e-5) << scale;
  }
}

TYPED_TEST(GpuGridded, coils_are_transformed_each_on_its_own_in_any_number) {
  // The number of coils changes their grouping and the order in which cuFFT adds: equal to rounding, 6e-8
  // (1e-16) times a hundred terms, times up to 4 by which 1 / phi^ amplifies it.
  const double tolerance = sizeof(TypeParam) == 4 ? 3e-6 : 1e-14;
  const std::array<int, 3> matrix{14, 12, 10};
  const auto trajectory = tests::random_trajectory(matrix, 3000, 3);
  const auto transform = make_gridded_transform<TypeParam>(trajectory, matrix, 1e-3, Device::cuda());
  const auto first_coils = [](const auto& all, Shape shape) {
    auto few = std::decay_t<decltype(all)>(shape);
    std::copy_n(all.begin(), few.size(), few.begin());
    return few;
  };
  const auto samples = random_values<TypeParam>({21, 3000}, 4);
  const auto images = random_values<TypeParam>(transform->images_shape(21), 5);
  const auto all = tests::results_of(*transform, images, samples);
  for (const std::int64_t coils : {20, 17, 16, 7, 2, 1}) {
    const Shape images_shape = transform->images_shape(coils), samples_shape{coils, 3000};
    const auto errors =
        tests::errors_of(*transform, first_coils(images, images_shape), first_coils(samples, samples_shape),
                         {first_coils(all.samples, samples_shape), first_coils(all.images, images_shape)});
    EXPECT_LE(errors.forward, tolerance) << coils;
    EXPECT_LE(errors.adjoint, tolerance) << coils;
  }
}

TYPED_TEST(GpuGridded, little_memory_changes_the_time_and_not_the_result) {
  // Rows of a few lines of tiles at once, one coil at once: sums in another order, so equal to rounding only,
  // 6e-8 (1e-16) times a hundred terms, times up to 4 by which 1 / phi^ amplifies it.
  const std::array<int, 3> matrix{24, 33, 20};
  const TransformSizes sizes{matrix, {20000, 20000, 20000}, precision_of<TypeParam>(), Device::cuda()};
  const auto trajectory = tests::random_trajectory(matrix, 20000, 3);
  const auto samples = random_values<TypeParam>({5, 20000}, 4),
             images = random_values<TypeParam>({5, 20, 33, 24}, 5);
  const auto much =
      tests::results_of(*on_gpu<TypeParam>(trajectory, GriddedCost(sizes, 1e-5)), images, samples);
  const double before = tests::bytes_in_use(Device::cuda());
  const auto transform = on_gpu<TypeParam>(trajectory, GriddedCost(sizes, 1e-5, std::size_t{8} << 20));
  const auto errors = tests::errors_of(*transform, images, samples, much);
  EXPECT_LE(tests::bytes_in_use(Device::cuda()) - before, 32 << 20);
  const double tolerance = sizeof(TypeParam) == 4 ? 3e-6 : 1e-14;
  EXPECT_LE(errors.adjoint, tolerance);
  EXPECT_LE(errors.forward, tolerance);
}

TYPED_TEST(GpuGridded, holds_the_bytes_that_its_cost_says) {
  // With the default budget and with a small one, with several coils and with one, dense and sparse.
  for (const auto& [matrix, samples, coils, budget] :
       std::vector<std::tuple<std::array<int, 3>, std::int64_t, std::int64_t, std::size_t>>{
           {{256, 256, 1}, 200000, 8, 0},
           {{96, 96, 80}, 400000, 2, 0},
           {{64, 64, 64}, 5000, 1, 0},
           {{128, 128, 128}, 3000000, 1, 0},
           {{128, 128, 100}, 500000, 4, std::size_t{200} << 20}}) {
    SCOPED_TRACE(samples);
    const auto trajectory = tests::random_trajectory(matrix, samples, 1);
    const GriddedCost cost({matrix, {samples, samples, samples}, precision_of<TypeParam>(), Device::cuda()},
                           1e-4, budget);
    tests::expect_bytes_of_cost<TypeParam>(coils, Device::cuda(),
                                           [&] { return on_gpu<TypeParam>(trajectory, cost); });
  }
}

TYPED_TEST(GpuGridded, refuses_host_arrays_wrong_shapes_and_accuracies_beyond_reach) {
  const std::array<int, 3> matrix{8, 8, 1};
  const auto trajectory = tests::random_trajectory(matrix, 20, 1);
  const auto transform = make_gridded_transform<TypeParam>(trajectory, matrix, 1e-3, Device::cuda());
  tests::expect_wrong_arrays_are_refused(*transform);
  for (const double accuracy : {0.0, -1.0, 1e-16, 2.0, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_THROW(make_gridded_transform<TypeParam>(trajectory, matrix, accuracy, Device::cuda()), Error)
        << accuracy;
}

TYPED_TEST(GpuGridded, memory_that_runs_out_on_the_way_is_one_error_and_nothing_leaks) {
  const std::array<int, 3> matrix{32, 32, 32};
  const auto trajectory = tests::random_trajectory(matrix, 50000, 1);
  const auto samples = random_values<TypeParam>({2, 50000}, 2).to(Device::cuda());
  Array<Complex<TypeParam>> images({2, 32, 32, 32}, Device::cuda());
  const int refused = this->times_out_of_memory(std::size_t{512} << 20, std::size_t{16} << 20, [&] {
    make_gridded_transform<TypeParam>(trajectory, matrix, 1e-3, Device::cuda())->adjoint(samples, images);
  });
  EXPECT_GE(refused, 1);
  EXPECT_LE(refused, 31) << "512 MiB are enough";
}

TEST_F(GpuPointSpread, is_as_close_to_the_direct_one_as_requested) {
  tests::expect_accurate_point_spreads<float>({1e-3, 1e-5}, Device::cuda());
}

TEST_F(GpuDensityCompensation, equals_the_weights_of_the_cpu) {
  // Compares the fixed point in single precision. Sums are taken in another order, 1e-7 of each, and an iteration
  // passes such a difference on without enlarging the large ones: 1e-4 of the weights as a whole.
  for (const auto& c : tests::trajectories()) {
    SCOPED_TRACE(c.name);
    const auto expected = density_compensation(c.trajectory, c.matrix_size),
               found = density_compensation(c.trajectory, c.matrix_size, Device::cuda());
    ASSERT_EQ(found.shape(), expected.shape());
    EXPECT_EQ(found.device(), Device::cpu());
    const auto numbers = [](const Array<double>& weights) {
      Array<Complex<double>> all(weights.shape());
      std::copy(weights.begin(), weights.end(), all.begin());
      return all;
    };
    EXPECT_LE(relative_error(numbers(found), numbers(expected)), 1e-4);
  }
}

TEST_F(GpuDensityCompensation, two_runs_give_the_same_bits) {
  const std::array<int, 3> matrix{20, 20, 20};
  const auto trajectory = dense_centre(matrix, 30000);
  const auto first = density_compensation(trajectory, matrix, Device::cuda()),
             second = density_compensation(trajectory, matrix, Device::cuda());
  EXPECT_TRUE(std::equal(first.begin(), first.end(), second.begin()));
}

}  // namespace
}  // namespace fhd
