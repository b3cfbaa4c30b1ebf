#include "recon/transform/gridded/gridding.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "recon/array/fft.hpp"
#include "recon/domain/option_words.hpp"
#include "recon/error.hpp"
#include "recon/transform/gridded/tensor_plan.hpp"
#include "recon/transform/toeplitz/block_fft_plan.hpp"

namespace fhd {

using std::numbers::pi;

double bessel_i0(double x) {
  const double quarter = x * x / 4;
  double term = 1, sum = 1;
  for (int j = 1; term > 1e-17 * sum; ++j) {
    term *= quarter / (static_cast<double>(j) * j);
    sum += term;
  }
  return sum;
}

namespace {

int width_for(double accuracy, double oversampling) {
  if (!(accuracy > 0 && accuracy <= 0.1))
    throw Error("accuracy of the gridded transform", "a relative error in (0, 0.1]",
                std::to_string(accuracy));
  const double width = std::ceil(std::log(10 / accuracy) / (pi * std::sqrt(1 - 1 / oversampling)));
  if (width > KaiserBessel::largest_width)
    throw Error("accuracy of the gridded transform", "one that needs at most 16 grid points per axis",
                std::to_string(accuracy), "use " + option_words("transform", "direct"));
  return static_cast<int>(width);
}

}  // namespace

KaiserBessel::KaiserBessel(double accuracy, double oversampling_factor)
    : KaiserBessel(Points{width_for(accuracy, oversampling_factor)}, oversampling_factor) {}

KaiserBessel::KaiserBessel(Points points, double oversampling_factor)
    : width(points.width), oversampling(oversampling_factor) {
  const double ratio = width / oversampling * (oversampling - 0.5);
  beta = pi * std::sqrt(ratio * ratio - 0.8);
  i0_of_beta = bessel_i0(beta);
  set_coefficients();
}

/// Interpolation at Chebyshev nodes of [-1, 1], then the coefficients of powers of z. The kernel is entire but for
/// its ends, where its slope is bounded.
void KaiserBessel::set_coefficients() {
  constexpr int most = largest_width + extra_degree + 1;
  using Row = std::array<double, most>;
  const int degree = width + extra_degree;
  // [j]: T_j at the nodes, and the coefficients of its powers: T_{j+1} = 2 z T_j - T_{j-1}
  std::array<Row, most> at_node{}, power_of{};
  power_of[0][0] = power_of[1][1] = 1;
  for (int j = 0; j <= degree; ++j)
    for (int i = 0; i <= degree; ++i) {
      at_node[j][i] = std::cos(j * (pi * (i + 0.5) / (degree + 1)));
      if (j >= 2) power_of[j][i] = (i > 0 ? 2 * power_of[j - 1][i - 1] : 0) - power_of[j - 2][i];
    }
  coefficients.assign(degree + 1, {});
  for (int i = 0; i < width; ++i) {
    Row of_node{};
    for (int node = 0; node <= degree; ++node)
      of_node[node] = value(-width / 2.0 + i + (at_node[1][node] + 1) / 2);
    for (int j = 0; j <= degree; ++j) {
      double sum = 0;
      for (int node = 0; node <= degree; ++node) sum += of_node[node] * at_node[j][node];
      const double chebyshev = (j == 0 ? 1.0 : 2.0) / (degree + 1) * sum;
      for (int power = 0; power <= j; ++power) coefficients[power][i] += chebyshev * power_of[j][power];
    }
  }
}

/// Newton's divided differences at the nodes, expanded in powers: phi is a power series in v of positive terms.
std::vector<double> KaiserBessel::even_polynomial(int terms) const {
  std::vector<double> node(terms), difference(terms), power(terms, 0.0);
  for (int i = 0; i < terms; ++i) {
    node[i] = (1 + std::cos(pi * (i + 0.5) / terms)) / 2;
    difference[i] = bessel_i0(beta * std::sqrt(node[i])) / i0_of_beta;
  }
  for (int order = 1; order < terms; ++order)
    for (int i = terms - 1; i >= order; --i)
      difference[i] = (difference[i] - difference[i - 1]) / (node[i] - node[i - order]);
  for (int i = terms - 1; i >= 0; --i) {  // power <- power (v - node) + difference
    for (int j = terms - 1; j > 0; --j) power[j] = power[j - 1] - node[i] * power[j];
    power[0] = difference[i] - node[i] * power[0];
  }
  return power;
}

double KaiserBessel::value(double u) const {
  const double t = 2 * u / width;
  return t * t >= 1 ? (t * t <= 1 + 1e-12 ? 1 / i0_of_beta : 0)
                    : bessel_i0(beta * std::sqrt(1 - t * t)) / i0_of_beta;
}

double KaiserBessel::transform(double xi) const {
  const double a = pi * width * xi;
  const double square = beta * beta - a * a, s = std::sqrt(std::abs(square));
  const double ratio = s < 1e-8 ? 1 : (square > 0 ? std::sinh(s) / s : std::sin(s) / s);
  return width / i0_of_beta * ratio;
}

std::array<std::int64_t, 3> KaiserBessel::grid_size(std::array<int, 3> matrix_size) const {
  std::array<std::int64_t, 3> size{1, 1, 1};
  for (int axis = 0; axis < 3; ++axis)
    if (matrix_size[axis] > 1)
      size[axis] = good_fft_size(
          std::max(static_cast<int>(std::min(1e8, std::ceil(oversampling * matrix_size[axis] - 1e-9))), 2 * width));
  return size;
}

double amplification_of(const Gridding& gridding) {
  double amplification = 1, of_axis = 1;
  for (int axis = 0; axis < 3; ++axis) {
    const int n = gridding.matrix_size[axis];
    if (n == 1) continue;
    if (axis == 0 || n != gridding.matrix_size[axis - 1]) {
      const auto g = static_cast<double>(gridding.grid[axis]);
      double grid_power = 0, image_power = 0;
      for (int i = 0; i < gridding.grid[axis]; ++i) {
        const double value = gridding.kernel.transform((i - std::floor(g / 2)) / g);
        grid_power += value * value / g;
      }
      for (int i = 0; i < n; ++i) {
        const double value = gridding.kernel.transform((i - n / 2) / g);
        image_power += 1 / (value * value * n);
      }
      of_axis = std::sqrt(grid_power * image_power);
    }
    amplification *= of_axis;
  }
  return amplification;
}

namespace {

/// The smallest grid on which a kernel of `width` points keeps aliasing below `bound` exp(...), see
/// gridding.hpp; nothing where there is none.
std::optional<KaiserBessel> kernel_of_width(int width, double bound, double accuracy) {
  constexpr double smallest_oversampling = 1.2, largest_oversampling = 2.2;
  const double share = std::log(bound / accuracy) / (pi * width);
  if (share >= 1) return {};
  const double oversampling = std::max(1 / (1 - share * share), smallest_oversampling);
  if (oversampling > largest_oversampling) return {};
  return KaiserBessel(KaiserBessel::Points{width}, oversampling);
}

/// Nanoseconds of a transform of one coil; numbers of twice the size take twice as long where memory decides.
double predicted_ns(const TransformSizes& sizes, const Gridding& gridding, bool on_gpu) {
  const double width = gridding.kernel.width, planes = sizes.matrix_size[2] > 1 ? width : 1,
               samples = static_cast<double>(sizes.samples.all),
               points = static_cast<double>(gridding.grid_points()) *
                        (sizes.precision == Precision::single_precision ? 1 : 2);
  if (on_gpu) {
    // Measured on an H100 (validation/results): of a multiply-add, and of a grid point with its rows and FFT.
    constexpr double multiply_add_ns = 5.5e-5, point_ns = 0.04;
    return samples * width * width * (8 * planes + 24) * multiply_add_ns + points * point_ns;
  }
  // Measured on a core with AVX-512 (validation/results), of one of four coils: of a point of a kernel, and of a grid
  // point with its FFT.
  constexpr double kernel_ns = 0.125, point_ns = 9;
  return samples * width * width * planes * kernel_ns + points * point_ns;
}

/// The kernel whose transforms are predicted to be fastest: a wider one has a smaller grid. 1 / phi^
/// amplifies rounding errors (the more, the smaller the grid); kernels by which they would grow tenfold (threefold on the
/// CPU, where they gain little) are left out, so that the adjoint stays the transpose of forward to a few units of
/// rounding.
Gridding fastest_gridding(const TransformSizes& sizes, double accuracy, bool on_gpu) {
  const double largest_amplification = on_gpu ? 10 : 3;
  const auto& n = sizes.matrix_size;
  // The bound of gridding.hpp. In a matrix of few voxels all of them lie near the edge, where aliasing
  // is largest (measured for 2 x 2 x 2: 11).
  const double bound = std::any_of(n.begin(), n.end(), [](int m) { return m > 1 && m < 8; }) ? 15 : 10;
  const bool single = sizes.precision == Precision::single_precision;

  double best = std::numeric_limits<double>::infinity();
  std::optional<Gridding> chosen;
  for (const int width : single ? std::span<const int>(compiled_widths<float>) : compiled_widths<double>) {
    auto kernel = kernel_of_width(width, bound, accuracy);
    if (!kernel) continue;
    Gridding gridding(n, std::move(*kernel));
    const double ns = predicted_ns(sizes, gridding, on_gpu);
    if (ns < best && amplification_of(gridding) <= largest_amplification)
      best = ns, chosen = std::move(gridding);
  }
  if (!chosen)
    throw Error("accuracy of the gridded transform", "one within reach of this precision",
                std::to_string(accuracy),
                "use " + option_words("transform", "direct") + " or " + option_words("precision", "double"));
  return *chosen;
}

}  // namespace

Gridding::Gridding(std::array<int, 3> size, KaiserBessel of_kernel)
    : matrix_size(size), kernel(std::move(of_kernel)), grid(kernel.grid_size(size)) {
  for (int axis = 0; axis < 3; ++axis) points[axis] = size[axis] == 1 ? 1 : kernel.width;
}

std::vector<double> Gridding::deapodisation(int axis) const {
  const int n = matrix_size[axis];
  std::vector<double> factors(static_cast<std::size_t>(n), 1);
  for (int i = 0; n > 1 && i < n; ++i)
    factors[i] = 1 / kernel.transform(static_cast<double>(i - n / 2) / static_cast<double>(grid[axis]));
  return factors;
}

// --- Kernel and grid for tensor cores ---

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

/// The longest axis with at least `points`, the others in proportion: lengths whose FFTs are fast, whole sectors of memory to
/// a row.
Gridding gridding_of(const std::array<int, 3>& matrix_size, int width, double points, Products products) {
  constexpr int in_sector = 4;
  const int longest = *std::max_element(matrix_size.begin(), matrix_size.end());
  const auto rounded = [](std::int64_t least) -> std::int64_t {
    int size = fast_length(good_fft_size(static_cast<int>(least)));
    while (size % in_sector != 0) size = good_fft_size(size + 1);
    return size;
  };
  const auto size = rounded(static_cast<std::int64_t>(std::max(std::ceil(points), 2.0 * width)));
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
        if (1.5 * std::exp(-pi * width * std::sqrt(1 - 1 / oversampling)) > accuracy) continue;
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

Gridding choose_gridding(const TransformSizes& sizes, double accuracy, GriddingChoice choice) {
  const bool tensor_cores = sizes.device.is_cuda() && choice == GriddingChoice::fastest &&
                            sizes.precision == Precision::single_precision;
  if (tensor_cores)
    if (auto gridding = choose_tensor_gridding(sizes, accuracy)) return *std::move(gridding);
  return fastest_gridding(sizes, accuracy, sizes.device.is_cuda() && choice == GriddingChoice::fastest);
}

Gridding density_gridding(std::array<int, 3> matrix_size) {
  // Beyond so many points of a grid oversampled twofold, a wider kernel on a smaller grid takes less time and memory.
  constexpr double large_grid = 1 << 25;
  double points = 1;
  for (const int n : matrix_size) points *= n == 1 ? 1 : 2.0 * n;
  return {matrix_size, KaiserBessel(density_accuracy, points <= large_grid ? 2 : 1.25)};
}

}  // namespace fhd
