// Shapes, arrays that own memory and arrays that view it, and the pointwise loop on the CPU.
#include "recon/array/array.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <vector>

#include "recon/array/equality.hpp"
#include "recon/array/vector_math.hpp"

namespace fhd {
namespace {

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

TEST(Shape, knows_its_size_and_refuses_one_that_overflows) {
  EXPECT_EQ(Shape().size(), 0);
  EXPECT_EQ((Shape{7}).size(), 7);
  EXPECT_EQ((Shape{2, 3, 4, 5, 6}).size(), 720);
  EXPECT_EQ((Shape{4, 0, 3}).size(), 0);
  EXPECT_THROW((Shape{most, 2}), Error);
  EXPECT_THROW((Shape{-1}), Error);
  EXPECT_THROW((Shape{1, 1, 1, 1, 1, 1}), Error);
  EXPECT_THROW(Array<double>(Shape{most / 2}), Error) << "2^63 bytes and more";
}

TEST(Array, is_equal_to_one_of_its_shape_and_numbers) {
  Array<double> a(Shape{2, 3});
  std::iota(a.begin(), a.end(), 0.0);
  Array<double> b = a;
  EXPECT_TRUE(are_equal(a, b));
  b[0] = -0.0;
  EXPECT_TRUE(are_equal(a, b)) << "zeros of either sign";
  b[5] = 7;
  EXPECT_FALSE(are_equal(a, b));
  EXPECT_FALSE(are_equal(a, Array<double>(Shape{3, 2})));
  EXPECT_TRUE(are_equal(Array<double>(), Array<double>()));
}

TEST(Array, copies_own_their_data_and_moves_keep_it) {
  Array<float> a(Shape{3, 5});
  std::iota(a.begin(), a.end(), 0.0f);
  const Array<float> copy = a;
  a[7] = -1;
  EXPECT_EQ(copy[7], 7.0f);
  const float* data = a.data();
  const Array<float> moved = std::move(a).reshaped(Shape{15});
  EXPECT_EQ(moved.data(), data);
  EXPECT_EQ(moved.shape(), Shape{15});
  EXPECT_EQ(a.size(), 0);
}

TEST(ArrayView, is_the_memory_of_others) {
  std::vector<Complex<float>> values(12, {1, 2});
  {
    auto view = Array<Complex<float>>::view(values.data(), Shape{3, 4});
    EXPECT_EQ(view.data(), values.data());
    EXPECT_EQ(view.shape(), (Shape{3, 4}));
    EXPECT_EQ(view.device(), Device::cpu());
    scale(view, 2.0f);
    const auto moved = std::move(view);
    EXPECT_EQ(moved.data(), values.data()) << "a moved view is a view";
  }
  for (const auto& value : values) EXPECT_EQ(value, (Complex<float>{2, 4})) << "written there, and not freed";
}

TEST(ArrayView, copies_of_it_own_their_data) {
  std::vector<double> values{1, 2, 3};
  const auto view = Array<double>::view(values.data(), Shape{3});
  const Array<double> copy = view, there = view.to(Device::cpu());
  Array<double> assigned(Shape{1});
  assigned = view;
  values.assign(3, 0);
  for (const auto& array : {copy, there, assigned}) {
    EXPECT_NE(array.data(), values.data());
    EXPECT_EQ(array[2], 3);
  }
  EXPECT_EQ(view[2], 0);
}

TEST(ArrayView, refuses_addresses_that_cannot_hold_its_elements) {
  alignas(16) char bytes[64];
  EXPECT_THROW(Array<Complex<double>>::view(reinterpret_cast<Complex<double>*>(bytes + 8), Shape{1}), Error);
  EXPECT_THROW(Array<float>::view(nullptr, Shape{1}), Error);
  EXPECT_TRUE(Array<float>::view(nullptr, Shape{0, 4}).empty());
}

TEST(Pointwise, reaches_every_index_once_with_and_without_threads) {
  for (const std::int64_t count : {0, 1, 7, 16384, 16385, 100003})
    for (const std::int64_t worth_threads : {std::int64_t{1}, std::int64_t{16385}, most}) {
      Array<Complex<double>> x(Shape{count + 1}), y(Shape{count + 1});
      for (std::int64_t i = 0; i <= count; ++i) x[i] = static_cast<double>(i);
      const AddScaled<double, ConstantFactor<double>> add{y.data(), {1}, x.data()};
      for_each_index(Device::cpu(), count, add, worth_threads);
      for (std::int64_t i = 0; i < count; ++i) ASSERT_EQ(y[i].re, static_cast<double>(i));
      ASSERT_EQ(y[count].re, 0) << "one behind the last";
    }
}

TEST(VectorMath, refuses_scalars_that_are_not_there) {
  Array<Complex<float>> x(Shape{4}), y(Shape{4});
  Array<double> scalars(Shape{2});
  EXPECT_THROW(dot(x, y, scalars, 2), Error);
  EXPECT_THROW(add_scaled(y, Quotient{scalars, 0, scalars, -1}, x), Error);
}

}  // namespace
}  // namespace fhd
