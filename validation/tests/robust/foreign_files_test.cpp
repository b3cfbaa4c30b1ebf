// Files of the user under the names that a batch or a report would write: they stay.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "io/result/manifest.hpp"
#include "validation/tests/io/io_scans.hpp"
#include "validation/tests/program.hpp"

namespace fhd::tests {
namespace {

namespace fs = std::filesystem;

class ForeignFiles : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    setenv("OMP_NUM_THREADS", "1", 1);  // too small to share
    ASSERT_EQ(run("simulate -o a --matrix 16 --coils 2"), 0) << text("err");
    fs::create_directory(path("r"));
  }
  int batch(const std::string& options = "") const {
    return run("batch a.h5 -o r --device cpu --cache off " + options);
  }
  void write_precious(const std::string& name) const { write_text(path(name), "precious\n"); }
  void expect_precious(const std::string& name) const { EXPECT_EQ(text(name), "precious\n") << name; }
  int simulate_another() const { return run("simulate -o a --matrix 16 --coils 2 --seed 5 --force"); }
};

TEST_F(ForeignFiles, a_batch_whose_index_or_summary_they_are_does_not_begin) {
  for (const std::string name : {"r/index.html", "r/summary.json", "r/summary.csv"}) {
    write_precious(name);
    EXPECT_EQ(batch(), 1) << name;
    EXPECT_CONTAINS(text("err"), "another file; move it, or choose another folder (-o)\n");
    EXPECT_CONTAINS(text("err"), name);
    expect_precious(name);
    EXPECT_FALSE(fs::exists(path("r/a.h5"))) << name;
    fs::remove(path(name));
  }
  EXPECT_EQ(batch(), 0) << text("err");
}

TEST_F(ForeignFiles, a_scan_of_a_batch_whose_results_they_are_fails) {
  for (const std::string name : {"r/a.h5", "r/a.json", "r/a.png", "r/a.nii.gz"}) {
    write_precious(name);
    for (int run = 0; run < 2; ++run) {  // what the first one noted is no permission
      EXPECT_EQ(batch(), 1) << name;
      EXPECT_CONTAINS(text("r/summary.json"), "move it, or choose another folder (-o)");
      expect_precious(name);
    }
    fs::remove(path(name));
  }
  EXPECT_EQ(batch(), 0) << text("err");
}

TEST_F(ForeignFiles, its_own_results_a_batch_replaces_also_after_a_failure) {
  ASSERT_EQ(batch("--phase"), 0) << text("err");
  ASSERT_EQ(batch("--iterations 3"), 0) << text("err");
  ASSERT_EQ(batch("--iterations 4 --phase"), 0) << text("r/summary.json");
  const auto whole = text("a.h5");
  write_text(path("a.h5"), whole.substr(0, 2000));
  ASSERT_EQ(batch(), 1);
  const auto failed = io::read_manifest(path("r/a.manifest.json"));
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->products.size(), 5u);
  ASSERT_EQ(simulate_another(), 0) << text("err");
  EXPECT_EQ(batch(), 0) << text("r/summary.json");
}

TEST_F(ForeignFiles, results_of_the_scan_as_it_was_are_replaced_where_a_manifest_is_lost) {
  ASSERT_EQ(batch(), 0) << text("err");
  fs::remove(path("r/a.manifest.json"));
  ASSERT_EQ(simulate_another(), 0) << text("err");
  EXPECT_EQ(batch(), 0) << text("r/summary.json");
}

TEST_F(ForeignFiles, words_of_a_full_disk_in_a_failure_do_not_stop_a_batch) {
  write_text(path("No space left on device.h5"), "no scan");
  ASSERT_EQ(run("batch 'No space left on device.h5' a.h5 -o r --device cpu --cache off --at-once 1"), 1);
  EXPECT_CONTAINS(text("out"), "2 scans: 1 finished, 0 unchanged, 1 failed");
  EXPECT_TRUE(fs::exists(path("r/a.h5")));
}

TEST_F(ForeignFiles, a_page_that_is_none_of_fhd_is_replaced_by_force_alone) {
  ASSERT_EQ(run("recon a.h5 -o r/a --device cpu"), 0) << text("err");
  write_precious("r/a.html");
  EXPECT_EQ(run("report r/a.h5"), 1);
  EXPECT_EQ(text("err"),
            "fhd: r/a.html: expected a new name, or a page of 'fhd report', found another file; --force "
            "overwrites it\n");
  expect_precious("r/a.html");
  EXPECT_EQ(run("report r/a.h5 --force"), 0) << text("err");
  EXPECT_EQ(run("report r/a.h5"), 0) << "its own page: " << text("err");
}

TEST_F(ForeignFiles, pages_of_a_folder_leave_them_alone) {
  ASSERT_EQ(run("recon a.h5 -o r/a --device cpu"), 0) << text("err");
  write_text(path("r/nothing.h5"), "no result");
  write_text(path("r/summary.json"), R"({"scans": [{"name": "nothing"}, {"name": "a"}]})");
  for (const char* name : {"r/index.html", "r/nothing.html", "r/a.html"}) write_precious(name);
  EXPECT_EQ(run("report r"), 1);
  EXPECT_CONTAINS(text("err"), "r/index.html: expected a new name, or a page of 'fhd report', found another");
  for (const char* name : {"r/index.html", "r/nothing.html", "r/a.html"}) expect_precious(name);
  fs::remove(path("r/index.html"));
  EXPECT_EQ(run("report r"), 1);
  EXPECT_CONTAINS(text("err"),
                  "r/a.html: expected a new name, or a page of 'fhd report', found another file");
  for (const char* name : {"r/nothing.html", "r/a.html"}) expect_precious(name);
}

}  // namespace
}  // namespace fhd::tests
