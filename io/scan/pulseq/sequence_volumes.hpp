#pragma once
// A sequence beside a scan: the scale of its positions, and its volumes for scans that keep no readouts.
#include <array>
#include <memory>
#include <vector>

#include "io/scan/pulseq/sequence.hpp"
#include "io/scan/scan_file.hpp"

namespace fhd::io::pulseq {

/// Returns the factors from 1/m to cycles/FOV of the scan, 0 along axes of one voxel. Where the scan states no FOV, puts that of the sequence there; says so, and
/// where both differ, in `inferred`. Throws Error where an axis of several voxels has none.
std::array<double, 3> scale_of(const Sequence& sequence, ScanSummary& scan);

/// The samples of the image in each volume of a scan: those of ADC events without the labels NOISE, NAV, and REF (but with IMA).
/// Volumes are told by the labels REP, ECO, PHS and SET (repetitions, in this order) and SLC (slices) if there are as many as the
/// scan has; else all samples are of each volume.
class SequenceVolumes {
 public:
  /// Says in `inferred` what was taken for granted.
  SequenceVolumes(Sequence sequence, ScanSummary& scan);
  struct Samples {
    Array<double> k;       ///< 1/m, [axis][sample]
    Array<double> time_s;  ///< of no meaning without has_times()
  };
  Samples read(std::int64_t slice, std::int64_t repetition) const;
  bool has_times() const { return has_times_; }
  /// Returns whether the samples have the label NOROT. Throws Error where some have it and others have not.
  bool is_along_magnet() const;
  /// Returns the factors from 1/m to cycles/FOV.
  const std::array<double, 3>& scale() const { return scale_; }
  /// Returns ": " and the number of ADC events of a volume.
  std::string shape() const;

 private:
  Sequence sequence_;
  std::array<double, 3> scale_;
  std::int64_t slice_count_ = 1;
  std::vector<std::vector<std::int64_t>> adcs_;  ///< of each [repetition][slice], or of all
  bool has_times_ = true, is_along_magnet_ = false, is_along_image_ = false;
};

}  // namespace fhd::io::pulseq
