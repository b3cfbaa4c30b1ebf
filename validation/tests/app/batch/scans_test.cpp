// Which scans a batch is made of, where lists, patterns and folders are hostile or cannot be read.
#include "app/batch/scans.hpp"

#include <dirent.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>

#include "validation/tests/io/io_scans.hpp"

namespace {
int names_until_failure = -1;  ///< of the folder being read; < 0: it does not fail
}  // namespace

/// In the place of the system's.
extern "C" dirent* readdir(DIR* folder) {
  static const auto of_system = reinterpret_cast<dirent* (*)(DIR*)>(dlsym(RTLD_NEXT, "readdir"));
  if (names_until_failure == 0) {
    errno = EIO;
    return nullptr;
  }
  if (names_until_failure > 0) --names_until_failure;
  return of_system(folder);
}

namespace fhd::app {
namespace {

class Scans : public io::FolderTest {
 protected:
  std::vector<std::string> listed(const std::string& argument) const {
    std::vector<std::string> paths;
    for (const auto& scan : list_scans({argument}, path("results")).scans) paths.push_back(scan.path);
    return paths;
  }
  std::string refusal(const std::string& argument) const {
    return io::error_of([&] { listed(argument); });
  }
  void make(const std::vector<std::string>& names) const {
    for (const auto& name : names) {
      std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
      io::write_text(path(name), "");
    }
  }
};

TEST_F(Scans, fit_patterns_as_a_shell_has_them) {
  make({"a/x.h5", "a/y.h5", "b/x.h5", ".hidden/x.h5", "a/.z.h5", "c[1]/x.h5", "d/other.txt"});
  using Paths = std::vector<std::string>;
  EXPECT_EQ(listed(path("a/*.h5")), (Paths{path("a/x.h5"), path("a/y.h5")}));
  EXPECT_EQ(listed(path("*/x.h5")), (Paths{path("a/x.h5"), path("b/x.h5"), path("c[1]/x.h5")}));
  EXPECT_EQ(listed(path("?/*.h5")), (Paths{path("a/x.h5"), path("a/y.h5"), path("b/x.h5")}));
  EXPECT_EQ(listed(path("[!b]/[x]*")), (Paths{path("a/x.h5")}));
  EXPECT_EQ(listed(path(".h*/x.h5")), (Paths{path(".hidden/x.h5")}));
  EXPECT_EQ(listed(path("a/../*/y.h5")), (Paths{path("a/../a/y.h5")})) << "'..' before a wildcard";
  EXPECT_EQ(listed(path("c[1]/x.h5")), (Paths{path("c[1]/x.h5")})) << "a file of this name";
  EXPECT_EQ(listed(path("nothing*")), (Paths{path("nothing*")})) << "which fails, with the reason";
}

TEST_F(Scans, of_lists_that_never_end_are_refused_unread) {
  make({"list"});
  std::filesystem::resize_file(path("list"), std::uintmax_t{100} << 30);
  EXPECT_CONTAINS(refusal("@" + path("list")), "(a sparse file)");
  io::write_text(path("list"), std::string((16 << 20) + 1, '\n'));
  EXPECT_CONTAINS(
      refusal("@" + path("list")),
      path("list") +
          ": expected a text file with the name of a scan on every line of at most 16777216 bytes");
}

TEST_F(Scans, of_a_folder_that_fails_while_it_is_read_are_none) {
  make({"scans/a.h5", "scans/b.h5", "scans/c.h5"});
  EXPECT_EQ(listed(path("scans")).size(), 3u);
  for (int names = 1; names < 5; ++names) {
    names_until_failure = names;
    const auto told = refusal(path("scans"));
    names_until_failure = -1;
    EXPECT_CONTAINS(
        told, path("scans") + ": expected a folder that can be read to its end, found Input/output error");
  }
}

TEST_F(Scans, have_no_names_of_other_files_in_the_folder) {
  for (const char* name : {"s0_phase", "summary", "index", "batch", ".hidden"})
    EXPECT_NE(list_scans({path(name) + ".h5"}, path("results")).scans.at(0).name, name);
}

TEST_F(Scans, are_in_one_part_each) {
  std::string list;
  for (int i = 0; i < 7; ++i) list += path("s" + std::to_string(7 - i)) + ".h5\n";
  io::write_text(path("list"), list);
  const auto all = list_scans({"@" + path("list")}, path("results")).scans;
  std::vector<std::string> names;
  for (const char* part : {"1/3", "2/3", "3/3"}) {
    auto scans = all;
    keep_shard(scans, part);
    EXPECT_TRUE(scans.size() == 2 || scans.size() == 3);
    for (const auto& scan : scans) names.push_back(scan.name);
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"s1", "s2", "s3", "s4", "s5", "s6", "s7"}));
  for (const char* wrong : {"0/2", "3/2", "2", "1/2x", "/2", "1/", "-1/2", ""})
    EXPECT_CONTAINS(io::error_of([&, scans = all]() mutable { keep_shard(scans, wrong); }), "K/N") << wrong;
}

}  // namespace
}  // namespace fhd::app
