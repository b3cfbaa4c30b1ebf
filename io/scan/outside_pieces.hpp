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

/// Adds to `file` corrections that put the pieces of `options.outside` in their places, and says so in its summary.
/// The source of `file` has not looked at a trajectory of its own where one is named here. Throws Error naming a piece
/// that cannot be read or does not agree with the scan.
void add_outside_pieces(ScanFile& file, const ReadOptions& options);

/// Makes a correction of an open piece, which has `put_into(scan, slice, repetition)`.
template <class Piece>
Correction correction_of(std::shared_ptr<Piece> piece) {
  return [piece](Scan& scan, VolumeContext& context) {
    piece->put_into(scan, context.slice, context.repetition);
  };
}

/// Each opens its piece, checks it against the scan of `summary`, and says in `summary` what follows.
Correction open_outside_trajectory(const ReadOptions& options, ScanSummary& summary);
Correction open_outside_maps(const ReadOptions& options, ScanSummary& summary);
Correction open_outside_noise(const ReadOptions& options, ScanSummary& summary);
Correction open_outside_field_map(const ReadOptions& options, ScanSummary& summary);

}  // namespace fhd::io
