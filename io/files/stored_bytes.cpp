#include "io/files/stored_bytes.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "recon/error.hpp"

namespace fhd::io {
namespace {

/// Outside of holes, by what the file system says; at least `enough`, or all there are. Those that know of no holes (some
/// in user space, which know of no blocks either) say that there are none.
double bytes_outside_holes(int descriptor, std::int64_t size, double enough) {
  constexpr int most_pieces = 1 << 16;  // of a disk that is in pieces; more are made to keep us busy
  const auto before = lseek(descriptor, 0, SEEK_CUR);
  double found = 0;
  off_t at = 0;
  for (int piece = 0; piece < most_pieces && found < enough && at < size; ++piece) {
    const auto begin = lseek(descriptor, at, SEEK_DATA);
    if (begin < at) break;  // a hole up to the end, or no answer
    const auto end = lseek(descriptor, begin, SEEK_HOLE);
    if (end <= begin) break;
    found += static_cast<double>(end - begin);
    at = end;
  }
  lseek(descriptor, std::max<off_t>(before, 0), SEEK_SET);
  return found;
}

/// What `status`, of an open regular file, has stored.
std::uint64_t stored_bytes(int descriptor, const struct stat& status) {
  if (!S_ISREG(status.st_mode) || status.st_size <= 0) return 0;
  // Small files may lie in the file system's own records, without a block.
  constexpr double block_bytes = 512, least_bytes = 4096;
  const auto size = static_cast<double>(status.st_size);
  auto on_disk = std::max(block_bytes * static_cast<double>(status.st_blocks), least_bytes);
  // Blocks may be counted late (ZFS): then they are no holes.
  if (on_disk * deflate_limit < size)
    on_disk = std::max(on_disk, bytes_outside_holes(descriptor, status.st_size, size / deflate_limit));
  return on_disk * deflate_limit < size ? static_cast<std::uint64_t>(on_disk * deflate_limit)
                                        : static_cast<std::uint64_t>(status.st_size);
}

}  // namespace

std::uint64_t stored_bytes(int descriptor) {
  struct stat status {};
  return fstat(descriptor, &status) == 0 ? stored_bytes(descriptor, status) : 0;
}

std::uint64_t stored_bytes_of(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) return 0;
  const auto bytes = stored_bytes(descriptor);
  ::close(descriptor);
  return bytes;
}

void require_stored_whole(int descriptor, const std::string& path) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return;  // others say so
  const auto stored = stored_bytes(descriptor, status);
  if (stored >= static_cast<std::uint64_t>(std::max<off_t>(status.st_size, 0))) return;
  throw Error(path, "a file of which all is stored",
              fmt::format("one of {} bytes that has {} on the disk (a sparse file)", status.st_size,
                          512 * static_cast<std::int64_t>(status.st_blocks)),
              "it was not written to its end, or made to do harm");
}

}  // namespace fhd::io
