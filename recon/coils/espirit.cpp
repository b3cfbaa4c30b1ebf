// ESPIRiT: Uecker et al., MRM 71:990 (2014). Neighbourhoods y_b = (y_c(b + a)), c over coils and a over
// offsets, lie in a subspace with the projector P: y_c(k) = sum over c', a' of P[(c, a), (c', a')]
// y_c'(k - a + a'), for every a. Its mean over the K offsets a is, in image space, m(r) = G(r) m(r) with
//
//     G_cc'(r) = 1/K sum_{a, a'} P[(c, a), (c', a')] exp(-i 2 pi (a' - a) . r)
//
// (equations 18 ff.): sensitivities are eigenvectors of G to the eigenvalue 1.
#include <algorithm>
#include <cmath>
#include <vector>

#include "recon/array/linear_algebra.hpp"
#include "recon/array/parallel_failure.hpp"
#include "recon/coils/matrix_field.hpp"

namespace fhd {

namespace {

using Positions = std::vector<Position>;

/// Indices of those positions b all of whose neighbours b + a are inside the region.
std::vector<std::int64_t> centres_inside(const CalibrationRegion& region, const Positions& offsets) {
  std::vector<std::int64_t> centres;
  for (const Position& b : ball(region.radius))
    if (std::all_of(offsets.begin(), offsets.end(), [&](const Position& a) {
          return square_over({b[0] + a[0], b[1] + a[1], b[2] + a[2]}, region.radius) <= 1 + 1e-9;
        }))
      centres.push_back(region.index_of(b));
  return centres;
}

/// y_b as columns: [(coil, offset)][b].
Array<Complex<float>> neighbourhoods_of(const CalibrationRegion& region, const Positions& offsets) {
  const auto centres = centres_inside(region, offsets);
  const std::int64_t coils = region.kspace.extent(0), voxels = region.kspace.size() / coils,
                     count = static_cast<std::int64_t>(offsets.size()),
                     blocks = static_cast<std::int64_t>(centres.size()), origin = region.index_of({});
  Array<Complex<float>> neighbourhoods({coils * count, blocks});
#pragma omp parallel for schedule(static)
  for (std::int64_t row = 0; row < coils * count; ++row) {
    const std::int64_t shift = row / count * voxels + region.index_of(offsets[row % count]) - origin;
    for (std::int64_t b = 0; b < blocks; ++b)
      neighbourhoods.data()[row * blocks + b] = region.kspace.data()[centres[b] + shift];
  }
  return neighbourhoods;
}

/// Left singular vectors of the neighbourhoods whose singular values, roots of these eigenvalues, stand out
/// of the noise: columns of [(coil, offset)][rank].
Array<Complex<float>> signal_subspace(const Array<Complex<float>>& neighbourhoods) {
  // Singular values above this share of the largest, and twice their median, which noise reaches, span the signal.
  constexpr double signal_threshold = 0.04;
  const std::int64_t n = neighbourhoods.extent(0);
  constexpr double above_noise = 4;  // which is what the middle eigenvalue is of
  const auto eigen = eigenvectors_above(
      converted<Complex<float>>(sum_of_outer_products(neighbourhoods)),
      {signal_threshold * signal_threshold, above_noise, std::min(n, neighbourhoods.extent(1)) / 2});
  const std::int64_t rank = eigen.vectors.extent(0);
  Array<Complex<float>> signal({n, rank});
  for (std::int64_t i = 0; i < rank; ++i)
    for (std::int64_t j = 0; j < n; ++j) signal.data()[j * rank + i] = eigen.vectors.data()[i * n + j];
  return signal;
}

/// G of the projector P [(coil, offset)][(coil, offset)].
MatrixField mean_over_offsets(const Array<Complex<double>>& projector, const Positions& offsets, int coils,
                              const std::array<int, 3>& degree) {
  const auto count = static_cast<std::int64_t>(offsets.size()), n = coils * count;
  const double share = 1.0 / static_cast<double>(count);
  MatrixField field(coils, degree);
  // Where h_cd(b - a) lies from h_cd(0): differences of places are places of differences.
  std::vector<std::int64_t> place;
  for (const Position& a : offsets) place.push_back(&field.at(0, 0, a) - &field.at(0, 0, {}));
  const bool worth_threads = n * n >= 1 << 17;
#pragma omp parallel for schedule(dynamic) if (worth_threads)
  for (int row = 0; row < coils * coils; ++row) {
    const int c = row / coils, d = row % coils;
    if (d < c) continue;
    Complex<float>* centre = &field.at(c, d, {});
    for (std::int64_t a = 0; a < count; ++a) {
      const Complex<double>* from = projector.data() + (c * count + a) * n + d * count;
      for (std::int64_t b = 0; b < count; ++b) centre[place[b] - place[a]] += Complex<float>(share * from[b]);
    }
  }
  return field;
}

}  // namespace

MatrixField espirit_field(const CalibrationRegion& region, double wanted_radius) {
  const auto radius = neighbourhood_radius(region, wanted_radius);
  const auto offsets = ball(radius);
  const auto neighbourhoods = neighbourhoods_of(region, offsets);
  const auto signal = signal_subspace(neighbourhoods);
  const auto projector = sum_of_outer_products(signal);
  std::array<int, 3> degree;
  for (int axis = 0; axis < 3; ++axis) degree[axis] = 2 * static_cast<int>(std::floor(radius[axis]));
  return mean_over_offsets(projector, offsets, static_cast<int>(region.kspace.extent(0)), degree);
}

// Adaptive combination: Walsh et al., MRM 43:682 (2000).

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
