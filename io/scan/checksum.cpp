#include "io/scan/checksum.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "io/files/blocks.hpp"
#include "io/files/input_file.hpp"
#include "io/files/sha256.hpp"
#include "io/scan/scan_file.hpp"

namespace fhd::io {
namespace {

constexpr std::int64_t block_bytes = 4 << 20;
constexpr std::int64_t read_bytes = 256
                                    << 10;  ///< at once: what was read stays in the cache until it is added

std::int64_t size_of(const InputFile& file) { return static_cast<std::int64_t>(file.size()); }

/// The bytes of several files, one after the other.
class Content {
 public:
  explicit Content(const std::vector<std::string>& paths) {
    for (const auto& path : paths) size_ += size_of(files_.emplace_back(path));
  }
  std::int64_t size() const { return size_; }
  /// Adds bytes [first, end) to `digest`; ends early once it is abandoned.
  void add_to(Sha256& digest, std::int64_t first, std::int64_t end, const IsAbandoned& is_abandoned) const {
    std::vector<char> bytes(static_cast<std::size_t>(std::min(read_bytes, end - first)));
    for (const auto& file : files_) {
      const auto file_size = size_of(file);
      for (auto at = first; at < std::min(end, file_size) && !is_abandoned(); at += read_bytes) {
        const auto count = std::min({read_bytes, end - at, file_size - at});
        file.read(static_cast<std::uint64_t>(at), bytes.data(), static_cast<std::size_t>(count));
        digest.add(bytes.data(), static_cast<std::size_t>(count));
      }
      first = std::max<std::int64_t>(0, first - file_size);  // counted from the next file on
      end -= file_size;
    }
  }

 private:
  std::vector<InputFile> files_;
  std::int64_t size_ = 0;
};

}  // namespace

std::string checksum_of(const std::string& path, int threads, const IsAbandoned& is_abandoned) {
  const Content content(files_of_scan(path));
  const auto digest_of_block = [&](std::int64_t block) {
    Sha256 digest(path);
    const auto first = block * block_bytes;
    content.add_to(digest, first, std::min(first + block_bytes, content.size()), is_abandoned);
    return digest.hex();
  };
  Sha256 digest(path);
  in_order((content.size() + block_bytes - 1) / block_bytes, threads_or_all(threads), digest_of_block,
           [&](const std::string& hex) {
             const auto line = hex + "  -\n";
             digest.add(line.data(), line.size());
           });
  return checksum_kind + digest.hex();
}

bool has_checksum(const std::string& path, const std::string& recorded, const IsAbandoned& is_abandoned) {
  return checksum_of(path, 0, is_abandoned) == recorded && !is_abandoned();
}

ChecksumInBackground::ChecksumInBackground(const std::string& path, int threads)
    : result_(std::async([this, path, threads = threads_or_all(threads)] {
        return checksum_of(path, threads, [this] { return abandoned_.load(); });
      })) {}

ChecksumInBackground::ChecksumInBackground(Known known) {
  std::promise<std::string> promise;
  promise.set_value(std::move(known.checksum));
  result_ = promise.get_future();
}

}  // namespace fhd::io
