#pragma once
// Pieces of a scan from files of their own (ReadOptions::outside). Each replaces the scan's own, if it has one, and must
// agree with the scan; it is read as the scan's own would be:
//
//   trajectory        HDF5 with /trajectory (hdf5_trajectory.hpp); a BART pair [3][readout][spoke]; the trajectories of
//                     an ISMRMRD or fhd scan. As many positions as the scan has samples, in their order; discarded
//                     samples of ISMRMRD readouts count in neither. Units refer to the matrix and FOV that a scan with
//                     the trajectory states, else to those of this scan.
//   sensitivity maps  HDF5 with /sensitivity_maps (hdf5_maps.hpp), or a BART pair [x][y][z][coil]: the coils and the
//                     matrix of the scan.
//   noise             HDF5 with /noise; an ISMRMRD measurement (mrd/noise_readouts.hpp: readouts flagged as noise, else
//                     all); a BART pair with the coils along axis 3. Of the coils of the scan. Scaled to its dwell time
//                     where both are known.
//   field map         NIfTI (.nii, .nii.gz), interpolated at the voxels of the scan by both affine maps; HDF5 with
//                     /field_map, on the voxels of the scan. In rad/s, or in Hz (OutsidePieces::field_map_unit). Needs
//                     the times of the samples.
#include <cstdint>
#include <memory>

#include "io/scan/scan_file.hpp"

namespace fhd::io {

/// `file` with the pieces that `options.outside` names in their places, which the remarks of its scans say; `file`
/// itself where there are none. Its reader has not looked at a trajectory of its own where one is named here. Throws
/// Error naming the piece when it cannot be read or does not agree with the scan.
std::unique_ptr<ScanFile> with_outside_pieces(std::unique_ptr<ScanFile> file, const ReadOptions& options);

/// What was opened as it is stored, as `options` ask for it: with the pieces that they name, and without samples that look
/// like a mask (zero_samples.hpp). Throws Error.
std::unique_ptr<ScanFile> as_read(std::unique_ptr<ScanFile> file, const ReadOptions& options);

/// One of them, open.
class OutsidePiece {
 public:
  virtual ~OutsidePiece() = default;
  /// Puts it in its place in a scan that is valid, and says so in the remarks. Throws Error.
  virtual void put_into(Scan& scan, std::int64_t slice, std::int64_t repetition) = 0;
};

/// Each opens its piece, checks it against the scan that `summary` is of, and says in `summary` what follows.
std::unique_ptr<OutsidePiece> open_outside_trajectory(const ReadOptions& options, ScanSummary& summary);
std::unique_ptr<OutsidePiece> open_outside_maps(const ReadOptions& options, ScanSummary& summary);
std::unique_ptr<OutsidePiece> open_outside_noise(const ReadOptions& options, ScanSummary& summary);
std::unique_ptr<OutsidePiece> open_outside_field_map(const ReadOptions& options, ScanSummary& summary);

}  // namespace fhd::io
