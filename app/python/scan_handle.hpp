#pragma once
// Scans as Python holds them: files, and arrays, which a run reads alike.
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "io/scan/checksum.hpp"
#include "io/scan/scan_file.hpp"

namespace fhd::python {

/// Volumes in memory, [repetition][slice].
class MemoryScan {
 public:
  /// Throws Error where a volume contradicts itself or others. `readout_length` 0: not known. `unit`: a sentence on the unit
  /// in which positions were given, or empty.
  MemoryScan(std::vector<Scan> volumes, std::int64_t repetition_count, std::int64_t slice_count,
             std::int64_t readout_length, const std::string& unit);
  const io::ScanSummary& summary() const { return summary_; }
  Scan read(std::int64_t slice, std::int64_t repetition) const;
  /// Returns "sha256-arrays:" and 64 hex digits, of all positions and values; once abandoned it ends early, with another text.
  std::string checksum(const io::IsAbandoned& is_abandoned) const;

 private:
  std::vector<Scan> volumes_;
  io::ScanSummary summary_;
};

struct ScanHandle {
  /// Holds the open file `path`.
  ScanHandle(std::shared_ptr<io::ScanFile> of, std::string path)
      : file(std::move(of)), name(std::move(path)) {}
  /// Holds arrays.
  explicit ScanHandle(std::shared_ptr<const MemoryScan> of)
      : file(std::make_shared<io::ScanFile>(io::source_of(of, true))),
        arrays(std::move(of)),
        name("arrays") {}

  /// Returns the checksum by which results name their scan; once abandoned it ends early, with another text. Throws Error.
  std::string checksum(const io::IsAbandoned& is_abandoned) const {
    return arrays ? arrays->checksum(is_abandoned) : io::checksum_of(name, 0, is_abandoned);
  }

  std::shared_ptr<io::ScanFile> file;
  std::shared_ptr<const MemoryScan> arrays;  ///< null: it is a file
  std::string name;                          ///< the path of the file
  std::mutex mutex;                          ///< one reads at a time
};

}  // namespace fhd::python
