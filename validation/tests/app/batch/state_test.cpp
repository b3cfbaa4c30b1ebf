#include "app/batch/state.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "io/files/file_set.hpp"
#include "recon/error.hpp"
#include "validation/tests/scratch.hpp"

namespace fhd::app {
namespace {

namespace fs = std::filesystem;
using BatchFolder = tests::ScratchTest;

template <class Action>
std::string error_of(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST_F(BatchFolder, loses_what_killed_runs_left) {
  tests::write_text(path(".fhd-0123456789abcdef-scan.h5"), "half");
  tests::write_text(path(".fhd-0123456789abcdef-scan.manifest.json"), "half");
  tests::write_text(path(".fhd-lock-scan"), "");
  tests::write_text(path(".fhd-notes"), "mine");
  remove_leftovers(path(""));
  std::vector<std::string> left;
  for (const auto& entry : fs::directory_iterator(path(""))) left.push_back(entry.path().filename());
  EXPECT_EQ(left, std::vector<std::string>{".fhd-notes"});
}

TEST_F(BatchFolder, keeps_the_temporary_files_of_runs_that_are_alive) {
  const io::OutputLock lock(path("scan"));  // of fhd recon -o DIR/scan
  io::FileSet files(lock);
  files.add(path("scan.h5"));
  files.add(path("scan.truth.h5"));  // of fhd simulate: the lock is of another name
  io::AtomicFile page(path("index.html")), folder = io::AtomicFile::directory(path("scan_dicom"));
  remove_leftovers(path(""));
  EXPECT_NO_THROW(files.commit());
  EXPECT_NO_THROW(page.commit());
  EXPECT_NO_THROW(folder.commit());
  EXPECT_TRUE(fs::exists(path("scan.h5")) && fs::exists(path("scan.truth.h5")));
  EXPECT_TRUE(fs::exists(path("index.html")) && fs::is_directory(path("scan_dicom")));
}

TEST_F(BatchFolder, is_of_one_batch_or_of_its_parts) {
  using Part = BatchLog::Part;
  const auto refused = [&](Part part) {
    return error_of([&] {
             BatchLog(path(""), true, part, 1);
           }).find("no other 'fhd batch' is at work, found one") != std::string::npos;
  };
  {
    const BatchLog whole(path(""), true, Part::whole, 1);
    ASSERT_TRUE(whole.has_locks());
    EXPECT_TRUE(refused(Part::whole));
    EXPECT_TRUE(refused(Part::part));
  }
  const BatchLog part(path(""), true, Part::part, 1);
  EXPECT_FALSE(refused(Part::part));
  EXPECT_TRUE(refused(Part::whole));
}

TEST_F(BatchFolder, has_no_log_that_is_a_link_or_a_pipe) {
  tests::write_text(path("victim"), "mine");
  const auto log = [&] { BatchLog(path(""), true, BatchLog::Part::whole, 1).line("told"); };
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
