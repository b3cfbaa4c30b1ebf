// Vector operations, sensitivity maps and the regulariser on the device, against the CPU.
#include "recon/array/vector_math.hpp"
#include "recon/encoding/sense.hpp"
#include "recon/solve/terms/terms.hpp"
#include "validation/tests/gpu.hpp"
#include "validation/tests/problems.hpp"

namespace fhd {
namespace {

using tests::random_values;
using tests::relative_error;

template <class T>
class GpuVectorMath : public tests::GpuTest {
 protected:
  // One product and one sum per element on either side, fused or not.
  static constexpr double tolerance = sizeof(T) == 4 ? 2e-7 : 4e-16;
};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(GpuVectorMath, Precisions);

const std::vector<Shape> shapes{{1}, {3}, {255}, {257}, {2, 3, 5}, {100003}, {8, 64, 64}};

TYPED_TEST(GpuVectorMath, dot_equals_the_cpu_and_is_the_same_in_every_run) {
  for (const Shape& shape : shapes) {
    const auto a = random_values<TypeParam>(shape, 1), b = random_values<TypeParam>(shape, 2);
    Array<double> expected({1}), found({3}, Device::cuda());
    dot(a, b, expected, 0);
    const auto there_a = a.to(Device::cuda()), there_b = b.to(Device::cuda());
    for (int i = 0; i < 3; ++i) dot(there_a, there_b, found, i);
    const auto host = found.to(Device::cpu());
    // Sums in double of products that are exact in double (float), or rounded (double).
    const double size = tests::length(a) * tests::length(b);
    EXPECT_LE(std::abs(host[0] - expected[0]) / size, 1e-14) << shape.text();
    EXPECT_EQ(host[0], host[1]);
    EXPECT_EQ(host[0], host[2]);
    EXPECT_LE(std::abs(norm_l2(there_a) - tests::length(a)) / tests::length(a), 1e-14);
  }
}

TYPED_TEST(GpuVectorMath, updates_equal_the_cpu) {
  for (const Shape& shape : shapes) {
    const auto x = random_values<TypeParam>(shape, 3), start = random_values<TypeParam>(shape, 4);
    Array<double> scalars({3});
    scalars[0] = 3, scalars[1] = -7, scalars[2] = 0;
    const auto there_scalars = scalars.to(Device::cuda());
    const auto there_x = x.to(Device::cuda());
    const auto compare = [&](auto operation) {
      auto here = start;
      auto there = start.to(Device::cuda());
      operation(here, x, scalars);
      operation(there, there_x, there_scalars);
      EXPECT_LE(relative_error(there, here), this->tolerance) << shape.text();
    };
    compare([](auto& y, auto& v, auto& s) { add_scaled(y, Quotient{s, 0, s, 1, -1}, v); });
    compare([](auto& y, auto& v, auto& s) { add_scaled(y, Quotient{s, 0, s, 2}, v); });  // 3 / 0 counts as 0
    compare([](auto& y, auto& v, auto& s) { scale_and_add(y, Quotient{s, 1, s, 0}, v); });
    compare([](auto& y, auto& v, auto&) { add_scaled(y, TypeParam(0.3), v); });
    compare([](auto& y, auto&, auto&) { scale(y, TypeParam(-0.3)); });
    compare([](auto& y, auto& v, auto&) { copy(v, y); });
    compare([](auto& y, auto& v, auto&) { copy_range(v, 0, y, y.size() / 2, y.size() - y.size() / 2); });
  }
}

TYPED_TEST(GpuVectorMath, refuses_what_does_not_fit_together) {
  const auto host = random_values<TypeParam>({4}, 1);
  auto there = host.to(Device::cuda()), longer = random_values<TypeParam>({5}, 1).to(Device::cuda());
  Array<double> host_scalars({1}), scalars({1}, Device::cuda());
  EXPECT_THROW(dot(there, host, scalars, 0), Error);
  EXPECT_THROW(dot(there, longer, scalars, 0), Error);
  EXPECT_THROW(dot(there, there, host_scalars, 0), Error);
  EXPECT_THROW(dot(there, there, scalars, 1), Error);
  EXPECT_THROW(add_scaled(there, Quotient{scalars, 0, host_scalars, 0}, there), Error);
  EXPECT_THROW(copy_range(there, 1, longer, 0, 4), Error);
  EXPECT_THROW(copy_range(there, 0, longer, 2, 4), Error);
  EXPECT_THROW(copy(there, longer), Error);
}

TYPED_TEST(GpuVectorMath, sensitivity_maps_equal_the_cpu) {
  for (const auto& [coils, z, y, x] : {std::array{1, 1, 1, 1}, {3, 1, 7, 5}, {8, 4, 16, 17}, {2, 33, 1, 1}}) {
    const Shape shape{coils, z, y, x}, image_shape{z, y, x};
    auto maps = random_values<TypeParam>(shape, 5);
    for (int coil = 0; coil < coils; ++coil) maps[coil * z * y * x] = {};  // one voxel that no coil sees
    const auto coil_images = random_values<TypeParam>(shape, 6),
               image = random_values<TypeParam>(image_shape, 7);
    const auto there_maps = maps.to(Device::cuda()), there_coil_images = coil_images.to(Device::cuda()),
               there_image = image.to(Device::cuda());
    Array<Complex<TypeParam>> here(shape), there(shape, Device::cuda()), sum(image_shape),
        there_sum(image_shape, Device::cuda());
    apply_maps(image, maps, here);
    apply_maps(there_image, there_maps, there);
    EXPECT_LE(relative_error(there, here), this->tolerance);
    combine_coils(coil_images, maps, sum);
    combine_coils(there_coil_images, there_maps, there_sum);
    EXPECT_LE(relative_error(there_sum, sum), this->tolerance);
    divide_by_squares(maps, sum);
    divide_by_squares(there_maps, there_sum);
    EXPECT_EQ(there_sum.to(Device::cpu())[0], Complex<TypeParam>());
    EXPECT_LE(relative_error(there_sum, sum), 10 * this->tolerance);
    EXPECT_LE(relative_error(root_sum_of_squares(there_coil_images), root_sum_of_squares(coil_images)),
              this->tolerance);
  }
}

TYPED_TEST(GpuVectorMath, roughness_equals_the_cpu) {
  for (const auto& [z, y, x] :
       {std::array{3, 4, 5}, {1, 1, 7}, {2, 6, 1}, {1, 1, 1}, {1, 2, 2}, {20, 33, 65}})
    for (const bool weighted : {false, true}) {
      const Shape shape{z, y, x};
      const auto image = random_values<TypeParam>(shape, 8), start = random_values<TypeParam>(shape, 9);
      Array<TypeParam> weights;
      if (weighted) {
        weights = Array<TypeParam>({3, z, y, x});
        for (std::int64_t i = 0; i < weights.size(); ++i) weights[i] = TypeParam(0.1) * TypeParam(i % 11);
      }
      auto here = start;
      auto there = start.to(Device::cuda());
      roughness_term(weights)->add_normal(image, TypeParam(0.7), here);
      roughness_term(weights.to(Device::cuda()))->add_normal(image.to(Device::cuda()), TypeParam(0.7), there);
      EXPECT_LE(relative_error(there, here), 3 * this->tolerance) << shape.text();
    }
}

}  // namespace
}  // namespace fhd
