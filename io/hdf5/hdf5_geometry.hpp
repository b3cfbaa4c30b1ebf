#pragma once
// Attributes of HDF5 files that state where volumes lie in the patient: matrix_size and fov_mm (x, y, z),
// position_mm (3 numbers per slice), read_direction, phase_direction, slice_direction (patient LPS).
#include <cstdint>
#include <string>
#include <vector>

#include "io/hdf5/hdf5.hpp"
#include "recon/domain/scan.hpp"

namespace fhd::io {

/// Returns the geometry of each slice of scans or images [repetition][slice].
template <class T>
std::vector<Geometry> geometries_of_slices(const std::vector<T>& volumes, std::int64_t slice_count) {
  std::vector<Geometry> slices;
  for (std::int64_t slice = 0; slice < slice_count; ++slice)
    slices.push_back(volumes[static_cast<std::size_t>(slice)].geometry);
  return slices;
}

/// Writes the geometry of slices to `object`. All slices have that of the first but for their positions.
inline void write_geometry(hdf5::File& file, const std::string& object, const std::vector<Geometry>& slices) {
  const auto& first = slices.front();
  const auto write = [&](const char* name, const auto& three) {
    file.write_attribute(object, name, std::vector(three.begin(), three.end()));
  };
  write("matrix_size", first.matrix_size);
  write("fov_mm", first.fov_mm);
  std::vector<double> positions;
  for (const auto& slice : slices)
    positions.insert(positions.end(), slice.position_mm.begin(), slice.position_mm.end());
  write("position_mm", positions);
  write("read_direction", first.read_direction);
  write("phase_direction", first.phase_direction);
  write("slice_direction", first.slice_direction);
}

}  // namespace fhd::io
