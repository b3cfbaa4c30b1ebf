#include "validation/sense_oracle.hpp"

#include <cmath>
#include <complex>
#include <vector>

namespace fhd::oracle {
namespace {

using Number = std::complex<double>;
using Matrix = std::vector<std::vector<Number>>;

/// Inverts a matrix by Gauss and Jordan, with the largest pivot of each column.
Matrix inverse_of(Matrix a) {
  const std::size_t n = a.size();
  Matrix inverse(n, std::vector<Number>(n));
  for (std::size_t i = 0; i < n; ++i) inverse[i][i] = 1;
  for (std::size_t column = 0; column < n; ++column) {
    std::size_t pivot = column;
    for (std::size_t row = column; row < n; ++row)
      if (std::abs(a[row][column]) > std::abs(a[pivot][column])) pivot = row;
    std::swap(a[pivot], a[column]), std::swap(inverse[pivot], inverse[column]);
    const Number scale = 1.0 / a[column][column];
    for (std::size_t j = 0; j < n; ++j) a[column][j] *= scale, inverse[column][j] *= scale;
    for (std::size_t row = 0; row < n; ++row) {
      if (row == column) continue;
      const Number factor = a[row][column];
      for (std::size_t j = 0; j < n; ++j)
        a[row][j] -= factor * a[column][j], inverse[row][j] -= factor * inverse[column][j];
    }
  }
  return inverse;
}

}  // namespace

Array<double> sense_g_factor(const Array<Complex<double>>& maps, int axis, int reduction) {
  const std::int64_t coils = maps.extent(0), extents[] = {maps.extent(3), maps.extent(2), maps.extent(1)},
                     strides[] = {1, extents[0], extents[0] * extents[1]},
                     voxels = extents[0] * extents[1] * extents[2], apart = extents[axis] / reduction;
  Array<double> g({extents[2], extents[1], extents[0]});
  for (std::int64_t p = 0; p < voxels; ++p) {
    const std::int64_t along = p / strides[axis] % extents[axis];
    std::vector<std::vector<Number>> folded;  // [voxel][coil], p first
    for (int alias = 0; alias < reduction; ++alias) {
      const std::int64_t at = (along + alias * apart) % extents[axis];
      std::vector<Number> map;
      double square = 0;
      for (std::int64_t coil = 0; coil < coils; ++coil) {
        const auto value = maps[coil * voxels + p + (at - along) * strides[axis]];
        map.emplace_back(value.re, value.im);
        square += std::norm(map.back());
      }
      if (square > 0) folded.push_back(map);
      if (square == 0 && alias == 0) break;
    }
    if (folded.empty()) continue;
    Matrix c(folded.size(), std::vector<Number>(folded.size()));
    for (std::size_t i = 0; i < folded.size(); ++i)
      for (std::size_t j = 0; j < folded.size(); ++j)
        for (std::size_t coil = 0; coil < folded[i].size(); ++coil)
          c[i][j] += std::conj(folded[i][coil]) * folded[j][coil];
    g[p] = std::sqrt((inverse_of(c)[0][0] * c[0][0]).real());
  }
  return g;
}

}  // namespace fhd::oracle
