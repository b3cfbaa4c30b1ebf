// Scans that change while a command reads them: one line, and the results of before.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "validation/tests/io/io_scans.hpp"
#include "validation/tests/program.hpp"

namespace fhd::tests {
namespace {

namespace fs = std::filesystem;

class ChangingInputs : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    setenv("OMP_NUM_THREADS", "1", 1);  // too small to share
    for (const char* scan : {"-o scan --seed 1", "-o other --seed 7 --phantom resolution"})
      ASSERT_EQ(run(std::string("simulate --matrix 24 --coils 2 --no-maps --repetitions 200 ") + scan), 0)
          << text("err");
  }
  /// Gives the file the bytes of another one.
  void overwrite(const std::string& name, const std::string& by) const {
    const auto bytes = bytes_of(path(by));
    std::fstream file(path(name), std::ios::binary | std::ios::in | std::ios::out);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  /// The exit status of `fhd ARGUMENTS`, which waits while `change` is done once `has_begun`: it cannot end before.
  int run_with_change(const std::vector<std::string>& arguments, const std::function<bool()>& has_begun,
                      const std::function<void()>& change) const {
    const pid_t child = start(arguments);
    int status = 0;
    bool ended = false;
    for (int i = 0; i < 10000 && !has_begun() && !ended; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      ended = waitpid(child, &status, WNOHANG) == child;
    }
    EXPECT_FALSE(ended) << "it had ended before: the case proves nothing";
    if (!ended) kill(child, SIGSTOP);
    change();
    if (!ended) kill(child, SIGCONT);
    if (!ended) waitpid(child, &status, 0);
    return exit_status(status);
  }
};

TEST_F(ChangingInputs, recon_of_a_series_fails_with_one_line_and_leaves_the_results_of_before) {
  ASSERT_EQ(run("recon scan.h5 -o out --device cpu --repetitions 0"), 0) << text("err");
  const auto before = text("out.h5");
  const auto kept = [&] {
    const auto lines = text("out.partial/reports.jsonl");
    return std::count(lines.begin(), lines.end(), '\n');
  };
  ASSERT_EQ(run_with_change(
                {"recon", path("scan.h5"), "-o", path("out"), "--device", "cpu"}, [&] { return kept() >= 3; },
                [&] { overwrite("scan.h5", "other.h5"); }),
            1);
  EXPECT_CONTAINS(text("err_bg"),
                  "expected a file that stays as it is, found one that changed while it was read");
  EXPECT_EQ(text("out.h5"), before);
  // The finished volumes belong to the scan as it was, so the next run begins anew.
  ASSERT_EQ(run("recon scan.h5 -o out --device cpu"), 1);
  EXPECT_CONTAINS(text("err"), "--force");
}

TEST_F(ChangingInputs, a_batch_fails_for_that_scan) {
  ASSERT_EQ(run_with_change(
                {"batch", path("scan.h5"), "-o", path("results"), "--device", "cpu", "--cache", "off",
                 "--json-lines"},
                [&] { return text("out_bg").find("progress") != std::string::npos; },
                [&] { overwrite("scan.h5", "other.h5"); }),
            1);
  EXPECT_CONTAINS(text("out_bg"), "changed while it was read");
  EXPECT_FALSE(fs::exists(path("results/scan.h5")));
}

TEST_F(ChangingInputs, a_copy_of_readouts_fails) {
  ASSERT_EQ(run("simulate --matrix 96 --coils 8 --no-maps --repetitions 20 -o scan --force"), 0)
      << text("err");
  ASSERT_EQ(run("convert scan.h5 scan.mrd"), 0) << text("err");
  const auto is_written = [&] {  // when all volumes have been read
    for (const auto& entry : fs::directory_iterator(folder()))
      if (entry.path().filename().string().starts_with(".fhd-lock")) return true;
    return false;
  };
  ASSERT_EQ(run_with_change({"convert", path("scan.mrd"), path("copy.mrd")}, is_written,
                            [&] { overwrite("scan.mrd", "scan.mrd"); }),
            1);
  EXPECT_CONTAINS(text("err_bg"), "changed while it was read");
  EXPECT_FALSE(fs::exists(path("copy.mrd")));
}

}  // namespace
}  // namespace fhd::tests
