#pragma once
// Arrays in the place of a scan file: what reads files can then be told the same.
#include <memory>
#include <string>
#include <vector>

#include "io/scan/scan_file.hpp"

namespace fhd::python {

/// Volumes in memory, [repetition][slice].
class MemoryScan final : public io::ScanFile {
 public:
  /// Throws Error where a volume contradicts itself, or others. `readout_length`: 0: not known.
  MemoryScan(std::vector<Scan> volumes, std::int64_t repetition_count, std::int64_t slice_count,
             std::int64_t readout_length);
  const io::ScanSummary& summary() const override { return summary_; }
  Scan read(std::int64_t slice, std::int64_t repetition) override;
  bool reads_side_by_side() const override { return true; }
  /// "sha256-arrays:" and 64 hex digits, of all positions and values.
  std::string checksum() const;

 private:
  std::vector<Scan> volumes_;
  io::ScanSummary summary_;
};

/// A file that others keep: for those who take one for themselves.
class SharedScanFile final : public io::ScanFile {
 public:
  explicit SharedScanFile(std::shared_ptr<io::ScanFile> file) : file_(std::move(file)) {}
  const io::ScanSummary& summary() const override { return file_->summary(); }
  Scan read(std::int64_t slice, std::int64_t repetition) override { return file_->read(slice, repetition); }
  bool reads_side_by_side() const override { return file_->reads_side_by_side(); }

 private:
  std::shared_ptr<io::ScanFile> file_;
};

}  // namespace fhd::python
