// Inputs that are no files, for every input of every command: one line, and no waiting.
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>

#include "validation/tests/program.hpp"

namespace fhd::tests {
namespace {

class StrangeInputs : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    if (IsSkipped()) return;
    setenv("OMP_NUM_THREADS", "1", 1);
    ASSERT_EQ(run("simulate -o scan --matrix 8 --coils 2 --readouts 6"), 0) << text("err");
    for (const char* name : {"pipe", "pipe.h5", "pipe.nii", "pipe.json", "pipe.cfl", "pipe.hdr"})
      ASSERT_EQ(mkfifo(path(name).c_str(), 0600), 0);
  }
  /// `arguments` of which the input is a pipe that nobody writes to, or a device that never ends.
  void expect_refused(const std::string& arguments) const {
    const int status = run_command("timeout 20 '" + program() + "' " + arguments + " < /dev/null");
    EXPECT_TRUE(status == 1 || status == 2) << arguments << ": " << status;
    const auto line = text("err").empty() ? text("out") : text("err");  // 'fhd check' prints a table
    EXPECT_NE(line.find("a pipe, a device or a socket"), std::string::npos) << arguments << ": " << line;
    const auto err = text("err");
    EXPECT_LE(std::count(err.begin(), err.end(), '\n'), 1) << arguments << ": " << err;
  }
};

TEST_F(StrangeInputs, as_scans_are_refused_in_a_line) {
  for (const std::string input : {"pipe.h5", "pipe.cfl", "/dev/zero"})
    for (const std::string command : {"info ", "recon -o out ", "check ", "plan ", "compare -o out ",
                                      "fieldmap -o out.h5 ", "batch -o batch ", "report -o out.html "})
      expect_refused(command + input);
  expect_refused("convert pipe.h5 out.h5 --to fhd");
}

TEST_F(StrangeInputs, as_pieces_of_a_scan_are_refused_in_a_line) {
  for (const std::string option : {"--maps", "--trajectory", "--noise", "--girf", "--prior", "--recipe"})
    for (const std::string input : {"pipe", "/dev/zero"})
      expect_refused("recon scan.h5 -o out --device cpu " + option + " " + input);
  for (const std::string option : {"--frames 2 --gate", "--frames 2 --basis"})
    expect_refused("recon scan.h5 -o out --device cpu " + option + " pipe");
  expect_refused("recon scan.h5 -o out --prior pipe.nii");
  expect_refused("recon scan.h5 -o out --recipe pipe.json");
  expect_refused("compare scan.h5 -o out --truth pipe.h5");
  expect_refused("simulate -o other --matrix 8 --girf pipe");
}

TEST_F(StrangeInputs, in_a_batch_are_refused_in_a_line) {
  expect_refused("batch @pipe -o batch");
  expect_refused("batch @/dev/zero -o batch");
  expect_refused("batch scan.h5 -o batch --recipe pipe");
  std::filesystem::create_directory(path("folder"));
  ASSERT_EQ(mkfifo(path("folder/summary.json").c_str(), 0600), 0);
  expect_refused("report folder");
}

}  // namespace
}  // namespace fhd::tests
