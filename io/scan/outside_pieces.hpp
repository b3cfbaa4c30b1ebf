#pragma once
// Pieces of a scan from files of their own (ReadOptions::outside). A piece replaces the scan's own and must agree with
// the scan; it is read as the scan's own would be:
//
//   trajectory        HDF5 with /trajectory (hdf5_maps.hpp); a BART pair [3][readout][spoke]; the trajectories of an
//                     ISMRMRD or fhd scan. As many positions as the scan has samples, in their order; discarded samples
//                     of ISMRMRD readouts count in neither. Units refer to the matrix and FOV that a scan with the
//                     trajectory states, else to those of this scan.
//   sensitivity maps  HDF5 with /sensitivity_maps, or a BART pair [x][y][z][coil]: the coils and matrix of the scan.
//   noise             HDF5 with /noise; an ISMRMRD measurement (mrd/noise_readouts.hpp); a BART pair with the coils
//                     along axis 3. Of the coils of the scan. Scaled to its dwell time where both are known.
//   field map         NIfTI (.nii, .nii.gz), interpolated at the voxels of the scan by both affine maps; HDF5 with
//                     /field_map, on the voxels of the scan. In rad/s, or in Hz (OutsidePieces::field_map_unit). Needs
//                     the times of the samples.
#include "io/scan/scan_file.hpp"

namespace fhd::io {

/// Adds to `file` corrections that put the pieces of `options.outside` in their places, and says so in its summary.
/// The source of `file` has not looked at a trajectory of its own where one is named here. Throws Error naming a piece
/// that cannot be read or does not agree with the scan.
void add_outside_pieces(ScanFile& file, const ReadOptions& options);

}  // namespace fhd::io
