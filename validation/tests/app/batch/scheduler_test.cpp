// Workers of a batch: several threads in one process, and devices that fail.
#include "app/batch/scheduler.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <regex>

#include "io/result/results.hpp"
#include "validation/tests/program.hpp"

namespace fhd::app {

namespace {

namespace fs = std::filesystem;

class Scheduler : public tests::ProgramTest {
 protected:
  /// Does a batch of `count` tiny scans s0, s1, ... by these workers. Returns what became of them.
  std::vector<Outcome> outcomes_of(int count, std::vector<WorkerPlan> workers) {
    fs::create_directory(path("scans"));
    BatchWork work;
    work.directory = path("results");
    work.settings.resize(1);  // whose cache is off
    for (int i = 0; i < count; ++i) {
      const auto name = "s" + std::to_string(i);
      EXPECT_DONE(run("simulate -o scans/" + name + " --matrix 24 --coils 2 --seed " + std::to_string(i)));
      BatchScan scan;
      scan.path = path("scans/" + name + ".h5");
      scan.name = name;
      work.scans.push_back(scan);
      work.settings_of.push_back(0);
    }
    fs::create_directory(path("results"));
    work.workers = std::move(workers);
    work.threads = 2;
    work.memory_bytes = std::uint64_t{1} << 30;
    BatchLog log(work.directory, true, false, work.scans.size());
    const auto end = do_batch(work, log);
    EXPECT_EQ(end.stopped, "");
    return end.outcomes;
  }
  std::int64_t finished(const std::vector<Outcome>& outcomes) const {
    return std::count_if(outcomes.begin(), outcomes.end(),
                         [](const Outcome& one) { return one.status == Outcome::Status::finished; });
  }
  void expect_image_of_a_single_run(const std::string& name) {
    ASSERT_DONE(run("recon scans/" + name + ".h5 --device cpu --threads 1 --force -o single"));
    const auto made = io::read_image(path("results/" + name + ".h5")),
               alone = io::read_image(path("single.h5"));
    ASSERT_EQ(made.images.size(), alone.images.size());
    EXPECT_TRUE(std::equal(made.images[0].values.begin(), made.images[0].values.end(),
                           alone.images[0].values.begin()))
        << name;
  }
};

TEST_F(Scheduler, several_threads_in_one_process_make_the_images_of_single_runs) {
  const auto outcomes = outcomes_of(14, {{"cpu", 3, 7}});
  EXPECT_EQ(finished(outcomes), 14);
  for (const std::string name : {"s0", "s6", "s13"}) expect_image_of_a_single_run(name);
}

TEST_F(Scheduler, where_a_device_fails_the_cpu_goes_on_and_says_why) {
  const auto outcomes =
      outcomes_of(9, {{"cuda:98", 2, 4}, {"cuda:99", 2, 4}, {"cpu", 1, 3, true}, {"cpu", 1, 3, true}});
  EXPECT_EQ(finished(outcomes), 9);
  for (const std::string name : {"s0", "s8"}) {
    expect_image_of_a_single_run(name);
    EXPECT_NE(text("results/" + name + ".json").find("computed on the CPU, because cuda:9"),
              std::string::npos)
        << text("results/" + name + ".json");
  }
  const auto log = text("results/batch.log");
  for (const std::string device : {"cuda:98", "cuda:99"}) {
    const std::regex line("\\] " + device + " failed: .*: its scans go on elsewhere\n");
    EXPECT_EQ(std::distance(std::sregex_iterator(log.begin(), log.end(), line), {}), 1) << device << log;
  }
}

TEST_F(Scheduler, without_another_device_every_scan_has_failed_with_the_reason) {
  const auto outcomes = outcomes_of(7, {{"cuda:99", 2, 4}});
  for (const auto& one : outcomes) {
    EXPECT_EQ(one.status, Outcome::Status::failed);
    EXPECT_TRUE(one.error.starts_with("cuda:99 failed: ")) << one.error;
  }
  EXPECT_FALSE(exists("results/s0.h5"));
}

}  // namespace
}  // namespace fhd::app
