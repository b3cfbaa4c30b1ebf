#pragma once
// The program, run by a test in a folder of its own.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace fhd::tests {

class ProgramTest : public ::testing::Test {
 protected:
  void SetUp() override {
    // Where it was built, or beside the test on a machine that has nothing but the binaries.
    program_ = FHD_PROGRAM;
    if (!std::filesystem::exists(program_))
      program_ = (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "fhd").string();
    if (!std::filesystem::exists(program_))
      GTEST_SKIP() << "no program at " << FHD_PROGRAM << " or " << program_;
    folder_ = (std::filesystem::temp_directory_path() / "fhd_test_XXXXXX").string();
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
  }
  void TearDown() override {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  /// The exit status; what was printed is in text("out") and text("err").
  int run(const std::string& arguments) const {
    const int status =
        std::system((program_ + " " + arguments + " > " + path("out") + " 2> " + path("err")).c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  }
  std::string text(const std::string& name) const {
    std::ifstream file(path(name));
    std::stringstream content;
    content << file.rdbuf();
    return content.str();
  }

 private:
  std::string program_, folder_;
};

}  // namespace fhd::tests
