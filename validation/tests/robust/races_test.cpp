// Two runs with the same -o at the same time; more of them: validation/studies/races.
#include <gtest/gtest.h>
#include <signal.h>

#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "io/hdf5/hdf5_facts.hpp"
#include "validation/tests/program.hpp"

namespace fhd::tests {
namespace {

namespace fs = std::filesystem;

class Races : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    setenv("OMP_NUM_THREADS", "1", 1);
    ASSERT_EQ(run("simulate -o scan --matrix 24 --coils 2 --no-maps"), 0) << text("err");
    fs::create_directory(path("results"));
  }
  pid_t recon(int iterations, const std::string& err) const {
    return start_process({program(), "recon", path("scan.h5"), "-o", path("results/out"), "--device", "cpu",
                          "--cache", "off", "--iterations", std::to_string(iterations)},
                         path("out_bg"), path(err));
  }
  /// The bytes of the pictures and the report, which follow from the settings alone.
  static std::string made_by(const std::string& prefix) {
    return bytes_of(prefix + ".nii.gz") + bytes_of(prefix + ".png") +
           io::text_in_hdf5(prefix + ".h5", "/report/json");
  }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(path("results")), {}));
  }
};

int end_of(pid_t child) {
  int status = 0;
  return waitpid(child, &status, 0) == child ? exit_status(status) : -1;
}

TEST_F(Races, leave_one_whole_set_of_one_run) {
  for (int round = 0; round < 10; ++round) {
    const auto first = recon(2 + 2 * round, "err_1");
    std::this_thread::sleep_for(std::chrono::milliseconds(15 * round));
    const auto second = recon(3 + 2 * round, "err_2");
    const std::array ends{end_of(first), end_of(second)};
    EXPECT_TRUE(ends[0] == 0 || ends[1] == 0) << text("err_1") << text("err_2");
    for (const std::size_t i : {0U, 1U}) {
      if (ends[i] == 0) continue;
      EXPECT_EQ(ends[i], 1);
      EXPECT_NE(text(i == 0 ? "err_1" : "err_2")
                    .find("results/out: expected a name that no other run writes to, found process "),
                std::string::npos)
          << text("err_1") << text("err_2");
    }
    const auto report = nlohmann::json::parse(text("results/out.json"));
    ASSERT_EQ(run("recon scan.h5 -o alone --force --device cpu --cache off --iterations " +
                  report["images"][0]["settings"]["iterations"].dump()),
              0)
        << text("err");
    EXPECT_TRUE(made_by(path("results/out")) == made_by(path("alone"))) << "of several runs";
    EXPECT_EQ(files(), 4U);
  }
}

TEST_F(Races, leave_no_lock_where_a_run_is_stopped) {
  for (const int number : {SIGTERM, SIGKILL}) {
    const auto child = recon(400000, "err_1");
    for (int i = 0; i < 5000 && !fs::exists(path("results/.fhd-lock-out")); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    kill(child, number);
    end_of(child);
    EXPECT_EQ(fs::exists(path("results/.fhd-lock-out")), number == SIGKILL);
    EXPECT_EQ(end_of(recon(3, "err_2")), 0) << text("err_2");
    EXPECT_EQ(files(), 4U);
  }
}

}  // namespace
}  // namespace fhd::tests
