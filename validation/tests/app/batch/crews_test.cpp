// Where the scans of a batch are computed, and who goes on when a device fails.
#include "app/batch/crews.hpp"

#include <gtest/gtest.h>

namespace fhd::app {
namespace {

using Names = std::vector<std::string>;

TEST(Crews, devices_are_all_or_those_that_are_named) {
  EXPECT_EQ(devices_of("auto", 2), (Names{"cuda:0", "cuda:1"}));
  EXPECT_EQ(devices_of("cuda", 1), (Names{"cuda:0"}));
  EXPECT_EQ(devices_of("cuda:all", 2), (Names{"cuda:0", "cuda:1"}));
  EXPECT_EQ(devices_of("cuda:1", 4), (Names{"cuda:1"}));
  EXPECT_EQ(devices_of("cuda:0,2", 4), (Names{"cuda:0", "cuda:2"}));
  EXPECT_EQ(devices_of("cpu", 4), Names{});
  EXPECT_EQ(devices_of("auto", 0), Names{});
}

TEST(Crews, without_a_device_each_scan_has_a_process_of_its_own) {
  for (const int at_once : {0, 3}) {
    const auto crews = crews_of({.device = "auto", .gpus = 0, .threads = 5, .at_once = at_once});
    ASSERT_EQ(crews.size(), at_once == 0 ? 5u : 3u);
    for (const auto& crew : crews) {
      EXPECT_EQ(crew.device, "auto");
      EXPECT_EQ(crew.engines + crew.readers + crew.writers, 3);
      EXPECT_FALSE(crew.is_last_resort);
      EXPECT_EQ(crew.most_scans(), 4u);
    }
  }
}

TEST(Crews, a_device_is_fed_by_several_threads_and_the_cpu_stands_in) {
  const auto crews = crews_of({.device = "auto", .gpus = 2, .threads = 32});
  ASSERT_GT(crews.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(crews[i].device, "cuda:" + std::to_string(i));
    EXPECT_EQ(crews[i].engines, 16);
    EXPECT_EQ(crews[i].readers, 4);
    EXPECT_EQ(crews[i].writers, 4);
    EXPECT_FALSE(crews[i].is_last_resort);
  }
  for (std::size_t i = 2; i < crews.size(); ++i) {
    EXPECT_EQ(crews[i].device, "cpu");
    EXPECT_TRUE(crews[i].is_last_resort);
  }
  for (const auto& crew : crews_of({.device = "cuda", .gpus = 1, .threads = 16, .has_last_resort = false}))
    EXPECT_EQ(crew.device, "cuda:0");
}

TEST(Crews, scans_at_a_time_are_bounded_as_asked) {
  for (const int at_once : {1, 2, 3, 5, 9}) {
    int engines = 0;
    for (const auto& crew : crews_of({.device = "cuda", .gpus = 2, .threads = 32, .at_once = at_once}))
      if (!crew.is_last_resort) engines += crew.engines;
    EXPECT_LE(engines, at_once);
    EXPECT_GE(engines, 1);
  }
}

TEST(Crews, two_threads_still_hide_the_files_behind_the_device) {
  const auto crews = crews_of({.device = "cuda", .gpus = 1, .threads = 2, .has_last_resort = false});
  ASSERT_EQ(crews.size(), 1u);
  EXPECT_EQ(crews[0].engines, 2);
}

TEST(Roster, a_scan_that_a_device_gave_up_goes_to_another_device_then_to_the_cpu_then_nowhere) {
  Roster roster({{"cuda:0"}, {"cuda:1"}, {"cpu", 1, 1, 1, true}});
  EXPECT_TRUE(roster.may_take(0, {}));
  EXPECT_TRUE(roster.may_take(1, {}));
  EXPECT_FALSE(roster.may_take(2, {})) << "there are devices";
  EXPECT_FALSE(roster.may_take(0, {0}));
  EXPECT_TRUE(roster.may_take(1, {0}));
  EXPECT_FALSE(roster.may_take(2, {0}));
  EXPECT_TRUE(roster.may_take(2, {0, 1}));
  EXPECT_FALSE(roster.anyone_may_take({0, 1, 2}));
}

TEST(Roster, scans_of_a_lost_device_go_on_elsewhere) {
  Roster roster({{"cuda:0"}, {"cuda:1"}, {"cpu", 1, 1, 1, true}});
  roster.retire(0);
  EXPECT_FALSE(roster.may_take(0, {}));
  EXPECT_TRUE(roster.may_take(1, {}));
  EXPECT_FALSE(roster.may_take(2, {}));
  roster.retire(1);
  EXPECT_TRUE(roster.may_take(2, {})) << "the CPU takes also those that no device had";
  EXPECT_TRUE(roster.anyone_may_take({}));
  Roster alone({{"cuda:0"}});
  alone.retire(0);
  EXPECT_FALSE(alone.anyone_may_take({}));
}

}  // namespace
}  // namespace fhd::app
