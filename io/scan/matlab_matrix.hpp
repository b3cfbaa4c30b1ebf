#pragma once
// Matrices of MATLAB files of version 5 to 7, which `save` writes unless told otherwise. (Those of version 7.3 are HDF5.)
#include <string>

#include "recon/array/array.hpp"

namespace fhd::io {

/// Reads a real matrix, [row][column], in this process; empty where the file holds none of this name. Throws Error, always in
/// a build without libmatio.
Array<double> read_matlab_matrix(const std::string& path, const std::string& name);

}  // namespace fhd::io
