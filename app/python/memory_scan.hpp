#pragma once
// Arrays as a scan file, so that a run reads both alike.
#include <string>
#include <vector>

#include "io/scan/scan_file.hpp"

namespace fhd::python {

/// Volumes in memory, [repetition][slice].
class MemoryScan {
 public:
  /// Throws Error where a volume contradicts itself or others. `readout_length` 0: not known.
  MemoryScan(std::vector<Scan> volumes, std::int64_t repetition_count, std::int64_t slice_count,
             std::int64_t readout_length);
  const io::ScanSummary& summary() const { return summary_; }
  Scan read(std::int64_t slice, std::int64_t repetition) const;
  /// Returns "sha256-arrays:" and 64 hex digits, of all positions and values.
  std::string checksum() const;

 private:
  std::vector<Scan> volumes_;
  io::ScanSummary summary_;
};

}  // namespace fhd::python
