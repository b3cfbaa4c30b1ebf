#pragma once
// The program, run by a test in a folder of its own.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "validation/tests/scratch.hpp"

namespace fhd::tests {

/// Where it was built, or beside the test on a machine that has nothing but the binaries.
inline std::string program_path() {
  if (std::filesystem::exists(FHD_PROGRAM)) return FHD_PROGRAM;
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "fhd").string();
}

/// How a process ended, what it took.
struct ProcessEnd {
  int status = 128;  ///< exit status; 128: ended by a signal
  double seconds = 0;
  double peak_bytes = 0;  ///< largest resident set
  double processor_seconds = 0;
};

/// Starts `words` (a program and its arguments) in the background, in a process group of its own; what it
/// prints goes to two files.
inline pid_t start_process(std::vector<std::string> words, const std::string& out, const std::string& err) {
  const pid_t child = fork();
  if (child != 0) return child;
  setpgid(0, 0);
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  if (std::freopen(out.c_str(), "w", stdout) && std::freopen(err.c_str(), "w", stderr))
    execv(words[0].c_str(), arguments.data());
  _exit(127);
}

inline int exit_status(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128; }

class ProgramTest : public ScratchTest {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(program())) GTEST_SKIP() << "no program at " << program();
    prepare();
  }
  /// Makes what the tests of a fixture begin with.
  virtual void prepare() {}
  const std::string& program() const { return program_; }
  /// The exit status of `fhd ARGUMENTS` (read by the shell), run in the folder of the test; what was printed
  /// is in text("out") and text("err").
  int run(const std::string& arguments) const { return run_command("'" + program_ + "' " + arguments); }
  /// Runs any command.
  int run_command(const std::string& command) const {
    const auto line = "cd '" + folder().string() + "' && { " + command + "\n} > '" + path("out") + "' 2> '" +
                      path("err") + "'";
    return exit_status(std::system(line.c_str()));
  }
  /// Starts `fhd ARGUMENTS` in the background; what it prints is in text("out_bg") and text("err_bg").
  pid_t start(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), program_);
    return start_process(std::move(arguments), path("out_bg"), path("err_bg"));
  }
  /// `fhd ARGUMENTS`, measured.
  ProcessEnd measured(std::vector<std::string> arguments) const {
    const auto begin = std::chrono::steady_clock::now();
    const pid_t child = start(std::move(arguments));
    int status = 0;
    rusage usage{};
    if (wait4(child, &status, 0, &usage) != child) return {};
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
    const auto seconds = [](const timeval& t) {
      return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    return {exit_status(status), elapsed.count(), static_cast<double>(usage.ru_maxrss) * 1024,
            seconds(usage.ru_utime) + seconds(usage.ru_stime)};
  }
  std::string text(const std::string& name) const { return bytes_of(path(name)); }
  bool exists(const std::string& name) const { return std::filesystem::exists(path(name)); }
  /// Expects this exit status and one line on standard error that contains `part`.
  void expect_failure(const std::string& arguments, int status, const std::string& part) const {
    EXPECT_EQ(run(arguments), status) << arguments << ": " << text("err");
    EXPECT_CONTAINS(text("err"), part);
    EXPECT_EQ(text("err").find('\n') + 1, text("err").size()) << arguments << ": " << text("err");
  }

 private:
  std::string program_ = program_path();
};

/// With scans so small that threads would not share them.
class SmallScanTest : public ProgramTest {
 protected:
  void SetUp() override {
    setenv("OMP_NUM_THREADS", "1", 1);
    ProgramTest::SetUp();
  }
};

/// With scan.h5, which `fhd recon` makes `out` of.
class ReconTest : public SmallScanTest {
 protected:
  int recon(const std::string& arguments) const {
    return run("recon scan.h5 -o out --force --device cpu " + arguments);
  }
  void expect_refused(const std::string& arguments, int status, const std::string& line) const {
    EXPECT_EQ(recon(arguments), status) << arguments;
    EXPECT_EQ(text("err"), "fhd: " + line + "\n") << arguments;
    EXPECT_FALSE(exists("out.json") || exists("out.h5")) << arguments;
  }
};

/// A call of run() that succeeds.
#define ASSERT_DONE(call) ASSERT_EQ(call, 0) << text("err")
#define EXPECT_DONE(call) EXPECT_EQ(call, 0) << text("err")

}  // namespace fhd::tests
