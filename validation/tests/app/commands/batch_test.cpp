// fhd batch: what is done, what is recorded, what is done again, and what a failure costs.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <sstream>
#include <thread>

#include "io/hdf5/hdf5.hpp"
#include "io/result/manifest.hpp"
#include "io/result/results.hpp"
#include "validation/tests/processes.hpp"
#include "validation/tests/program.hpp"

namespace fhd::tests {
namespace {

namespace fs = std::filesystem;

class Batch : public ProgramTest {
 protected:
  /// scans/s0.h5 ...: tiny scans of one trajectory, alike in everything but their noise.
  void simulate(int count) {
    fs::create_directory(path("scans"));
    setenv("OMP_NUM_THREADS", "1", 1);  // too small to share
    for (int i = 0; i < count; ++i) {
      const auto name = path("scans/s" + std::to_string(i));
      ASSERT_EQ(run("simulate -o " + name + " --matrix 24 --coils 2 --seed " + std::to_string(i)), 0)
          << text("err");
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
  std::set<std::string> names_in(const std::string& folder) const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(path(folder))) names.insert(entry.path().filename());
    return names;
  }
  /// Returns the temporary files that were left in a folder of results.
  std::vector<std::string> strays(const std::string& folder = "results") const {
    const auto names = names_in(folder);
    std::vector<std::string> found;
    std::ranges::copy_if(names, std::back_inserter(found),
                         [](const auto& one) { return one.starts_with("."); });
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

TEST_F(Batch, makes_the_images_of_single_runs) {
  simulate(3);
  ASSERT_EQ(batch(""), 0) << text("err");
  EXPECT_NE(text("out").find("3 scans: 3 finished, 0 unchanged, 0 failed"), std::string::npos) << text("out");
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
  simulate(7);
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
  std::ofstream(path("results/s5.manifest.json")) << "{\"format\": 1";                       // damaged
  {
    std::fstream file(path("results/s6.h5"), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(3000);
    file.put('x');
  }
  ASSERT_EQ(batch(""), 0) << text("err");
  EXPECT_EQ(row("s0").at("status"), "unchanged");
  EXPECT_EQ(text("results/s0.json"), before);
  EXPECT_EQ(row("s5").at("status"), "finished");
  EXPECT_EQ(row("s6").at("why"), "s6.h5 is missing or changed");
  EXPECT_EQ(row("s1").at("why"), "s1.png is missing or changed");
  EXPECT_EQ(row("s2").at("why"), "input changed");
  EXPECT_EQ(row("s3").at("status"), "unchanged");
  EXPECT_EQ(row("s4").at("why"), "failed before");

  ASSERT_EQ(batch("--iterations 3"), 0);
  EXPECT_EQ(summary().at("finished"), 7);
  EXPECT_EQ(row("s0").at("why"), "settings changed");
  ASSERT_EQ(batch("--iterations 3 --threads 1"), 0);  // does not change the result
  EXPECT_EQ(summary().at("unchanged"), 7);
}

TEST_F(Batch, goes_on_beside_ten_scans_that_are_corrupt_in_ten_ways) {
  simulate(12);
  const auto scan = [&](int i) { return path("scans/s" + std::to_string(i) + ".h5"); };
  const auto replace = [&](int i, const std::string& content) {
    std::ofstream(scan(i), std::ios::binary | std::ios::trunc) << content;
  };
  std::string list;
  for (int i = 0; i < 12; ++i) list += scan(i) + "\n";
  std::ofstream(path("list.txt")) << "# all of them\n\n" << list;
  const auto nan_scan = [&](int i, const io::hdf5::Extents& extents, float value) {
    auto file = io::hdf5::File::create(scan(i), scan(i));
    const std::vector<float> k{0, 0, 1, 1, 2, 2};
    file.write("/trajectory", k.data(), {3, 2});
    file.write_attribute("/trajectory", "unit", "cycles/FOV");
    std::size_t count = 1;
    for (const auto n : extents) count *= static_cast<std::size_t>(n);
    std::vector<Complex<float>> values(count, Complex<float>(value, 0));
    file.write("/kspace", values.data(), extents);
    file.write_attribute("/", "matrix_size", std::vector<int>{24, 24, 1});
    file.close();
  };
  fs::resize_file(scan(0), fs::file_size(scan(0)) / 2);  // truncated
  fs::resize_file(scan(1), 700);                         // little more than its first block
  replace(2, "not HDF5 at all");                         // another format
  replace(3, "");                                        // empty
  fs::remove(scan(4));                                   // missing
  fs::remove(scan(5)), fs::create_directory(scan(5));    // an empty directory
  nan_scan(6, {1, 3}, std::numeric_limits<float>::quiet_NaN());
  nan_scan(7, {1, 1, 1, 1, 1, 3}, 1);  // wrong rank
  nan_scan(8, {1, 2}, 1);              // fewer values than positions
  fs::remove(scan(9));
  ASSERT_EQ(mkfifo(scan(9).c_str(), 0600), 0);  // a pipe

  EXPECT_EQ(run("batch @" + path("list.txt") + " -o " + path("results") + " --device cpu --cache off"), 1);
  EXPECT_EQ(summary().at("finished"), 2);
  EXPECT_EQ(summary().at("failed"), 10);
  for (int i = 0; i < 10; ++i) {
    const auto why = row("s" + std::to_string(i)).at("why").get<std::string>();
    EXPECT_NE(why.find("s" + std::to_string(i)), std::string::npos) << why;
    EXPECT_EQ(why.find('\n'), std::string::npos) << why;
    EXPECT_FALSE(fs::exists(path("results/s" + std::to_string(i) + ".h5")));
  }
  EXPECT_EQ(strays(), std::vector<std::string>{});
}

TEST_F(Batch, killed_at_any_moment_it_loses_nothing_that_was_finished) {
  simulate(16);
  ASSERT_EQ(batch("", "whole"), 0);
  std::mt19937 random(7);
  std::uniform_int_distribution<int> milliseconds(1, 250);
  int kills = 0;
  for (; kills < 12; ++kills) {
    const pid_t child = start(words());
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds(random)));
    std::map<std::string, std::string> finished;  // name, manifest
    kill(child, SIGKILL);
    status_of(child);
    for (int i = 0; i < 16 && fs::exists(path("results")); ++i) {
      const auto file = "results/s" + std::to_string(i) + ".manifest.json";
      if (fs::exists(path(file))) finished[file] = text(file);
    }
    if (kills % 3 == 2) {  // what was finished is taken as it is
      ASSERT_EQ(batch(""), 0) << text("err");
      for (const auto& [file, content] : finished) {
        const auto now = nlohmann::json::parse(text(file)), then = nlohmann::json::parse(content);
        EXPECT_EQ(now.at("ended_ns"), then.at("ended_ns")) << file << " was done again";
      }
      EXPECT_EQ(strays(), std::vector<std::string>{});
      for (int i = 0; i < 16; ++i) {
        const auto name = "/s" + std::to_string(i) + ".h5";
        EXPECT_EQ(image_bytes("results" + name), image_bytes("whole" + name));
      }
      EXPECT_EQ(names_in("results"), names_in("whole"));
      fs::remove_all(path("results"));
    }
  }
}

TEST_F(Batch, lists_what_is_missing_and_does_parts_of_it) {
  simulate(6);
  const auto missing = [&](const std::string& arguments = {}) {
    EXPECT_EQ(batch("--list " + arguments), 0) << text("err");
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
  EXPECT_FALSE(fs::exists(path("results"))) << "a list makes nothing";
  fs::resize_file(path("scans/s2.h5"), 3000);
  const pid_t first = start_batch("--shard=1/2"), second = start_batch("--shard=2/2");  // at the same time
  EXPECT_EQ(std::set({status_of(first), status_of(second)}), (std::set{0, 1}));
  EXPECT_FALSE(fs::exists(path("results/summary.json"))) << "of a batch as a whole";
  EXPECT_EQ(missing(), (Reasons{{"s2", "failed"}}));
  fs::remove(path("results/s1.png"));
  fs::last_write_time(path("scans/s3.h5"), fs::file_time_type::clock::now());  // touched: its content decides
  EXPECT_EQ(missing(), (Reasons{{"s1", "results_changed"}, {"s2", "failed"}}));
  EXPECT_EQ(batch("--only s1"), 0) << text("err");
  EXPECT_EQ(missing("--iterations 3 --shard 6/6"), (Reasons{{"s5", "settings_changed"}}));
  ASSERT_EQ(run("simulate -o " + path("scans/s2") + " --matrix 24 --coils 2 --force"), 0);
  fs::remove(path("scans/s2.truth.h5"));
  EXPECT_EQ(batch("--shard 7/8"), 0) << "nothing to do";
  EXPECT_EQ(batch("--only s2"), 0) << text("err");
  EXPECT_EQ(missing(), Reasons{});
  ASSERT_EQ(batch(""), 0) << text("err");
  EXPECT_EQ(summary().at("unchanged"), 6);
  EXPECT_TRUE(fs::exists(path("results/index.html")));
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
    if (fs::exists(path("results/batch.log")))
      for (const auto& child : children_of(parent))
        if (child.name != "fhd: reader" && crashes < 2 && kill(child.number, SIGSEGV) == 0) ++crashes;
  }
  const int status = status_of(parent);
  ASSERT_EQ(crashes, 2);
  // The scan that a dead worker had alone is a failure with a reason; every other one is done.
  const auto result = summary();
  EXPECT_EQ(result.at("finished").get<int>() + result.at("failed").get<int>(), 12);
  EXPECT_LE(result.at("failed").get<int>(), 2);
  EXPECT_EQ(status, result.at("failed") == 0 ? 0 : 1) << text("err_bg");
  EXPECT_EQ(batch(""), 0) << text("err");
  EXPECT_EQ(strays(), std::vector<std::string>{});
}

TEST_F(Batch, an_interrupt_keeps_what_is_done_and_leaves_nothing_else) {
  simulate(40);
  const pid_t child = start(words());
  for (int look = 0; look < 1000 && !fs::exists(path("results/s1.manifest.json")); ++look)
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

/// Returns whether a file system of that size is mounted at `folder` now.
bool mount(const std::string& folder, int kib, const std::string& options = {}) {
  fs::create_directories(folder);
  const auto command = "mount -t tmpfs -o " + options + "size=" + std::to_string(kib) + "k none " + folder;
  return std::system((command + " 2> /dev/null").c_str()) == 0;
}

TEST_F(Batch, a_full_disk_stops_it_and_it_goes_on_when_there_is_space) {
  simulate(12);
  const auto small = path("small");
  if (!mount(small, 220)) GTEST_SKIP() << "no permission to mount a small file system";
  const int status = batch("", "small");
  const auto message = text("err");
  const bool enlarged = mount(small, 65536, "remount,");
  const auto hidden = strays("small");
  const int again = batch("", "small");
  const auto result = summary("small");
  const bool unmounted = std::system(("umount " + small).c_str()) == 0;
  EXPECT_TRUE(enlarged && unmounted);
  EXPECT_EQ(status, 1);
  EXPECT_NE(message.find("No space left on device"), std::string::npos) << message;
  EXPECT_EQ(hidden, std::vector<std::string>{});
  EXPECT_EQ(again, 0) << text("err");
  EXPECT_EQ(result.at("failed"), 0);
  EXPECT_GE(result.at("unchanged").get<int>(), 1);
  // Where the space ends, in the results or in the summary, differs with every block.
  for (const int kib : {136, 140, 144, 148, 204, 208, 212, 216}) {
    ASSERT_TRUE(mount(small, kib));
    EXPECT_EQ(batch("", "small"), 1) << kib;
    const auto left = strays("small");
    EXPECT_EQ(std::system(("umount " + small).c_str()), 0);
    EXPECT_EQ(left, std::vector<std::string>{}) << kib;
  }
}

TEST_F(Batch, a_recipe_gives_options_to_scans_that_fit) {
  simulate(3);
  std::ofstream(path("recipe.toml")) << "iterations = 9\n[\"s1\"]\niterations = 4\ntolerance = 0\n"
                                     << "[\"*/scans/s2.*\"]\nmethod = \"gridded\"\niterations = 5\n";
  EXPECT_EQ(batch("--recipe " + path("recipe.toml")), 2);  // gridded has no iterations
  EXPECT_NE(text("err").find("recipe.toml:7"), std::string::npos) << text("err");
  std::ofstream(path("recipe.toml")) << "[\"s1\"]\niterations = 4\ntolerance = 0\n";
  ASSERT_EQ(batch("--iterations 9 --recipe " + path("recipe.toml")), 0) << text("err");
  EXPECT_EQ(row("s0").at("iterations"), 9);
  EXPECT_EQ(row("s1").at("iterations"), 4);
  std::ofstream(path("recipe.json")) << "{\n \"s1\": {\n  \"iterations\": 4, \"tolerance\": 0 }\n}";
  ASSERT_EQ(batch("--iterations 9 --recipe " + path("recipe.json")), 0) << text("err");
  EXPECT_EQ(summary().at("unchanged"), 3);
}

TEST_F(Batch, a_recipe_with_mistakes_is_refused_with_the_line) {
  simulate(1);
  const auto refused = [&](const std::string& name, const std::string& content, const std::string& expected) {
    std::ofstream(path(name)) << content;
    EXPECT_EQ(batch("--recipe " + path(name)), 2) << content;
    EXPECT_NE(text("err").find(name + expected), std::string::npos) << text("err");
  };
  refused("r.toml", "[\"*\"]\nmethod = \"magic\"\n", ":2: ");
  refused("r.toml", "[\"*\"]\ndevice = \"cpu\"\n", ":2: ");
  refused("r.json", "{\"*\":\n {\"iterations\": 3,\n \"bogus\": 1}}", ": *: bogus: expected an option");
  refused("r.toml", "force = true\n", ":1: expected an option of 'fhd batch'");
  refused("r.toml", "regularizer = \"llr:0.01\"\n",
          ":1: --regularizer llr: expected --frames, --spokes-per-frame or --gate beside it");
  refused("r.toml", "frames = 4\nspokes_per_frame = 3\n", ":1, ");
  EXPECT_EQ(batch("--frames 4 --map-sets auto"), 2);
  EXPECT_EQ(batch("--force"), 2);
  EXPECT_EQ(text("err"),
            "fhd: unknown option --force of 'fhd batch': only 'fhd recon' has it; see 'fhd batch --help'\n");
  EXPECT_FALSE(fs::exists(path("results"))) << "a wrong command makes no folder";
  std::ofstream(path("file")) << "no folder";
  EXPECT_EQ(batch("", "file/results"), 1);
  EXPECT_EQ(text("err").find("create it first"), std::string::npos) << text("err");
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
  EXPECT_NE(text("out").find("its results are called s0-"), std::string::npos) << text("out");
  const std::string reversed = path("scans/s0.h5") + " " + path("other/s0.h5");
  ASSERT_EQ(run("batch " + reversed + " -o " + path("results") + " --device cpu --cache off"), 0);
  EXPECT_EQ(summary().at("unchanged"), 2);
}

TEST_F(Batch, images_found_in_a_folder_are_passed_over_but_not_when_named) {
  simulate(1);
  ASSERT_EQ(run("simulate -o " + path("scans/t") + " --matrix 24 --coils 2"), 0);
  ASSERT_EQ(batch(""), 0) << text("err");
  EXPECT_EQ(row("t.truth").at("status"), "no scan");
  ASSERT_EQ(run("batch '" + path("scans") + "/*.h5' -o " + path("results") + " --device cpu --cache off"), 0);
  EXPECT_EQ(run("batch " + path("scans/t.truth.h5") + " -o " + path("results")), 1);
  const auto before = text("scans/s0.h5");
  EXPECT_EQ(run("batch " + path("scans") + " -o " + path("scans")), 2) << "results overwrite no scan";
  EXPECT_EQ(text("scans/s0.h5"), before);
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
  ASSERT_EQ(run("batch scans/s0.h5 -o results --device cpu --cache off"), 0) << text("err");
  EXPECT_NE(text("out").find("1 scans: 0 finished, 1 unchanged, 0 failed; 2 more of earlier runs"),
            std::string::npos)
      << text("out");
  EXPECT_EQ(row("s0").at("status"), "unchanged");
  EXPECT_EQ(row("s1").at("status"), "earlier");
  EXPECT_EQ(row("s1").at("scan"), path("scans/s1.h5"));
  EXPECT_GT(row("s1").at("iterations").get<int>(), 0);
  EXPECT_EQ(row("s2").at("status"), "failed earlier");
  EXPECT_NE(row("s2").at("why"), "");
  EXPECT_EQ(summary().at("earlier"), 2);
  EXPECT_EQ(summary().at("failed"), 0) << "not of this run";
  EXPECT_NE(text("results/summary.csv").find("s1," + path("scans/s1.h5") + ",earlier,"), std::string::npos);
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
  const auto age = [&](const std::string& name) {
    auto manifest = nlohmann::json::parse(text("results/" + name + ".manifest.json"));
    manifest["version"] = "0.0.9";
    write_text(path("results/" + name + ".manifest.json"), manifest.dump());
  };
  age("s0"), age("s1");
  fs::last_write_time(path("scans/s1.h5"), fs::file_time_type::clock::now());  // touched: its content decides
  const auto before = text("results/s0.h5");
  ASSERT_EQ(batch("--accept-version"), 0) << text("err");
  EXPECT_EQ(summary().at("unchanged"), 2);
  EXPECT_EQ(row("s0").at("why"), "made by version 0.0.9, kept");
  EXPECT_EQ(text("results/s0.h5"), before);
  ASSERT_EQ(batch("--accept-version --iterations 2"), 0) << "other options are another image";
  EXPECT_EQ(row("s0").at("why"), "settings changed");
  age("s1");
  ASSERT_EQ(batch("--iterations 2"), 0);
  EXPECT_EQ(row("s0").at("status"), "unchanged");
  EXPECT_EQ(row("s1").at("why"), "made by version 0.0.9");
}

TEST_F(Batch, lines_of_the_log_name_host_and_job_and_quiet_prints_nothing_but_errors) {
  simulate(1);
  char host[256]{};
  ASSERT_EQ(gethostname(host, sizeof host - 1), 0);
  for (const std::string job : {"SLURM_JOB_ID=77.a", "LSB_JOBID=\"$(printf '77.a\\n2')\""}) {
    fs::remove_all(path("results"));
    EXPECT_EQ(run_command("env -u SLURM_JOB_ID -u PBS_JOBID -u LSB_JOBID " + job + " '" + program() +
                          "' batch scans -o results --device cpu --cache off --quiet"),
              0);
    EXPECT_EQ(text("out") + text("err"), "");
    const auto log = text("results/batch.log");
    EXPECT_NE(log.find("Z [" + std::string(host) + ", job 77.a"), std::string::npos) << log;
    EXPECT_EQ(log.find("\n2]"), std::string::npos) << log;
    EXPECT_NE(log.find("1 scans: 1 finished"), std::string::npos);
  }
}

}  // namespace
}  // namespace fhd::tests
