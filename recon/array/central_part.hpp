#pragma once
#include <algorithm>

#include "recon/array/array.hpp"

namespace fhd {

/// Returns the part [z][y][x] of an array in host memory about its centre: element floor(N/2) of every axis stays there.
template <class T>
Array<T> central_part(const Array<T>& values, const Shape& shape) {
  const auto first = [&](int axis) { return values.extent(axis) / 2 - shape[axis] / 2; };
  const std::int64_t ny = shape[1], nx = shape[2];
  Array<T> part(shape);
#pragma omp parallel for schedule(static)
  for (std::int64_t row = 0; row < shape[0] * ny; ++row)
    std::copy_n(values.data() +
                    ((row / ny + first(0)) * values.extent(1) + row % ny + first(1)) * values.extent(2) +
                    first(2),
                nx, part.data() + row * nx);
  return part;
}

}  // namespace fhd
