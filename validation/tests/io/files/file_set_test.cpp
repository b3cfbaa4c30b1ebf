// Sets of files: all or none, whatever is planted in their folder, whatever fails; one run at a time.
#include "io/files/file_set.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <thread>

#include "io/files/journal.hpp"
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

TEST_F(AtomicFiles, are_never_more_open_than_what_they_replace) {
  tests::write_text(path("secret"), "old");
  fs::permissions(path("secret"), fs::perms(0600));
  const AtomicFile file(path("secret"));
  struct stat found {};
  ASSERT_EQ(::stat(file.temporary().c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0077, 0U);
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

TEST_F(AtomicFiles, are_written_to_themselves_whatever_takes_their_temporary_name) {
  tests::write_text(path("victim"), "mine");
  AtomicFile file(path("out"));
  std::string temporary;
  for (const auto& [name, text] : contents())
    if (final_name_of_temporary(name)) temporary = name;
  ASSERT_EQ(temporary.size(), std::string(".fhd-0123456789abcdef-out").size());
  fs::remove(path(temporary));
  fs::create_symlink(path("victim"), path(temporary));
  write_bytes(file.temporary(), "new", 3, file.path());
  EXPECT_EQ(tests::bytes_of(path("victim")), "mine");
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

/// While it lives no file can be opened after so many more.
class FewDescriptors {
 public:
  explicit FewDescriptors(rlim_t left) {
    getrlimit(RLIMIT_NOFILE, &before_);
    const int next = ::dup(STDIN_FILENO);
    ::close(next);
    const rlimit few{static_cast<rlim_t>(next) + left, before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
  }
  ~FewDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

TEST_F(AtomicFiles, of_a_directory_that_cannot_be_flushed_are_an_error) {
  for (const rlim_t left : {0U, 1U}) {  // the list of the files cannot be read; nor can they be opened
    auto series = AtomicFile::directory(path("series"));
    write_bytes(series.temporary() + "/1.dcm", "new", 3, "1.dcm");
    std::string line;
    {
      const FewDescriptors none(left);
      line = error_of([&] { series.commit(); });
    }
    EXPECT_CONTAINS(
        line,
        path("series") + ": expected a directory whose files can be brought to the disk, found Too many");
    EXPECT_FALSE(fs::exists(path("series"))) << left;
  }
}

TEST_F(AtomicFiles, stay_in_the_folder_that_is_held) {
  fs::create_directory(path("held"));
  fs::create_directory(path("victim"));
  const auto held = Folder::within(path("held"));
  fs::rename(path("held"), path("moved"));
  fs::create_symlink(path("victim"), path("held"));
  write_atomically(held, "x", "new", 3);
  EXPECT_EQ(tests::bytes_of(path("moved/x")), "new");
  EXPECT_TRUE(fs::is_empty(path("victim")));
  fs::create_directory(path("moved/folder"));
  ASSERT_EQ(::mkfifo(path("moved/pipe").c_str(), 0600), 0);
  EXPECT_CONTAINS(error_of([&] { write_atomically(held, "folder", "new", 3); }), "found a directory");
  EXPECT_CONTAINS(error_of([&] { write_atomically(held, "pipe", "new", 3); }), "found a pipe");
}

TEST_F(AtomicFiles, are_made_where_the_disk_cannot_tell_one_file_from_another) {
  const tests::DiskThatFails strange({.changes_inodes = true});
  write_once(path("out"));
  { const OutputLock lock(path("out")); }
  EXPECT_GT(tests::disk.inodes_changed, 8);
  EXPECT_EQ(contents(), (std::map<std::string, std::string>{{"out", "new"}}));
}

TEST_F(AtomicFiles, that_lose_their_names_are_told_from_a_disk_that_cannot_tell) {
  tests::write_text(path("other"), "");
  const auto folder = Folder::of(path("out"));
  const auto gone = folder->open("gone", O_RDWR | O_CREAT, 0600);
  NameRace race;
  EXPECT_TRUE(race.is_kept(*folder, gone, "gone"));
  fs::remove(path("gone"));
  for (int i = 0; i < 50; ++i) {
    EXPECT_FALSE(race.is_kept(*folder, gone, "gone"));
    EXPECT_FALSE(race.is_kept(*folder, gone, "other"));
  }
}

TEST_F(FileSets, whose_last_flush_fails_are_whole) {
  // Three files, a folder and what is in it; the lock; their folder; the journal; its folder; and the last one.
  constexpr int flushes = 10;
  for (int working = 0; working <= flushes; ++working) {
    write_all("old");
    std::string line;
    {
      const tests::DiskThatFails failing({.flushes_that_work = working});
      line = error_of([&] { write_all("new"); });
    }
    EXPECT_EQ(line.empty(), working == flushes) << working << " " << line;
    settle(path("out.h5"));
    const auto now = contents();
    EXPECT_TRUE(now == all_of("old") || now == all_of("new")) << working;
    EXPECT_TRUE(!line.empty() || now == all_of("new"));
    EXPECT_EQ(tests::bytes_of(path("series/1.dcm")), now.at("out.h5"));
  }
}

TEST_F(FileSets, replace_all_that_was_there) {
  write_all("old");
  EXPECT_EQ(contents(), all_of("old"));
  write_all("new");
  EXPECT_EQ(contents(), all_of("new"));
  EXPECT_EQ(tests::bytes_of(path("series/1.dcm")), "new");
}

TEST_F(FileSets, of_which_one_cannot_be_replaced_leave_what_was_there) {
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
  EXPECT_EQ(contents(), all_of("old"));
  EXPECT_EQ(tests::bytes_of(path("series/1.dcm")), "old");
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

/// The steps of a journal as a run begins them that dies.
class Journals : public SetTest {
 protected:
  Journal three_files(const std::string& name = "out") {
    Journal journal(Folder::of(path("out")), name);
    for (const char* ending : {".h5", ".json", ".png"}) {
      const auto temporary = temporary_name(name + ending);
      tests::write_text(path(temporary), "new");
      journal.add(Folder::of(path("out")), Journal::Kind::file, temporary, name + ending);
    }
    return journal;
  }
  void write_three(const std::string& name = "out") {
    const auto journal = three_files(name);
    journal.write();
    journal.begin();
  }
  void write_old() const {
    for (const char* ending : {".h5", ".json", ".png"}) tests::write_text(path("out") + ending, "old");
  }
  std::map<std::string, std::string> set_of(const std::string& text) const {
    return {{"out.h5", text}, {"out.json", text}, {"out.png", text}};
  }
};

TEST_F(Journals, of_a_run_that_died_are_completed_before_anybody_reads) {
  for (const char* reader : {"out.h5", "out.json", "out_phase.nii.gz", "out.truth.h5", "out"}) {
    write_old();
    write_three();
    EXPECT_EQ(tests::bytes_of(path("out.json")), "old");
    settle(path(reader));
    EXPECT_EQ(contents(), set_of("new")) << reader;
  }
}

TEST_F(Journals, may_be_carried_out_again_from_anywhere) {
  write_old();
  const auto journal = three_files();
  journal.write();
  journal.begin();
  journal.carry_out();
  settle(path("out.h5"));
  EXPECT_EQ(contents(), set_of("new"));
  settle(path("out.h5"));
  EXPECT_EQ(contents(), set_of("new"));
}

TEST_F(Journals, that_cannot_be_carried_out_wait_until_they_can) {
  write_old();
  write_three();
  fs::rename(path("out.png"), path("mine"));
  fs::create_directory(path("out.png"));  // by somebody else, meanwhile
  tests::write_text(path("out.png/x"), "mine");
  settle(path("out.h5"));
  EXPECT_CONTAINS(error_of([&] { OutputLock(path("out")); }),
                  path("out.png") + ": expected what was there before, found something else; move it");
  EXPECT_EQ(tests::bytes_of(path("out.png/x")), "mine");
  fs::remove_all(path("out.png"));
  fs::remove(path("mine"));
  settle(path("out.h5"));
  EXPECT_EQ(contents(), set_of("new"));
}

/// As an archive may bring it.
class HostileJournals : public Journals {
 protected:
  void SetUp() override {
    Journals::SetUp();
    fs::create_directories(path("home/papers/deep"));
    tests::write_text(path("home/papers/deep/thesis"), "mine");
    tests::write_text(path("home/notes"), "mine");
    fs::create_directory(path("in"));
    folder_ = Folder::of(path("in/x"));
    journal_.emplace(folder_, "out");
  }
  void add(const std::string& place, Journal::Kind kind, const std::string& name, bool is_there) {
    const auto temporary = temporary_name(name);
    const auto at = path(place) + "/" + temporary;
    if (is_there && kind == Journal::Kind::file) tests::write_text(at, "evil");
    if (is_there && kind != Journal::Kind::file) fs::create_directory(at);
    journal_->add(Folder::of(path(place) + "/x"), kind, temporary, name);
  }
  /// What a command makes of it; all of the user's is there afterwards.
  void expect_harmless() {
    journal_->write();
    journal_->begin();
    settle(path("in/out.h5"));
    EXPECT_THROW(OutputLock(path("in/out")), Error);
    EXPECT_EQ(tests::bytes_of(path("home/papers/deep/thesis")), "mine");
    EXPECT_EQ(tests::bytes_of(path("home/notes")), "mine");
  }
  std::shared_ptr<const Folder> folder_;
  std::optional<Journal> journal_;
};

TEST_F(HostileJournals, take_nothing_back) {
  add("home", Journal::Kind::replacing_directory, "papers", false);
  add("home", Journal::Kind::file, "notes", false);
  add("in", Journal::Kind::file, "blocker", true);
  fs::create_directory(path("in/blocker"));
  expect_harmless();
}

TEST_F(HostileJournals, replace_no_folder_of_others) {
  add("home", Journal::Kind::replacing_directory, "papers", true);
  expect_harmless();
}

TEST_F(HostileJournals, replace_no_file_that_came_later) {
  fs::rename(path("home/notes"), path("home/kept"));
  tests::write_text(path("home/notes"), "another size");
  add("home", Journal::Kind::file, "notes", true);
  fs::rename(path("home/kept"), path("home/notes"));
  expect_harmless();
}

TEST_F(Journals, whose_end_cannot_be_flushed_lose_nothing) {
  for (const bool had_old : {true, false}) {
    if (had_old) write_old();
    const auto journal = three_files();
    journal.write();
    journal.begin();
    journal.carry_out();
    journal.remove_replaced();  // and here the run is killed
    {
      const tests::DiskThatFails failing({.flushes_that_work = 0});
      settle(path("out.h5"));
      EXPECT_CONTAINS(error_of([&] { OutputLock(path("out")); }), "Input/output error");
    }
    EXPECT_TRUE(fs::exists(path(".fhd-journal-out"))) << had_old;
    settle(path("out.h5"));
    EXPECT_EQ(contents(), set_of("new")) << had_old;
    for (const auto& [name, text] : set_of("new")) fs::remove(path(name));
  }
}

TEST_F(Journals, are_not_taken_back_where_an_old_file_is_gone) {
  write_old();
  const auto journal = three_files();
  journal.write();
  journal.begin();
  journal.carry_out();
  const auto done = contents();
  journal.remove_replaced();
  const auto before = contents();
  ASSERT_LT(before.size(), done.size());
  EXPECT_FALSE(journal.take_back());
  EXPECT_FALSE(Journal::read(Folder::of(path("out")), "out")->take_back()) << "as it is written down";
  EXPECT_EQ(contents(), before);
}

TEST_F(Journals, are_taken_back_to_what_was_there) {
  for (const bool had_old : {true, false}) {
    if (had_old) write_old();
    const auto journal = three_files();
    const auto before = contents();
    journal.write();
    journal.begin();
    journal.carry_out();
    EXPECT_TRUE(Journal::read(Folder::of(path("out")), "out")->take_back());
    EXPECT_TRUE(journal.remove());
    EXPECT_EQ(contents(), before);
    for (const auto& [name, text] : contents()) fs::remove(path(name));
  }
}

TEST_F(Journals, of_another_version_stay) {
  write_old();
  write_three();
  const auto before = contents();
  const std::string zero(1, '\0');
  tests::write_text(path(".fhd-journal-out"), "fhd journal 9" + zero + "whatever" + zero);
  EXPECT_CONTAINS(
      error_of([&] { OutputLock(path("out")); }),
      path(".fhd-journal-out") + ": expected a journal of this version of fhd, found one of another");
  for (const auto& [name, text] : before) EXPECT_TRUE(fs::exists(path(name))) << name;
}

TEST_F(Journals, that_are_not_whole_do_not_count) {
  write_old();
  write_three();
  fs::resize_file(path(".fhd-journal-out"), fs::file_size(path(".fhd-journal-out")) - 3);
  settle(path("out.h5"));
  for (const auto& [name, text] : set_of("old")) EXPECT_EQ(tests::bytes_of(path(name)), text);
  EXPECT_FALSE(fs::exists(path(".fhd-journal-out")));
}

TEST_F(Journals, of_others_are_not_obeyed) {
  write_old();
  write_three();
  if (::chown(path(".fhd-journal-out").c_str(), 12345, 12345) != 0)
    GTEST_SKIP() << "root alone gives files away";
  settle(path("out.h5"));
  for (const auto& [name, text] : set_of("old")) EXPECT_EQ(tests::bytes_of(path(name)), text);
  EXPECT_CONTAINS(error_of([&] { OutputLock(path("out")); }), "expected none, or one of this user");
}

TEST_F(Journals, name_no_place_but_their_folder) {
  tests::write_text(path("victim"), "mine");
  Journal journal(Folder::of(path("out")), "out");
  const auto temporary = temporary_name("x");
  tests::write_text(path(temporary), "evil");
  journal.add(Folder::of(path("out")), Journal::Kind::file, temporary, "../victim");
  journal.write();
  journal.begin();
  EXPECT_CONTAINS(error_of([&] { OutputLock(path("out")); }), "expected a journal of fhd");
  EXPECT_EQ(tests::bytes_of(path("victim")), "mine");
}

TEST_F(Journals, of_files_in_a_folder_that_is_gone_name_themselves) {
  fs::create_directory(path("elsewhere"));
  Journal journal(Folder::of(path("out")), "out");
  journal.add(Folder::of(path("elsewhere/out")), Journal::Kind::file, temporary_name("out"), "out");
  journal.write();
  journal.begin();
  fs::remove(path("elsewhere"));
  const auto line = error_of([&] { OutputLock(path("out")); });
  EXPECT_CONTAINS(line, path(".fhd-journal-out") + ": expected the folder '" + path("elsewhere"));
  EXPECT_CONTAINS(line, "remove this file");
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
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
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

TEST_F(OutputLocks, do_not_remove_what_a_lock_of_others_names) {
  tests::write_text(path(".fhd-0123456789abcdef-x.h5"), "mine");
  const std::string zero(1, '\0');
  tests::write_text(path(".fhd-lock-out"), "fhd lock 1" + zero + "host" + zero + "1" + zero + "now" + zero +
                                               zero + ".fhd-0123456789abcdef-x.h5" + zero);
  if (::chown(path(".fhd-lock-out").c_str(), 12345, 12345) != 0)
    GTEST_SKIP() << "root alone gives files away";
  { const OutputLock lock(path("out")); }
  EXPECT_EQ(tests::bytes_of(path(".fhd-0123456789abcdef-x.h5")), "mine");
}

TEST_F(OutputLocks, that_others_may_have_written_remove_nothing) {
  const std::string zero(1, '\0'), temporary = ".fhd-0123456789abcdef-x.h5";
  const auto text = "fhd lock 1" + zero + "host" + zero + "1" + zero + "now" + zero + zero + temporary + zero;
  for (const unsigned mode : {0664U, 0646U, 0644U}) {
    tests::write_text(path(temporary), "mine");
    tests::write_text(path(".fhd-lock-out"), text);
    fs::permissions(path(".fhd-lock-out"), fs::perms(mode));
    { const OutputLock lock(path("out")); }
    EXPECT_EQ(fs::exists(path(temporary)), mode != 0644U) << mode;
  }
  const mode_t umask_before = ::umask(0);
  {
    const OutputLock lock(path("out"));
    EXPECT_EQ(mode_of(".fhd-lock-out") & 0022U, 0U);
  }
  ::umask(umask_before);
}

TEST_F(OutputLocks, leave_what_a_run_that_is_alive_writes) {
  const AtomicFile file(path("page.html"));
  const auto temporary = contents().begin()->first;
  const std::string zero(1, '\0');
  tests::write_text(path(".fhd-lock-out"), "fhd lock 1" + zero + "host" + zero + "1" + zero + "now" + zero +
                                               zero + temporary + zero);
  fs::permissions(path(".fhd-lock-out"), fs::perms(0644));
  { const OutputLock lock(path("out")); }
  EXPECT_TRUE(fs::exists(path(temporary)));
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
