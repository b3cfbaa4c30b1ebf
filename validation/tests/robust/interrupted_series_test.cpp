// fhd recon of many volumes: what an interrupted run leaves, how the next one goes on, and how much memory it takes.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "io/hdf5/hdf5.hpp"
#include "io/result/results.hpp"
#include "validation/tests/io/io_scans.hpp"
#include "validation/tests/program.hpp"

namespace fhd::tests {
namespace {

namespace fs = std::filesystem;

class InterruptedSeries : public ProgramTest {
 protected:
  static constexpr int repetitions = 80;
  void SetUp() override {
    ProgramTest::SetUp();
    setenv("OMP_NUM_THREADS", "1", 1);  // too small to share
  }
  void simulate() const {
    ASSERT_EQ(run("simulate -o scan --matrix 24 --coils 2 --no-maps --snr 30 --repetitions " +
                  std::to_string(repetitions)),
              0)
        << text("err");
  }
  int recon(const std::string& options) const { return run("recon scan.h5 --device cpu " + options); }
  std::size_t finished() const {
    const auto lines = text("out.partial/reports.jsonl");
    return static_cast<std::size_t>(std::count(lines.begin(), lines.end(), '\n'));
  }
  bool has_begun(std::size_t after) const {
    return fs::exists(path(after > 0 ? "out.partial" : ".fhd-lock-out")) && finished() >= after;
  }
  /// Ends a run of `fhd recon scan.h5 -o out` in the middle; its status as wait says, and how long it took to end.
  std::pair<int, double> interrupt(int signal, std::size_t after = 12) const {
    ::signal(SIGINT, SIG_DFL);  // a test in the background may have been told to ignore it
    const pid_t child = start({"recon", path("scan.h5"), "-o", path("out"), "--device", "cpu"});
    for (int i = 0; i < 10000 && !has_begun(after); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const auto begin = std::chrono::steady_clock::now();
    kill(child, signal);
    int status = 0;
    waitpid(child, &status, 0);
    return {status, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()};
  }
  void expect_same_images(const std::string& a, const std::string& b) const {
    for (const char* dataset : {"/image", "/gridded"}) {
      const auto first = io::read_image(path(a), dataset), second = io::read_image(path(b), dataset);
      ASSERT_EQ(first.images.size(), static_cast<std::size_t>(repetitions));
      ASSERT_EQ(second.images.size(), first.images.size());
      for (std::size_t i = 0; i < first.images.size(); ++i) {
        const auto &x = first.images[i].values, &y = second.images[i].values;
        ASSERT_TRUE(x.shape() == y.shape());
        EXPECT_EQ(
            std::memcmp(x.data(), y.data(), static_cast<std::size_t>(x.size()) * sizeof(Complex<float>)), 0)
            << dataset << " " << i;
      }
    }
  }
};

TEST_F(InterruptedSeries, goes_on_after_a_crash_and_gives_the_images_of_an_uninterrupted_run) {
  simulate();
  ASSERT_EQ(recon("-o whole"), 0) << text("err");
  EXPECT_FALSE(fs::exists(path("whole.partial")));
  const auto [status, seconds] = interrupt(SIGKILL);
  ASSERT_TRUE(WIFSIGNALED(status)) << "it had ended before: the case proves nothing";
  const auto left = finished();
  ASSERT_GE(left, 12u);
  ASSERT_LT(left, static_cast<std::size_t>(repetitions));
  EXPECT_FALSE(fs::exists(path("out.h5")));

  EXPECT_EQ(recon("-o out --iterations 5"), 1);
  EXPECT_CONTAINS(
      text("err"),
      "fhd: out.partial: expected the volumes of an unfinished run with --iterations 5, found those of one "
      "with none; --force begins anew, -o NAME writes beside it\n");
  EXPECT_EQ(finished(), left);
  ASSERT_EQ(recon("-o out"), 0) << text("err");
  EXPECT_CONTAINS(text("out"),
                  "note      " + std::to_string(left) +
                      " of 80 images are in out.partial from an earlier run; the others follow\n");
  EXPECT_CONTAINS(text("out"), "images    80 (" + std::to_string(left) + " of an earlier run): ");
  EXPECT_FALSE(fs::exists(path("out.partial")));
  expect_same_images("whole.h5", "out.h5");
  for (const char* name : {"/diagnostics/0_0/sensitivity_maps", "/diagnostics/0_0/point_spread"})
    EXPECT_TRUE(io::hdf5::File::open(path("out.h5")).has(name)) << name;
  const auto json = nlohmann::json::parse(text("out.json"));
  ASSERT_EQ(json["images"].size(), static_cast<std::size_t>(repetitions));
  for (const auto& image : json["images"]) EXPECT_TRUE(image["certificate"]["passed"]);
  EXPECT_EQ(json["environment"]["earlier_run"], std::to_string(left) + " of 80 images: CPU");
}

TEST_F(InterruptedSeries, ends_at_once_on_an_interrupt_and_says_how_to_go_on) {
  simulate();
  const auto [status, seconds] = interrupt(SIGINT);
  ASSERT_TRUE(WIFSIGNALED(status)) << "it had ended before: the case proves nothing";
  EXPECT_LE(seconds, 1.0);
  EXPECT_CONTAINS(text("err_bg"), "fhd: stopped: Interrupt\nfhd: ");
  EXPECT_CONTAINS(text("err_bg"), " of 80 images are in " + path("out.partial") +
                                      "; the same command goes on with the others\n");
  ASSERT_GE(finished(), 12u);
  EXPECT_EQ(recon("-o out --force"), 0) << text("err");
  EXPECT_EQ(text("out").find("of an earlier run"), std::string::npos) << "--force begins anew";
}

TEST_F(InterruptedSeries, leaves_no_folder_before_its_first_image) {
  ASSERT_EQ(run("simulate -o scan --matrix 160 --coils 8 --no-maps --repetitions 2"), 0) << text("err");
  const auto [status, seconds] = interrupt(SIGTERM, 0);
  ASSERT_TRUE(WIFSIGNALED(status)) << "it had ended before: the case proves nothing";
  EXPECT_EQ(text("err_bg"), "fhd: stopped: Terminated\n");
  EXPECT_FALSE(fs::exists(path("out.partial")));
}

TEST_F(InterruptedSeries, ends_where_it_is_the_first_process_of_a_container) {
  if (run_command("unshare --pid --fork true && test -e /proc/$$/task/$$/children") != 0)
    GTEST_SKIP() << "no right to make a namespace";
  ASSERT_EQ(run("simulate -o scan --matrix 160 --coils 8 --no-maps --repetitions 4"), 0) << text("err");
  const auto begin = std::chrono::steady_clock::now();
  // The first process of the inner namespace is the child of unshare.
  const int status = run_command("unshare --pid --fork " + program_path() +
                                 " recon scan.h5 -o first --device cpu --quiet & sleep 0.5; "
                                 "kill -TERM $(cat /proc/$!/task/$!/children); wait $!");
  EXPECT_EQ(status, 128 + SIGTERM);
  EXPECT_LE(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), 5.0);
  EXPECT_FALSE(fs::exists(path("first.h5")));
}

TEST_F(InterruptedSeries, leaves_no_process_to_whoever_takes_orphans) {
  ASSERT_EQ(run("simulate -o scan --matrix 16"), 0) << text("err");
  ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  for (const char* command : {"info scan.h5", "recon scan.h5 -o out --device cpu --force", "info absent.h5",
                              "batch scan.h5 -o all --device cpu"})
    run(command);
  errno = 0;
  const pid_t left = waitpid(-1, nullptr, WNOHANG);
  EXPECT_TRUE(left == -1 && errno == ECHILD) << left;
  prctl(PR_SET_CHILD_SUBREAPER, 0);
}

TEST_F(InterruptedSeries, outlives_a_full_disk) {
  simulate();
  ASSERT_EQ(recon("-o whole"), 0) << text("err");
  const auto with_limit = [&](int half_kib) {
    return run_command("ulimit -f " + std::to_string(half_kib) + "; '" + program() +
                       "' recon scan.h5 -o out --device cpu");
  };
  EXPECT_EQ(with_limit(300), 1);  // 150 or 300 KiB: 32 or 65 of the reports, all of the scan
  EXPECT_CONTAINS(text("err"),
                  "expected a file that can be written to its end, found File too large; free some space");
  EXPECT_CONTAINS(text("err"),
                  " of 80 images are in out.partial; the same command goes on with the others\n");
  const auto left = finished();
  ASSERT_GE(left, 5u);
  EXPECT_FALSE(fs::exists(path("out.json")));
  ASSERT_EQ(recon("-o out"), 0) << text("err");
  EXPECT_CONTAINS(text("out"), " of 80 images are in out.partial from an earlier run; the others follow\n");
  expect_same_images("whole.h5", "out.h5");
}

TEST_F(InterruptedSeries, needs_no_memory_for_what_is_finished) {
  // The fhd layout has no list of readouts in memory.
  ASSERT_EQ(
      run("simulate -o many --matrix 64 --coils 1 --readouts 4 --readout-samples 16 --repetitions 400 && '" +
          program() + "' convert many.h5 scan.h5"),
      0)
      << text("err");
  const auto peak = [&](const std::string& which) {
    const auto end =
        measured({"recon", path("scan.h5"), "-o", path("out"), "--device", "cpu", "--iterations", "1",
                  "--coils", "none", "--repetitions", which, "--force", "--surroundings", "off"});
    EXPECT_EQ(end.status, 0) << text("err_bg");
    return end.peak_bytes;
  };
  const double few = peak("0-39"), many = peak("0-399");
  // 360 images, and as many gridded ones, of 32 KiB each are 23.6 MB.
  EXPECT_LE(many - few, 360 * 4096.0 + 6e6);
}

}  // namespace
}  // namespace fhd::tests
