// The recorder of the timeline.
#include "recon/array/trace.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace fhd::trace {
namespace {

TEST(Trace, records_nothing_until_it_is_started_and_then_every_span_with_its_thread) {
  { const Span before("before"); }
  EXPECT_FALSE(is_on());
  start();
  EXPECT_TRUE(is_on());
  EXPECT_TRUE(take().events.empty());
  name_thread("main");
  {
    const Span outer("outer", "stage");
    { const Span inner(std::string("in") + "ner"); }
    std::thread([] { const Span other("other"); }).join();
    const DeviceSpan none(Device::cpu(), "of the CPU");
  }
  const auto recorded = take();
  ASSERT_EQ(recorded.events.size(), 3u);
  const auto &inner = recorded.events[0], &other = recorded.events[1], &outer = recorded.events[2];
  EXPECT_EQ(inner.name, "inner");
  EXPECT_EQ(other.name, "other");
  EXPECT_EQ(outer.name, "outer");
  EXPECT_STREQ(outer.category, "stage");
  EXPECT_EQ(inner.thread, outer.thread);
  EXPECT_NE(other.thread, outer.thread);
  EXPECT_LE(outer.begin_us, inner.begin_us);
  EXPECT_GE(outer.begin_us + outer.duration_us, other.begin_us + other.duration_us);
  EXPECT_EQ(recorded.thread_names, (std::vector<std::pair<int, std::string>>{{outer.thread, "main"}}));
  EXPECT_EQ(recorded.dropped, 0);
  const auto later = take();
  EXPECT_TRUE(later.events.empty() && later.thread_names.empty());
}

TEST(Trace, counts_what_it_has_no_place_for) {
  start();
  take();
  for (std::size_t i = 0; i < most_events + 5; ++i) {
    const Span span("one of many");
  }
  const auto recorded = take();
  EXPECT_EQ(recorded.events.size(), most_events);
  EXPECT_EQ(recorded.dropped, 5);
  EXPECT_EQ(take().dropped, 0);
}

TEST(Trace, is_written_by_many_threads_at_a_time) {
  start();
  take();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([] {
      for (int n = 0; n < 1000; ++n) {
        const Span span("a");
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(take().events.size(), 4000u);
}

}  // namespace
}  // namespace fhd::trace
