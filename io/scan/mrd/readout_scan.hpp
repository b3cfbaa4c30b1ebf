#pragma once
// An ISMRMRD measurement whose readouts are in memory, as they come over a connection.
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "io/scan/mrd/volume_assembler.hpp"

namespace fhd::io::mrd {

/// A readout with arrays of its own.
struct OwnedReadout {
  ReadoutHead head{};
  std::vector<float> trajectory;  ///< [sample][axis]
  std::vector<float> values;      ///< [coil][sample][re, im]

  Readout view() const { return {head, trajectory, values}; }
  /// Returns the memory that it takes.
  std::size_t bytes() const { return sizeof *this + (trajectory.size() + values.size()) * sizeof(float); }
};
using SharedReadout = std::shared_ptr<const OwnedReadout>;

/// Readouts of one measurement, in the order in which they were acquired. Volumes are those of a file that holds them;
/// io::source_of makes a source of it, which may be read concurrently.
class ReadoutScan {
 public:
  /// `subjects`: what errors call the measurement and its parts. Throws Error as open_scan does of a file.
  ReadoutScan(Header header, const ReadOptions& options, Subjects subjects,
              std::vector<SharedReadout> readouts);
  const ScanSummary& summary() const { return summary_; }
  Scan read(std::int64_t slice, std::int64_t repetition);
  /// Returns how trajectories became positions.
  const SamplePositions& positions() const { return volumes_.positions(); }

 private:
  Readout readout(std::int64_t number) const { return readouts_[static_cast<std::size_t>(number)]->view(); }
  std::vector<SharedReadout> readouts_;
  VolumeAssembler volumes_;
  ScanSummary summary_;
};

}  // namespace fhd::io::mrd
