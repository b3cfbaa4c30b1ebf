// Conjugate gradient, the largest eigenvalue and the regularised system on the device, against the CPU.
#include "recon/encoding/sense.hpp"
#include "recon/transform/direct/direct.hpp"
#include "recon/transform/toeplitz/toeplitz.hpp"
#include "recon/solve/conjugate_gradient.hpp"
#include "recon/solve/lanczos.hpp"
#include "recon/solve/terms/terms.hpp"
#include "validation/metrics.hpp"
#include "validation/oracle.hpp"
#include "validation/tests/gpu.hpp"
#include "validation/tests/problems.hpp"

namespace fhd {
namespace {

using tests::random_trajectory;
using tests::random_values;

template <class T>
class GpuSolver : public tests::GpuTest {
 protected:
  static constexpr std::array<int, 3> matrix{7, 6, 2};
  static constexpr std::int64_t samples = 40, coils = 3;
  static constexpr double lambda = 5;
  Trajectory trajectory = random_trajectory(matrix, samples, 1);
  Array<Complex<T>> maps = random_values<T>({coils, matrix[2], matrix[1], matrix[0]}, 2),
                    data = random_values<T>({coils, samples}, 3);

  std::shared_ptr<const SenseEncoding<T>> encoding(std::int64_t coils_at_once = 0) const {
    return std::make_shared<SenseEncoding<T>>(make_direct_transform<T>(trajectory, matrix, Device::cuda()),
                                              maps.to(Device::cuda()), coils_at_once);
  }
  std::shared_ptr<const HermitianOperator<T>> normal(bool toeplitz) const {
    if (!toeplitz) return std::make_shared<ExplicitNormal<T>>(encoding());
    return make_toeplitz_normal(point_spread_direct<T>(trajectory, matrix, nullptr, Device::cuda()),
                                maps.to(Device::cuda()));
  }
  Array<Complex<T>> solved(bool roughness, bool toeplitz, int check_every = 5) const {
    const RegularizedNormal<T> regularized(normal(toeplitz),
                                           {{roughness ? roughness_term<T>() : identity_term<T>(), lambda}});
    Array<Complex<T>> b(regularized.domain(), Device::cuda()), x(b.shape(), Device::cuda());
    encoding()->adjoint(data.to(Device::cuda()), b);
    ConjugateGradientSettings settings;
    settings.iterations = 300;
    settings.tolerance = sizeof(T) == 4 ? 1e-7 : 1e-14;
    settings.check_every = check_every;
    conjugate_gradient(regularized, b, x, settings);
    return x.to(Device::cpu());
  }
  double error(bool roughness, bool toeplitz) const {
    const auto dense = oracle::encoding_matrix(trajectory.k, oracle::voxel_positions(matrix),
                                               converted<Complex<double>>(maps));
    const auto expected = oracle::least_squares(
        dense, converted<Complex<double>>(data), lambda,
        roughness ? oracle::finite_difference_matrix(matrix) : oracle::identity_matrix(matrix));
    return metrics::relative_l2(converted<Complex<double>>(solved(roughness, toeplitz)), expected);
  }
  // See the test on the CPU: condition number 100 ... 1000 times the operator's error of some 1e-7 (1e-15).
  static constexpr double tolerance = sizeof(T) == 4 ? 1e-4 : 1e-11;
};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(GpuSolver, Precisions);

TYPED_TEST(GpuSolver, with_identity_equals_dense_least_squares) {
  EXPECT_LE(this->error(false, true), this->tolerance);
  EXPECT_LE(this->error(false, false), this->tolerance);
}
TYPED_TEST(GpuSolver, with_roughness_equals_dense_least_squares) {
  EXPECT_LE(this->error(true, true), this->tolerance);
  EXPECT_LE(this->error(true, false), this->tolerance);
}

TYPED_TEST(GpuSolver, waits_for_the_residual_only_as_often_as_asked) {
  const auto a = this->normal(true);
  const auto b = random_values<TypeParam>(a->domain(), 4).to(Device::cuda());
  Array<Complex<TypeParam>> x(a->domain(), Device::cuda());
  std::vector<std::int64_t> looks;
  conjugate_gradient(*a, b, x, {.iterations = 7, .tolerance = 0, .check_every = 3},
                     [&](const Progress& progress) { looks.push_back(progress.done); });
  EXPECT_EQ(looks, (std::vector<std::int64_t>{0, 3, 6, 7}));
}

TYPED_TEST(GpuSolver, two_runs_give_the_same_bits) {
  EXPECT_TRUE(tests::identical(this->solved(true, true), this->solved(true, true)));
}

TYPED_TEST(GpuSolver, parts_of_the_coils_encode_as_all_together) {
  const auto image = random_values<TypeParam>({2, 6, 7}, 9).to(Device::cuda());
  Array<Complex<TypeParam>> all({this->coils, this->samples}, Device::cuda()),
      parts(all.shape(), Device::cuda());
  this->encoding()->forward(image, all);
  this->encoding(1)->forward(image, parts);
  const auto error = [](const auto& a, const auto& b) {
    return metrics::relative_l2(converted<Complex<double>>(a), converted<Complex<double>>(b));
  };
  // Kernels for four coils and for one add in another order.
  EXPECT_LE(error(parts, all), this->tolerance / 50);
  Array<Complex<TypeParam>> back(image.shape(), Device::cuda()), back_parts(image.shape(), Device::cuda());
  this->encoding()->adjoint(all, back);
  this->encoding(1)->adjoint(all, back_parts);
  EXPECT_LE(error(back_parts, back), this->tolerance / 50);
  EXPECT_THROW(this->encoding(2), Error);
}

TYPED_TEST(GpuSolver, largest_eigenvalue_equals_the_cpu) {
  const double found = largest_eigenvalue(*this->normal(true), 84);
  const auto q = point_spread_direct<TypeParam>(this->trajectory, this->matrix, nullptr, Device::cpu());
  const double expected = largest_eigenvalue(*make_toeplitz_normal(q, this->maps), 84);
  EXPECT_LE(std::abs(found - expected) / expected, sizeof(TypeParam) == 4 ? 1e-5 : 1e-12);
}

}  // namespace
}  // namespace fhd
