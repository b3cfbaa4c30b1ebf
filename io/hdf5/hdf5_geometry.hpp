#pragma once
// Attributes of HDF5 files that state where volumes lie in the patient: matrix_size and fov_mm (x, y, z),
// position_mm (3 numbers per slice), read_direction, phase_direction, slice_direction (patient LPS; 3 numbers, or 3 per
// slice where slices differ).
#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "io/hdf5/hdf5.hpp"
#include "recon/domain/scan.hpp"
#include "recon/error.hpp"

namespace fhd::io {

/// Returns the geometry of each slice of scans or images [repetition][slice].
template <class T>
std::vector<Geometry> geometries_of_slices(const std::vector<T>& volumes, std::int64_t slice_count) {
  std::vector<Geometry> slices;
  for (std::int64_t slice = 0; slice < slice_count; ++slice)
    slices.push_back(volumes[static_cast<std::size_t>(slice)].geometry);
  return slices;
}

/// Writes the geometry of slices to `object`. All slices have the matrix and the FOV of the first.
inline void write_geometry(hdf5::File& file, const std::string& object, const std::vector<Geometry>& slices) {
  const auto& first = slices.front();
  const auto write = [&](const char* name, const auto& three) {
    file.write_attribute(object, name, std::vector(three.begin(), three.end()));
  };
  write("matrix_size", first.matrix_size);
  write("fov_mm", first.fov_mm);
  const auto write_of_slices = [&](const char* name, std::array<double, 3> Geometry::*vector,
                                   bool may_be_one) {
    const bool one = may_be_one && std::ranges::all_of(slices, [&](const Geometry& slice) {
                       return slice.*vector == first.*vector;
                     });
    std::vector<double> numbers;
    for (const auto& slice : slices)
      if (!one || numbers.empty())
        numbers.insert(numbers.end(), (slice.*vector).begin(), (slice.*vector).end());
    file.write_attribute(object, name, numbers);
  };
  write_of_slices("position_mm", &Geometry::position_mm, false);
  write_of_slices("read_direction", &Geometry::read_direction, true);
  write_of_slices("phase_direction", &Geometry::phase_direction, true);
  write_of_slices("slice_direction", &Geometry::slice_direction, true);
}

/// Reads the geometry of slices of this matrix from `object`; what it does not state is that of a Geometry. Throws Error.
inline std::vector<Geometry> read_geometry(const hdf5::File& file, const std::string& object,
                                           const std::array<int, 3>& matrix_size, std::size_t slice_count) {
  Geometry geometry;
  geometry.matrix_size = matrix_size;
  const auto numbers = [&](const char* attribute, std::initializer_list<std::size_t> counts) {
    const auto found = file.number_attribute(object, attribute);
    if (std::ranges::find(counts, found.size()) == counts.end())
      throw Error(file.subject(object) + " attribute '" + attribute + "'",
                  std::to_string(*(counts.end() - 1)) + " numbers", std::to_string(found.size()));
    return found;
  };
  if (file.has_attribute(object, "fov_mm"))
    std::copy_n(numbers("fov_mm", {3}).begin(), 3, geometry.fov_mm.begin());
  std::vector<Geometry> slices(slice_count, geometry);
  const auto read_of_slices = [&](const char* attribute, std::array<double, 3> Geometry::*vector) {
    if (!file.has_attribute(object, attribute)) return;
    const auto found = numbers(attribute, {3, 3 * slice_count});
    for (std::size_t i = 0; i < slice_count; ++i)
      std::copy_n(found.begin() + (found.size() > 3 ? 3 * static_cast<std::ptrdiff_t>(i) : 0), 3,
                  (slices[i].*vector).begin());
  };
  read_of_slices("position_mm", &Geometry::position_mm);
  read_of_slices("read_direction", &Geometry::read_direction);
  read_of_slices("phase_direction", &Geometry::phase_direction);
  read_of_slices("slice_direction", &Geometry::slice_direction);
  return slices;
}

}  // namespace fhd::io
