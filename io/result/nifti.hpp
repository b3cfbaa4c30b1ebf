#pragma once
// NIfTI-1 files of reconstructed magnitudes and phases.
#include <string>
#include <vector>

#include "io/result/results.hpp"

namespace fhd::io {

/// Returns the rows of the map from voxel indices (i, j, k, 1) to NIfTI's RAS in mm, k counting the planes of a stack:
///   RAS(i, j, k) = diag(-1, -1, 1) voxel_to_lps_mm (i, j, k, 1)
Affine affine_of(const SliceStack& stack);

/// Returns what NIfTI cannot say of the places of slices: not even steps, or steps that are not at right angles to the plane.
/// Empty: nothing.
std::string note_of_places(const std::vector<SliceStack>& stacks);

/// Magnitudes, phases in rad (-pi ... pi), or real parts.
enum class NiftiPart { magnitude, phase, real };
/// The description and time step in the header.
struct NiftiLabel {
  std::string description;  ///< `descrip`; its first 79 bytes count
  double repetition_time_s =
      0;  ///< pixdim[4], of several repetitions; 0: not known, no unit of time is stated
};
/// Writes the slices of a stack of the series as float32, gzip: x, y, z (or place), repetition. Messages call the file
/// `reported_path`. Throws Error. (Not atomic by itself.)
void write_nifti(const std::string& path, const ImageSeries& series, const SliceStack& stack,
                 const std::string& reported_path, const NiftiLabel& label = {},
                 NiftiPart part = NiftiPart::magnitude, const Compression& compression = {});

}  // namespace fhd::io
