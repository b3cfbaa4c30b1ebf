// --json-lines: what another program reads of a command.
#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "validation/tests/program.hpp"

namespace fhd::tests {
namespace {

using Json = nlohmann::json;

class EventLines : public ProgramTest {
 protected:
  /// Every line of standard output, an object each.
  static std::vector<Json> parsed(const std::string& printed) {
    std::vector<Json> events;
    std::istringstream lines(printed);
    for (std::string line; std::getline(lines, line);) {
      events.push_back(Json::parse(line, nullptr, false));
      EXPECT_TRUE(events.back().is_object()) << line;
    }
    return events;
  }
  std::vector<Json> events() const { return parsed(text("out")); }
  static std::vector<Json> of_kind(const std::vector<Json>& events, const std::string& kind) {
    std::vector<Json> some;
    for (const auto& event : events)
      if (event.value("event", "") == kind) some.push_back(event);
    return some;
  }
  /// Begins with "start", ends with one "end"; the times do not go back.
  static void expect_framed(const std::vector<Json>& events, int status) {
    ASSERT_GE(events.size(), 2u);
    EXPECT_EQ(events.front().at("event"), "start");
    EXPECT_EQ(events.back().at("event"), "end");
    EXPECT_EQ(events.back().at("status"), status);
    EXPECT_EQ(of_kind(events, "end").size(), 1u);
    double before = 0;
    for (const auto& event : events) {
      EXPECT_GE(event.at("time").get<double>(), before);
      before = event.at("time");
    }
  }
};

TEST_F(EventLines, recon_tells_scan_stages_images_and_files) {
  ASSERT_EQ(run("simulate -o scan --matrix 24 --coils 2 --repetitions 3"), 0);
  ASSERT_DONE(run("recon scan.h5 -o out --device cpu --json-lines"));
  const auto all = events();
  expect_framed(all, 0);
  ASSERT_EQ(of_kind(all, "scan").size(), 1u);
  EXPECT_EQ(of_kind(all, "scan")[0].at("repetition_count"), 3);
  EXPECT_EQ(of_kind(all, "scan")[0].at("matrix_size"), Json({24, 24, 1}));
  const auto images = of_kind(all, "image");
  ASSERT_EQ(images.size(), 3u);
  const auto report = Json::parse(text("out.json"));
  for (std::size_t i = 0; i < images.size(); ++i) {
    EXPECT_EQ(images[i].at("of"), 3);
    const auto& stored = report.at("images").at(images[i].at("number").get<std::size_t>() - 1);
    EXPECT_EQ(images[i].at("data_residual"), stored.at("data_residual"));
    EXPECT_EQ(images[i].at("iterations"), stored.at("iterations"));
  }
  const auto written = of_kind(all, "written");
  ASSERT_EQ(written.size(), 1u);
  EXPECT_EQ(written[0].at("files"), Json({"out.h5", "out.nii.gz", "out.png", "out.json"}));
  for (const std::string file : written[0].at("files")) EXPECT_TRUE(exists(file)) << file;
}

TEST_F(EventLines, the_end_tells_the_error) {
  ASSERT_EQ(run("recon nothing.h5 --json-lines"), 1);
  expect_framed(events(), 1);
  EXPECT_CONTAINS(events().back().at("error").get<std::string>(), "nothing.h5: expected a file");
  EXPECT_CONTAINS(text("err"), "fhd: nothing.h5: expected a file");
  EXPECT_TRUE(of_kind(events(), "warning").empty());

  ASSERT_EQ(run("recon nothing.h5 --method gridded --lambda auto --json-lines"), 2);
  expect_framed(events(), 2);
  EXPECT_CONTAINS(events().back().at("error").get<std::string>(), "--lambda with --method gridded");
}

TEST_F(EventLines, the_end_tells_a_signal) {
  ASSERT_EQ(run("simulate -o scan --matrix 64 --coils 8 --repetitions 200"), 0);
  const pid_t child = start({"recon", path("scan.h5"), "-o", path("out"), "--device", "cpu", "--json-lines"});
  while (text("out_bg").find("\"scan\"") == std::string::npos && kill(child, 0) == 0 &&
         waitpid(child, nullptr, WNOHANG) == 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  kill(child, SIGTERM);
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  expect_framed(parsed(text("out_bg")), 128 + SIGTERM);
}

TEST_F(EventLines, a_reader_that_does_not_read_does_not_keep_a_stopped_process) {
  ASSERT_EQ(run("simulate -o scan --matrix 24 --coils 2 --repetitions 300"), 0);
  // 300 images are more than a pipe holds, so that the process waits for its reader when the signal comes.
  run_command("{ timeout -k 20 -s TERM 3 '" + program() +
              "' recon scan.h5 -o out --device cpu --json-lines; echo $? > status; } | sleep 8");
  EXPECT_EQ(text("status"), "124\n") << "stopped by SIGTERM; 137: it had to be killed";
}

TEST_F(EventLines, warnings_are_events_too) {
  ASSERT_EQ(run("simulate -o scan --matrix 32 --coils 4 --delay 2,2"), 0);
  ASSERT_DONE(run("recon scan.h5 -o out --device cpu --json-lines"));
  const auto all = events();
  ASSERT_FALSE(of_kind(all, "warning").empty());
  std::istringstream lines(text("err"));
  std::string line;
  ASSERT_TRUE(std::getline(lines, line));
  EXPECT_EQ("fhd: " + of_kind(all, "warning")[0].at("text").get<std::string>(), line);
}

TEST_F(EventLines, a_batch_tells_each_scan) {
  ASSERT_EQ(run("simulate -o a --matrix 24 --coils 2"), 0);
  write_text(path("b.h5"), "no scan");
  ASSERT_EQ(run("batch a.h5 b.h5 -o results --device cpu --cache off --json-lines"), 1);
  const auto all = events();
  expect_framed(all, 1);
  std::map<std::string, Json> scans;
  for (const auto& event : of_kind(all, "scan")) scans[event.at("name")] = event;
  ASSERT_EQ(scans.size(), 2u);
  EXPECT_EQ(scans["a"].at("status"), "finished");
  EXPECT_EQ(scans["a"].at("images"), 1);
  EXPECT_EQ(scans["b"].at("status"), "failed");
  EXPECT_FALSE(scans["b"].at("why").get<std::string>().empty());
  ASSERT_EQ(of_kind(all, "summary").size(), 1u);
  EXPECT_EQ(of_kind(all, "summary")[0].at("finished"), 1);
  EXPECT_EQ(of_kind(all, "summary")[0].at("failed"), 1);
}

TEST_F(EventLines, a_reader_that_cannot_be_written_to_is_a_failure) {
  ASSERT_EQ(run("simulate -o scan --matrix 24 --coils 2"), 0);
  EXPECT_EQ(run_command("'" + program() + "' recon scan.h5 -o out --json-lines > /dev/full"), 1);
  EXPECT_CONTAINS(text("err"), "standard output: No space left on device");
  EXPECT_EQ(run("recon scan.h5 --json-lines --quiet"), 2) << "these contradict each other";
}

}  // namespace
}  // namespace fhd::tests
