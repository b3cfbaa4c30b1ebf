// fhd batch: what is done, what is recorded, what is done again, and what a failure costs.
#include <gtest/gtest.h>
#include <ismrmrd/dataset.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <sstream>
#include <thread>

#include "data/simulate.hpp"
#include "io/result/results.hpp"
#include "io/scan/scan_file.hpp"
#include "validation/tests/program.hpp"

namespace fhd::tests {
namespace {

namespace fs = std::filesystem;

/// Children of a process, from /proc, in the order of their birth.
std::vector<pid_t> children(pid_t process) {
  std::vector<pid_t> found;
  std::error_code status;
  const fs::path tasks = "/proc/" + std::to_string(process) + "/task";
  for (fs::directory_iterator task(tasks, status), end; !status && task != end; task.increment(status)) {
    std::ifstream file(task->path() / "children");
    for (pid_t child; file >> child;) found.push_back(child);
  }
  return found;
}

class Batch : public ProgramTest {
 protected:
  /// scans/s0.h5 ...: tiny scans of one trajectory, alike in everything but their noise.
  void simulate(int count) {
    fs::create_directory(path("scans"));
    setenv("OMP_NUM_THREADS", "1", 1);  // too small to share
    for (int i = 0; i < count; ++i) {
      const auto name = path("scans/s" + std::to_string(i));
      ASSERT_DONE(run("simulate -o " + name + " --matrix 24 --coils 2 --seed " + std::to_string(i)));
      fs::remove(name + ".truth.h5");
      fs::remove(name + ".truth.png");
    }
    unsetenv("OMP_NUM_THREADS");
  }
  int batch(const std::string& arguments, const std::string& folder = "results") {
    return run("batch " + path("scans") + " -o " + path(folder) + " --device cpu --cache off " + arguments);
  }
  nlohmann::json summary(const std::string& folder = "results") const {
    return nlohmann::json::parse(text(folder + "/summary.json"));
  }
  /// The row of one scan in the summary.
  nlohmann::json row(const std::string& name, const std::string& folder = "results") const {
    const auto all = summary(folder);
    for (const auto& scan : all.at("scans"))
      if (scan.at("name") == name) return scan;
    ADD_FAILURE() << name << " is not in the summary";
    return {};
  }
  std::string image_bytes(const std::string& file) const {
    std::string bytes;
    for (const auto& image : io::read_image(path(file)).images)
      bytes.append(reinterpret_cast<const char*>(image.values.data()),
                   static_cast<std::size_t>(image.values.size()) * sizeof(Complex<float>));
    return bytes;
  }
  /// Returns the temporary files that were left in a folder of results.
  std::vector<std::string> strays(const std::string& folder = "results") const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(path(folder)))
      if (entry.path().filename().string().starts_with(".")) found.push_back(entry.path().filename());
    return found;
  }
  std::vector<std::string> words() const {
    return {"batch", path("scans"), "-o", path("results"), "--device", "cpu", "--cache", "off"};
  }
  pid_t start_batch(const std::string& option) const {
    auto all = words();
    all.push_back(option);
    return start(all);
  }
  static int status_of(pid_t process) {
    int status = 0;
    waitpid(process, &status, 0);
    return exit_status(status);
  }
};

/// Writes an ISMRMRD file of one readout that is flagged as noise.
void write_noise(const std::string& path, std::uint16_t samples) {
  ISMRMRD::Dataset dataset(path.c_str(), "/dataset", true);
  dataset.writeHeader(
      "<ismrmrdHeader><encoding><encodedSpace><matrixSize><x>24</x><y>24</y><z>1</z></matrixSize>"
      "<fieldOfView_mm><x>240</x><y>240</y><z>5</z></fieldOfView_mm></encodedSpace>"
      "<trajectory>cartesian</trajectory></encoding></ismrmrdHeader>");
  ISMRMRD::Acquisition noise;
  noise.resize(samples, 2, 0);
  noise.setFlag(ISMRMRD::ISMRMRD_ACQ_IS_NOISE_MEASUREMENT);
  std::mt19937 random(3);
  for (std::uint16_t s = 0; s < samples; ++s)
    for (std::uint16_t coil = 0; coil < 2; ++coil)
      noise.data(s, coil) = {static_cast<float>(random() % 100), static_cast<float>(random() % 100)};
  dataset.appendAcquisition(noise);
}

TEST_F(Batch, makes_the_images_of_single_runs) {
  simulate(3);
  ASSERT_DONE(batch(""));
  EXPECT_CONTAINS(text("out"), "3 scans: 3 finished, 0 unchanged, 0 failed");
  for (const std::string name : {"s0", "s1", "s2"}) {
    ASSERT_EQ(run("recon " + path("scans/" + name + ".h5") + " --device cpu --force -o " + path("single")),
              0);
    EXPECT_EQ(image_bytes("results/" + name + ".h5"), image_bytes("single.h5")) << name;
    EXPECT_EQ(row(name).at("status"), "finished");
    for (const char* ending : {".nii.gz", ".png", ".json", ".manifest.json"})
      EXPECT_TRUE(fs::exists(path("results/" + name + ending))) << name << ending;
  }
  EXPECT_EQ(strays(), std::vector<std::string>{});
}

TEST_F(Batch, does_again_only_what_is_missing_failed_or_changed_and_says_why) {
  simulate(5);
  fs::copy_file(path("scans/s4.h5"), path("good"));
  fs::resize_file(path("scans/s4.h5"), 3000);
  EXPECT_EQ(batch(""), 1);
  EXPECT_EQ(row("s4").at("status"), "failed");
  const auto before = text("results/s0.json");

  fs::remove(path("results/s1.png"));  // missing
  ASSERT_EQ(run("simulate -o " + path("new") + " --matrix 24 --coils 2 --seed 77"), 0);
  fs::copy_file(path("new.h5"), path("scans/s2.h5"), fs::copy_options::overwrite_existing);  // changed
  fs::last_write_time(path("scans/s3.h5"), fs::file_time_type::clock::now());                // touched only
  fs::copy_file(path("good"), path("scans/s4.h5"), fs::copy_options::overwrite_existing);    // failed before
  ASSERT_DONE(batch(""));
  EXPECT_EQ(row("s0").at("status"), "unchanged");
  EXPECT_EQ(text("results/s0.json"), before);
  EXPECT_EQ(row("s1").at("why"), "s1.png is missing or changed");
  EXPECT_EQ(row("s2").at("why"), "input changed");
  EXPECT_EQ(row("s3").at("status"), "unchanged");
  EXPECT_EQ(row("s4").at("why"), "failed before");

  ASSERT_EQ(batch("--iterations 3"), 0);
  EXPECT_EQ(summary().at("finished"), 5);
  EXPECT_EQ(row("s0").at("why"), "settings changed");
  ASSERT_EQ(batch("--iterations 3 --threads 1"), 0);  // does not change the result
  EXPECT_EQ(summary().at("unchanged"), 5);
}

TEST_F(Batch, killed_at_any_moment_it_loses_nothing_that_was_finished) {
  simulate(16);
  ASSERT_EQ(batch("", "whole"), 0);
  const auto names_in = [&](const std::string& folder) {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(path(folder))) names.insert(entry.path().filename());
    return names;
  };
  std::mt19937 random(7);
  std::uniform_int_distribution<int> milliseconds(1, 250);
  for (int kills = 0; kills < 8; ++kills) {
    const pid_t child = start(words());
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds(random)));
    kill(child, SIGKILL);
    status_of(child);
    std::map<std::string, nlohmann::json> finished;  // name, manifest
    for (int i = 0; i < 16; ++i) {
      const auto file = "results/s" + std::to_string(i) + ".manifest.json";
      if (exists(file)) finished[file] = nlohmann::json::parse(text(file));
    }
    ASSERT_DONE(batch(""));
    for (const auto& [file, manifest] : finished)
      EXPECT_EQ(nlohmann::json::parse(text(file)).at("ended_ns"), manifest.at("ended_ns")) << file;
    for (int i = 0; i < 16; ++i) {
      const auto name = "/s" + std::to_string(i) + ".h5";
      EXPECT_EQ(image_bytes("results" + name), image_bytes("whole" + name));
    }
    EXPECT_EQ(names_in("results"), names_in("whole"));
    fs::remove_all(path("results"));
  }
}

TEST_F(Batch, lists_what_is_missing_and_does_parts_of_it) {
  simulate(6);
  const auto missing = [&](const std::string& arguments = {}) {
    EXPECT_DONE(batch("--list " + arguments));
    std::map<std::string, std::string> reasons;
    std::istringstream lines(text("out"));
    for (std::string line; std::getline(lines, line);) {
      const auto scan = nlohmann::json::parse(line);
      EXPECT_EQ(scan.at("path"), path("scans/" + scan.at("name").get<std::string>() + ".h5"));
      reasons[scan.at("name")] = scan.at("reason");
    }
    return reasons;
  };
  using Reasons = std::map<std::string, std::string>;
  EXPECT_EQ(missing("--only s0 --only s4"), (Reasons{{"s0", "new"}, {"s4", "new"}}));
  EXPECT_FALSE(exists("results")) << "a list makes nothing";
  fs::resize_file(path("scans/s2.h5"), 3000);
  const pid_t first = start_batch("--shard=1/2"), second = start_batch("--shard=2/2");  // at the same time
  EXPECT_EQ(std::set({status_of(first), status_of(second)}), (std::set{0, 1}));
  EXPECT_FALSE(exists("results/summary.json")) << "of a batch as a whole";
  EXPECT_EQ(missing(), (Reasons{{"s2", "failed"}}));
  fs::remove(path("results/s1.png"));
  fs::last_write_time(path("scans/s3.h5"), fs::file_time_type::clock::now());  // touched: its content decides
  EXPECT_EQ(missing(), (Reasons{{"s1", "results_changed"}, {"s2", "failed"}}));
  EXPECT_DONE(batch("--only s1"));
  EXPECT_EQ(missing("--iterations 3 --shard 6/6"), (Reasons{{"s5", "settings_changed"}}));
  ASSERT_EQ(run("simulate -o " + path("scans/s2") + " --matrix 24 --coils 2 --force"), 0);
  fs::remove(path("scans/s2.truth.h5"));
  EXPECT_EQ(batch("--shard 7/8"), 0) << "nothing to do";
  EXPECT_DONE(batch("--only s2"));
  EXPECT_EQ(missing(), Reasons{});
  ASSERT_DONE(batch(""));
  EXPECT_EQ(summary().at("unchanged"), 6);
  EXPECT_TRUE(exists("results/index.html"));
  EXPECT_EQ(strays(), std::vector<std::string>{});
  for (const char* wrong : {"--shard 0/2", "--shard 3/2", "--shard 2", "--shard 1/2x", "--only s9"})
    EXPECT_EQ(batch(wrong), 2) << wrong;
}

TEST_F(Batch, a_crash_of_a_worker_costs_no_other_scan) {
  simulate(12);
  const pid_t parent = start(words());
  int crashes = 0;
  for (int look = 0; look < 2000 && crashes < 2; ++look) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    if (exists("results/batch.log"))
      for (const pid_t child : children(parent))
        if (crashes < 2 && kill(child, SIGSEGV) == 0) ++crashes;
  }
  int status = 0;
  waitpid(parent, &status, 0);
  ASSERT_EQ(crashes, 2);
  ASSERT_TRUE(WIFEXITED(status)) << text("err_bg");
  // The scan that a dead worker had alone is a failure with a reason; every other one is done.
  const auto result = summary();
  EXPECT_EQ(result.at("finished").get<int>() + result.at("failed").get<int>(), 12);
  EXPECT_LE(result.at("failed").get<int>(), 2);
  EXPECT_EQ(WEXITSTATUS(status), result.at("failed") == 0 ? 0 : 1);
  EXPECT_DONE(batch(""));
  EXPECT_EQ(strays(), std::vector<std::string>{});
}

TEST_F(Batch, an_interrupt_keeps_what_is_done_and_leaves_nothing_else) {
  simulate(40);
  const pid_t child = start(words());
  for (int look = 0; look < 1000 && !exists("results/s1.manifest.json"); ++look)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  kill(child, SIGINT);
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT) << status;
  const auto result = summary();
  EXPECT_GE(result.at("finished").get<int>(), 1);
  EXPECT_GE(result.at("not_run").get<int>(), 1);
  EXPECT_EQ(strays(), std::vector<std::string>{});
  ASSERT_EQ(batch(""), 0);
  EXPECT_EQ(summary().at("unchanged"), result.at("finished"));
}

TEST_F(Batch, a_full_disk_stops_it_and_it_goes_on_when_there_is_space) {
  simulate(12);
  fs::create_directory(path("small"));
  if (std::system(("mount -t tmpfs -o size=220k none " + path("small") + " 2> " + path("err")).c_str()) != 0)
    GTEST_SKIP() << "no permission to mount a small file system";
  const int status = batch("", "small");
  const auto message = text("err");
  const bool enlarged = std::system(("mount -o remount,size=64m " + path("small")).c_str()) == 0;
  std::set<std::string> hidden;
  for (const auto& name : strays("small")) hidden.insert(name);
  const int again = batch("", "small");
  const auto result = summary("small");
  const bool unmounted = std::system(("umount " + path("small")).c_str()) == 0;
  EXPECT_TRUE(enlarged && unmounted);
  EXPECT_EQ(status, 1);
  EXPECT_NE(message.find("No space left on device"), std::string::npos) << message;
  EXPECT_EQ(hidden, std::set<std::string>{});
  EXPECT_EQ(again, 0) << text("err");
  EXPECT_EQ(result.at("failed"), 0);
  EXPECT_GE(result.at("unchanged").get<int>(), 1);
}

TEST_F(Batch, a_recipe_with_mistakes_is_refused_with_the_line) {
  simulate(1);
  const auto refused = [&](const std::string& name, const std::string& content, const std::string& expected) {
    std::ofstream(path(name)) << content;
    EXPECT_EQ(batch("--recipe " + path(name)), 2) << content;
    EXPECT_CONTAINS(text("err"), name + expected);
  };
  refused("r.toml", "iterations = 3\niteration = 4\n", ":2: ");
  refused("r.toml", "[\"*\"]\n\nlambda = [1,\n", ":");
  refused("r.toml", "[\"*\"]\nmethod = \"magic\"\n", ":2: ");
  refused("r.toml", "[\"*\"]\ndevice = \"cpu\"\n", ":2: ");
  refused("r.json", "{\"*\":\n {\"iterations\": 3,\n \"bogus\": 1}}", ": *: bogus: expected an option");
  refused("r.json", "{\"*\":\n {\"iterations\" 3}}", ": expected JSON, found ");
  refused("r.json", "[1]", ": expected an object, found array");
  refused("r.toml", "force = true\n", ":1: expected an option of 'fhd batch'");
  refused("r.toml", "regularizer = \"llr:0.01\"\n",
          ":1: one image: does not go together with --regularizer llr; leave it out, or reconstruct frames");
  refused("r.toml", "frames = 4\nspokes_per_frame = 3\n", ":1, ");
  refused("r.toml", "regularizer = 0.01\n", ":1: ");
  EXPECT_EQ(batch("--recipe " + path("absent.toml")), 2);
  EXPECT_EQ(batch("--regularizer temporal-tv:0.01"), 2);
  EXPECT_EQ(batch("--frames 4 --map-sets auto"), 2);
  EXPECT_EQ(batch("--force"), 2);
  EXPECT_EQ(text("err"), "fhd: unknown option --force; see 'fhd batch --help'\n");
  EXPECT_FALSE(exists("results")) << "a wrong command makes no folder";
  std::ofstream(path("file")) << "no folder";
  EXPECT_EQ(batch("", "file/results"), 1);
  EXPECT_LACKS(text("err"), "create it first");
}

TEST_F(Batch, scans_of_one_name_get_names_of_their_own_that_stay) {
  simulate(2);
  fs::create_directory(path("other"));
  fs::copy_file(path("scans/s1.h5"), path("other/s0.h5"));
  ASSERT_EQ(batch(""), 0);
  const auto first = text("results/s0.json");
  const auto both = path("other/s0.h5") + " " + path("scans/s0.h5") + " " + path("scans/s0.h5");
  ASSERT_EQ(run("batch " + both + " -o " + path("results") + " --device cpu --cache off"), 0);
  EXPECT_EQ(text("results/s0.json"), first);
  EXPECT_EQ(row("s0").at("status"), "unchanged");
  EXPECT_EQ(summary().at("finished"), 1);
  EXPECT_EQ(summary().at("scans").size(), 3u) << "two, and s1 of the earlier run";
  EXPECT_CONTAINS(text("out"), "its results are called s0-");
  const std::string reversed = path("scans/s0.h5") + " " + path("other/s0.h5");
  ASSERT_EQ(run("batch " + reversed + " -o " + path("results") + " --device cpu --cache off"), 0);
  EXPECT_EQ(summary().at("unchanged"), 2);
}

TEST_F(Batch, results_never_overwrite_a_scan) {
  simulate(1);
  const auto before = text("scans/s0.h5");
  EXPECT_EQ(run("batch " + path("scans") + " -o " + path("scans")), 2);
  EXPECT_EQ(text("scans/s0.h5"), before);
}

TEST_F(Batch, images_found_in_a_folder_are_passed_over_but_not_when_named) {
  simulate(1);
  ASSERT_EQ(run("recon " + path("scans/s0.h5") + " -o " + path("scans/image") + " --device cpu"), 0);
  ASSERT_DONE(batch(""));
  EXPECT_EQ(row("image").at("status"), "no scan");
  ASSERT_EQ(run("batch '" + path("scans") + "/*.h5' -o " + path("results") + " --device cpu --cache off"), 0);
  EXPECT_EQ(run("batch " + path("scans/image.h5") + " -o " + path("other")), 1);
}

TEST_F(Batch, true_images_of_simulations_are_passed_over_in_one_line) {
  simulate(1);
  for (const std::string name : {"t", "u"})
    ASSERT_EQ(run("simulate -o " + path("scans/" + name) + " --matrix 24 --coils 2 --field-hz 20"), 0);
  const std::string line = "4 files, such as " + path("scans/t.field.h5") +
                           ", hold true images or field maps of 'fhd simulate' and no scan: skipped\n";
  ASSERT_DONE(batch("--list"));
  EXPECT_EQ(std::ranges::count(text("out"), '\n'), 3) << text("out");
  ASSERT_DONE(batch("--iterations 2"));
  EXPECT_CONTAINS(text("out"), "note      " + line);
  EXPECT_EQ(summary().at("scans").size(), 3U);
  for (const std::string command : {"check ", "info "})
    for (const std::string& scans : {path("scans"), path("scans") + "/*.h5"}) {
      ASSERT_DONE(run(command + scans));
      EXPECT_TRUE(contains(text("out"), "note      " + line)) << command << scans << text("out");
      EXPECT_LACKS(text("out"), "truth");
    }
  ASSERT_DONE(run("info --json " + path("scans")));
  EXPECT_EQ(nlohmann::json::parse(text("out")).size(), 3U);
  for (const std::string command : {"info ", "check ", "batch -o other "})
    EXPECT_EQ(run(command + path("scans/t.truth.h5")), 1) << "nothing else is asked for";
}

TEST_F(Batch, a_scan_whose_stacks_would_have_the_name_of_another_fails_whichever_comes_first) {
  fs::create_directory(path("scans"));
  data::SimulationSettings settings;
  settings.trajectory.matrix_size = {16, 16, 1};
  settings.trajectory.fov_mm = {240, 240, 5};
  settings.coil_count = 2;
  io::ScanSeries one{1, 1, 0, {}}, stacks{1, 2, 0, {}};
  one.scans.push_back(data::simulate(settings).scan);
  stacks.scans.assign(2, one.scans.front());
  stacks.scans[1].geometry.position_mm = {0, 0, 20};
  stacks.scans[1].geometry.phase_direction = {0, 0, -1};
  stacks.scans[1].geometry.slice_direction = {0, 1, 0};
  io::write_scan(path("scans/x.h5"), io::ScanFormat::ismrmrd, stacks);
  io::write_scan(path("scans/x_2.h5"), io::ScanFormat::ismrmrd, one);
  for (const std::string first : {"x", "x_2"}) {
    const auto both = first == "x" ? "scans/x.h5 scans/x_2.h5" : "scans/x_2.h5 scans/x.h5";
    EXPECT_EQ(run(std::string("batch ") + both + " -o of_" + first + " --device cpu --cache off"), 1);
    EXPECT_CONTAINS(text("err"), "x_2, which is also the name of another scan");
    EXPECT_EQ(row("x", "of_" + first).at("status"), "failed");
    EXPECT_EQ(row("x_2", "of_" + first).at("status"), "finished");
    EXPECT_TRUE(exists("of_" + first + "/x_2.nii.gz"));
  }
  EXPECT_EQ(run("batch scans -o part --shard 1/2 --device cpu --cache off"), 1)
      << "also in a part without it";
  fs::remove(path("scans/x_2.h5"));
  write_noise(path("scans/x_2.h5"), 100);  // makes no result
  EXPECT_DONE(run("batch scans -o beside_noise --device cpu --cache off"));
}

TEST_F(Batch, lists_no_noise_as_new) {
  simulate(1);
  // There are more files than are looked at, and the noise is one of the longest.
  for (int i = 0; i < 40; ++i)
    fs::copy_file(path("scans/s0.h5"), path("scans/copy" + std::to_string(i) + ".h5"));
  write_noise(path("scans/noise.h5"), 20000);
  ASSERT_DONE(batch("--list"));
  EXPECT_LACKS(text("out"), "noise.h5");
  EXPECT_EQ(std::ranges::count(text("out"), '\n'), 41);
}

TEST_F(Batch, a_scan_beyond_the_memory_is_refused_and_the_rest_go_on) {
  simulate(2);
  ASSERT_EQ(run("simulate -o " + path("scans/large") + " --matrix 160 --coils 8 --no-maps"), 0);
  fs::remove(path("scans/large.truth.h5"));
  EXPECT_EQ(batch("--memory-mib 55"), 1);
  EXPECT_NE(row("large").at("why").get<std::string>().find("--memory-mib"), std::string::npos);
  EXPECT_EQ(row("s0").at("status"), "finished");
  EXPECT_EQ(row("s1").at("status"), "finished");
}

TEST_F(Batch, remembers_scans_of_earlier_runs) {
  simulate(3);
  fs::resize_file(path("scans/s2.h5"), 3000);
  EXPECT_EQ(batch(""), 1);
  ASSERT_DONE(run("batch scans/s0.h5 -o results --device cpu --cache off"));
  EXPECT_CONTAINS(text("out"), "1 scans: 0 finished, 1 unchanged, 0 failed; 2 more of earlier runs");
  EXPECT_EQ(row("s0").at("status"), "unchanged");
  EXPECT_EQ(row("s1").at("status"), "earlier");
  EXPECT_EQ(row("s1").at("scan"), path("scans/s1.h5"));
  EXPECT_GT(row("s1").at("iterations").get<int>(), 0);
  EXPECT_EQ(row("s2").at("status"), "failed earlier");
  EXPECT_NE(row("s2").at("why"), "");
  EXPECT_EQ(summary().at("earlier"), 2);
  EXPECT_EQ(summary().at("failed"), 0) << "not of this run";
  EXPECT_CONTAINS(text("results/summary.csv"), "s1," + path("scans/s1.h5") + ",earlier,");
  EXPECT_NE(text("results/index.html").find("\"s1.png\""), std::string::npos)
      << "its picture stays in the index";
  fs::remove(path("results/s1.png"));
  ASSERT_EQ(run("batch scans/s0.h5 -o results --device cpu --cache off"), 0);
  EXPECT_EQ(row("s1").at("why"), "s1.png is missing or changed");
  fs::remove(path("scans/s2.h5"));
  ASSERT_EQ(batch(""), 0) << "all that are there are in one run again";
  EXPECT_EQ(summary().at("earlier"), 1);
}

TEST_F(Batch, keeps_what_another_version_made_where_that_is_accepted) {
  simulate(2);
  ASSERT_EQ(batch(""), 0);
  for (const std::string name : {"s0", "s1"}) {
    const auto file = path("results/" + name + ".manifest.json");
    auto manifest = nlohmann::json::parse(bytes_of(file));
    manifest["version"] = "0.0.9";
    write_text(file, manifest.dump());
  }
  fs::last_write_time(path("scans/s1.h5"), fs::file_time_type::clock::now());  // touched: its content decides
  const auto before = text("results/s0.h5");
  ASSERT_DONE(batch("--accept-version"));
  EXPECT_EQ(summary().at("unchanged"), 2);
  EXPECT_EQ(row("s0").at("why"), "made by version 0.0.9, kept");
  EXPECT_EQ(text("results/s0.h5"), before);
  ASSERT_EQ(batch("--accept-version --iterations 2"), 0) << "other options are another image";
  EXPECT_EQ(row("s0").at("why"), "settings changed");
  auto manifest = nlohmann::json::parse(text("results/s1.manifest.json"));
  manifest["version"] = "0.0.9";
  write_text(path("results/s1.manifest.json"), manifest.dump());
  ASSERT_EQ(batch("--iterations 2"), 0);
  EXPECT_EQ(row("s0").at("status"), "unchanged");
  EXPECT_EQ(row("s1").at("why"), "made by version 0.0.9");
}

}  // namespace
}  // namespace fhd::tests
