// fhd batch on a folder with manifests that somebody else has put there.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "validation/tests/io/io_scans.hpp"  // EXPECT_CONTAINS
#include "validation/tests/processes.hpp"
#include "validation/tests/program.hpp"

namespace fhd::tests {
namespace {

namespace fs = std::filesystem;

class HostileManifests : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    if (IsSkipped()) return;
    setenv("OMP_NUM_THREADS", "1", 1);
    ASSERT_EQ(run("simulate -o scan --matrix 24 --coils 1"), 0) << text("err");
    ASSERT_EQ(run("batch scan.h5 -o results --device cpu"), 0) << text("err");
  }
  std::vector<std::string> words() const {
    return {"batch", path("scan.h5"), "-o", path("results"), "--device", "cpu"};
  }
  /// Returns true once the process, or one that it has started, has the file open; false: not within a minute.
  static bool opens(pid_t process, const std::string& file) {
    std::error_code unknown;
    for (int look = 0; look < 6000; ++look, usleep(10000)) {
      auto processes = children_of(process);
      processes.push_back({process, 'R', ""});
      for (const auto& each : processes)
        for (fs::directory_iterator one("/proc/" + std::to_string(each.number) + "/fd", unknown), end;
             !unknown && one != end; one.increment(unknown))
          if (fs::read_symlink(one->path(), unknown) == file) return true;
    }
    return false;
  }
  /// Makes the manifest of the scan that of results `name`, with this only product.
  void name_product(const std::string& name, const std::string& product, std::uintmax_t bytes) const {
    auto manifest = nlohmann::ordered_json::parse(text("results/scan.manifest.json"));
    manifest["products"] = {
        {{"name", product}, {"bytes", bytes}, {"modified_ns", 1}, {"checksum", std::string(64, '0')}}};
    write_text(path("results/" + name + ".manifest.json"), manifest.dump());
  }
};

TEST_F(HostileManifests, that_nest_or_hold_much_are_none) {
  const std::size_t n = 100000, many = 10000000;
  std::string flat = "[0";
  for (std::size_t i = 0; i < many; ++i) flat += ",[]";
  for (const auto& value : {std::string(n, '[') + std::string(n, ']'), flat + "]"})
    for (const char* name : {"scan", "other"}) {
      write_text(path(std::string("results/") + name + ".manifest.json"),
                 R"({"format":"fhd manifest 1","input_sha256":)" + value + "}");
      const auto end = measured(words());
      EXPECT_EQ(end.status, 0) << text("err_bg");
      EXPECT_LE(end.peak_bytes, static_cast<double>((200 << 20) + 4 * value.size()));
      EXPECT_CONTAINS(text("out_bg"), "0 failed");
    }
}

TEST_F(HostileManifests, have_no_file_outside_the_folder_read) {
  constexpr std::uintmax_t size = std::uintmax_t{100} << 30;
  for (const std::string file : {"outside", "results/scan.png"}) {
    write_text(path(file), "");
    fs::resize_file(path(file), size);
    name_product("scan", file == "outside" ? "../outside" : "scan.png", size);
    const auto end = measured(words());
    EXPECT_EQ(end.status, 0) << text("err_bg");
    EXPECT_LE(end.processor_seconds, 5);
    EXPECT_CONTAINS(text("out_bg"), "1 finished");
  }
}

/// Reading results to compare them ends when the batch is to end.
TEST_F(HostileManifests, do_not_keep_a_batch_from_ending) {
  constexpr std::uintmax_t size = std::uintmax_t{60} << 30, stored = 64 << 20;
  for (const std::string name : {"earlier", "scan"}) {
    const auto product = path("results/" + name + ".png");
    const int file = open(product.c_str(), O_RDWR | O_TRUNC | O_CREAT, 0644);
    const bool is_made = posix_fallocate(file, 0, stored) == 0;
    close(file);
    if (!is_made) GTEST_SKIP() << "no room";
    fs::resize_file(product, size);
    name_product(name, name + ".png", size);
    for (const int number : {SIGINT, SIGTERM}) {
      const pid_t child = start(words());
      ASSERT_TRUE(opens(child, product)) << text("err_bg");
      const auto asked = std::chrono::steady_clock::now();
      kill(child, number);
      int status = 0;
      waitpid(child, &status, 0);
      EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == number) << status << text("err_bg");
      // Reading 100 GB to its end takes minutes.
      EXPECT_LE(std::chrono::steady_clock::now() - asked, std::chrono::seconds(20)) << name;
    }
    fs::remove(path("results/" + name + ".manifest.json"));
  }
}

TEST_F(HostileManifests, of_summaries_with_empty_entries_are_refused) {
  std::string many = "{\"scans\":[{}";
  for (int i = 0; i < 10000000; ++i) many += ",{}";
  write_text(path("results/summary.json"), many + "]}");
  const auto end = measured({"report", path("results")});
  EXPECT_EQ(end.status, 1);
  EXPECT_LE(end.processor_seconds, 2);
  EXPECT_LE(end.peak_bytes, static_cast<double>((200 << 20) + 4 * many.size()));
  EXPECT_CONTAINS(text("err_bg"), "summary.json: expected the summary of 'fhd batch'");
}

}  // namespace
}  // namespace fhd::tests
