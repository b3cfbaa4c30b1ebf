// Lines of a command are in a pipe when they are true, and files are called as -o says.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include "validation/tests/program.hpp"
#include "validation/tests/robust/failing_run.hpp"

namespace fhd::tests {
namespace {

using OutputLines = SmallScanTest;

/// Reads what a pipe holds, without waiting.
void read_more(int pipe, std::string& text) {
  char block[1 << 12];
  for (ssize_t n; (n = read(pipe, block, sizeof block)) > 0;) text.append(block, static_cast<std::size_t>(n));
}

TEST_F(OutputLines, are_in_a_pipe_before_the_work_that_follows_them) {
  ASSERT_DONE(run("simulate -o scan --matrix 24 --coils 2"));
  // The program stops before it renames a file: Q, which it stores while it works, and then each result.
  SharedState state(path("state"));
  state.set({.call = Call::rename, .at = 1, .goes_on = true, .stops = true});
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const pid_t child = fork();
  if (child == 0) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setenv(state_variable, state.path().c_str(), 1);
    setenv("LD_PRELOAD", FHD_FAILING_CALLS_LIBRARY, 1);
    dup2(ends[1], STDOUT_FILENO);
    if (chdir(folder().c_str()) == 0)
      execl(program().c_str(), program().c_str(), "recon", "scan.h5", "-o", "out", "--device", "cpu",
            "--verbose", "--cache", "cache", nullptr);
    _exit(127);
  }
  close(ends[1]);
  ASSERT_EQ(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
  std::vector<std::string> at_stops;
  std::string text;
  int status = 0;
  while (waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status)) {
    read_more(ends[0], text);
    at_stops.push_back(text);
    kill(child, SIGCONT);
  }
  read_more(ends[0], text);
  close(ends[0]);
  ASSERT_EQ(exit_status(status), 0) << text;
  ASSERT_GE(at_stops.size(), 2U) << text;
  const auto& working = at_stops.front();
  for (const char* line : {"scan      scan.h5: ", "\ndevice    ", "\nplanned   1 image: "})
    EXPECT_CONTAINS(working, line);
  EXPECT_EQ(working.back(), '\n');
  EXPECT_LACKS(working, "\nimage ");
  for (const char* line : {"\nimage     ", "\naccuracy  ", "\nverdict   "})
    EXPECT_CONTAINS(at_stops.back(), line);
  EXPECT_LACKS(at_stops.back(), "\nwrote ");
  EXPECT_CONTAINS(text, "\nwrote     out.h5 ");
}

struct NamedOutput {
  const char *arguments, *made;
};
class OutputName : public SmallScanTest, public testing::WithParamInterface<NamedOutput> {};

TEST_P(OutputName, is_as_given_where_it_ends_as_one_of_the_files) {
  ASSERT_DONE(
      run("simulate -o scan.h5 --matrix 16 --coils 2 --trajectory spiral --interleaves 2 "
          "--echo-times 2.3,4.6"));
  ASSERT_TRUE(exists("scan.h5") && exists("scan.truth.h5") && exists("scan.truth.png"));
  std::filesystem::create_directory(path("there"));
  EXPECT_DONE(run(GetParam().arguments));
  EXPECT_TRUE(exists(GetParam().made));
  for (const auto& entry : std::filesystem::directory_iterator(path("there")))
    EXPECT_LACKS(entry.path().filename().string(), "x.h5.");
}

INSTANTIATE_TEST_SUITE_P(
    All, OutputName,
    testing::Values(NamedOutput{"simulate -o there/x.h5 --matrix 16 --coils 1", "there/x.truth.png"},
                    NamedOutput{"recon scan.h5 -o there/x.h5 --repetitions 0 --device cpu", "there/x.nii.gz"},
                    NamedOutput{"compare scan.h5 -o there/x.h5 --device cpu", "there/x.json"},
                    NamedOutput{"forward scan.truth.h5 scan.h5 -o there/x.h5 --repetitions 0", "there/x.h5"},
                    NamedOutput{"forward scan.truth.h5 scan.h5 -o there/x.hdf5 --repetitions 0",
                                "there/x.hdf5"},
                    NamedOutput{"forward scan.truth.h5 scan.h5 -o there/x --repetitions 0", "there/x.h5"},
                    NamedOutput{"fieldmap scan.h5 -o there/x.h5 --device cpu", "there/x.h5"}));

TEST_F(OutputLines, a_file_of_another_format_is_refused) {
  for (const char* command : {"forward image.h5 scan.h5 -o x.nii.gz", "fieldmap scan.h5 -o x.json"}) {
    EXPECT_EQ(run(command), 2) << command;
    EXPECT_CONTAINS(text("err"), "expected the name of an HDF5 file, found the ending .");
  }
}

}  // namespace
}  // namespace fhd::tests
