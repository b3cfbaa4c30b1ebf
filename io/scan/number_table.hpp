#pragma once
// Tables of numbers that a user gives, in a text file or in HDF5.
#include <string>

#include "recon/array/array.hpp"

namespace fhd::io {

/// Reads numbers [row][column]. Text: a row on each line, numbers separated by blanks, tabs or commas; empty lines and text
/// behind '#' do not count. HDF5: the dataset `dataset` of one axis (rows of one number) or two. At most
/// 2^26 numbers. Throws Error naming the file (and line) where rows differ in length, something is no number, NaN
/// or infinity, or there is none.
Array<double> read_number_table(const std::string& path, const std::string& dataset);
/// Reads the file in this process.
Array<double> read_number_table_here(const std::string& path, const std::string& dataset);

}  // namespace fhd::io
