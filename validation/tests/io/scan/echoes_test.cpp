// Tests the repetitions that are echoes of one another, and their times.
#include <gtest/gtest.h>

#include "io/scan/scan_file.hpp"

namespace fhd::io {
namespace {

TEST(Echoes, are_the_contrasts_of_the_first_repetition_phase_and_set) {
  ScanSummary summary;
  summary.repetition_counters = {{0, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0},
                                 {0, 0, 0, 1}, {1, 0, 0, 0}, {0, 2, 0, 0}};
  summary.repetition_count = 6;
  EXPECT_EQ(echoes_of(summary), (std::vector<std::int64_t>{0, 1, 5}));
}

TEST(Echoes, are_all_repetitions_where_a_file_does_not_count) {
  ScanSummary summary;
  summary.repetition_count = 3;
  EXPECT_EQ(echoes_of(summary), (std::vector<std::int64_t>{0, 1, 2}));
}

TEST(Echoes, are_at_the_times_of_their_contrast) {
  ScanSummary summary;
  summary.repetition_counters = {{0, 1, 0, 0}, {0, 0, 0, 0}, {0, 2, 0, 0}};
  summary.repetition_count = 3;
  summary.echo_times_s = {0.002, 0.004};
  EXPECT_EQ(echo_time_s(summary, 0), 0.004);
  EXPECT_EQ(echo_time_s(summary, 1), 0.002);
  EXPECT_FALSE(echo_time_s(summary, 2));
  summary.repetition_counters.clear();
  EXPECT_EQ(echo_time_s(summary, 1), 0.002);
}

}  // namespace
}  // namespace fhd::io
