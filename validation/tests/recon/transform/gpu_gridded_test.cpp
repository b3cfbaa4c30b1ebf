// The gridded transform and density compensation on the device, at the accuracy that was asked for.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "recon/array/device.hpp"
#include "recon/transform/direct/direct.hpp"
#include "recon/transform/gridded/gridded.hpp"
#include "recon/transform/gridded/gridded_backends.hpp"
#include "validation/metrics.hpp"
#include "validation/tests/problems.hpp"
#include "validation/tests/recon/transform/gridded_problems.hpp"

namespace fhd {
namespace {

using tests::random_values;
using tests::trajectories;

/// Without CUDA these tests are built, and skipped.
template <class T>
std::unique_ptr<FourierTransform<T>> on_gpu(const Trajectory& trajectory, const GriddedCost& cost) {
  if constexpr (built_with_cuda)
    return make_gridded_transform_cuda<T>(trajectory, cost);
  else
    throw Error("a test", "a build with CUDA", "one without");
}

template <class T>
Array<Complex<double>> as_double(const Array<Complex<T>>& values) {
  return converted<Complex<double>>(values);
}

template <class T>
bool same_bits(const Array<Complex<T>>& a, const Array<Complex<T>>& b) {
  const auto x = a.to(Device::cpu()), y = b.to(Device::cpu());
  return std::memcmp(x.data(), y.data(), static_cast<std::size_t>(x.size()) * sizeof(Complex<T>)) == 0;
}

class OnDevice : public testing::Test {
 protected:
  void SetUp() override {
    const auto inventory = device::inventory();
    if (inventory.devices.empty()) GTEST_SKIP() << inventory.reason;
    device::start(Device::cuda());
  }
};

template <class T>
class GpuGridded : public OnDevice {
 protected:
  static std::vector<double> accuracies() {
    if (sizeof(T) == 4) return {1e-2, 1e-3, 1e-4, 1e-5};
    return {1e-3, 1e-5, 1e-8, 1e-11};
  }
};
using Precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(GpuGridded, Precisions);
using GpuPointSpread = OnDevice;
using GpuDensityCompensation = OnDevice;

TYPED_TEST(GpuGridded, is_as_close_to_the_direct_transform_as_requested) {
  unsigned seed = 1001;
  for (const auto& c : trajectories()) {
    const auto direct = make_direct_transform<double>(c.trajectory, c.matrix_size, Device::cpu());
    const auto images = random_values<TypeParam>(direct->images_shape(c.coils), seed++);
    const auto samples = random_values<TypeParam>(direct->samples_shape(c.coils), seed++);
    Array<Complex<double>> exact_samples(samples.shape()), exact_images(images.shape());
    direct->forward(as_double(images), exact_samples);
    direct->adjoint(as_double(samples), exact_images);
    for (const double accuracy : this->accuracies()) {
      SCOPED_TRACE(c.name + ", accuracy " + std::to_string(accuracy));
      const auto gridded =
          make_gridded_transform<TypeParam>(c.trajectory, c.matrix_size, accuracy, Device::cuda());
      // Earlier values of the output must not matter.
      auto found_samples = samples.to(Device::cuda()), found_images = images.to(Device::cuda());
      gridded->forward(images.to(Device::cuda()), found_samples);
      gridded->adjoint(samples.to(Device::cuda()), found_images);
      EXPECT_LE(metrics::relative_l2(as_double(found_samples), exact_samples), accuracy);
      EXPECT_LE(metrics::relative_l2(as_double(found_images), exact_images), accuracy);
    }
  }
}

TYPED_TEST(GpuGridded, adjoint_is_conjugate_transpose) {
  // Transposes to rounding: 6e-8 (1e-16) times the root of the number of operations per output, times up to 10 by which
  // 1 / phi^ amplifies it. Products of halves, which serve 1e-2, err by 3.6e-4 in either, times up to 3.
  unsigned seed = 2001;
  for (const auto& c : trajectories())
    for (const double accuracy : {1e-2, 1e-5}) {
      SCOPED_TRACE(c.name + ", accuracy " + std::to_string(accuracy));
      const auto gridded =
          make_gridded_transform<TypeParam>(c.trajectory, c.matrix_size, accuracy, Device::cuda());
      const auto x = random_values<TypeParam>(gridded->images_shape(c.coils), seed++);
      const auto y = random_values<TypeParam>(gridded->samples_shape(c.coils), seed++);
      Array<Complex<TypeParam>> ax(y.shape(), Device::cuda()), ahy(x.shape(), Device::cuda());
      gridded->forward(x.to(Device::cuda()), ax);
      gridded->adjoint(y.to(Device::cuda()), ahy);
      EXPECT_LE(tests::adjointness_error(as_double(x), as_double(ax), as_double(y), as_double(ahy)),
                sizeof(TypeParam) == 8 ? 1e-13 : accuracy >= 1e-3 ? 2e-3 : 3e-6);
    }
}

TYPED_TEST(GpuGridded, takes_samples_slightly_beyond_the_edge) {
  // Files round k: |k| up to N/2 x 1.005 is accepted by Scan::validate, and must not fall off the grid.
  const std::array<int, 3> matrix{12, 11, 1};
  Trajectory trajectory{Array<double>({3, 4})};
  for (int m = 0; m < 4; ++m) {
    trajectory.k[m] = (m % 2 ? 1 : -1) * 6 * 1.005;
    trajectory.k[4 + m] = (m / 2 ? 1 : -1) * 5.5 * 1.005;
  }
  const auto direct = make_direct_transform<double>(trajectory, matrix, Device::cpu());
  const auto gridded = make_gridded_transform<TypeParam>(trajectory, matrix, 1e-5, Device::cuda());
  const auto samples = random_values<TypeParam>({1, 4}, 1);
  Array<Complex<double>> exact(direct->images_shape(1));
  Array<Complex<TypeParam>> image(exact.shape(), Device::cuda());
  direct->adjoint(as_double(samples), exact);
  gridded->adjoint(samples.to(Device::cuda()), image);
  EXPECT_LE(metrics::relative_l2(as_double(image), exact), 1e-5);
}

/// A trajectory with a dense centre: two thirds of the samples within one grid point of k = 0.
Trajectory dense_centre(std::array<int, 3> matrix, std::int64_t samples) {
  auto trajectory = tests::random_trajectory(matrix, samples, 5);
  for (std::int64_t m = 0; m < samples; ++m)
    if (m % 3 != 0)
      for (int axis = 0; axis < 3; ++axis)
        trajectory.k[axis * samples + m] *= 1.0 / matrix[static_cast<std::size_t>(axis)];
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
      EXPECT_TRUE(same_bits(samples[0], samples[i])) << accuracy;
      EXPECT_TRUE(same_bits(images[0], images[i])) << accuracy;
    }
  }
}

/// Errors of adjoint and forward against the exact sums, at most `accuracy`.
template <class T>
void expect_accuracy(const Trajectory& trajectory, std::array<int, 3> matrix, double accuracy,
                     std::int64_t coils = 1) {
  const auto direct = make_direct_transform<double>(trajectory, matrix, Device::cpu());
  const auto images = random_values<T>(direct->images_shape(coils), 7);
  const auto samples = random_values<T>(direct->samples_shape(coils), 8);
  Array<Complex<double>> exact_samples(samples.shape()), exact_images(images.shape());
  direct->forward(as_double(images), exact_samples);
  direct->adjoint(as_double(samples), exact_images);
  const auto gridded = make_gridded_transform<T>(trajectory, matrix, accuracy, Device::cuda());
  Array<Complex<T>> found_samples(samples.shape(), Device::cuda()), found_images(images.shape(), Device::cuda());
  gridded->forward(images.to(Device::cuda()), found_samples);
  gridded->adjoint(samples.to(Device::cuda()), found_images);
  EXPECT_LE(metrics::relative_l2(as_double(found_samples), exact_samples), accuracy);
  EXPECT_LE(metrics::relative_l2(as_double(found_images), exact_images), accuracy);
}

TYPED_TEST(GpuGridded, a_dense_centre_is_as_accurate_as_the_rest) {
  const std::array<int, 3> matrix{16, 15, 14};
  for (const double accuracy : {1e-2, 1e-3, 1e-5})
    expect_accuracy<TypeParam>(dense_centre(matrix, 20000), matrix, accuracy);
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
    for (const double accuracy : {1e-2, 1e-5}) expect_accuracy<TypeParam>(trajectory, matrix, accuracy, coils);
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
    auto found = as_double(image);
    for (auto& v : found) v *= 1 / scale;
    if (scale == 1) of_one = found;
    EXPECT_LE(metrics::relative_l2(found, of_one), 1e-5) << scale;
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
    Array<Complex<TypeParam>> few(shape);
    std::copy_n(all.begin(), few.size(), few.begin());
    return few;
  };
  const auto samples = random_values<TypeParam>({21, 3000}, 4);
  const auto images = random_values<TypeParam>(transform->images_shape(21), 5);
  Array<Complex<double>> expected_images, expected_samples;
  for (const std::int64_t coils : {21, 20, 17, 16, 7, 2, 1}) {
    SCOPED_TRACE(coils);
    const Shape images_shape = transform->images_shape(coils), samples_shape{coils, 3000};
    Array<Complex<TypeParam>> image(images_shape, Device::cuda()), sample(samples_shape, Device::cuda());
    transform->adjoint(first_coils(samples, samples_shape).to(Device::cuda()), image);
    transform->forward(first_coils(images, images_shape).to(Device::cuda()), sample);
    const auto found_images = as_double(image), found_samples = as_double(sample);
    if (coils == 21) expected_images = found_images, expected_samples = found_samples;
    Array<Complex<double>> some_images(images_shape), some_samples(samples_shape);
    std::copy_n(expected_images.begin(), some_images.size(), some_images.begin());
    std::copy_n(expected_samples.begin(), some_samples.size(), some_samples.begin());
    EXPECT_LE(metrics::relative_l2(found_images, some_images), tolerance);
    EXPECT_LE(metrics::relative_l2(found_samples, some_samples), tolerance);
  }
}

TYPED_TEST(GpuGridded, little_memory_changes_the_time_and_not_the_result) {
  // Rows of a few lines of tiles at once, one coil at once: sums in another order, so equal to rounding only,
  // 6e-8 (1e-16) times a hundred terms, times up to 4 by which 1 / phi^ amplifies it.
  const std::array<int, 3> matrix{24, 33, 20};
  const std::int64_t sample_count = 20000, coils = 5;
  const auto trajectory = tests::random_trajectory(matrix, sample_count, 3);
  const auto samples = random_values<TypeParam>({coils, sample_count}, 4).to(Device::cuda());
  Array<Complex<double>> images[2], found_samples[2];
  for (int little = 0; little < 2; ++little) {
    const auto before = device::memory_use(Device::cuda()).used_bytes;
    const TransformSizes sizes{
        matrix, {sample_count, sample_count, sample_count}, precision_of<TypeParam>(), Device::cuda()};
    const auto transform = on_gpu<TypeParam>(
        trajectory, GriddedCost(sizes, 1e-5, little ? std::size_t{8} << 20 : 0));
    Array<Complex<TypeParam>> image(transform->images_shape(coils), Device::cuda()),
        back(samples.shape(), Device::cuda());
    transform->adjoint(samples, image);
    transform->forward(image, back);
    if (little) {
      EXPECT_LE(device::memory_use(Device::cuda()).used_bytes - before, std::size_t{32} << 20);
    }
    images[little] = as_double(image);
    found_samples[little] = as_double(back);
  }
  const double tolerance = sizeof(TypeParam) == 4 ? 3e-6 : 1e-14;
  EXPECT_LE(metrics::relative_l2(images[1], images[0]), tolerance);
  EXPECT_LE(metrics::relative_l2(found_samples[1], found_samples[0]), tolerance);
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
    const TransformSizes sizes{
        matrix, {samples, samples, samples}, precision_of<TypeParam>(), Device::cuda()};
    const Array<Complex<TypeParam>> values(Shape{coils, samples}, Device::cuda());
    Array<Complex<TypeParam>> images(Shape{coils, matrix[2], matrix[1], matrix[0]}, Device::cuda()),
        result(values.shape(), Device::cuda());
    const auto within = [](std::size_t used, std::size_t said) {
      EXPECT_LE(static_cast<double>(used), 1.15 * static_cast<double>(said));
      EXPECT_GE(static_cast<double>(used), 0.85 * static_cast<double>(said));
    };
    const std::size_t before = device::memory_use(Device::cuda()).used_bytes;
    const auto transform =
        on_gpu<TypeParam>(trajectory, GriddedCost(sizes, 1e-4, budget));
    transform->adjoint(values, images);
    transform->forward(images, result);
    const std::size_t used = device::memory_use(Device::cuda()).used_bytes;
    within(used - before, transform->cost().bytes() + transform->cost().scratch_bytes(coils));
    transform->adjoint(values, images);
    transform->forward(images, result);
    EXPECT_EQ(device::memory_use(Device::cuda()).used_bytes, used);  // scratch is made once
  }
}

TYPED_TEST(GpuGridded, refuses_host_arrays_wrong_shapes_and_accuracies_beyond_reach) {
  const std::array<int, 3> matrix{8, 8, 1};
  const auto trajectory = tests::random_trajectory(matrix, 20, 1);
  const auto transform = make_gridded_transform<TypeParam>(trajectory, matrix, 1e-3, Device::cuda());
  Array<Complex<TypeParam>> images({1, 1, 8, 8}), samples({1, 20});
  EXPECT_THROW(transform->adjoint(samples, images), Error);
  auto device_images = images.to(Device::cuda());
  EXPECT_THROW(transform->adjoint(samples, device_images), Error);
  EXPECT_THROW(transform->adjoint(Array<Complex<TypeParam>>({1, 21}, Device::cuda()), device_images), Error);
  for (const double accuracy : {0.0, -1.0, 1e-16, 2.0, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_THROW(make_gridded_transform<TypeParam>(trajectory, matrix, accuracy, Device::cuda()), Error)
        << accuracy;
}

TYPED_TEST(GpuGridded, memory_that_runs_out_on_the_way_is_one_error_and_nothing_leaks) {
  const std::array<int, 3> matrix{32, 32, 32};
  const auto trajectory = tests::random_trajectory(matrix, 50000, 1);
  const auto samples = random_values<TypeParam>({2, 50000}, 2).to(Device::cuda());
  Array<Complex<TypeParam>> images({2, 32, 32, 32}, Device::cuda());
  const auto before = device::memory_use(Device::cuda()).used_bytes;
  int refused = 0, done = 0;
  for (std::size_t mebibytes = 1; mebibytes < 512; mebibytes *= 2) {
    device::limit_memory(Device::cuda(), before + (mebibytes << 20));
    try {
      make_gridded_transform<TypeParam>(trajectory, matrix, 1e-3, Device::cuda())->adjoint(samples, images);
      ++done;
    } catch (const Error& error) {
      ++refused;
      EXPECT_NE(std::strstr(error.what(), "CUDA device memory"), nullptr) << error.what();
    }
    EXPECT_EQ(device::memory_use(Device::cuda()).used_bytes, before);
  }
  device::limit_memory(Device::cuda(), 0);
  EXPECT_GE(refused, 2);
  EXPECT_GE(done, 1);
}

TEST_F(GpuPointSpread, is_as_close_to_the_direct_one_as_requested) {
  for (const auto& c : trajectories()) {
    Array<double> weights({c.trajectory.sample_count()});
    for (std::int64_t m = 0; m < weights.size(); ++m) weights[m] = 0.5 + static_cast<double>(m % 7);
    const auto exact = point_spread_direct<double>(c.trajectory, c.matrix_size, &weights, Device::cpu());
    for (const double accuracy : {1e-3, 1e-5}) {
      SCOPED_TRACE(c.name + ", accuracy " + std::to_string(accuracy));
      const auto q =
          point_spread_gridded<float>(c.trajectory, c.matrix_size, &weights, accuracy, Device::cuda());
      ASSERT_EQ(q.shape(), exact.shape());
      EXPECT_EQ(q.device(), Device::cuda());
      EXPECT_LE(metrics::relative_l2(as_double(q), exact), accuracy);
    }
  }
}

TEST_F(GpuDensityCompensation, equals_the_weights_of_the_cpu) {
  // Compares the fixed point in single precision. Sums are taken in another order, 1e-7 of each, and an iteration
  // passes such a difference on without enlarging the large ones: 1e-4 of the weights as a whole.
  for (const auto& c : trajectories()) {
    SCOPED_TRACE(c.name);
    const auto expected = density_compensation(c.trajectory, c.matrix_size),
               found = density_compensation(c.trajectory, c.matrix_size, Device::cuda());
    ASSERT_EQ(found.shape(), expected.shape());
    EXPECT_EQ(found.device(), Device::cpu());
    double difference = 0, length = 0;
    for (std::int64_t m = 0; m < found.size(); ++m) {
      difference += (found[m] - expected[m]) * (found[m] - expected[m]);
      length += expected[m] * expected[m];
    }
    EXPECT_LE(std::sqrt(difference / length), 1e-4);
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
