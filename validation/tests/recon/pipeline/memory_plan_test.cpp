// The plan of a GPU's memory: arithmetic, so it is tested without a GPU. gpu_recon_test compares it with the
// real peak.
#include "recon/pipeline/memory_plan.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "recon/error.hpp"

namespace {

using namespace fhd;

constexpr std::size_t all = std::size_t{1} << 50;
const MemoryDemand head{{128, 128, 128}, 147456, 12, true, TransformKind::direct};

TEST(MemoryPlan, peak_is_the_largest_sum_of_one_step) {
  MemoryPlan plan;
  using Step = MemoryPlan::Step;
  plan.items = {
      {"always", 100}, {"first", 50, Step::q, Step::q}, {"second", 70, Step::transfer, Step::solve}};
  EXPECT_EQ(plan.peak_bytes(), 170u);
}

TEST(MemoryPlan, takes_all_coils_at_once_where_they_fit) {
  const auto plan = plan_device_memory(head, {}, all);
  EXPECT_EQ(plan.coils_at_once, 12);
  // At least: maps twice, coil images, Q, 4 coils' grids.
  const std::size_t voxels = 128 * 128 * 128, grid = 8 * voxels;
  EXPECT_GE(plan.peak_bytes(), 8 * (3 * 12 * voxels + grid + 4 * 5 * grid / 2));
  EXPECT_LE(plan.peak_bytes(), std::size_t{8} << 30);
}

TEST(MemoryPlan, takes_fewer_coils_at_once_where_memory_is_short_and_refuses_what_cannot_fit) {
  std::size_t available = plan_device_memory(head, {}, all).peak_bytes();
  std::vector<std::int64_t> seen;
  try {
    for (;;) {
      const auto plan = plan_device_memory(head, {}, available);
      EXPECT_LE(plan.peak_bytes(), available);
      EXPECT_EQ(12 % plan.coils_at_once, 0);
      seen.push_back(plan.coils_at_once);
      available = plan.peak_bytes() - 1;
    }
  } catch (const DeviceError& error) {
    EXPECT_NE(std::strstr(error.what(), "MiB for this scan"), nullptr) << error.what();
    EXPECT_NE(std::strstr(error.what(), "MiB available"), nullptr) << error.what();
  }
  EXPECT_EQ(seen.front(), 12);
  EXPECT_EQ(seen.back(), 1);
}

TEST(MemoryPlan, serves_every_method) {
  for (const auto method : {Method::cg, Method::gridded, Method::adjoint})
    for (const auto normal : {NormalKind::toeplitz, NormalKind::explicit_product})
      for (const auto transform : {TransformKind::direct, TransformKind::gridded})
        for (const bool maps : {true, false}) {
          Settings settings;
          settings.method = method, settings.normal = normal;
          const MemoryDemand demand{{64, 48, 1}, 5000, 4, maps, transform};
          const auto single = plan_device_memory(demand, settings, all);
          settings.precision = Precision::double_precision;
          EXPECT_GT(single.peak_bytes(), 0u);
          EXPECT_GT(plan_device_memory(demand, settings, all).peak_bytes(), single.peak_bytes());
          EXPECT_THROW(plan_device_memory(demand, settings, 1000), DeviceError);
        }
}

}  // namespace
