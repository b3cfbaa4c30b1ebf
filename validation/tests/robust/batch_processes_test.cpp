// fhd batch: its processes, and those that read for them, when one of them is killed.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
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
  /// Waits until there is a worker with a process that starts readers for it: that one; 0: the batch has ended before.
  static pid_t host_of_a_worker(pid_t batch) {
    for (int look = 0; look < 10000; ++look) {
      for (const auto& worker : children_of(batch))
        for (const auto& child : children_of(worker.number))
          if (worker.name != "fhd: reader" && child.name == "fhd: reader") return child.number;
      usleep(500);
    }
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

TEST_F(BatchProcesses, go_on_where_what_reads_for_one_of_them_is_killed) {
  const pid_t batch = start_batch();
  const pid_t host = host_of_a_worker(batch);
  ASSERT_GT(host, 0) << text("err_bg");
  kill(host, SIGKILL);
  int status = 0;
  ASSERT_EQ(waitpid(batch, &status, 0), batch);
  EXPECT_EQ(exit_status(status), 0) << text("out_bg") << text("err_bg");
  EXPECT_NE(text("out_bg").find("4 scans: 4 finished"), std::string::npos) << text("out_bg");
  EXPECT_EQ(hidden(), std::vector<std::string>{});
}

TEST_F(BatchProcesses, leave_nothing_and_nobody_when_the_first_is_killed) {
  for (const int wait_ms : {60, 120, 180, 240, 300, 400}) {
    const pid_t batch = start_batch();
    ASSERT_GT(host_of_a_worker(batch), 0) << text("err_bg");
    usleep(static_cast<useconds_t>(wait_ms) * 1000);
    kill(batch, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(batch, &status, 0), batch);
    bool is_over = false;  // the group of processes that start_process() made
    for (int look = 0; look < 5000 && !is_over; ++look) {
      is_over = !has_living(batch);
      if (!is_over) usleep(1000);
    }
    EXPECT_TRUE(is_over) << wait_ms;
    EXPECT_EQ(hidden(), std::vector<std::string>{}) << wait_ms;
    fs::remove_all(path("results"));
  }
}

}  // namespace
}  // namespace fhd::tests
