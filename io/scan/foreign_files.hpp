#pragma once
// Recognises files that fhd does not read, by their first bytes, so that an error names them and what helps.
#include <optional>
#include <string>

namespace fhd::io {

struct ForeignFile {
  std::string name, remedy;
};
/// Returns what a file is, unless it is HDF5 or not known. Throws Error where it cannot be read.
std::optional<ForeignFile> foreign_file(const std::string& path);
/// Returns whether a file is of MATLAB, version 5 to 7. Throws Error where it cannot be read.
bool is_matlab_5(const std::string& path);
/// Returns what an HDF5 file is that holds no scan: by its first bytes and the names of its groups.
std::optional<ForeignFile> foreign_hdf5(const std::string& path);

}  // namespace fhd::io
