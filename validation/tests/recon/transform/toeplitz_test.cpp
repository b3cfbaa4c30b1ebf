// The Toeplitz form of E^H E, the explicit one, sensitivity maps and regularisers, against the direct
// transform and the oracle.
#include "recon/transform/toeplitz/toeplitz.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>

#include "recon/array/fft.hpp"
#include "validation/tests/recon/transform/toeplitz_checks.hpp"

namespace {

using namespace fhd;
using tests::in_double;
using tests::random_trajectory;
using tests::random_values;
using tests::relative_error;

template <class T>
class Toeplitz : public ::testing::Test, protected tests::ToeplitzAccuracy<T> {};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Toeplitz, Precisions);

TYPED_TEST(Toeplitz, equals_forward_then_adjoint_and_is_hermitian) {
  auto cases = tests::toeplitz_cases();
  cases.push_back({{56, 50, 1}, 150, 2});  // on 128 x 128 points of the CPU
  for (const auto& c : cases) tests::expect_normal_of_transform<TypeParam>(c, Device::cpu());
}

TYPED_TEST(Toeplitz, carries_the_weights_of_its_point_spread) {
  // F^H W F of the oracle, sample by sample.
  const std::array<int, 3> matrix{9, 8, 1};
  const auto trajectory = random_trajectory(matrix, 100, 1);
  Array<double> weights({100});
  for (int m = 0; m < 100; ++m) weights[m] = 0.1 + m % 5;
  const auto q = point_spread_direct<TypeParam>(trajectory, matrix, &weights, Device::cpu());
  Array<Complex<TypeParam>> ones({1, 1, 8, 9});
  for (auto& value : ones) value = TypeParam(1);
  const auto image = random_values<TypeParam>({1, 8, 9}, 2);
  Array<Complex<TypeParam>> result(image.shape());
  make_toeplitz_normal(q, ones)->forward(image, result);
  const auto r = oracle::voxel_positions(matrix);
  auto samples = oracle::forward(trajectory.k, r, in_double(image));
  for (int m = 0; m < 100; ++m) samples[m] *= weights[m];
  EXPECT_LE(relative_error(result, oracle::adjoint(trajectory.k, r, samples)), this->tolerance);
}

TYPED_TEST(Toeplitz, holds_the_bytes_that_its_cost_says) {
  const auto bytes_in_use = [] { return tests::bytes_in_use(Device::cpu()); };
  const fhd::Fft1d<TypeParam> planner(8000, 1);  // FFTW keeps what its first plan takes
  for (const auto& c : {tests::TransformCase{{192, 160, 1}, 1, 3},
                        {{48, 40, 36}, 1, 2},
                        {{4000, 1, 1}, 1, 1},
                        {{56, 50, 1}, 1, 3}}) {
    SCOPED_TRACE(c.text());
    const auto [nx, ny, nz] = c.matrix_size;
    const auto grid = difference_grid(c.matrix_size);
    const Array<Complex<TypeParam>> q({grid[2], grid[1], grid[0]}), maps({c.coils, nz, ny, nx});
    const double before = bytes_in_use();
    const auto toeplitz = make_toeplitz_normal(q, maps);
    const double held = bytes_in_use() - before;
    const OperatorCost cost = toeplitz_cost(c.matrix_size, c.coils, precision_of<TypeParam>(), Device::cpu());
    EXPECT_NEAR(static_cast<double>(cost.bytes), held, 0.15 * held);
    Array<Complex<TypeParam>> in(toeplitz->domain()), out(toeplitz->domain());
    const double used = bytes_in_use();
    toeplitz->forward(in, out);
    // Memory that FFTW takes for a moment, of single lines, stays with the threads' allocators, a buffer of up to 128 points;
    // scratch would be a group of columns at least.
    const double of_fftw = omp_get_max_threads() * 3.0 * 128 * sizeof(Complex<TypeParam>);
    EXPECT_LE(bytes_in_use() - used, of_fftw) << "no scratch";
  }
}

// The largest matrix that a scan may have (recon/domain/scan.cpp), and more coils than any has: no product overflows.
TYPED_TEST(Toeplitz, of_the_largest_matrix_costs_what_its_maps_take_at_least) {
  constexpr std::int64_t axis = 4096, coils = 4096;
  const auto maps = std::size_t(axis * axis * axis * coils) * sizeof(Complex<TypeParam>);
  for (const Device device : {Device::cpu(), Device::cuda()}) {
    const auto cost = toeplitz_cost({axis, axis, axis}, coils, precision_of<TypeParam>(), device);
    EXPECT_GE(cost.bytes, maps);
    EXPECT_LE(cost.bytes, 3 * maps) << "four grids of eight times the voxels, beside thousands of maps";
  }
}

TYPED_TEST(Toeplitz, refuses_arrays_that_do_not_agree) {
  tests::expect_wrong_maps_are_refused<TypeParam>(Device::cpu());
}

template <class T>
class Sense : public Toeplitz<T> {};
TYPED_TEST_SUITE(Sense, Precisions);

TYPED_TEST(Sense, encoding_equals_the_oracle) {
  unsigned seed = 201;
  for (const auto& c : tests::toeplitz_cases()) {
    SCOPED_TRACE(c.text());
    const auto trajectory = random_trajectory(c.matrix_size, c.samples, seed++);
    const std::shared_ptr<const FourierTransform<TypeParam>> transform =
        make_direct_transform<TypeParam>(trajectory, c.matrix_size, Device::cpu());
    const auto maps = random_values<TypeParam>(transform->images_shape(c.coils), seed++);
    const SenseEncoding<TypeParam> encoding(transform, maps);
    const auto image = random_values<TypeParam>(encoding.domain(), seed++);
    const auto samples = random_values<TypeParam>(encoding.range(), seed++);
    Array<Complex<TypeParam>> encoded(samples.shape()), combined(image.shape());
    encoding.forward(image, encoded);
    encoding.adjoint(samples, combined);
    const auto r = oracle::voxel_positions(c.matrix_size);
    EXPECT_LE(
        relative_error(encoded, oracle::sense_forward(trajectory.k, r, in_double(image), in_double(maps))),
        this->tolerance);
    EXPECT_LE(
        relative_error(combined, oracle::sense_adjoint(trajectory.k, r, in_double(samples), in_double(maps))),
        this->tolerance);
    EXPECT_LE(tests::adjointness_error(image, encoded, samples, combined), this->symmetry);
  }
}

TYPED_TEST(Sense, refuses_maps_of_another_shape) {
  const std::array<int, 3> matrix{6, 5, 1};
  const std::shared_ptr<const FourierTransform<TypeParam>> transform =
      make_direct_transform<TypeParam>(random_trajectory(matrix, 20, 1), matrix, Device::cpu());
  EXPECT_THROW(SenseEncoding<TypeParam>(transform, Array<Complex<TypeParam>>({2, 1, 6, 5})), Error);
  EXPECT_THROW(SenseEncoding<TypeParam>(transform, Array<Complex<TypeParam>>({5, 6})), Error);
}

TEST(RootSumOfSquares, of_two_coils) {
  Array<Complex<float>> coils({2, 1, 1, 2});
  coils[0] = {3, 0}, coils[2] = {0, 4}, coils[1] = {0, 0}, coils[3] = {-2, 0};
  const auto image = root_sum_of_squares(coils);
  ASSERT_EQ(image.shape(), (Shape{1, 1, 2}));
  EXPECT_EQ(image[0], Complex<float>(5));
  EXPECT_EQ(image[1], Complex<float>(2));
}

template <class T>
class Roughness : public ::testing::Test {};
TYPED_TEST_SUITE(Roughness, Precisions);

TYPED_TEST(Roughness, equals_finite_differences_of_the_oracle) {
  for (const auto matrix : {std::array{5, 4, 3}, std::array{7, 1, 1}, std::array{1, 6, 2},
                            std::array{1, 1, 1}, std::array{2, 2, 1}}) {
    const auto image = random_values<TypeParam>({matrix[2], matrix[1], matrix[0]}, 1);
    const auto start = random_values<TypeParam>(image.shape(), 2);
    auto result = start;
    roughness_term<TypeParam>()->add_normal(image, TypeParam(0.5), result);
    const auto w = oracle::finite_difference_matrix(matrix);
    auto expected = in_double(start);
    for (std::int64_t row = 0; row < w.extent(0); ++row) {
      Complex<double> difference;
      for (std::int64_t p = 0; p < image.size(); ++p)
        difference += w[row * image.size() + p] * Complex<double>(image[p]);
      for (std::int64_t p = 0; p < image.size(); ++p)
        expected[p] += 0.5 * conj(w[row * image.size() + p]) * difference;
    }
    // At most 6 differences per voxel.
    EXPECT_LE(relative_error(result, expected), sizeof(TypeParam) == 4 ? 5e-7 : 1e-15);
  }
}

TYPED_TEST(Roughness, weights_each_pair_of_neighbours) {
  // Three voxels in x: w(0) |rho1 - rho0|^2 + w(1) |rho2 - rho1|^2; the weight of the last voxel has no pair.
  Array<Complex<TypeParam>> image({1, 1, 3}), result({1, 1, 3});
  image[0] = TypeParam(1), image[1] = TypeParam(3), image[2] = {TypeParam(3), TypeParam(4)};
  Array<TypeParam> weights({3, 1, 1, 3});
  for (auto& w : weights) w = TypeParam(100);
  weights[0] = TypeParam(2), weights[1] = TypeParam(0.5);
  roughness_term(weights)->add_normal(image, TypeParam(1), result);
  EXPECT_EQ(result[0], Complex<TypeParam>(-4));
  EXPECT_EQ(result[1], Complex<TypeParam>(4, -2));
  EXPECT_EQ(result[2], Complex<TypeParam>(0, 2));
}

TYPED_TEST(Sense, regularized_solutions_equal_dense_least_squares) {
  tests::RegularizedProblem<TypeParam>().expect_dense_least_squares();
}

}  // namespace
