// Adaptive combination: Walsh et al., MRM 43:682 (2000).
#include <cmath>
#include <vector>

#include "recon/array/parallel_failure.hpp"
#include "recon/coils/matrix_field.hpp"

namespace fhd {

/// The local covariance of low-resolution images m_c(r), m_c(r) conj(m_c'(r)) smoothed by a positive window:
///
///     h_cc'(D) = taper(D) sum_q y_c(q) conj(y_c'(q + D)),   taper = product of 1 - |D| / (degree + 1)
///
/// y being the windowed region.
MatrixField adaptive_field(const CalibrationRegion& region, double wanted_radius) {
  const auto radius = neighbourhood_radius(region, wanted_radius);
  const int coils = static_cast<int>(region.kspace.extent(0));
  const auto positions = ball(region.radius);
  const std::int64_t voxels = region.kspace.size() / coils;
  const Array<Complex<float>> by_coil = windowed(region);
  std::vector<Complex<float>> weighted;  // [position][coil]
  for (std::int64_t i = 0; i < voxels; ++i)
    for (int coil = 0; coil < coils; ++coil) weighted.push_back(by_coil.data()[coil * voxels + i]);
  std::array<int, 3> degree;
  for (int axis = 0; axis < 3; ++axis) degree[axis] = static_cast<int>(std::lround(2 * radius[axis]));
  MatrixField field(coils, degree);
  const auto differences = ball(degree);
  const auto n = region.matrix_size();
  const auto sum_products = [&](const Position& difference) {
    float taper = 1;
    for (int axis = 0; axis < 3; ++axis)
      taper *= 1 - static_cast<float>(std::abs(difference[axis])) / static_cast<float>(degree[axis] + 1);
    std::vector<Complex<float>> sums(field.pair_count());
    for (const Position& q : positions) {
      Position shifted;
      bool inside = true;
      for (int axis = 0; axis < 3; ++axis) {
        shifted[axis] = q[axis] + difference[axis];
        inside = inside && std::abs(shifted[axis]) <= (n[axis] - 1) / 2;
      }
      if (!inside) continue;
      const std::int64_t from = region.index_of(q) * coils, to = region.index_of(shifted) * coils;
      auto sum = sums.begin();
      for (int c = 0; c < coils; ++c) {
        const Complex<float> y = taper * weighted[from + c];
        for (int d = c; d < coils; ++d) *sum++ += y * conj(weighted[to + d]);
      }
    }
    auto sum = sums.begin();
    for (int c = 0; c < coils; ++c)
      for (int d = c; d < coils; ++d) field.at(c, d, difference) = *sum++;
  };
  ParallelFailure failure;
#pragma omp parallel for schedule(dynamic)
  for (std::size_t i = 0; i < differences.size(); ++i) failure.guard([&] { sum_products(differences[i]); });
  failure.rethrow();
  return field;
}

}  // namespace fhd
