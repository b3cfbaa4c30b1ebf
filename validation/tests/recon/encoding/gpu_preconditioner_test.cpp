// The preconditioner on the device, against the CPU and against dense least squares.
#include "validation/tests/gpu.hpp"
#include "validation/tests/recon/encoding/preconditioned_problem.hpp"

namespace fhd {
namespace {

using tests::preconditioned_problems;
using tests::PreconditionedProblem;
using tests::random_values;

template <class T>
class GpuPreconditioner : public tests::GpuTest {
 protected:
  // Two FFTs and sums of at most five coils, added in another order.
  static constexpr double rounding = sizeof(T) == 4 ? 2e-6 : 1e-14;
};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(GpuPreconditioner, Precisions);

TYPED_TEST(GpuPreconditioner, equals_the_cpu_in_parts_and_in_stacks) {
  using T = TypeParam;
  for (auto& problem : preconditioned_problems<T>()) {
    const Shape image = problem.image();
    const auto stack = random_values<T>({3, image[0], image[1], image[2]}, 4);
    Array<Complex<T>> expected(stack.shape()), found(stack.shape(), Device::cuda());
    problem.preconditioner()->forward_each(stack, expected);
    problem.device = Device::cuda();
    for (const auto& [coils, images] : {std::pair{0, 1}, {0, 2}, {0, 16}, {1, 1}}) {
      problem.preconditioner(coils, images)->forward_each(stack.to(Device::cuda()), found);
      EXPECT_LE(tests::relative_error(found, expected), this->rounding)
          << image.text() << ", " << coils << " coils, " << images << " images at once";
    }
  }
}

TYPED_TEST(GpuPreconditioner, circulant_is_made_where_the_point_spread_lies) {
  for (const auto& problem : preconditioned_problems<TypeParam>()) {
    const auto q = problem.point_spread();
    const auto expected = circulant_of_point_spread(q, problem.image());
    const auto found = circulant_of_point_spread(q.to(Device::cuda()), problem.image());
    ASSERT_EQ(found.device(), Device::cuda());
    const auto host = found.to(Device::cpu());
    // An FFT in double precision of the same numbers: some roundings of the largest eigenvalue.
    const double largest = *std::max_element(expected.begin(), expected.end());
    for (std::int64_t k = 0; k < host.size(); ++k)
      EXPECT_LE(std::abs(host[k] - expected[k]), 1e-14 * largest) << problem.image().text();
  }
}

TYPED_TEST(GpuPreconditioner, takes_the_bytes_that_its_cost_says) {
  const Device gpu = Device::cuda();
  for (const auto& [matrix, coils] :
       {std::pair{std::array{64, 64, 48}, 4}, {{128, 96, 1}, 1}, {{60, 50, 1}, 3}}) {
    PreconditionedProblem<TypeParam> problem{
        matrix, tests::random_trajectory(matrix, 60, 1),
        random_values<TypeParam>({coils, matrix[2], matrix[1], matrix[0]}, 2)};
    problem.device = gpu;
    const auto q = problem.point_spread();
    const auto sense = problem.encoding();
    const TransformSizes sizes{matrix, {}, precision_of<TypeParam>(), gpu};
    const OperatorCost cost = preconditioner_cost(sizes, coils, gpu);
    const auto before = static_cast<double>(device::memory_use(gpu).used_bytes);
    device::reset_peak_memory(gpu);
    const auto circulant = circulant_of_point_spread(q, problem.image());
    const auto m = make_preconditioner<TypeParam>(circulant, problem.penalty(), sense);
    const double held = static_cast<double>(device::memory_use(gpu).used_bytes) - before,
                 peak = static_cast<double>(device::memory_use(gpu).peak_bytes) - before;
    EXPECT_NEAR(static_cast<double>(cost.bytes), held, 0.05 * held) << matrix[0];
    EXPECT_NEAR(static_cast<double>(cost.bytes + cost.making_bytes), peak, 0.15 * peak) << matrix[0];
  }
}

TYPED_TEST(GpuPreconditioner, leaves_the_solution_of_dense_least_squares) {
  tests::expect_dense_least_squares<TypeParam>(Device::cuda());
}

TYPED_TEST(GpuPreconditioner, two_runs_give_the_same_bits) {
  auto problem = preconditioned_problems<TypeParam>().back();
  problem.device = Device::cuda();
  const auto r = random_values<TypeParam>(problem.image(), 4).to(Device::cuda());
  Array<Complex<TypeParam>> once(r.shape(), Device::cuda()), again(r.shape(), Device::cuda());
  problem.preconditioner()->forward(r, once);
  problem.preconditioner()->forward(r, again);
  EXPECT_TRUE(tests::identical(once, again));
}

}  // namespace
}  // namespace fhd
