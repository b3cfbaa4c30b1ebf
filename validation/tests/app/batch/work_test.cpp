#include "app/batch/work.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "app/batch/log.hpp"
#include "io/files/file_set.hpp"
#include "recon/error.hpp"
#include "validation/tests/scratch.hpp"

namespace fhd::app {
namespace {

namespace fs = std::filesystem;
using BatchFolder = tests::ScratchTest;

template <class Action>
std::string error_of(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

using Names = std::vector<std::string>;

TEST(Workers, has_all_devices_or_those_that_are_named) {
  EXPECT_EQ(devices_of("auto", 2), (Names{"cuda:0", "cuda:1"}));
  EXPECT_EQ(devices_of("cuda", 1), (Names{"cuda:0"}));
  EXPECT_EQ(devices_of("cuda:all", 2), (Names{"cuda:0", "cuda:1"}));
  EXPECT_EQ(devices_of("cuda:1", 4), (Names{"cuda:1"}));
  EXPECT_EQ(devices_of("cuda:0,2", 4), (Names{"cuda:0", "cuda:2"}));
  EXPECT_EQ(devices_of("cpu", 4), Names{});
  EXPECT_EQ(devices_of("auto", 0), Names{});
}

TEST(Workers, has_a_process_for_each_scan_without_a_device) {
  for (const int at_once : {0, 3}) {
    const auto plans = plan_workers("auto", 0, 5, at_once);
    ASSERT_EQ(plans.size(), at_once == 0 ? 5u : 3u);
    for (const auto& plan : plans) {
      EXPECT_EQ(plan.device, "auto");
      EXPECT_EQ(plan.engines, 1);
      EXPECT_GT(plan.scans, plan.engines) << "files are read and written meanwhile";
      EXPECT_FALSE(plan.is_last_resort);
    }
  }
}

TEST(Workers, has_several_engines_a_device_and_the_cpu_as_last_resort) {
  const auto plans = plan_workers("auto", 2, 32);
  ASSERT_GT(plans.size(), 2u);
  for (std::size_t i = 0; i < plans.size(); ++i) {
    EXPECT_EQ(plans[i].device, i < 2 ? "cuda:" + std::to_string(i) : "cpu");
    EXPECT_EQ(plans[i].engines, i < 2 ? 16 : 1);
    EXPECT_EQ(plans[i].is_last_resort, i >= 2);
  }
  const auto one = plan_workers("cuda", 1, 2);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].engines, 2) << "one computes while the other uses the CPU";
  for (const int at_once : {1, 2, 3, 5, 9})
    EXPECT_LE(engine_count(plan_workers("cuda", 2, 32, at_once), false), at_once);
}

TEST_F(BatchFolder, loses_what_killed_runs_left) {
  tests::write_text(path(".fhd-0123456789abcdef-scan.h5"), "half");
  tests::write_text(path(".fhd-0123456789abcdef-scan.manifest.json"), "half");
  tests::write_text(path(".fhd-lock-scan"), "");
  tests::write_text(path(".fhd-notes"), "mine");
  remove_leftovers(path(""));
  std::vector<std::string> left;
  for (const auto& entry : fs::directory_iterator(path(""))) left.push_back(entry.path().filename());
  EXPECT_EQ(left, std::vector<std::string>{".fhd-notes"});
}

TEST_F(BatchFolder, keeps_the_temporary_files_of_runs_that_are_alive) {
  const io::OutputLock lock(path("scan"));  // of fhd recon -o DIR/scan
  io::FileSet files(lock);
  files.add(path("scan.h5"));
  files.add(path("scan.truth.h5"));  // of fhd simulate: the lock is of another name
  io::AtomicFile page(path("index.html")), folder = io::AtomicFile::directory(path("scan_dicom"));
  remove_leftovers(path(""));
  EXPECT_NO_THROW(files.commit());
  EXPECT_NO_THROW(page.commit());
  EXPECT_NO_THROW(folder.commit());
  EXPECT_TRUE(fs::exists(path("scan.h5")) && fs::exists(path("scan.truth.h5")));
  EXPECT_TRUE(fs::exists(path("index.html")) && fs::is_directory(path("scan_dicom")));
}

TEST_F(BatchFolder, is_of_one_batch_or_of_its_parts) {
  const auto refused = [&](bool is_part) {
    return error_of([&] {
             BatchLog(path(""), true, is_part, 1);
           }).find("no other 'fhd batch' is at work, found one") != std::string::npos;
  };
  {
    const BatchLog whole(path(""), true, false, 1);
    ASSERT_TRUE(whole.has_locks());
    EXPECT_TRUE(refused(false));
    EXPECT_TRUE(refused(true));
  }
  const BatchLog part(path(""), true, true, 1);
  EXPECT_FALSE(refused(true));
  EXPECT_TRUE(refused(false));
}

TEST_F(BatchFolder, has_no_log_that_is_a_link_or_a_pipe) {
  tests::write_text(path("victim"), "mine");
  const auto log = [&] { BatchLog(path(""), true, false, 1).line("told"); };
  fs::create_symlink(path("victim"), path("batch.log"));
  EXPECT_EQ(error_of(log),
            path("batch.log") +
                ": expected the log of a batch, found a link, or something else that is no file; remove it");
  fs::remove(path("batch.log"));
  fs::create_hard_link(path("victim"), path("batch.log"));
  EXPECT_NE(error_of(log), "");
  fs::remove(path("batch.log"));
  ASSERT_EQ(::mkfifo(path("batch.log").c_str(), 0600), 0);
  EXPECT_NE(error_of(log), "");
  fs::remove(path("batch.log"));
  EXPECT_EQ(error_of(log), "");
  EXPECT_EQ(tests::bytes_of(path("victim")), "mine");
}

}  // namespace
}  // namespace fhd::app
