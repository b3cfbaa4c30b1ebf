// Files that change while they are read: no volume of two states of a file.
#include "io/files/input_stamps.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "io/result/results.hpp"
#include "io/scan/scan_file.hpp"
#include "recon/error.hpp"
#include "validation/tests/io/io_scans.hpp"

namespace fhd::io {
namespace {

namespace fs = std::filesystem;

constexpr auto changed = ": expected a file that stays as it is, found one that changed while it was read";

class InputStamp : public FolderTest {
 protected:
  /// Overwrites the last bytes in place, and sets the time of change back.
  void change(const std::string& name) const {
    struct stat before {};
    ASSERT_EQ(::stat(path(name).c_str(), &before), 0);
    const int file = ::open(path(name).c_str(), O_WRONLY | O_CLOEXEC);
    ASSERT_EQ(::pwrite(file, "\0\0\0\0", 4, before.st_size - 4), 4);
    const timespec times[] = {before.st_atim, before.st_mtim};
    ASSERT_EQ(::futimens(file, times), 0);
    ::close(file);
  }
  void write_scans(const std::string& name, ScanFormat format) const {
    ScanSeries series{2, 1, 0, {}};
    for (int i = 0; i < 2; ++i) series.scans.push_back(random_scan({8, 8, 1}, 2, 8, 8));
    write_scan(path(name), format, series);
  }
};

TEST_F(InputStamp, tells_a_change_whose_time_was_set_back) {
  tests::write_text(path("a"), "12345678");
  const InputStamps stamps({path("a"), path("absent"), path("")});
  stamps.require_unchanged();
  usleep(20000);  // a tick of the clock of the file system
  change("a");
  EXPECT_CONTAINS(error_of([&] { stamps.require_unchanged(); }), path("a") + changed);
}

TEST_F(InputStamp, tells_a_file_that_another_took_the_place_of_and_one_that_is_gone) {
  for (const char* name : {"a", "b", "c"}) tests::write_text(path(name), "12345678");
  const InputStamps replaced({path("a")}), gone({path("c")});
  fs::rename(path("b"), path("a"));
  fs::remove(path("c"));
  EXPECT_CONTAINS(error_of([&] { replaced.require_unchanged(); }), path("a") + changed);
  EXPECT_CONTAINS(error_of([&] { gone.require_unchanged(); }), path("c") + changed);
}

TEST_F(InputStamp, of_a_scan_no_volume_is_read_after_a_change) {
  for (const auto& [name, file, format] : {std::tuple{"s.h5", "s.h5", ScanFormat::fhd},
                                           {"s.mrd", "s.mrd", ScanFormat::ismrmrd},
                                           {"s.cfl", "s_traj.cfl", ScanFormat::bart}}) {
    write_scans(name, format);
    const auto scan = open_scan(path(name));
    EXPECT_NO_THROW(scan->read(0, 0)) << name;
    usleep(20000);
    change(file);
    EXPECT_CONTAINS(error_of([&] { scan->read(0, 1); }), path(file) + changed);
    EXPECT_CONTAINS(error_of([&] { scan->summary().stamps.require_unchanged(); }), path(file) + changed);
  }
}

TEST_F(InputStamp, of_a_directory_results_beside_the_scan_are_no_change) {
  ScanSeries series{1, 1, 0, {random_scan({8, 8, 1}, 2, 8, 8)}};
  write_scan(path("s/"), ScanFormat::impatient, series);
  tests::write_text(path("s/log"), "1");
  const auto scan = open_scan(path("s/"));
  tests::write_text(path("s/log"), "12");
  tests::write_text(path("s/out.h5"), "12");
  EXPECT_NO_THROW(scan->read(0, 0));
  usleep(20000);
  change("s/kx.dat");
  EXPECT_CONTAINS(error_of([&] { scan->read(0, 0); }), path("s/kx.dat") + changed);
}

TEST_F(InputStamp, what_failed_because_of_a_change_says_so) {
  tests::write_text(path("a"), "12345678");
  const auto read = [&]() -> int {
    fs::resize_file(path("a"), 3);
    throw Error(path("a"), "more", "less");
  };
  EXPECT_CONTAINS(error_of([&] { read_unchanged(InputStamps({path("a")}), read); }), path("a") + changed);
}

}  // namespace
}  // namespace fhd::io
