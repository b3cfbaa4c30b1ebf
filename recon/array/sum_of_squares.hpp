#pragma once
// Sums |value|^2 over the values that lie behind each other at a voxel: coils, vectors.
#include <cstdint>

#include "recon/array/complex.hpp"

namespace fhd {

/// sum over c of |values(c, p)|^2, `voxels` apart
template <class T>
FHD_HOST_DEVICE T sum_of_squares(const Complex<T>* values, std::int64_t size, std::int64_t voxels,
                                 std::int64_t p) {
  T sum = 0;
  for (std::int64_t i = p; i < size; i += voxels) sum += norm(values[i]);
  return sum;
}

}  // namespace fhd
