#pragma once
// Files that are given beside a scan. Functions whose name ends in `_here` read in this process.
#include <string>

#include "recon/domain/gradient_response.hpp"
#include "recon/domain/scan.hpp"

namespace fhd::io {

/// Reads impulse responses of a gradient system, from an HDF5 file in one of two layouts:
///
///     /girf              complex [axis][frequency], H of recon/domain/gradient_response.hpp
///     /frequency_hz      [frequency], ascending, from 0 or less on
///
///     /impulse_response  real [axis][time], h in 1/s
///     /time_s            [time], ascending in even steps, negative ones before the impulse
///
/// with the axes x, y and z of the magnet. Throws Error, also where GradientResponse::validate refuses it.
GradientResponse read_gradient_response(const std::string& path);
GradientResponse read_gradient_response_here(const std::string& path);

/// Reads the first volume of a NIfTI file (.nii, .nii.gz), scaled as its header says, with its place in the patient
/// (sform, else qform). Throws Error when the file cannot be read, holds no real numbers or NaN, or does not say where it
/// lies.
Volume read_nifti_volume(const std::string& path);
Volume read_nifti_volume_here(const std::string& path);

/// Reads numbers [row][column]. Text: a row on each line, numbers separated by blanks, tabs or commas; empty lines and text
/// behind '#' do not count. HDF5: the dataset `dataset` of one axis (rows of one number) or two. At most 2^26 numbers.
/// Throws Error naming the file (and line) where rows differ in length, something is no finite number, or there is none.
Array<double> read_number_table(const std::string& path, const std::string& dataset);
Array<double> read_number_table_here(const std::string& path, const std::string& dataset);

}  // namespace fhd::io
