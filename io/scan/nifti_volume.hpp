#pragma once
// NIfTI images as input: the anatomical prior.
#include <string>

#include "recon/domain/scan.hpp"

namespace fhd::io {

/// Reads the first volume of a NIfTI file (.nii, .nii.gz), scaled as its header says, with its place in the patient
/// (sform, else qform). Throws Error when the file cannot be read, holds no real numbers or NaN, or does not
/// say where it lies.
Volume read_nifti_volume(const std::string& path);
/// Reads the file in this process.
Volume read_nifti_volume_here(const std::string& path);

}  // namespace fhd::io
