#pragma once
// A folder of a test's own, and small files in it.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace fhd::tests {

/// A new empty folder, which disappears with everything in it.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "fhd_test_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error(name + ": cannot be made");
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code failed;  // what cannot be removed is not the test's failure
    std::filesystem::remove_all(path_, failed);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

/// Each test in a folder of its own.
class ScratchTest : public testing::Test {
 protected:
  const std::filesystem::path& folder() const { return folder_.path(); }
  std::string path(const std::string& name) const { return folder_ / name; }

 private:
  ScratchFolder folder_;
};

/// The content of a file; empty where there is none.
inline std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}
#define EXPECT_CONTAINS(text, part) \
  EXPECT_TRUE(fhd::tests::contains(text, part)) << "'" << (text) << "' lacks '" << (part) << "'"
#define EXPECT_LACKS(text, part) \
  EXPECT_FALSE(fhd::tests::contains(text, part)) << "'" << (text) << "' has '" << (part) << "'"

}  // namespace fhd::tests
