#include "app/batch/ledger.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "io/files/file_set.hpp"
#include "recon/error.hpp"
#include "validation/tests/scratch.hpp"

namespace fhd::app {
namespace {

namespace fs = std::filesystem;
using Claims = tests::ScratchTest;

template <class Action>
std::string error_of(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST_F(Claims, tell_whether_a_process_that_died_had_it) {
  const std::string directory = path("");
  {
    const auto claim = Claim::take(directory, "scan");
    ASSERT_TRUE(claim);
    EXPECT_FALSE(claim->was_left());
    EXPECT_FALSE(Claim::take(directory, "scan")) << "taken twice";
  }
  EXPECT_FALSE(std::filesystem::exists(path(".claims/scan")));
  std::ofstream(path(".claims/scan"));  // as a process leaves it that is killed
  const auto claim = Claim::take(directory, "scan");
  ASSERT_TRUE(claim);
  EXPECT_TRUE(claim->was_left());
}

TEST_F(Claims, in_a_folder_behind_a_link_are_refused_and_nothing_is_removed_there) {
  fs::create_directory(path("victim"));
  for (const char* name : {"empty", "photo"}) tests::write_text(path("victim/") + name, "");
  fs::create_symlink(path("victim"), path(".claims"));
  EXPECT_EQ(error_of([&] { remove_strays(path("")); }),
            path(".claims") + ": expected a folder, found a link; remove it");
  EXPECT_NE(error_of([&] { Claim::take(path(""), "scan"); }), "");
  EXPECT_TRUE(fs::exists(path("victim/empty")) && fs::exists(path("victim/photo")));
  EXPECT_FALSE(fs::exists(path("victim/scan")));
}

TEST_F(Claims, are_none_where_a_file_of_others_lies) {
  fs::create_directory(path(".claims"));
  tests::write_text(path(".claims/letter"), "mine");
  tests::write_text(path("victim"), "");
  fs::create_symlink(path("victim"), path(".claims/link"));
  fs::create_hard_link(path("victim"), path(".claims/second_name"));
  ASSERT_EQ(::mkfifo(path(".claims/pipe").c_str(), 0600), 0);
  remove_strays(path(""));
  for (const char* name : {"letter", "link", "second_name", "pipe"}) {
    EXPECT_TRUE(fs::exists(fs::symlink_status(path(".claims/") + name))) << name;
    EXPECT_NE(
        error_of([&] { Claim::take(path(""), name); }).find("expected nothing, or the claim of a batch"),
        std::string::npos)
        << name;
  }
  EXPECT_EQ(tests::bytes_of(path(".claims/letter")), "mine");
}

TEST_F(Claims, of_processes_that_were_killed_go_with_their_litter) {
  fs::create_directory(path(".claims"));
  std::ofstream(path(".claims/scan"));
  tests::write_text(path(".fhd-0123456789abcdef-scan.h5"), "half");
  tests::write_text(path(".fhd-0123456789abcdef-scan.manifest.json"), "half");
  tests::write_text(path(".fhd-lock-scan"), "");
  tests::write_text(path(".fhd-notes"), "mine");
  remove_strays(path(""));
  std::vector<std::string> left;
  for (const auto& entry : fs::directory_iterator(path(""))) left.push_back(entry.path().filename());
  EXPECT_EQ(left, std::vector<std::string>{".fhd-notes"});
}

TEST_F(Claims, do_not_take_the_temporary_files_of_a_run_that_is_alive) {
  const io::OutputLock lock(path("scan"));  // of fhd recon -o DIR/scan
  io::FileSet files(lock);
  files.add(path("scan.h5"));
  files.add(path("scan.truth.h5"));  // of fhd simulate: the lock is of another name
  remove_strays(path(""));
  EXPECT_NO_THROW(files.commit());
  EXPECT_TRUE(fs::exists(path("scan.h5")) && fs::exists(path("scan.truth.h5")));
}

TEST_F(Claims, do_not_take_the_unfinished_page_of_a_report_that_is_alive) {
  io::AtomicFile page(path("index.html")), folder = io::AtomicFile::directory(path("scan_dicom"));
  remove_strays(path(""));
  EXPECT_NO_THROW(page.commit());
  EXPECT_NO_THROW(folder.commit());
  EXPECT_TRUE(fs::exists(path("index.html")) && fs::is_directory(path("scan_dicom")));
}

TEST_F(Claims, and_the_log_are_never_written_through_a_link) {
  tests::write_text(path("victim"), "mine");
  const auto log = [&] { BatchLog(path(""), true, Ranks::of_environment(), 1).line("told"); };
  fs::create_symlink(path("victim"), path("batch.log"));
  EXPECT_EQ(error_of(log),
            path("batch.log") +
                ": expected the log of a batch, found a link, or something else that is no file; remove it");
  fs::remove(path("batch.log"));
  fs::create_hard_link(path("victim"), path("batch.log"));
  EXPECT_NE(error_of(log), "");
  fs::remove(path("batch.log"));
  ASSERT_EQ(::mkfifo(path("batch.log").c_str(), 0600), 0);
  EXPECT_NE(error_of(log), "");
  fs::remove(path("batch.log"));
  EXPECT_EQ(error_of(log), "");
  EXPECT_EQ(tests::bytes_of(path("victim")), "mine");
}

}  // namespace
}  // namespace fhd::app
