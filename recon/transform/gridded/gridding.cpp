#include "recon/transform/gridded/gridding.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "recon/error.hpp"

namespace fhd {
namespace {

using std::numbers::pi;

/// 1 / phi^ amplifies rounding errors, the more, the smaller the grid and the wider the kernel: with 1.25, a
/// request of 1e-4 on 162^3 voxels is met (1.6e-5, single precision), one of 1e-5 is not (4e-5).
double oversampling_on_cpu(const std::array<int, 3>& matrix_size, double accuracy) {
  // Above this many grid points, a smaller oversampling with a wider kernel is cheaper than the larger grid.
  constexpr double large_grid = 1 << 25;
  double points = 1;
  for (const int n : matrix_size) points *= n == 1 ? 1 : 2.0 * n;
  if (points <= large_grid) return 2.0;
  return accuracy >= 1e-4 ? 1.25 : 1.5;
}
Gridding gridding_on_cpu(const std::array<int, 3>& matrix_size, double accuracy) {
  return {matrix_size, KaiserBessel(accuracy, oversampling_on_cpu(matrix_size, accuracy))};
}

/// By how much 1 / phi^ enlarges rounding errors of the grid: the product over the axes of the root of
/// mean |phi^|^2 over the grid times mean |phi^|^-2 over the image.
double amplification_of(const Gridding& gridding) {
  double amplification = 1;
  for (int axis = 0; axis < 3; ++axis) {
    const int n = gridding.matrix_size[axis];
    if (n == 1) continue;
    const auto g = static_cast<double>(gridding.grid[axis]);
    double grid_power = 0, image_power = 0;
    for (int i = 0; i < gridding.grid[axis]; ++i)
      grid_power += std::pow(gridding.kernel.transform((i - std::floor(g / 2)) / g), 2) / g;
    for (int i = 0; i < n; ++i) image_power += std::pow(gridding.kernel.transform((i - n / 2) / g), -2) / n;
    amplification *= std::sqrt(grid_power * image_power);
  }
  return amplification;
}

/// The smallest grid on which a kernel of `width` points keeps aliasing below `bound` exp(...), see
/// kaiser_bessel.hpp; nothing where there is none.
std::optional<KaiserBessel> kernel_of_width(int width, double bound, double accuracy) {
  constexpr double smallest_oversampling = 1.2, largest_oversampling = 2.2;
  const double share = std::log(bound / accuracy) / (pi * width);
  if (share >= 1) return {};
  const double oversampling = std::max(1 / (1 - share * share), smallest_oversampling);
  if (oversampling > largest_oversampling) return {};
  // The accuracy for which kaiser_bessel.hpp takes exactly this width, with room for rounding.
  const double reached = 10 * std::exp(-pi * width * std::sqrt(1 - 1 / oversampling)) * (1 + 1e-9);
  const KaiserBessel kernel(std::min(reached, 0.1), oversampling);
  if (kernel.width != width) return {};
  return kernel;
}

/// The kernel whose transforms are predicted to be fastest: a wider one has a smaller grid. 1 / phi^
/// amplifies rounding errors (the more, the smaller the grid); kernels by which they would grow tenfold are
/// left out, so that the adjoint stays the transpose of forward to a few units of rounding.
Gridding fastest_on_gpu(const TransformSizes& sizes, double accuracy) {
  constexpr double largest_amplification = 10;
  // Measured on an H100 (validation/results): of a multiply-add, and of a grid point with its rows and FFT.
  constexpr double multiply_add_ns = 5.5e-5, point_ns = 0.04;
  const auto& n = sizes.matrix_size;
  // The bound of kaiser_bessel.hpp. In a matrix of few voxels all of them lie near the edge, where aliasing
  // is largest (measured for 2 x 2 x 2: 11).
  const double bound = std::any_of(n.begin(), n.end(), [](int m) { return m > 1 && m < 8; }) ? 15 : 10;
  const bool single = sizes.precision == Precision::single_precision;

  double best = std::numeric_limits<double>::infinity();
  std::optional<Gridding> chosen;
  for (const int width : single ? std::span<const int>(compiled_widths<float>) : compiled_widths<double>) {
    auto kernel = kernel_of_width(width, bound, accuracy);
    if (!kernel) continue;
    Gridding gridding(n, std::move(*kernel));
    if (amplification_of(gridding) > largest_amplification) continue;
    const double planes = n[2] > 1 ? width : 1;
    const double ns =
        static_cast<double>(sizes.samples.all) * width * width * (8 * planes + 24) * multiply_add_ns +
        static_cast<double>(gridding.grid_points()) * point_ns * (single ? 1 : 2);
    if (ns < best) best = ns, chosen = std::move(gridding);
  }
  if (!chosen)
    throw Error("accuracy of the gridded transform", "one within reach of this precision",
                std::to_string(accuracy), "use settings.transform = direct or settings.precision = double");
  return *chosen;
}

}  // namespace

Gridding::Gridding(std::array<int, 3> size, KaiserBessel of_kernel)
    : matrix_size(size), kernel(std::move(of_kernel)), grid(kernel.grid_size(size)) {
  for (int axis = 0; axis < 3; ++axis) points[axis] = size[axis] == 1 ? 1 : kernel.width;
}

Gridding choose_gridding(const TransformSizes& sizes, double accuracy) {
  return sizes.device.is_cuda() ? fastest_on_gpu(sizes, accuracy)
                                : gridding_on_cpu(sizes.matrix_size, accuracy);
}

Gridding density_gridding(std::array<int, 3> matrix_size) {
  return gridding_on_cpu(matrix_size, density_accuracy);
}

}  // namespace fhd
