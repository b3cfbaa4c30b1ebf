#include "io/checksum.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "io/blocks.hpp"
#include "io/scan/scan_file.hpp"
#include "io/sha256.hpp"
#include "recon/error.hpp"

namespace fhd::io {
namespace {

constexpr std::int64_t block_bytes = 4 << 20;
constexpr std::int64_t read_bytes = 256
                                    << 10;  ///< at once: what was read stays in the cache until it is added

/// A file that is read at any place by several threads.
class InputFile {
 public:
  explicit InputFile(std::string path)
      : path_(std::move(path)), descriptor_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (descriptor_ < 0) throw Error(path_, expected, errno == ENOENT ? "none" : std::strerror(errno));
    struct stat found {};
    if (::fstat(descriptor_, &found) != 0) fail();
    size_ = found.st_size;
  }
  InputFile(InputFile&& other) noexcept
      : path_(std::move(other.path_)),
        descriptor_(std::exchange(other.descriptor_, -1)),
        size_(other.size_) {}
  ~InputFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  std::int64_t size() const { return size_; }
  void read(std::int64_t offset, char* to, std::int64_t count) const {
    while (count > 0) {
      const auto found = ::pread(descriptor_, to, static_cast<std::size_t>(count), offset);
      if (found < 0 && errno == EINTR) continue;
      if (found < 0) fail();
      if (found == 0)
        throw Error(path_, expected, "a file that changes while it is read", "wait until it is written");
      offset += found;
      to += found;
      count -= found;
    }
  }

 private:
  static constexpr auto expected = "a readable file";
  [[noreturn]] void fail() const { throw Error(path_, expected, std::strerror(errno)); }
  std::string path_;
  int descriptor_;
  std::int64_t size_ = 0;
};

/// The bytes of several files, one after the other.
class Content {
 public:
  explicit Content(const std::vector<std::string>& paths) {
    for (const auto& path : paths) size_ += files_.emplace_back(path).size();
  }
  std::int64_t size() const { return size_; }
  /// Adds bytes [first, end) to `digest`; ends early once `abandoned`.
  void add_to(Sha256& digest, std::int64_t first, std::int64_t end,
              const std::atomic<bool>& abandoned) const {
    std::vector<char> bytes(static_cast<std::size_t>(std::min(read_bytes, end - first)));
    for (const auto& file : files_) {
      for (auto at = first; at < std::min(end, file.size()) && !abandoned; at += read_bytes) {
        const auto count = std::min({read_bytes, end - at, file.size() - at});
        file.read(at, bytes.data(), count);
        digest.add(bytes.data(), static_cast<std::size_t>(count));
      }
      first = std::max<std::int64_t>(0, first - file.size());  // counted from the next file on
      end -= file.size();
    }
  }

 private:
  std::vector<InputFile> files_;
  std::int64_t size_ = 0;
};

const std::atomic<bool> never = false;

std::string checksum(const std::string& path, int threads, const std::atomic<bool>& abandoned) {
  const Content content(files_of_scan(path));
  const auto digest_of_block = [&](std::int64_t block) {
    Sha256 digest(path);
    const auto first = block * block_bytes;
    content.add_to(digest, first, std::min(first + block_bytes, content.size()), abandoned);
    return digest.hex();
  };
  Sha256 digest(path);
  in_order((content.size() + block_bytes - 1) / block_bytes, threads, digest_of_block,
           [&](const std::string& hex) {
             const auto line = hex + "  -\n";
             digest.add(line.data(), line.size());
           });
  return checksum_kind + digest.hex();
}

std::string plain_sha256_of(const std::string& path) {
  const Content content(files_of_scan(path));
  Sha256 digest(path);
  content.add_to(digest, 0, content.size(), never);
  return digest.hex();
}

}  // namespace

std::string checksum_of(const std::string& path, int threads) {
  return checksum(path, threads_or_all(threads), never);
}

bool is_checksum_of(const std::string& recorded, const std::string& path, const std::string& checksum) {
  constexpr std::size_t digits = 64;
  const bool is_plain = recorded.size() == digits && recorded.find(':') == std::string::npos;
  return recorded == (is_plain ? plain_sha256_of(path) : checksum);
}

ChecksumInBackground::ChecksumInBackground(const std::string& path, int threads)
    : result_(std::async(
          [this, path, threads = threads_or_all(threads)] { return checksum(path, threads, abandoned_); })) {}

}  // namespace fhd::io
