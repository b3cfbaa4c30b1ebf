#pragma once
// Files that others gave us, opened so that nothing but a regular file is read: a pipe, a device or a socket would wait, or
// never end.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fhd::io {

/// Throws Error where `path` leads through a folder that may not be entered: that nobody can see a file there does not make
/// it absent.
void require_reachable(const std::string& path);

/// An open regular file. Opening never waits, whatever lies at the path.
class InputFile {
 public:
  /// Throws Error(path, expected) for what is absent, no regular file, or not readable.
  explicit InputFile(std::string path, const char* expected = "a readable file");
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&& other) = delete;
  InputFile(const InputFile&) = delete;
  ~InputFile();

  const std::string& path() const { return path_; }
  std::uint64_t size() const { return size_; }
  int descriptor() const { return descriptor_; }
  /// Of any thread. Throws Error where they are not there any more.
  void read(std::uint64_t offset, void* to, std::size_t count) const;

 private:
  std::string path_;
  int descriptor_;
  std::uint64_t size_ = 0;
};

/// The whole of a regular file of at most `longest` bytes. Throws Error(path, expected).
std::string content_of_file(const std::string& path, std::uint64_t longest, const char* expected);

/// Whether a regular file lies at `path` that does not begin with `head`: none that may be replaced by one that does.
/// Throws Error where it cannot be read.
bool is_of_another_kind(const std::string& path, std::string_view head);

}  // namespace fhd::io
