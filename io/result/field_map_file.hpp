#pragma once
// A field map by itself: /field_map [z][y][x], or [slice][z][y][x], off-resonance in rad/s, with the attributes of
// hdf5_geometry.hpp on the root. What ReadOptions::outside takes.
#include <string>
#include <vector>

#include "io/files/file_set.hpp"
#include "recon/domain/scan.hpp"

namespace fhd::io {

/// Writes the maps of all slices, with the attribute `made_by` if it is given. Adds the file to `files`, for the caller to
/// commit. Throws Error.
void write_field_map(FileSet& files, const std::string& path, const std::vector<const Array<float>*>& slices,
                     const std::vector<Geometry>& geometries, const std::string& made_by = {});

}  // namespace fhd::io
