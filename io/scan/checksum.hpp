#pragma once
// The checksum that identifies scans and other files, made by all threads. It is the SHA-256 of the lines that
//
//   cat FILES | split -b 4M --filter=sha256sum
//
// prints: one for each 4 MiB of the content (the last may be shorter), of 64 hex digits, two spaces, "-" and a new line.
#include <atomic>
#include <functional>
#include <future>
#include <string>
#include <utility>

namespace fhd::io {

/// Before the 64 hex digits of a checksum.
inline constexpr auto checksum_kind = "sha256-4MiB-blocks:";

/// Says whether nobody waits for a checksum any more. Called by any thread.
using IsAbandoned = std::function<bool()>;

/// Returns the checksum of the files of a scan (see files_of_scan), one after the other, or of any file. Uses `threads` at
/// most; 0: as many as OpenMP uses in the calling thread. Once abandoned it ends early, with another text. Throws Error.
std::string checksum_of(
    const std::string& path, int threads = 0, const IsAbandoned& is_abandoned = [] { return false; });
/// Returns whether `recorded` is the checksum of `path`; false, after some milliseconds, once it is abandoned. Throws Error.
bool has_checksum(const std::string& path, const std::string& recorded, const IsAbandoned& is_abandoned);

/// A checksum that is made in the background.
class ChecksumInBackground {
 public:
  explicit ChecksumInBackground(const std::string& path, int threads = 0);
  /// Returns one that is known.
  static ChecksumInBackground of(std::string checksum) {
    return ChecksumInBackground(Known{std::move(checksum)});
  }
  /// Ends it early if nobody has waited for it.
  ~ChecksumInBackground() { abandoned_ = true; }
  ChecksumInBackground(const ChecksumInBackground&) = delete;
  ChecksumInBackground& operator=(const ChecksumInBackground&) = delete;
  /// Waits for it; may be called again, and from any thread. Throws Error.
  const std::string& get() const { return result_.get(); }

 private:
  struct Known {
    std::string checksum;
  };
  explicit ChecksumInBackground(Known known);
  std::atomic<bool> abandoned_ = false;
  std::shared_future<std::string> result_;
};

}  // namespace fhd::io
