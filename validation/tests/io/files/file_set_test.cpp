// Sets of files: all or none, whatever is planted in their folder, whatever fails; one run at a time.
#include "io/files/file_set.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <thread>

#include "io/files/commit_log.hpp"
#include "recon/error.hpp"
#include "validation/tests/io/failing_disk.hpp"
#include "validation/tests/io/io_scans.hpp"
#include "validation/tests/scratch.hpp"

namespace fhd::io {
namespace {

namespace fs = std::filesystem;

class SetTest : public tests::ScratchTest {
 protected:
  std::map<std::string, std::string> contents() const {
    std::map<std::string, std::string> found;
    for (const auto& entry : fs::directory_iterator(folder()))
      found[entry.path().filename()] = entry.is_regular_file() ? tests::bytes_of(entry.path())
                                       : entry.is_directory()  ? "a folder"
                                                               : "?";
    return found;
  }
  /// Leaves out folders that the completion of an interrupted set has replaced: it deletes nothing.
  std::map<std::string, std::string> without_replaced_folders() const {
    auto found = contents();
    std::erase_if(
        found, [](const auto& file) { return file.first.starts_with(".fhd-") && file.second == "a folder"; });
    return found;
  }
  void write(AtomicFile& to, const std::string& text) const {
    write_bytes(to.temporary(), text.data(), text.size(), to.path());
  }
  /// A set of three files and a folder, all with the same text.
  void add_all(FileSet& files, const std::string& text) const {
    for (const char* name : {"out.h5", "out.json", "out.png"}) write(files.add(path(name)), text);
    auto& series = files.add_replacing_directory(path("series"));
    write_bytes(series.temporary() + "/1.dcm", text.data(), text.size(), "1.dcm");
  }
  void write_all(const std::string& text) const {
    const OutputLock lock(path("out"));
    FileSet files(lock);
    add_all(files, text);
    files.commit();
  }
  std::map<std::string, std::string> all_of(const std::string& text) const {
    return {{"out.h5", text}, {"out.json", text}, {"out.png", text}, {"series", "a folder"}};
  }
  mode_t mode_of(const std::string& name) const {
    struct stat found {};
    EXPECT_EQ(::stat(path(name).c_str(), &found), 0) << name;
    return found.st_mode & 0777;
  }
};
using AtomicFiles = SetTest;
using FileSets = SetTest;
using OutputLocks = SetTest;

void write_once(const std::string& path) { write_atomically(path, "new", 3); }

TEST_F(AtomicFiles, keep_the_permissions_of_what_they_replace) {
  const mode_t umask_before = ::umask(022);
  tests::write_text(path("secret"), "old");
  fs::permissions(path("secret"), fs::perms(0600));
  {
    const AtomicFile file(path("secret"));
    struct stat found {};
    ASSERT_EQ(::stat(file.temporary().c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0077, 0U) << "nor is it more open before";
  }
  for (const char* name : {"secret", "new"}) write_once(path(name));
  tests::write_text(path("read_only"), "old");
  fs::permissions(path("read_only"), fs::perms(0440));
  write_once(path("read_only"));
  ::umask(umask_before);
  EXPECT_EQ(mode_of("secret"), 0600U);
  EXPECT_EQ(mode_of("read_only"), 0440U);
  EXPECT_EQ(mode_of("new"), 0644U);
  EXPECT_EQ(tests::bytes_of(path("secret")), "new");
}

TEST_F(AtomicFiles, replace_a_link_and_leave_what_it_leads_to) {
  tests::write_text(path("victim"), "mine");
  fs::create_symlink(path("victim"), path("link"));
  fs::create_symlink(path("nothing"), path("dangling"));
  for (const char* name : {"link", "dangling"}) {
    write_once(path(name));
    EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(path(name)))) << name;
    EXPECT_EQ(tests::bytes_of(path(name)), "new");
  }
  EXPECT_EQ(tests::bytes_of(path("victim")), "mine");
  EXPECT_FALSE(fs::exists(path("nothing")));
}

TEST_F(AtomicFiles, refuse_pipes_and_devices) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_CONTAINS(
      error_of([&] { write_once(path("pipe")); }),
      "pipe: expected the name of a file, found a pipe, a device or a socket; choose another name");
  EXPECT_TRUE(fs::is_fifo(path("pipe")));
  if (::mknod(path("device").c_str(), S_IFCHR | 0600, 0x103) != 0) return;  // null; for root alone
  EXPECT_CONTAINS(error_of([&] { write_once(path("device")); }), "a device");
  EXPECT_TRUE(fs::is_character_file(path("device")));
}

TEST_F(AtomicFiles, have_names_that_nobody_foresees) {
  const AtomicFile one(path("out")), other(path("out"));
  EXPECT_EQ(contents().size(), 2U);
  EXPECT_NE(temporary_name("x"), temporary_name("x"));
  EXPECT_EQ(final_name_of_temporary(temporary_name("a-b.h5")), "a-b.h5");
  for (const char* name :
       {".fhd-1-2-x", "x", ".fhd-0123456789abcdef", ".fhd-0123456789abcdeg-x", ".fhd-01-x"})
    EXPECT_FALSE(final_name_of_temporary(name)) << name;
}

TEST_F(FileSets, whose_last_flush_fails_are_whole) {
  // Three files, a folder and what is in it; their folder; the log; its folder; and the last one.
  constexpr int flushes = 9;
  for (int working = 0; working <= flushes; ++working) {
    write_all("old");
    std::string line;
    {
      const tests::DiskThatFails failing({.flushes_that_work = working});
      line = error_of([&] { write_all("new"); });
    }
    EXPECT_EQ(line.empty(), working == flushes) << working << " " << line;
    complete_interrupted_set(path("out.h5"));
    const auto now = without_replaced_folders();
    EXPECT_TRUE(now == all_of("old") || now == all_of("new")) << working;
    EXPECT_TRUE(!line.empty() || now == all_of("new"));
    EXPECT_EQ(tests::bytes_of(path("series/1.dcm")), now.at("out.h5"));
  }
}

TEST_F(FileSets, of_which_one_cannot_be_replaced_are_completed_when_it_can) {
  write_all("old");
  const int png = ::open(path("out.png").c_str(), O_RDONLY);
  int flags = 0;
  const auto set = [&](int value) { return ::ioctl(png, FS_IOC_SETFLAGS, &value) == 0; };
  if (::ioctl(png, FS_IOC_GETFLAGS, &flags) != 0 || !set(flags | FS_IMMUTABLE_FL)) {
    ::close(png);
    GTEST_SKIP() << "no permission to make a file that cannot be replaced";
  }
  const auto line = error_of([&] { write_all("new"); });
  set(flags);
  ::close(png);
  EXPECT_CONTAINS(line, "out.png: expected a file that can be replaced, found Operation not permitted");
  complete_interrupted_set(path("out.json"));
  EXPECT_EQ(without_replaced_folders(), all_of("new"));
  EXPECT_EQ(tests::bytes_of(path("series/1.dcm")), "new");
}

/// The DICOM series, or ISMRMRD images, may be elsewhere.
TEST_F(FileSets, in_another_folder_are_sets_of_their_own) {
  fs::create_directory(path("there"));
  const OutputLock lock(path("out"));
  std::vector<OutputLock> others;
  others.emplace_back(path("there/series"));
  FileSet files(lock, others);
  add_all(files, "new");
  write(files.add(path("there/series.h5")), "new");
  fs::create_directory(path("elsewhere"));
  EXPECT_CONTAINS(error_of([&] { files.add(path("elsewhere/x")); }),
                  "expected a file in the folder of the results");
  files.commit();
  EXPECT_EQ(tests::bytes_of(path("out.h5")), "new");
  EXPECT_EQ(tests::bytes_of(path("there/series.h5")), "new");
}

TEST_F(FileSets, one_of_which_somebody_removes_replace_nothing) {
  write_all("old");
  {
    const OutputLock lock(path("out"));
    FileSet files(lock);
    add_all(files, "new");
    for (const auto& [name, text] : contents())
      if (name.starts_with(".fhd-") && name.ends_with("-out.json")) fs::remove(path(name));
    EXPECT_CONTAINS(error_of([&] { files.commit(); }), "out.json: expected the unfinished file");
  }
  EXPECT_EQ(contents(), all_of("old"));
  EXPECT_EQ(tests::bytes_of(path("series/1.dcm")), "old");
}

/// The log of a run that dies when it has begun it.
class CommitLogs : public SetTest {
 protected:
  CommitLog begun(const std::string& name = "out") {
    const OutputLock lock(path(name));
    CommitLog log(lock.folder(), name);
    for (const char* ending : {".h5", ".json", ".png"}) {
      const auto temporary = temporary_name(name + ending);
      tests::write_text(path(temporary), "new");
      log.add(temporary, name + ending);
    }
    log.begin(lock);
    return log;
  }
  void write_old() const {
    for (const char* ending : {".h5", ".json", ".png"}) tests::write_text(path("out") + ending, "old");
  }
  std::map<std::string, std::string> set_of(const std::string& text) const {
    return {{"out.h5", text}, {"out.json", text}, {"out.png", text}};
  }
  void write_log(const std::vector<std::string>& fields) const {
    tests::write_text(path(".fhd-journal-out"), zero_ended(fields));
  }
};

TEST_F(CommitLogs, of_a_run_that_died_are_completed_before_anybody_reads) {
  for (const char* reader : {"out.h5", "out.json", "out_phase.nii.gz", "out.truth.h5", "out"}) {
    write_old();
    begun();
    EXPECT_EQ(tests::bytes_of(path("out.json")), "old");
    complete_interrupted_set(path(reader));
    EXPECT_EQ(contents(), set_of("new")) << reader;
  }
}

TEST_F(CommitLogs, may_be_carried_out_from_anywhere) {
  for (const std::size_t done : {0U, 1U, 2U, 3U}) {
    write_old();
    begun();
    std::size_t count = 0;
    for (const auto& [name, text] : contents())
      if (const auto final_name = final_name_of_temporary(name); final_name && count++ < done)
        fs::rename(path(name), path(*final_name));
    complete_interrupted_set(path("out.h5"));
    EXPECT_EQ(contents(), set_of("new")) << done;
    complete_interrupted_set(path("out.h5"));
    EXPECT_EQ(contents(), set_of("new")) << done;
  }
}

TEST_F(CommitLogs, that_cannot_be_carried_out_wait_until_they_can) {
  write_old();
  begun();
  fs::rename(path("out.png"), path("mine"));
  fs::create_directory(path("out.png"));  // by somebody else, meanwhile
  tests::write_text(path("out.png/x"), "mine");
  complete_interrupted_set(path("out.h5"));
  EXPECT_CONTAINS(error_of([&] { OutputLock(path("out")); }),
                  path("out.png") + ": expected what was there before, found something else; move it");
  EXPECT_EQ(tests::bytes_of(path("out.png/x")), "mine");
  fs::remove_all(path("out.png"));
  fs::rename(path("mine"), path("out.png"));
  complete_interrupted_set(path("out.h5"));
  EXPECT_EQ(contents(), set_of("new"));
}

TEST_F(CommitLogs, whose_end_cannot_be_flushed_stay) {
  write_old();
  begun();
  {
    const tests::DiskThatFails failing({.flushes_that_work = 0});
    EXPECT_CONTAINS(error_of([&] { OutputLock(path("out")); }), "Input/output error");
  }
  EXPECT_TRUE(fs::exists(path(".fhd-journal-out")));
  complete_interrupted_set(path("out.h5"));
  EXPECT_EQ(contents(), set_of("new"));
}

// An archive may bring such logs.
TEST_F(CommitLogs, of_others_name_no_other_folder_and_delete_nothing) {
  fs::create_directories(path("papers/deep"));
  tests::write_text(path("papers/deep/thesis"), "mine");
  tests::write_text(path("victim"), "mine");
  const auto file = temporary_name("victim"), papers = temporary_name("papers");
  tests::write_text(path(file), "evil");
  fs::create_directory(path(papers));
  for (const auto& fields :
       std::vector<std::vector<std::string>>{{"fhd journal 3", "../" + file, "victim", "4", "end"},
                                             {"fhd journal 3", file, "../victim", "4", "end"},
                                             {"fhd journal 3", "victim", "papers", "folder", "end"},
                                             {"fhd journal 3", file, "victim", "4"},
                                             {"fhd journal 9", "end"},
                                             {}}) {
    write_log(fields);
    EXPECT_CONTAINS(error_of([&] { OutputLock(path("out")); }), "expected the log of an interrupted run");
  }
  write_log({"fhd journal 3", file, "victim", "5", "end"});
  EXPECT_CONTAINS(error_of([&] { OutputLock(path("out")); }), "victim: expected what was there before");
  EXPECT_EQ(tests::bytes_of(path("victim")), "mine");
  write_log({"fhd journal 3", papers, "papers", "folder", "end"});
  complete_interrupted_set(path("out.h5"));
  EXPECT_FALSE(fs::exists(path("papers/deep")));
  int found = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder()))
    found += entry.path().filename() == "thesis" ? 1 : 0;
  EXPECT_EQ(found, 1) << "under a hidden name";
}

TEST_F(CommitLogs, of_another_user_are_not_obeyed) {
  write_old();
  begun();
  if (::chown(path(".fhd-journal-out").c_str(), 12345, 12345) != 0)
    GTEST_SKIP() << "root alone gives files away";
  complete_interrupted_set(path("out.h5"));
  for (const auto& [name, text] : set_of("old")) EXPECT_EQ(tests::bytes_of(path(name)), text);
  EXPECT_CONTAINS(error_of([&] { OutputLock(path("out")); }), "expected none, or one of this user");
}

TEST_F(OutputLocks, say_who_holds_them) {
  const OutputLock lock(path("out"));
  const auto line = error_of([&] { OutputLock(path("out.h5")); });
  EXPECT_CONTAINS(line, path("out"));
  EXPECT_CONTAINS(line, "expected a name that no other run writes to, found process " +
                            std::to_string(getpid()) + " on ");
  EXPECT_CONTAINS(line, ", since 2");
  EXPECT_NO_THROW(OutputLock(path("other")));
}

TEST_F(OutputLocks, leave_nothing_and_wait_where_they_are_told_to) {
  {
    std::optional<OutputLock> lock(path("out"));
    std::thread other([&] { const OutputLock its(path("out"), OutputLock::WhenHeld::wait); });
    lock.reset();
    other.join();
  }
  EXPECT_TRUE(contents().empty());
}

TEST_F(OutputLocks, of_a_run_that_was_killed_are_free_and_its_litter_goes) {
  tests::write_text(path("out.h5"), "old");
  tests::write_text(path(".fhd-0123456789abcdef-x.h5"), "of another run");
  const auto before = contents();
  const pid_t child = fork();
  if (child == 0) {
    const OutputLock lock(path("out"));
    FileSet files(lock);
    add_all(files, "new");
    raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(contents().size(), before.size() + 5) << "a lock, three files and a folder";
  { const OutputLock lock(path("out")); }
  EXPECT_EQ(contents(), before);
}

TEST_F(OutputLocks, leave_what_is_alive_and_what_a_lock_of_others_names) {
  const AtomicFile file(path("page.html"));
  const auto temporary = contents().begin()->first, litter = std::string(".fhd-0123456789abcdef-x.h5");
  tests::write_text(path(litter), "mine");
  for (const auto& name : {temporary, litter}) {
    tests::write_text(path(".fhd-lock-out"), zero_ended({"fhd lock 2", "host", "1", "now", name}));
    if (name == litter && ::chown(path(".fhd-lock-out").c_str(), 12345, 12345) != 0)
      GTEST_SKIP() << "root alone gives files away";
    { const OutputLock lock(path("out")); }
    EXPECT_TRUE(fs::exists(path(name))) << name;
  }
}

TEST_F(OutputLocks, never_follow_a_link) {
  tests::write_text(path("victim"), "mine");
  fs::create_symlink(path("victim"), path(".fhd-lock-out"));
  EXPECT_NE(error_of([&] { OutputLock(path("out")); }), "");
  fs::remove(path(".fhd-lock-out"));
  fs::create_hard_link(path("victim"), path(".fhd-lock-out"));
  EXPECT_CONTAINS(error_of([&] { OutputLock(path("out")); }), "the lock of a run of fhd");
  fs::remove(path(".fhd-lock-out"));
  ASSERT_EQ(::mkfifo(path(".fhd-lock-out").c_str(), 0600), 0);
  EXPECT_CONTAINS(error_of([&] { OutputLock(path("out")); }), "the lock of a run of fhd");
  EXPECT_EQ(tests::bytes_of(path("victim")), "mine");
}

}  // namespace
}  // namespace fhd::io
