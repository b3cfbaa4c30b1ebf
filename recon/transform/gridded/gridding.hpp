#pragma once
// The Kaiser-Bessel gridding kernel on a grid oversampled by sigma, as polynomials.
//
//     phi(u) = I0(beta sqrt(1 - (2 u / W)^2)) / I0(beta),  |u| <= W / 2 grid points
//     phi^(xi) = W / I0(beta) sinh(s) / s,  s = sqrt(beta^2 - (pi W xi)^2),  xi in cycles per grid point
//     beta = pi sqrt((W / sigma)^2 (sigma - 1/2)^2 - 0.8)
//
// Sources: Jackson et al., IEEE TMI 10:473 (1991); beta: Beatty, Nishimura and Pauly, IEEE TMI 24:799 (2005),
// eq. (5). Aliasing error: below 10 exp(-pi W sqrt(1 - 1/sigma)) in up to three axes, from which the width
// follows (measured: 7 for one sample in 2D, 9.6 for a 2 x 2 x 2 matrix; gridded_test).
//
// Which kernel on which grid: choose_gridding, the one rule of oversampling, for the CPU, for GPUs and for plans.
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "recon/transform/transform.hpp"

namespace fhd {

struct KaiserBessel {
  static constexpr int largest_width = 16;
  /// Degree of the polynomials above the width: it leaves less than a tenth of the aliasing error.
  static constexpr int extra_degree = 4;

  /// The kernel for a relative accuracy in (0, 0.1]; throws Error when it would need more than largest_width
  /// points.
  KaiserBessel(double accuracy, double oversampling);
  /// The kernel of so many points, at most largest_width, whatever accuracy it reaches.
  struct Points {
    int width;
  };
  KaiserBessel(Points points, double oversampling);

  double value(double u) const;
  double transform(double xi) const;
  /// phi(u) = sum over i < terms of the result[i] v^i, v = 1 - (2 u / W)^2, by interpolation at Chebyshev nodes.
  std::vector<double> even_polynomial(int terms) const;
  /// Points of the oversampled grid along x, y, z: a good FFT size >= oversampling N and >= 2 width; 1 where
  /// N is 1.
  std::array<std::int64_t, 3> grid_size(std::array<int, 3> matrix_size) const;

  int width = 0;
  double oversampling = 0, beta = 0;
  double i0_of_beta = 0;  ///< I0(beta)
  /// phi(-W/2 + i + (z + 1) / 2) = sum over j of coefficients[j][i] z^j for z in [-1, 1) and each point i <
  /// W.
  std::vector<std::array<double, largest_width>> coefficients;

 private:
  void set_coefficients();
};

/// Modified Bessel function of the first kind, order 0, by its power series (relative error below 1e-15).
double bessel_i0(double x);

/// How products of weights and values are formed: in the precision of the arrays; or by tensor cores from factors in
/// half precision, split in a high and a low part, or not.
enum class Products { full, split_half, half };

struct Gridding {
  std::array<int, 3> matrix_size;
  KaiserBessel kernel;
  std::array<std::int64_t, 3> grid;  ///< points of the oversampled grid along x, y, z
  std::array<int, 3> points;         ///< of the kernel: its width, or 1 on an axis of one voxel
  Products products = Products::full;

  Gridding(std::array<int, 3> matrix_size, KaiserBessel kernel);
  /// More than any machine holds count as that.
  std::int64_t grid_points() const {
    return static_cast<std::int64_t>(
        std::min(1e15, static_cast<double>(grid[0] * grid[1]) * double(grid[2])));
  }
  /// 1 / phi^ of the voxels of an axis.
  std::vector<double> deapodisation(int axis) const;
  std::int64_t kernel_points() const { return std::int64_t{points[0]} * points[1] * points[2]; }
};

/// Returns the factor by which 1 / phi^ enlarges rounding errors of the grid: the product over the axes of the root of
/// mean |phi^|^2 over the grid times mean |phi^|^-2 over the image.
double amplification_of(const Gridding& gridding);

/// For a relative l2 error of `accuracy`: the width, of those compiled for GPUs, whose transforms are predicted to be
/// fastest on the device, with the smallest grid that it allows. Throws Error where no kernel reaches the accuracy.
/// On a GPU in single precision tensor cores form the products (choose_tensor_gridding), unless the choice is the CPU's or
/// the accuracy is beyond them.
Gridding choose_gridding(const TransformSizes& sizes, double accuracy,
                         GriddingChoice choice = GriddingChoice::fastest);

/// Returns the gridding by tensor cores; nothing where no kernel of theirs reaches the accuracy.
std::optional<Gridding> choose_tensor_gridding(const TransformSizes& sizes, double accuracy);

/// Accuracy of density compensation, the same on every device: its weights are estimates, which a kernel of 5 points
/// resolves and single precision carries.
inline constexpr double density_accuracy = 1e-3;
Gridding density_gridding(std::array<int, 3> matrix_size);

/// Kernel widths that are compiled for GPUs.
template <class T>
inline constexpr std::array<int, 8> compiled_widths{4, 5, 6, 7, 8, 10, 12, 14};
template <>
inline constexpr std::array<int, 7> compiled_widths<float>{3, 4, 5, 6, 7, 8, 9};

}  // namespace fhd
