// Kernel and grid for tensor cores: choose_tensor_gridding of gridding.hpp.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "recon/array/fft.hpp"
#include "recon/transform/gridded/gridding.hpp"
#include "recon/transform/gridded/tensor_plan.hpp"

namespace fhd {
namespace {

/// Relative error of a term of the sums. Halves rounded at random err by 2.1e-4 each, the root of mean squares:
/// with products of halves three are rounded one after another (tensor_products.cuh). Split, 22 bits are left,
/// less what the polynomials of the weights and the truncating sums of tensor cores lose.
double rounding_of(Products products) { return products == Products::half ? 3.6e-4 : 2e-6; }

/// The relative l2 error that aliasing leaves of random values, the root of the mean over the voxels: of an axis
/// sum over m != 0 of |phi^(xi + m) / phi^(xi)|^2, of which the nearest neighbours matter.
double aliasing_of(const Gridding& gridding) {
  double square = 0, of_axis = 0;
  for (int axis = 0; axis < 3; ++axis) {
    const int n = gridding.matrix_size[axis];
    if (n == 1) continue;
    if (axis == 0 || n != gridding.matrix_size[axis - 1]) {
      of_axis = 0;
      for (int i = 0; i < n; ++i) {
        const double xi = static_cast<double>(i - n / 2) / static_cast<double>(gridding.grid[axis]);
        const double of_image = gridding.kernel.transform(xi);
        for (const double m : {-1.0, 1.0})
          of_axis += std::pow(gridding.kernel.transform(xi + m) / of_image, 2) / n;
      }
    }
    square += of_axis;
  }
  return std::sqrt(square);
}

/// Nanoseconds of a transform of one coil of eight, the mean of forward and adjoint.
double predicted_ns(const TransformSizes& sizes, const Gridding& gridding) {
  // Measured on an H200, 128^3 and 2.6e6 samples of 8 coils, forward and adjoint (validation/results/2026-11-23-h200.md).
  const double group_ns = gridding.products == Products::half ? 0.157 : 0.223,
               entry_ns = gridding.products == Products::half ? 0.0042 : 0.0055, point_ns = 0.012;
  const TensorSizes counts(TensorShape(gridding), sizes.samples.all, 132);
  return counts.groups * group_ns + counts.entries * entry_ns +
         static_cast<double>(gridding.grid_points()) * point_ns;
}

/// The longest axis with at least `points`, the others in proportion; whole sectors of memory to a row.
Gridding gridding_of(const std::array<int, 3>& matrix_size, int width, double points, Products products) {
  constexpr int in_sector = 4;
  const int longest = *std::max_element(matrix_size.begin(), matrix_size.end());
  const auto rounded = [](std::int64_t size) {
    while (size % in_sector != 0) size = good_fft_size(static_cast<int>(size) + 1);
    return size;
  };
  const auto size = rounded(good_fft_size(static_cast<int>(std::max(std::ceil(points), 2.0 * width))));
  // Grids of few voxels are finer than they have to be; the polynomials of tensor_products.cuh are for a factor
  // of 2.
  const double oversampling = static_cast<double>(size) / longest;
  Gridding gridding(matrix_size, KaiserBessel(KaiserBessel::Points{width}, std::min(oversampling, 2.2)));
  for (int axis = 0; axis < 3; ++axis)
    if (matrix_size[axis] > 1) gridding.grid[axis] = rounded(gridding.grid[axis]);
  gridding.products = products;
  return gridding;
}

/// Returns the share of the accepted error that is predicted. The errors of many values are those of the mean; of few, and
/// of samples that all lie on points of the grid, they are several times as large, now and then.
double share_of(const TransformSizes& sizes) {
  const auto& n = sizes.matrix_size;
  const double values = std::min(double(n[0]) * n[1] * n[2], static_cast<double>(sizes.samples.all));
  return values < 1000 ? 0.1 : values < 30000 ? 0.5 : 0.9;
}

}  // namespace

std::optional<Gridding> choose_tensor_gridding(const TransformSizes& sizes, double accuracy) {
  constexpr double largest_oversampling = 2.2, smallest_oversampling = 1.2, largest_amplification = 10;
  constexpr double least = 3e-6;  // split halves reach it with room for what truncated sums lose
  // Entries, at most 3 x 4 of a sample, are counted in 32 bits.
  if (accuracy < least || sizes.samples.all > (std::int64_t{1} << 31) / 12) return {};
  const auto& n = sizes.matrix_size;
  const double longest = *std::max_element(n.begin(), n.end());
  std::optional<Gridding> chosen;
  double best = std::numeric_limits<double>::infinity();
  for (const Products products : {Products::half, Products::split_half})
    for (int width = 3; width <= TensorShape::window; ++width)
      for (double points = smallest_oversampling * longest; points <= largest_oversampling * longest;) {
        auto gridding = gridding_of(n, width, points, products);
        points =
            std::max(points,
                     static_cast<double>(*std::max_element(gridding.grid.begin(), gridding.grid.end()))) +
            1;
        const double ns = predicted_ns(sizes, gridding);
        if (ns >= best) break;
        // The bound of gridding.hpp is about five times the mean: what it rules out needs no closer look.
        const double oversampling = gridding.kernel.oversampling;
        if (1.5 * std::exp(-std::numbers::pi * width * std::sqrt(1 - 1 / oversampling)) > accuracy) continue;
        const double amplification = amplification_of(gridding);
        if (amplification > largest_amplification) continue;
        if (std::hypot(aliasing_of(gridding), rounding_of(products) * amplification) >
            share_of(sizes) * accuracy)
          continue;
        best = ns, chosen = std::move(gridding);
        break;
      }
  return chosen;
}

}  // namespace fhd
