#include "recon/array/interruption.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <thread>

#include "recon/array/fft.hpp"
#include "recon/array/linear_algebra.hpp"
#include "recon/transform/direct/direct.hpp"
#include "recon/transform/toeplitz/toeplitz.hpp"
#include "recon/transform/transform.hpp"

namespace fhd {
namespace {

constexpr std::array<int, 3> matrix{12, 10, 8};

Trajectory diagonal() {
  Trajectory trajectory{Array<double>(Shape{3, 500})};
  for (std::int64_t m = 0; m < 500; ++m)
    for (int axis = 0; axis < 3; ++axis)
      trajectory.k[axis * 500 + m] = static_cast<double>(m % 97) / 97 * matrix[axis] - matrix[axis] / 2.0;
  return trajectory;
}

Array<Complex<float>> ones(const Shape& shape) {
  Array<Complex<float>> array(shape);
  for (auto& value : array) value = 1.0F;
  return array;
}

/// Expects that work() ends early where its caller wants that at once, and else does the same afterwards as before.
template <class Work>
void expect_to_end(const Work& work) {
  const auto before = work();
  {
    const Interruptible here([] { return true; }, {});
    EXPECT_THROW(work(), Interrupted);
  }
  const Interruptible here([] { return false; }, {});
  const auto after = work();
  ASSERT_EQ(before.size(), after.size());
  for (std::int64_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(before[i].re, after[i].re);
    EXPECT_EQ(before[i].im, after[i].im);
  }
}

TEST(Interruption, transforms_end_when_their_caller_wants_that_and_work_afterwards) {
  for (const auto& made : {make_direct_transform<float>(diagonal(), matrix, Device::cpu()),
                           make_gridded_transform<float>(diagonal(), matrix, 1e-4, Device::cpu())}) {
    expect_to_end([&] {
      auto samples = ones({1, 500});
      made->forward(ones(made->images_shape(1)), samples);
      return samples;
    });
    expect_to_end([&] {
      auto images = ones(made->images_shape(1));
      made->adjoint(ones({1, 500}), images);
      return images;
    });
  }
}

TEST(Interruption, point_spreads_and_their_products_end_when_their_caller_wants_that) {
  const auto q = [] { return point_spread_direct<float>(diagonal(), matrix, nullptr, Device::cpu()); };
  expect_to_end(q);
  const auto normal = make_toeplitz_normal<float>(q(), ones({2, matrix[2], matrix[1], matrix[0]}));
  expect_to_end([&] {
    auto out = ones(normal->domain());
    normal->forward(ones(normal->domain()), out);
    return out;
  });
}

TEST(Interruption, memory_sorting_and_ffts_end_when_their_caller_wants_that) {
  const Shape large{5 << 20};  // 20 MiB
  auto grid = ones({16, 16, 16});
  const Interruptible here([] { return true; }, {});
  EXPECT_THROW(Array<float>{large}, Interrupted);
  EXPECT_THROW(make_gridded_transform<float>(diagonal(), matrix, 1e-4, Device::cpu()), Interrupted);
  EXPECT_THROW(fft_3d(grid, -1), Interrupted);
  EXPECT_THROW(for_each_small_problem(2, [](std::int64_t) { ADD_FAILURE(); }), Interrupted);
  int count = 0;
#pragma omp parallel num_threads(2) reduction(+ : count)
  count += Array<float>(large).size() == large.size();  // a thread of a team may not throw
  EXPECT_EQ(count, 2);
}

TEST(Interruption, another_thread_than_the_one_that_allows_it_is_not_ended) {
  int asked = 0;
  const Interruptible here([&] { return ++asked, true; }, {});
  bool is_ended = true;
  std::thread([&] { is_ended = Checkpoint().is_ended(); }).join();
  EXPECT_FALSE(is_ended);
  EXPECT_EQ(asked, 0);
  EXPECT_TRUE(Checkpoint().is_ended());
  EXPECT_EQ(asked, 1);
}

}  // namespace
}  // namespace fhd
