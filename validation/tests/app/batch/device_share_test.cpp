// Engines that share the memory of a device.
#include "app/batch/device_share.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "validation/tests/processes.hpp"

namespace fhd::app {
namespace {

const auto none_is_freed = [](std::size_t engine) { ADD_FAILURE() << engine << " was freed"; };

TEST(DeviceShare, engines_that_fit_work_together) {
  DeviceShare share(3);
  for (std::size_t engine = 0; engine < 3; ++engine) share.enter(engine, 30, 100, none_is_freed);
  for (std::size_t engine = 0; engine < 3; ++engine) share.leave(engine);
}

TEST(DeviceShare, engines_at_rest_give_up_what_they_keep_when_it_is_needed) {
  DeviceShare share(3);
  std::vector<std::size_t> freed;
  share.enter(0, 40, 100, none_is_freed);
  share.leave(0);
  share.enter(1, 60, 100, none_is_freed);
  share.enter(2, 30, 100, [&](std::size_t engine) { freed.push_back(engine); });
  EXPECT_EQ(freed, std::vector<std::size_t>{0}) << "not the one at work, not the one that enters";
  share.leave(1);
  share.leave(2);
}

TEST(DeviceShare, what_is_larger_than_the_device_enters_alone) {
  DeviceShare share(2);
  std::vector<std::size_t> freed;
  share.enter(0, 10, 100, none_is_freed);
  share.leave(0);
  share.enter(1, 1000, 100, [&](std::size_t engine) { freed.push_back(engine); });
  EXPECT_EQ(freed, std::vector<std::size_t>{0});
  share.leave(1);
}

TEST(DeviceShare, a_large_scan_waits_for_the_others_and_is_not_passed) {
  DeviceShare share(3);
  share.enter(0, 60, 100, none_is_freed);
  std::vector<std::size_t> entered;  // one at a time
  const auto enter = [&](std::size_t engine, std::size_t bytes) {
    share.enter(engine, bytes, 100, [](std::size_t) {});
    entered.push_back(engine);
    share.leave(engine);
  };
  tests::WatchedThread large([&] { enter(1, 80); });
  ASSERT_TRUE(large.is_waiting());
  tests::WatchedThread small([&] { enter(2, 30); });  // would fit with the first
  ASSERT_TRUE(small.is_waiting());
  EXPECT_TRUE(entered.empty());
  share.leave(0);
  large.join();
  small.join();
  EXPECT_EQ(entered, (std::vector<std::size_t>{1, 2}));
}

TEST(DeviceShare, never_holds_more_than_there_is) {
  constexpr std::size_t engines = 6, available = 100;
  DeviceShare share(engines);
  std::atomic<std::size_t> in_use = 0, most = 0;
  std::vector<std::thread> threads;
  for (std::size_t engine = 0; engine < engines; ++engine)
    threads.emplace_back([&, engine] {
      for (std::size_t turn = 0; turn < 200; ++turn) {
        const std::size_t bytes = 7 * (engine + 1) + turn % 50;
        share.enter(engine, bytes, available, [](std::size_t) {});
        const std::size_t now = in_use += bytes;
        for (std::size_t before = most; before < now && !most.compare_exchange_weak(before, now);) {
        }
        in_use -= bytes;
        share.leave(engine);
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_LE(most, available);
  EXPECT_GT(most, 0u);
}

}  // namespace
}  // namespace fhd::app
