// The Toeplitz operator on the device: the cases of toeplitz_test, against E^H E of the direct transform in
// double precision.
#include "recon/transform/toeplitz/toeplitz_backends.hpp"
#include "validation/tests/gpu.hpp"
#include "validation/tests/recon/transform/toeplitz_checks.hpp"

namespace fhd {
namespace {

using tests::applied;
using tests::in_double;
using tests::random_trajectory;
using tests::random_values;
using tests::relative_error;

template <class T>
class GpuToeplitz : public tests::GpuTest, protected tests::ToeplitzAccuracy<T> {
 protected:
  static auto toeplitz(const Trajectory& trajectory, const tests::TransformCase& c,
                       const Array<Complex<T>>& maps, std::int64_t coils_at_once = 0) {
    const auto q = point_spread_direct<T>(trajectory, c.matrix_size, nullptr, Device::cuda());
    return make_toeplitz_normal(q, maps.to(Device::cuda()), coils_at_once);
  }
};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(GpuToeplitz, Precisions);

// Sizes with prime factors; more coils than are padded together; a last group of rows that is smaller than the others is
// met where the grid is larger than the cache (test after the next).
TYPED_TEST(GpuToeplitz, equals_forward_then_adjoint_and_is_hermitian) {
  auto cases = tests::toeplitz_cases();
  cases.insert(cases.end(), {{{13, 11, 7}, 200, 7}, {{12, 10, 8}, 200, 9}});
  for (const auto& c : cases) tests::expect_normal_of_transform<TypeParam>(c, Device::cuda());
}

TYPED_TEST(GpuToeplitz, coils_at_once_do_not_change_a_bit) {
  for (const auto& c : {tests::TransformCase{{20, 16, 12}, 300, 6}, {{40, 30, 1}, 300, 6}}) {
    const auto trajectory = random_trajectory(c.matrix_size, c.samples, 1);
    const auto maps =
        random_values<TypeParam>({c.coils, c.matrix_size[2], c.matrix_size[1], c.matrix_size[0]}, 2);
    const auto image = random_values<TypeParam>({c.matrix_size[2], c.matrix_size[1], c.matrix_size[0]}, 3);
    const auto all = applied(*this->toeplitz(trajectory, c, maps), image);
    for (const std::int64_t together : {1, 2, 4, 6})
      EXPECT_TRUE(tests::identical(applied(*this->toeplitz(trajectory, c, maps, together), image), all))
          << c.text() << ", " << together;
  }
}

TYPED_TEST(GpuToeplitz, is_hermitian_where_groups_of_rows_differ_in_size) {
  // 250 planes of 2N x 2N: several groups of rows on every device.
  const tests::TransformCase c{{90, 70, 125}, 50, 1};
  const auto a = this->toeplitz(random_trajectory(c.matrix_size, c.samples, 1), c,
                                random_values<TypeParam>({1, 125, 70, 90}, 2));
  const auto x = random_values<TypeParam>(a->domain(), 3), y = random_values<TypeParam>(a->domain(), 4);
  EXPECT_LE(tests::adjointness_error(x, applied(*a, x), y, applied(*a, y)), this->symmetry);
}

/// Lengths of known stages and of any, of one, two and three of them, along every axis of a volume and of a plane.
std::vector<tests::TransformCase> lengths_on_every_axis() {
  std::vector<tests::TransformCase> all;
  for (const int n : {15, 64, 90, 96, 128, 160, 192, 224, 256, 320, 343, 384, 500, 512, 1000})
    for (const auto& matrix : {std::array{n, 3, 2}, {2, n, 3}, {3, 2, n}, {n, 5, 1}, {6, n, 1}, {1, n, 4}})
      all.push_back({matrix, 1, 5});
  return all;
}

TYPED_TEST(GpuToeplitz, equals_double_precision_on_the_cpu_for_every_kind_of_length) {
  using T = TypeParam;
  for (const auto& c : lengths_on_every_axis()) {
    SCOPED_TRACE(c.text());
    const auto grid = difference_grid(c.matrix_size);
    const auto& n = c.matrix_size;
    const auto q = random_values<T>({grid[2], grid[1], grid[0]}, 1),
               maps = random_values<T>({5, n[2], n[1], n[0]}, 2);
    const auto stack = random_values<T>({2, n[2], n[1], n[0]}, 3);
    // The rounding of two FFTs along three axes: 2e-7 ... 3e-7 (double: 3e-16 ... 6e-16).
    const double rounding = sizeof(T) == 4 ? 5e-7 : 2e-15;
    const auto exact = make_toeplitz_normal(in_double(q), in_double(maps));
    const auto a = make_toeplitz_normal(q.to(Device::cuda()), maps.to(Device::cuda()), 3, 2),
               together = make_toeplitz_normal(q.to(Device::cuda()), maps.to(Device::cuda()), 0, 2);
    auto found = random_values<T>(stack.shape(), 4).to(Device::cuda()), same = found;
    a->forward_each(stack.to(Device::cuda()), found);
    together->forward_each(stack.to(Device::cuda()), same);
    if (sizeof(T) == 4) {  // cuFFT may plan batches of other sizes in another way
      EXPECT_TRUE(tests::identical(found.to(Device::cpu()), same.to(Device::cpu())));
    }
    const auto host = in_double(found);
    for (int i = 0; i < 2; ++i) {
      Array<Complex<double>> expected(exact->domain());
      exact->forward(in_double(one_of(stack, expected.shape(), i)), expected);
      EXPECT_LE(relative_error(one_of(host, expected.shape(), i), expected), rounding);
    }
  }
}

TYPED_TEST(GpuToeplitz, refuses_arrays_that_do_not_agree) {
  tests::expect_wrong_maps_are_refused<TypeParam>(Device::cuda());
}

TYPED_TEST(GpuToeplitz, takes_the_bytes_that_its_cost_says) {
  const Device gpu = Device::cuda();
  for (const auto& [matrix_size, coils] :
       {std::pair{std::array{64, 64, 64}, 6}, {{256, 256, 1}, 8}, {{90, 70, 125}, 2}, {{67, 71, 73}, 1}}) {
    SCOPED_TRACE(matrix_size[0]);
    const auto grid = difference_grid(matrix_size);
    const Array<Complex<TypeParam>> q({grid[2], grid[1], grid[0]}, gpu),
        maps({coils, matrix_size[2], matrix_size[1], matrix_size[0]}, gpu);
    const OperatorCost cost = toeplitz_cost(matrix_size, coils, precision_of<TypeParam>(), gpu);
    const auto before = static_cast<double>(device::memory_use(gpu).used_bytes);
    device::reset_peak_memory(gpu);
    const auto toeplitz = make_toeplitz_normal(q, maps);
    const double held = static_cast<double>(device::memory_use(gpu).used_bytes) - before,
                 peak = static_cast<double>(device::memory_use(gpu).peak_bytes) - before;
    EXPECT_NEAR(static_cast<double>(cost.bytes), held, 0.15 * held);
    EXPECT_NEAR(static_cast<double>(cost.bytes + cost.making_bytes), peak, 0.15 * peak);
    Array<Complex<TypeParam>> in(toeplitz->domain(), gpu), out(toeplitz->domain(), gpu);
    const auto used = device::memory_use(gpu).used_bytes;
    device::reset_peak_memory(gpu);
    toeplitz->forward(in, out);
    EXPECT_EQ(device::memory_use(gpu).peak_bytes, used) << "no scratch";
  }
}

TYPED_TEST(GpuToeplitz, memory_that_runs_out_on_the_way_is_one_error_and_nothing_leaks) {
  const tests::TransformCase c{{32, 32, 32}, 100, 2};
  const auto trajectory = random_trajectory(c.matrix_size, c.samples, 1);
  const auto maps = random_values<TypeParam>({2, 32, 32, 32}, 2).to(Device::cuda());
  const auto q = point_spread_direct<TypeParam>(trajectory, c.matrix_size, nullptr, Device::cuda());
  const int refused = this->times_out_of_memory(std::size_t{96} << 20, std::size_t{2} << 20,
                                                [&] { make_toeplitz_normal(q, maps); });
  EXPECT_GE(refused, 3);
  EXPECT_LE(refused, 46) << "96 MiB are enough";
}

}  // namespace
}  // namespace fhd
