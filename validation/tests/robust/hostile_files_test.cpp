// Files that did harm to the program, or to the library that reads them: one clear line, or a right result. They lie beside
// the project's folder, and tests that use them are skipped where they do not.
#include <algorithm>
#include <fstream>
#include <sstream>
#include <tuple>

#include "validation/tests/program.hpp"

namespace fhd::tests {
namespace {

class HostileFiles : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    if (!std::filesystem::is_directory(hostile)) GTEST_SKIP() << "no folder " << hostile;
  }

  /// Runs `fhd COMMAND` for every file with this ending, with its name in the place of FILE. The line names it, or `other`.
  void expect_one_line(const std::string& ending, const std::string& command, double most_seconds,
                       const std::string& other = "") const {
    std::size_t tried = 0;
    for (const auto& entry : std::filesystem::directory_iterator(hostile)) {
      const auto name = entry.path().string();
      if (!name.ends_with(ending)) continue;
      ++tried;
      std::vector<std::string> words;
      std::istringstream rest(command);
      for (std::string word; rest >> word;) words.push_back(word == "FILE" ? name : word);
      const auto end = measured(words);
      const auto size = static_cast<double>(std::filesystem::file_size(name));
      EXPECT_LE(end.status, 2) << name << ": " << text("err_bg");
      // 1.2 s of a processor are the reader's; those of the program are here.
      EXPECT_LE(end.processor_seconds, most_seconds) << command << name;
      EXPECT_LE(end.peak_bytes, 4 * size + 200 * 0x1p20) << name;
      if (end.status != 0) expect_line(name, other);
    }
    EXPECT_GE(tried, 4u);
  }
  static constexpr auto quick = " --force --quiet --device cpu --iterations 2 --no-gridded-image --threads 1";

 private:
  /// `check` says it on standard output.
  void expect_line(const std::string& name, const std::string& other) const {
    const auto error = text("err_bg");
    if (error.empty()) {
      EXPECT_NE(text("out_bg"), "") << name;
      return;
    }
    EXPECT_EQ(std::count(error.begin(), error.end(), '\n'), 1) << name << ": " << error;
    EXPECT_LE(error.size(), 1000u) << name;
    const bool names_it =
        error.find(std::filesystem::path(name).filename().stem().string()) != std::string::npos;
    EXPECT_TRUE(names_it || (!other.empty() && error.find(other) != std::string::npos)) << error;
  }
  const std::string hostile = FHD_SCANS "/../hostile";
};

TEST_F(HostileFiles, every_command_that_reads_them_says_one_line) {
  ASSERT_EQ(run("simulate -o small --matrix 16 --coils 2"), 0) << text("err");
  ASSERT_EQ(run("recon small.h5 -o image --device cpu"), 0) << text("err");
  setenv("OMP_NUM_THREADS", "2", 1);
  const auto small = path("small.h5"), image = path("image.h5"), out = path("o");
  // The time of a processor, s: one of them is a scan of 400 slices, in which `check` looks for gradient delays.
  for (const auto& [ending, command, seconds, other] :
       std::vector<std::tuple<const char*, std::string, double, std::string>>{
           {".h5", "info FILE", 2, ""},
           {".h5", "recon FILE -o " + out + quick, 20, ""},
           {".h5", "convert FILE " + path("c.h5") + " --force", 2, ""},
           {".h5", "convert FILE " + path("c.mrd") + " --force", 2, ""},
           {".h5", "plan FILE --device cpu", 2, ""},
           {".h5", "report FILE -o " + path("p.html"), 2, ""},
           {".h5", "check FILE", 4, ""},
           {".h5", "compare FILE --device cpu -o " + path("c"), 2, ""},
           {".h5", "fieldmap FILE FILE -o " + path("b0.h5"), 2, ""},
           {".h5", "forward FILE " + small + " -o " + path("f.h5") + " --force", 2, ""},
           {".h5", "forward " + image + " FILE -o " + path("f.h5") + " --force", 2,
            image},  // of another matrix
           {".nii", "recon " + small + " --prior FILE -o " + out + quick, 2, ""}})
    expect_one_line(ending, command, seconds, other);
  for (const char* piece : {"--trajectory", "--maps", "--noise", "--field-map", "--girf"})
    expect_one_line(".h5", "recon " + small + " " + piece + " FILE -o " + out + quick, 2);
  expect_one_line(".nii", "recon " + small + " --field-map FILE -o " + out + quick, 2);
}

TEST_F(HostileFiles, a_batch_goes_on_with_the_next) {
  ASSERT_EQ(run("simulate -o small --matrix 16 --coils 2"), 0) << text("err");
  const std::string hostile_file = FHD_SCANS "/../hostile/sp_vlen_all_len1.h5",
                    endless = FHD_SCANS "/../hostile/hdf5_heap_infinite_loop.h5";
  EXPECT_EQ(run("batch '" + hostile_file + "' '" + endless + "' small.h5 -o results --device cpu"), 1);
  EXPECT_TRUE(std::filesystem::exists(path("results/small.nii.gz"))) << text("err");
  const auto said = text("out") + text("err");
  EXPECT_NE(said.find("sp_vlen_all_len1.h5"), std::string::npos) << said;
  EXPECT_NE(said.find("hdf5_heap_infinite_loop.h5"), std::string::npos) << said;
}

using SparseFiles = ProgramTest;

// A file system gives no place to holes: 8 KiB on the disk were 757 MB of memory, and 3 GB of holes 9 s of a batch.
TEST_F(SparseFiles, are_refused_before_anything_relies_on_their_length) {
  ASSERT_EQ(run("simulate -o small --matrix 16 --coils 2"), 0) << text("err");
  std::filesystem::copy_file(path("small.h5"), path("long.h5"));
  std::filesystem::resize_file(path("long.h5"), std::uintmax_t{3} << 30);
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"info", path("long.h5")},
        {"info", path("long.h5"), "--trust-input"},
        {"convert", path("long.h5"), path("copy.h5")},
        {"batch", path("long.h5"), path("small.h5"), "-o", path("results"), "--device", "cpu"}}) {
    const auto end = measured(words);
    EXPECT_EQ(end.status, 1);
    EXPECT_LE(end.processor_seconds, 5);
    EXPECT_LE(end.peak_bytes, 300 * 0x1p20);
    EXPECT_NE((text("out_bg") + text("err_bg")).find("sparse"), std::string::npos) << text("err_bg");
  }
  EXPECT_TRUE(std::filesystem::exists(path("results/small.nii.gz")));
}

using InputLimits = ProgramTest;

TEST_F(InputLimits, a_file_may_be_trusted_or_given_more) {
  ASSERT_EQ(run("simulate -o small --matrix 16 --coils 2"), 0) << text("err");
  ASSERT_EQ(run("info small.h5"), 0);
  const auto told = text("out");
  ASSERT_EQ(run("info small.h5 --trust-input"), 0);
  EXPECT_EQ(text("out"), told);
  ASSERT_EQ(run("simulate -o large --matrix 128"), 0) << text("err");  // 3 MB of k-space
  EXPECT_EQ(run("convert large.h5 copy.h5 --input-memory 0.001"), 1);
  EXPECT_NE(text("err").find("raise the limit with --input-memory GIB"), std::string::npos) << text("err");
  EXPECT_EQ(run("info small.h5 --input-memory 1 --input-seconds 60"), 0) << text("err");
}

TEST_F(InputLimits, the_version_says_how_files_are_read) {
  ASSERT_EQ(run("--version --verbose"), 0);
  EXPECT_NE(text("out").find("in processes of their own; "), std::string::npos);
}

}  // namespace
}  // namespace fhd::tests
