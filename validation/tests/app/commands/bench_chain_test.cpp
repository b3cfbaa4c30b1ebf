// fhd bench chain: the table of whole runs.
#include <gtest/gtest.h>

#include <filesystem>

#include "validation/bench/chain_bench.hpp"
#include "validation/tests/program.hpp"

namespace fhd::tests {
namespace {

class BenchChain : public ProgramTest {};

std::vector<std::string> cells_of_last_row(const std::string& text) {
  const auto at = text.rfind("\n| ");
  std::vector<std::string> cells;
  if (at == std::string::npos) return cells;
  std::string row = text.substr(at + 3);
  for (std::size_t end; (end = row.find(" | ")) != std::string::npos; row.erase(0, end + 3))
    cells.push_back(row.substr(0, end));
  return cells;
}

TEST_F(BenchChain, prints_where_the_time_of_a_whole_run_goes_and_leaves_nothing) {
  ASSERT_DONE(run("bench chain --quick --case 32^2 --device cpu --folder ."));
  const auto out = text("out");
  for (const char* line : {"fhd ", "date: 20", "command: ", "processor: ", "| case | whole process |"})
    EXPECT_NE(out.find(line), std::string::npos) << out;
  const auto cells = cells_of_last_row(out);
  ASSERT_GE(cells.size(), 8u) << out;
  EXPECT_EQ(cells[0], "32^2, 1 coil, 3264 samples");
  EXPECT_GT(std::stod(cells[1]), 0);
  EXPECT_GT(std::stod(cells[2]), 0) << "stages of the timeline";
  EXPECT_LE(std::stod(cells[3]), std::stod(cells[1])) << "outside of stages, within the whole";
  EXPECT_EQ(cells[6].find("frames"), std::string::npos);
  EXPECT_NE(cells[7].find("frames/s"), std::string::npos) << out;
  for (const auto& entry : std::filesystem::directory_iterator(folder()))
    EXPECT_LACKS(entry.path().string(), "fhd-bench");
}

TEST_F(BenchChain, a_case_that_is_not_there_is_wrong_usage) {
  EXPECT_EQ(run("bench chain --quick --case nonsense"), 2);
  EXPECT_CONTAINS(text("err"), "--case");
  EXPECT_EQ(run("bench chain --quick --case 32^2 --device cpu --folder nowhere"), 1);
  EXPECT_CONTAINS(text("err"), "an existing folder 'nowhere'");
}

TEST_F(BenchChain, work_of_a_device_is_counted_once_and_stages_are_added_up) {
  write_text(path("t.json"), R"([
{"ph":"M","name":"process_name","pid":1,"tid":0,"args":{"name":"fhd"}},
{"ph":"X","name":"fhd recon","cat":"command","ts":0,"dur":10000000,"pid":1,"tid":1},
{"ph":"X","name":"solve","cat":"stage","ts":1000000,"dur":4000000,"pid":1,"tid":1},
{"ph":"X","name":"solve","cat":"stage","ts":2000000,"dur":4000000,"pid":1,"tid":2},
{"ph":"X","name":"maps","cat":"stage","ts":8000000,"dur":1000000,"pid":1,"tid":1},
{"ph":"X","name":"solve","cat":"device","ts":1000000,"dur":2000000,"pid":1,"tid":1000000},
{"ph":"X","name":"solve","cat":"device","ts":2000000,"dur":2000000,"pid":1,"tid":1000000},
{"ph":"X","name":"solve","cat":"device","ts":2000000,"dur":1000000,"pid":2,"tid":1000001}
])");
  const ChainRow row = row_of_timeline(path("t.json"));
  EXPECT_DOUBLE_EQ(row.wall_s, 10);
  EXPECT_DOUBLE_EQ(row.stages_s, 9);
  EXPECT_DOUBLE_EQ(row.outside_s, 4);
  EXPECT_EQ(row.devices, 2);
  EXPECT_DOUBLE_EQ(row.device_s, 2);  // 3 s and 1 s
  ASSERT_EQ(row.largest.size(), 2u);
  EXPECT_EQ(row.largest[0].first, "solve");
  EXPECT_DOUBLE_EQ(row.largest[0].second, 8);
}

}  // namespace
}  // namespace fhd::tests
