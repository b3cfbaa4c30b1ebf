#include "app/batch/worker_pool.hpp"

#include <gtest/gtest.h>

namespace fhd::app {
namespace {

using Names = std::vector<std::string>;

TEST(WorkerPool, has_all_devices_or_those_that_are_named) {
  EXPECT_EQ(devices_of("auto", 2), (Names{"cuda:0", "cuda:1"}));
  EXPECT_EQ(devices_of("cuda", 1), (Names{"cuda:0"}));
  EXPECT_EQ(devices_of("cuda:all", 2), (Names{"cuda:0", "cuda:1"}));
  EXPECT_EQ(devices_of("cuda:1", 4), (Names{"cuda:1"}));
  EXPECT_EQ(devices_of("cuda:0,2", 4), (Names{"cuda:0", "cuda:2"}));
  EXPECT_EQ(devices_of("cpu", 4), Names{});
  EXPECT_EQ(devices_of("auto", 0), Names{});
}

TEST(WorkerPool, has_a_process_for_each_scan_without_a_device) {
  for (const int at_once : {0, 3}) {
    const auto plans = plan_workers({.device = "auto", .gpus = 0, .threads = 5, .at_once = at_once});
    ASSERT_EQ(plans.size(), at_once == 0 ? 5u : 3u);
    for (const auto& plan : plans) {
      EXPECT_EQ(plan.device, "auto");
      EXPECT_EQ(plan.engines, 1);
      EXPECT_GT(plan.scans, plan.engines) << "files are read and written meanwhile";
      EXPECT_FALSE(plan.is_last_resort);
    }
  }
}

TEST(WorkerPool, has_several_engines_a_device_and_the_cpu_as_last_resort) {
  const auto plans = plan_workers({.device = "auto", .gpus = 2, .threads = 32});
  ASSERT_GT(plans.size(), 2u);
  for (std::size_t i = 0; i < plans.size(); ++i) {
    EXPECT_EQ(plans[i].device, i < 2 ? "cuda:" + std::to_string(i) : "cpu");
    EXPECT_EQ(plans[i].engines, i < 2 ? 16 : 1);
    EXPECT_EQ(plans[i].is_last_resort, i >= 2);
  }
  const auto one = plan_workers({.device = "cuda", .gpus = 1, .threads = 2, .has_last_resort = false});
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].engines, 2) << "one computes while the other uses the CPU";
  for (const int at_once : {1, 2, 3, 5, 9}) {
    const WorkerPool pool(plan_workers({.device = "cuda", .gpus = 2, .threads = 32, .at_once = at_once}));
    EXPECT_LE(pool.engine_count(false), at_once);
  }
}

TEST(WorkerPool, gives_a_scan_to_another_device_then_to_the_cpu_then_to_nobody) {
  const WorkerPlan cpu{.device = "cpu", .is_last_resort = true};
  WorkerPool pool({{"cuda:0"}, {"cuda:1"}, cpu});
  EXPECT_TRUE(pool.may_take(0, {}) && pool.may_take(1, {}) && !pool.may_take(2, {}));
  EXPECT_TRUE(!pool.may_take(0, {0}) && pool.may_take(1, {0}) && !pool.may_take(2, {0}));
  EXPECT_TRUE(pool.may_take(2, {0, 1}));
  EXPECT_FALSE(pool.anyone_may_take({0, 1, 2}));
  pool.retire(0);
  EXPECT_TRUE(!pool.may_take(0, {}) && pool.may_take(1, {}) && !pool.may_take(2, {}));
  pool.retire(1);
  EXPECT_TRUE(pool.may_take(2, {})) << "also scans that no device had";
  WorkerPool alone({{"cuda:0"}});
  alone.retire(0);
  EXPECT_FALSE(alone.anyone_may_take({}));
}

}  // namespace
}  // namespace fhd::app
