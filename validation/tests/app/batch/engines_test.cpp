// Engines that share the memory of a device, and planned and measured memory of a scan of a batch.
#include "app/batch/engines.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "app/options/table.hpp"
#include "validation/tests/processes.hpp"
#include "validation/tests/program.hpp"

namespace fhd::app {
namespace {

const auto none_is_freed = [](std::size_t engine) { ADD_FAILURE() << engine << " was freed"; };

TEST(DeviceShare, engines_that_fit_work_together_and_the_last_to_leave_is_the_next) {
  DeviceShare share(3);
  for (std::size_t engine = 0; engine < 3; ++engine) EXPECT_EQ(share.enter(30, 100, none_is_freed), engine);
  for (const std::size_t engine : {0, 2, 1}) share.leave(engine);
  EXPECT_EQ(share.enter(30, 100, none_is_freed), 1u);
}

TEST(DeviceShare, engines_at_rest_give_up_what_they_keep_when_it_is_needed) {
  for (const std::size_t bytes : {60, 70, 1000}) {  // the last is larger than the device: it enters alone
    DeviceShare share(3);
    for (const std::size_t first : {40, 60}) share.enter(first, 100, none_is_freed);
    share.leave(0);
    share.leave(1);
    std::vector<std::size_t> freed;
    EXPECT_EQ(share.enter(bytes, 100, [&](std::size_t engine) { freed.push_back(engine); }), 1u);
    EXPECT_EQ(freed, std::vector<std::size_t>(bytes > 60 ? 1 : 0, 0)) << "not the one that enters";
  }
}

TEST(DeviceShare, a_large_scan_waits_for_the_others_and_is_not_passed) {
  DeviceShare share(3);
  const auto first = share.enter(60, 100, none_is_freed);
  std::vector<std::size_t> entered;  // one at a time
  const auto enter = [&](std::size_t bytes) {
    const auto engine = share.enter(bytes, 100, [](std::size_t) {});
    entered.push_back(bytes);
    share.leave(engine);
  };
  tests::WatchedThread large([&] { enter(80); });
  ASSERT_TRUE(large.is_waiting());
  tests::WatchedThread small([&] { enter(30); });  // would fit with the first
  ASSERT_TRUE(small.is_waiting());
  EXPECT_TRUE(entered.empty());
  share.leave(first);
  large.join();
  small.join();
  EXPECT_EQ(entered, (std::vector<std::size_t>{80, 30}));
}

TEST(DeviceShare, never_holds_more_than_there_is) {
  constexpr std::size_t threads = 6, available = 100;
  DeviceShare share(static_cast<int>(threads) - 2);
  std::atomic<std::size_t> in_use = 0, most = 0;
  std::vector<std::thread> all;
  for (std::size_t thread = 0; thread < threads; ++thread)
    all.emplace_back([&, thread] {
      for (std::size_t turn = 0; turn < 200; ++turn) {
        const std::size_t bytes = 7 * (thread + 1) + turn % 50;
        const auto engine = share.enter(bytes, available, [](std::size_t) {});
        const std::size_t now = in_use += bytes;
        for (std::size_t before = most; before < now && !most.compare_exchange_weak(before, now);) {
        }
        in_use -= bytes;
        share.leave(engine);
      }
    });
  for (auto& thread : all) thread.join();
  EXPECT_LE(most, available);
  EXPECT_GT(most, 0u);
}

class PlannedMemory : public tests::SmallScanTest {
 protected:
  double planned(const std::vector<std::string>& options) const {
    RunOptions given;
    for (const auto& option : options) {
      const auto equals = option.find('=');
      set_option(given, *find_option(option.substr(0, equals), in_batch), option.substr(equals + 1));
    }
    given.device.set_name("cpu");
    const auto settings = std::make_shared<RunSettings>(given);
    settings->is_sparing = true;
    const auto scan = path("scan.h5");
    return static_cast<double>(planned_host_bytes(*open_run(io::open_scan(scan), scan, settings, "")));
  }
  double taken(std::vector<std::string> options) const {
    std::vector<std::string> arguments{"recon",    path("scan.h5"), "-o",     path("out"),
                                       "--device", "cpu",           "--force"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const auto end = measured(arguments);
    EXPECT_EQ(end.status, 0) << text("err_bg");
    return end.peak_bytes;
  }
};

using LongPlannedMemory = PlannedMemory;
TEST_F(LongPlannedMemory, grows_with_frames_as_what_is_taken) {
  ASSERT_DONE(run("simulate -o scan --matrix 128 --coils 6 --readouts 400 --dynamic 10"));
  for (const std::string regularizer : {"", "llr:0.01"}) {
    std::vector<std::string> few{"--frames=2", "--iterations=2"}, many{"--frames=60", "--iterations=2"};
    if (!regularizer.empty())
      for (auto* options : {&few, &many}) options->push_back("--regularizer=" + regularizer);
    const double grows = planned(many) - planned(few), grew = taken(many) - taken(few);
    std::printf("%s: planned %.1f MiB more, taken %.1f MiB more\n", regularizer.c_str(), grows / (1 << 20),
                grew / (1 << 20));
    EXPECT_GE(grows, grew);
    EXPECT_LE(grows, 4 * grew) << "so much that scans would wait for nothing";
  }
}

}  // namespace
}  // namespace fhd::app
