// Conjugate gradient, the largest eigenvalue and the regularised system on the device, against the CPU.
#include "recon/solve/conjugate_gradient.hpp"
#include "validation/tests/gpu.hpp"
#include "validation/tests/recon/transform/toeplitz_checks.hpp"

namespace fhd {
namespace {

using tests::random_values;
using tests::relative_error;

template <class T>
class GpuSolver : public tests::GpuTest {
 protected:
  tests::RegularizedProblem<T> problem{.device = Device::cuda()};
};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(GpuSolver, Precisions);

TYPED_TEST(GpuSolver, equals_dense_least_squares) { this->problem.expect_dense_least_squares(); }

TYPED_TEST(GpuSolver, two_runs_give_the_same_bits) {
  EXPECT_TRUE(tests::identical(this->problem.solved(true, true), this->problem.solved(true, true)));
}

TYPED_TEST(GpuSolver, parts_of_the_coils_encode_as_all_together) {
  const auto image = random_values<TypeParam>({2, 6, 7}, 9).to(Device::cuda());
  Array<Complex<TypeParam>> all({this->problem.coils, this->problem.samples}, Device::cuda()),
      parts(all.shape(), Device::cuda());
  this->problem.encoding()->forward(image, all);
  this->problem.encoding(1)->forward(image, parts);
  // Kernels for four coils and for one add in another order.
  EXPECT_LE(relative_error(parts, all), this->problem.tolerance / 50);
  Array<Complex<TypeParam>> back(image.shape(), Device::cuda()), back_parts(image.shape(), Device::cuda());
  this->problem.encoding()->adjoint(all, back);
  this->problem.encoding(1)->adjoint(all, back_parts);
  EXPECT_LE(relative_error(back_parts, back), this->problem.tolerance / 50);
  EXPECT_THROW(this->problem.encoding(2), Error);
}

TYPED_TEST(GpuSolver, largest_eigenvalue_equals_the_cpu) {
  const double found = largest_eigenvalue(*this->problem.normal(true), 84);
  const auto q =
      point_spread_direct<TypeParam>(this->problem.trajectory, this->problem.matrix, nullptr, Device::cpu());
  const double expected = largest_eigenvalue(*make_toeplitz_normal(q, this->problem.maps), 84);
  EXPECT_LE(std::abs(found - expected) / expected, sizeof(TypeParam) == 4 ? 1e-5 : 1e-12);
}

}  // namespace
}  // namespace fhd
