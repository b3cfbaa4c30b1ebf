// The threads of a command: the quota of a container, the environment, bounds.
#include "app/terminal/processors.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "validation/tests/program.hpp"

namespace fhd::app {
namespace {

namespace fs = std::filesystem;

/// A machine's root folder with control groups as the kernel shows them.
class ProcessorQuota : public tests::ScratchTest {
 protected:
  void write(const std::string& name, const std::string& text) const {
    const auto path = folder() / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  void second_version(const std::string& group) const { write("proc/self/cgroup", "0::" + group + "\n"); }
  std::optional<int> quota() const { return processor_quota(folder()); }
};

TEST_F(ProcessorQuota, is_the_time_over_the_period_rounded_up_and_at_least_one) {
  second_version("/");
  const std::pair<const char*, std::optional<int>> quotas[] = {{"200000 100000\n", 2},
                                                               {"150000 100000\n", 2},
                                                               {"100001 100000", 2},
                                                               {"1000 100000\n", 1},
                                                               {"50000 10000\n", 5},
                                                               {"max 100000\n", {}},
                                                               {"", {}},
                                                               {"100000", {}},
                                                               {"100000 0\n", {}},
                                                               {"0 100000\n", {}},
                                                               {"-1 100000\n", {}},
                                                               {"many of them\n", {}},
                                                               {"9223372036854775807 1\n", 1000000},
                                                               {"99999999999999999999 1\n", {}}};
  for (const auto& [text, expected] : quotas) {
    write("sys/fs/cgroup/cpu.max", text);
    EXPECT_EQ(quota(), expected) << text;
  }
}

TEST_F(ProcessorQuota, is_the_least_of_a_group_and_those_above_it) {
  second_version("/user.slice/session/job");
  write("sys/fs/cgroup/user.slice/cpu.max", "300000 100000\n");
  write("sys/fs/cgroup/user.slice/session/cpu.max", "max 100000\n");
  write("sys/fs/cgroup/user.slice/session/job/cpu.max", "800000 100000\n");
  write("sys/fs/cgroup/user.slice/neighbour/cpu.max", "100000 100000\n");
  EXPECT_EQ(quota(), 3);
  write("sys/fs/cgroup/user.slice/session/job/cpu.max", "200000 100000\n");
  EXPECT_EQ(quota(), 2);
}

TEST_F(ProcessorQuota, of_version_1_is_read_where_its_group_is_shown) {
  write("proc/self/cgroup", "7:memory:/other\n4:cpu,cpuacct:/docker/1f2e\n0::/\n");
  const auto allot = [&](const std::string& group, const char* quota) {
    write("sys/fs/cgroup/cpu" + group + "/cpu.cfs_quota_us", quota);
    write("sys/fs/cgroup/cpu" + group + "/cpu.cfs_period_us", "100000\n");
  };
  allot("", "400000\n");  // the container itself sees its group here
  EXPECT_EQ(quota(), 4);
  allot("/docker/1f2e", "250000\n");
  allot("", "-1\n");
  EXPECT_EQ(quota(), 3);
}

TEST_F(ProcessorQuota, is_none_where_nothing_tells_of_one) {
  EXPECT_EQ(quota(), std::nullopt);
  second_version("/../outside");
  write("sys/fs/outside/cpu.max", "100000 100000\n");
  EXPECT_EQ(quota(), std::nullopt);
}

/// Returns the threads that `plan` prints, without any work.
class ThreadsOfCommands : public tests::ProgramTest {
 protected:
  /// Returns the output with these words before the command and after it.
  std::string plan(const std::string& before, const std::string& after) const {
    if (!fs::exists(folder() / "scan.h5") && run("simulate -o scan --matrix 16 --coils 1 > /dev/null") != 0)
      return "";
    run_command(before + " '" + program() + "' plan scan.h5 " + after);
    return text("out");
  }
};

TEST_F(ThreadsOfCommands, are_those_of_the_environment_and_of_the_option) {
  EXPECT_CONTAINS(plan("OMP_NUM_THREADS=1", ""), "CPU, 1 thread\n");
  EXPECT_NE(plan("OMP_NUM_THREADS=1", "--threads 2").find("CPU, 2 threads"), std::string::npos)
      << text("out");
}

TEST_F(ThreadsOfCommands, are_bounded) {
  for (const auto& printed : {plan("OMP_NUM_THREADS=100000", ""), plan("", "--threads 4096")}) {
    const std::string before = "device    CPU, ";
    const auto at = printed.find(before);
    ASSERT_NE(at, std::string::npos) << printed << text("err");
    EXPECT_LT(std::stoi(printed.substr(at + before.size())), 4096) << printed;
  }
}

/// OpenMP tells its settings where OMP_DISPLAY_ENV asks for them.
TEST_F(ThreadsOfCommands, wait_for_each_other_asleep_after_a_moment_unless_the_user_says_otherwise) {
  if (run_command("ldd '" + program() + "' | grep -q libgomp") == 0)
    GTEST_SKIP() << "this build has libgomp as a library, which reads its settings before the program begins";
  const auto spins = [&](const std::string& environment) {
    run_command(environment + " OMP_DISPLAY_ENV=verbose '" + program() + "' --version");
    const auto told = text("err");
    const auto at = told.find("GOMP_SPINCOUNT = '");
    return at == std::string::npos ? "none" : told.substr(at + 18, told.find('\'', at + 18) - at - 18);
  };
  EXPECT_EQ(spins("env -u GOMP_SPINCOUNT -u OMP_WAIT_POLICY"), "1000");
  EXPECT_EQ(spins("env -u OMP_WAIT_POLICY GOMP_SPINCOUNT=7"), "7");
  EXPECT_EQ(spins("env -u GOMP_SPINCOUNT OMP_WAIT_POLICY=passive"), "0");
}

}  // namespace
}  // namespace fhd::app
