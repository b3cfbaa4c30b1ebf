#pragma once
// NIfTI-1 files of reconstructed magnitudes and phases.
#include <string>

#include "io/result/results.hpp"

namespace fhd::io {

/// Returns the rows of the map from voxel indices (i, j, k, 1) to patient coordinates in mm, +x right-to-left flipped to
/// NIfTI's RAS:
///   RAS(i, j, k) = diag(-1, -1, 1) voxel_to_lps_mm (i, j, k, 1)
/// of the first image. For several slices, k counts them, from `position` of the first in steps of
/// (last - first) / (slices - 1).
Affine affine_of(const ImageSeries& series);

/// Returns whether the slices of a series lie where affine_of puts them, to 1 % of their distance.
bool lie_on_affine(const ImageSeries& series);

/// Writes magnitudes, or phases in rad (-pi ... pi), as float32, gzip: x, y, z (or slice), repetition.
enum class NiftiPart { magnitude, phase };
/// The description and time step in the header.
struct NiftiLabel {
  std::string description;  ///< `descrip`; its first 79 bytes count
  double repetition_time_s =
      0;  ///< pixdim[4], of several repetitions; 0: not known, no unit of time is stated
};
/// Messages call the file `reported_path`. Throws Error. (Not atomic by itself.)
void write_nifti(const std::string& path, const ImageSeries& series, const std::string& reported_path,
                 const NiftiLabel& label = {}, NiftiPart part = NiftiPart::magnitude,
                 const Compression& compression = {});

}  // namespace fhd::io
