#include "recon/trajectory/small_grid.hpp"

#include <cmath>
#include <numbers>

namespace fhd {
namespace {

using Index = std::int64_t;
using Matrix = Array<Complex<double>>;

Complex<double> turned_by(double turns) {
  const double phase = 2 * std::numbers::pi * (turns - std::rint(turns));
  return {std::cos(phase), std::sin(phase)};
}

/// exp(i 2 pi k_axis r) of `count` places r = first, first + step, ... for every sample, [sample][place].
Matrix turns_along(const SmallPositions& k, std::size_t axis, double first, double step, int count) {
  Matrix turns({static_cast<Index>(k.size()), count});
#pragma omp parallel for schedule(static)
  for (std::size_t m = 0; m < k.size(); ++m)
    for (int i = 0; i < count; ++i)
      turns[static_cast<Index>(m) * count + i] = turned_by(k[m][axis] * (first + i * step));
  return turns;
}

}  // namespace

// exp(-i 2 pi k r) is a product of the axes'.
Matrix encoding_matrix(const SmallPositions& k, const SmallGrid& grid) {
  const auto& n = grid.n;
  std::array<Matrix, 3> along;
  for (std::size_t axis = 0; axis < 3; ++axis)
    along[axis] =
        turns_along(k, axis, -grid.position(static_cast<int>(axis), 0), -grid.field[axis] / n[axis], n[axis]);
  Matrix e({static_cast<Index>(k.size()), grid.count()});
#pragma omp parallel for schedule(static)
  for (Index m = 0; m < e.extent(0); ++m) {
    auto* to = e.data() + m * grid.count();
    for (int z = 0; z < n[2]; ++z)
      for (int y = 0; y < n[1]; ++y) {
        const auto plane = along[2][m * n[2] + z] * along[1][m * n[1] + y];
        for (int x = 0; x < n[0]; ++x) *to++ = plane * along[0][m * n[0] + x];
      }
  }
  return e;
}

// E^H E depends on differences of voxels alone: a sum over the samples for each of those.
Matrix gram_matrix(const SmallPositions& k, const SmallGrid& grid) {
  const auto& n = grid.n;
  const int wx = 2 * n[0] - 1, wy = 2 * n[1] - 1, wz = 2 * n[2] - 1;
  std::array<Matrix, 3> along;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double step = grid.field[axis] / n[axis];
    along[axis] = turns_along(k, axis, -(n[axis] - 1) * step, step, 2 * n[axis] - 1);
  }
  Matrix sums({wz, wy, wx});
#pragma omp parallel for schedule(static)
  for (int line = 0; line <= wz * wy / 2; ++line) {  // opposite differences have conjugated sums
    auto* const row = sums.data() + Index{line} * wx;
    for (Index m = 0; m < static_cast<Index>(k.size()); ++m) {
      const auto plane = along[2][m * wz + line / wy] * along[1][m * wy + line % wy];
      for (int x = 0; x < wx; ++x) row[x] += plane * along[0][m * wx + x];
    }
  }
  for (Index i = 0; i < sums.size() / 2; ++i) sums[sums.size() - 1 - i] = conj(sums[i]);
  Matrix gram({grid.count(), grid.count()});
#pragma omp parallel for schedule(static)
  for (Index p = 0; p < grid.count(); ++p) {
    const int x = static_cast<int>(p % n[0]), y = static_cast<int>(p / n[0] % n[1]),
              z = static_cast<int>(p / n[0] / n[1]);
    auto* to = gram.data() + p * grid.count();
    for (int qz = 0; qz < n[2]; ++qz)
      for (int qy = 0; qy < n[1]; ++qy) {
        const auto* const row = sums.data() + (Index{z - qz + n[2] - 1} * wy + y - qy + n[1] - 1) * wx;
        for (int qx = 0; qx < n[0]; ++qx) *to++ = row[x - qx + n[0] - 1];
      }
  }
  return gram;
}

Matrix adjoint(const Matrix& a) {
  const Index rows = a.extent(0), columns = a.extent(1);
  Matrix result({columns, rows});
  for (Index i = 0; i < rows; ++i)
    for (Index j = 0; j < columns; ++j) result[j * rows + i] = conj(a[i * columns + j]);
  return result;
}

}  // namespace fhd
