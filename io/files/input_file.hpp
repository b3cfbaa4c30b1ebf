#pragma once
// Files of other people, opened so that nothing but a regular file is read: a pipe, a device or a socket would wait, or never
// end.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "io/files/descriptor.hpp"

namespace fhd::io {

/// Throws Error if `path` leads through a folder that may not be entered: a file there is not absent because nobody can see
/// it.
void require_reachable(const std::string& path);

/// An open regular file. Opening never waits.
class InputFile {
 public:
  /// Throws Error(path, expected) if it is absent, no regular file, or not readable.
  explicit InputFile(std::string path, const char* expected = "a readable file");

  const std::string& path() const { return path_; }
  std::uint64_t size() const { return size_; }
  int descriptor() const { return descriptor_.get(); }
  /// Reads bytes; from any thread. Throws Error if they are not there any more.
  void read(std::uint64_t offset, void* to, std::size_t count) const;

 private:
  std::string path_;
  Descriptor descriptor_;
  std::uint64_t size_ = 0;
};

/// Reads bytes of an open file; from any thread. Returns false if it cannot be read (errno), or ends before (errno is 0).
bool read_at(int descriptor, void* to, std::size_t count, std::uint64_t offset);

/// Returns the content of a regular file of at most `longest` bytes. Throws Error(path, expected).
std::string content_of_file(const std::string& path, std::uint64_t longest, const char* expected);

/// Returns whether a regular file lies at `path` that does not begin with `head`: a file that does may not replace it. Throws
/// Error if it cannot be read.
bool is_of_another_kind(const std::string& path, std::string_view head);

}  // namespace fhd::io
