// fhd batch: its processes, and those that read for them, when one of them is killed.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "validation/tests/processes.hpp"
#include "validation/tests/program.hpp"

namespace fhd::tests {
namespace {

namespace fs = std::filesystem;

class BatchProcesses : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    if (IsSkipped()) return;
    setenv("OMP_NUM_THREADS", "1", 1);
    fs::create_directory(path("scans"));
    ASSERT_EQ(run("simulate -o first --matrix 64 --coils 4"), 0) << text("err");
    for (const char* name : {"a", "b", "c", "d"})
      fs::copy_file(path("first.h5"), path(std::string("scans/") + name + ".h5"));
  }
  pid_t start_batch() const {
    return start({"batch", path("scans"), "-o", path("results"), "--device", "cpu", "--cache", "off",
                  "--at-once", "2"});
  }
  static int status_of(pid_t batch) {
    int status = 0;
    EXPECT_EQ(waitpid(batch, &status, 0), batch);
    return exit_status(status);
  }
  /// Waits until `holds`; false: the batch has ended before, or it never does.
  static bool wait_until(const std::function<bool()>& holds) {
    for (int look = 0; look < 20000; ++look, usleep(500))
      if (holds()) return true;
    return false;
  }
  /// Returns a process that reads files for a worker; 0: there is none.
  static pid_t reader_of_a_worker(pid_t batch) {
    for (const auto& worker : children_of(batch))
      for (const auto& child : children_of(worker.number))
        if (worker.name != "fhd: reader" && child.name == "fhd: reader") return child.number;
    return 0;
  }
  std::vector<std::string> hidden() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(path("results")))
      if (const auto name = entry.path().filename().string();
          name.starts_with(".fhd-") && name.find("-summary") == name.npos && name.find("-index") == name.npos)
        names.push_back(name);  // those two are the killed one's
    return names;
  }
};

TEST_F(BatchProcesses, lose_one_scan_at_most_where_a_reader_is_killed) {
  const pid_t batch = start_batch();
  pid_t reader = 0;
  ASSERT_TRUE(wait_until([&] { return (reader = reader_of_a_worker(batch)) > 0; })) << text("err_bg");
  kill(reader, SIGKILL);
  EXPECT_LE(status_of(batch), 1) << text("out_bg") << text("err_bg");
  const auto out = text("out_bg");
  EXPECT_TRUE(out.find("4 scans: 4 finished") != out.npos || out.find("4 scans: 3 finished") != out.npos);
  EXPECT_EQ(hidden(), std::vector<std::string>{});
}

TEST_F(BatchProcesses, leave_nothing_and_nobody_when_the_first_is_killed) {
  pid_t batch = 0;
  const std::function<bool()> moments[] = {
      [&] { return reader_of_a_worker(batch) > 0; },
      [&] { return fs::exists(path("results")) && !hidden().empty(); },
      [&] { return fs::exists(path("results/a.h5")) || fs::exists(path("results/b.h5")); },
  };
  for (const auto& moment : moments) {
    batch = start_batch();
    ASSERT_TRUE(wait_until(moment)) << text("err_bg");
    kill(batch, SIGKILL);
    status_of(batch);
    // The group of processes that start_process() made.
    EXPECT_TRUE(wait_until([&] { return !has_living(batch); }));
    EXPECT_EQ(hidden(), std::vector<std::string>{});
    fs::remove_all(path("results"));
  }
}

}  // namespace
}  // namespace fhd::tests
