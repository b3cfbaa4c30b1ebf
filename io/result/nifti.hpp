#pragma once
// NIfTI-1 files of reconstructed magnitudes and phases.
#include <array>
#include <cstdint>
#include <string>

#include "io/result/results.hpp"

namespace fhd::io {

/// Rows of the map from voxel indices (i, j, k, 1) to patient coordinates in mm, +x right-to-left flipped to
/// NIfTI's RAS:
///   RAS(i, j, k) = diag(-1, -1, 1) voxel_to_lps_mm (i, j, k, 1)
/// of the first image. For several slices, k counts them, from `position` of the first in steps of
/// (last - first) / (slices - 1).
Affine affine_of(const ImageSeries& series);

/// Whether the slices of a series lie where affine_of puts them, to 1 % of their distance.
bool lie_on_affine(const ImageSeries& series);

/// What the header of a file says of itself.
struct NiftiLabel {
  std::string description;  ///< `descrip`; its first 79 bytes count
  double repetition_time_s =
      0;              ///< pixdim[4], of several repetitions; 0: not known, no unit of time is stated
  std::string run{};  ///< `db_name`: io/result/run.hpp
};
enum class NiftiPart { magnitude, phase };

/// Throws Error naming `subject` where the format has no room for so many volumes of this matrix.
void require_nifti_room(const std::array<int, 3>& matrix_size, std::int64_t slice_count,
                        std::int64_t repetition_count, const std::string& subject);

/// Writes magnitudes, or phases in rad (-pi ... pi), as float32, gzip: x, y, z (or slice), repetition.
/// Messages call the file `reported_path`. Throws Error. (Not atomic by itself.)
void write_nifti(const std::string& path, const ImageSeries& series, const std::string& reported_path,
                 const NiftiLabel& label = {}, NiftiPart part = NiftiPart::magnitude,
                 const Compression& compression = {});

}  // namespace fhd::io
