#include "io/files/stored_bytes.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "io/files/descriptor.hpp"

namespace fhd::io {
namespace {

/// Asked after the blocks, which some file systems (ZFS) count late, and others in user space do not know.
bool has_holes(int descriptor, off_t size) {
  const auto before = lseek(descriptor, 0, SEEK_CUR), hole = lseek(descriptor, 0, SEEK_HOLE);
  lseek(descriptor, std::max<off_t>(before, 0), SEEK_SET);
  return hole >= 0 && hole < size;
}

}  // namespace

std::uint64_t stored_bytes(int descriptor) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return 0;
  // A small file may lie in the file system's own records, without a block.
  constexpr double block_bytes = 512, least_bytes = 4096;
  const double most =
      deflate_limit * std::max(block_bytes * static_cast<double>(status.st_blocks), least_bytes);
  const bool is_whole = static_cast<double>(status.st_size) <= most || !has_holes(descriptor, status.st_size);
  return static_cast<std::uint64_t>(is_whole ? static_cast<double>(status.st_size) : most);
}

std::uint64_t stored_bytes_of(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  return file ? stored_bytes(file.get()) : 0;
}

}  // namespace fhd::io
