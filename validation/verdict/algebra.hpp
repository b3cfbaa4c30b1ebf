#pragma once
// The algebra that the tests share: sums over small dense matrices, least squares of a few unknowns, medians, nearest voxels.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "recon/array/array.hpp"
#include "recon/domain/report.hpp"
#include "recon/trajectory/small_grid.hpp"

namespace fhd::validation {

using Index = std::int64_t;
using Matrix = Array<Complex<double>>;

/// Returns sum |a|^2.
double energy(const Matrix& a);
/// Returns Re conj(a) b.
inline double real_product(const Complex<double>& a, const Complex<double>& b) {
  return a.re * b.re + a.im * b.im;
}
/// Returns Re a^H b.
double real_product(const Matrix& a, const Matrix& b);
Matrix minus(Matrix a, const Matrix& b);
/// Returns these rows of a matrix, which hold `each` values.
Matrix rows_of(const Matrix& a, Index each, const std::vector<Index>& rows);
/// Returns exp(i angle).
inline Complex<double> phasor(double angle) { return {std::cos(angle), std::sin(angle)}; }

/// Returns the combinations of the columns (coils) of `data` that hold most of its energy, [column][combination], at most
/// so many.
Matrix strongest_mix(const Matrix& data, Index most);

/// L^-1 of a + lambda = L L^H.
struct DampedFactor {
  Matrix inverse;
  double lambda = 0;
  double unknowns = 0;  ///< in effect: the trace of (a + lambda)^-1 a
};
/// Returns the factor with lambda = `damping` times the mean diagonal of a, of which the lower triangle is read; empty
/// where that is not positive definite.
std::optional<DampedFactor> damped_factor(Matrix a, double damping);

/// A symmetric positive definite system of a few unknowns.
struct System {
  std::size_t count;
  std::vector<double> matrix, right;
  explicit System(std::size_t n) : count(n), matrix(n * n), right(n) {}
  double& operator()(std::size_t i, std::size_t j) { return matrix[i * count + j]; }
};
struct Solution {
  std::vector<double> sizes, inverse;  ///< the inverse matrix as well
  double explained = 0;                ///< right^T inverse right
};
/// Returns the solution; empty where an unknown changes nothing that is not changed by the others.
std::optional<Solution> solved(const System& system);

/// Returns a finding: `amount` with its standard deviation in `unit`, the share of what is left over that it explains, and
/// |change| / |image|; < 0: not known.
inline Finding make_finding(std::string_view code, std::string text, double amount = 0,
                            double uncertainty = 0, std::string unit = {}, double share = 0,
                            double image_change = -1) {
  return {std::string(code), std::move(text), amount, uncertainty, std::move(unit), share, image_change};
}

/// Adds to a finding what the option that undoes it takes.
inline Finding with_correction(Finding finding, std::vector<double> correction) {
  finding.correction = std::move(correction);
  return finding;
}

/// Returns the value that `share` of the others are below; 0 for no values.
inline double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size()));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}
/// Returns the upper one of two middle values.
inline double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

/// Returns the voxel of a matrix that is nearest to a position in FOVs; positions beyond the edge are at it.
inline Index nearest_voxel(const std::array<double, 3>& r, const std::array<int, 3>& n) {
  Index at = 0;
  for (std::size_t axis = 3; axis-- > 0;)
    at = at * n[axis] + std::clamp<Index>(std::lround(r[axis] * n[axis]) + n[axis] / 2, 0, n[axis] - 1);
  return at;
}
inline Index nearest_voxel(const SmallGrid& grid, Index voxel, const std::array<int, 3>& n) {
  std::array<double, 3> r{};
  for (std::size_t axis = 0; axis < 3; ++axis) r[axis] = grid.position(voxel, axis);
  return nearest_voxel(r, n);
}

}  // namespace fhd::validation
