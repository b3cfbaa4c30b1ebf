#include "io/files/input_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "io/files/stored_bytes.hpp"
#include "recon/error.hpp"

namespace fhd::io {

namespace {

std::string remedy_of(int error, const std::string& path) {
  if (error == EACCES) return "ask its owner for the permission, or choose another";
  const auto with_ending = path + ".h5";
  return error == ENOENT && ::access(with_ending.c_str(), R_OK) == 0 ? "did you mean " + with_ending + "?"
                                                                     : "";
}

}  // namespace

void require_reachable(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) == 0 || errno != EACCES) return;
  throw Error(path, "a name in a folder that may be entered", std::strerror(EACCES), remedy_of(EACCES, path));
}

InputFile::InputFile(std::string path, const char* expected)
    : path_(std::move(path)),
      descriptor_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {
  struct stat found {};
  const bool is_open = descriptor_ && ::fstat(descriptor_.get(), &found) == 0;
  if (!is_open && errno != ENXIO)  // ENXIO: a socket
    throw Error(path_, expected, errno == ENOENT ? "none" : std::strerror(errno), remedy_of(errno, path_));
  if (!is_open || !S_ISREG(found.st_mode))
    throw Error(path_, expected,
                is_open && S_ISDIR(found.st_mode) ? "a directory" : "a pipe, a device or a socket",
                "save what it delivers as a file first");
  size_ = static_cast<std::uint64_t>(found.st_size);
  if (stored_bytes(descriptor_.get()) < size_)
    throw Error(path_, "a file of which all is stored",
                fmt::format("one of {} bytes that has {} on the disk (a sparse file)", size_,
                            512 * static_cast<std::int64_t>(found.st_blocks)),
                "it was not written to its end, or made to do harm");
}

bool read_at(int descriptor, void* to, std::size_t count, std::uint64_t offset) {
  auto* const begin = static_cast<char*>(to);
  return move_all(begin, count, [&](char* next, std::size_t left) {
    return ::pread(descriptor, next, left, static_cast<off_t>(offset) + (next - begin));
  });
}

void InputFile::read(std::uint64_t offset, void* to, std::size_t count) const {
  if (read_at(descriptor_.get(), to, count, offset)) return;
  if (errno != 0) throw Error(path_, "a readable file", std::strerror(errno));
  throw Error(path_, "a readable file", "a file that changes while it is read", "wait until it is written");
}

std::string content_of_file(const std::string& path, std::uint64_t longest, const char* expected) {
  const InputFile file(path, expected);
  if (file.size() > longest)
    throw Error(path, fmt::format("{} of at most {} bytes", expected, longest), std::to_string(file.size()));
  std::string text(file.size(), '\0');
  file.read(0, text.data(), text.size());
  return text;
}

bool is_of_another_kind(const std::string& path, std::string_view head) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) return false;
  const InputFile file(path);
  std::string begin(std::min<std::size_t>(head.size(), file.size()), '\0');
  file.read(0, begin.data(), begin.size());
  return begin != head;
}

}  // namespace fhd::io
