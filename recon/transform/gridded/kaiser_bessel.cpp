#include "recon/transform/gridded/kaiser_bessel.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "recon/array/fft.hpp"
#include "recon/error.hpp"

namespace fhd {

double bessel_i0(double x) {
  const double quarter = x * x / 4;
  double term = 1, sum = 1;
  for (int j = 1; term > 1e-17 * sum; ++j) {
    term *= quarter / (static_cast<double>(j) * j);
    sum += term;
  }
  return sum;
}

KaiserBessel::KaiserBessel(double accuracy, double oversampling_factor) : oversampling(oversampling_factor) {
  if (!(accuracy > 0 && accuracy <= 0.1))
    throw Error("accuracy of the gridded transform", "a relative error in (0, 0.1]",
                std::to_string(accuracy));
  using std::numbers::pi;
  width = static_cast<int>(std::ceil(std::log(10 / accuracy) / (pi * std::sqrt(1 - 1 / oversampling))));
  if (width > largest_width)
    throw Error("accuracy of the gridded transform", "one that needs at most 16 grid points per axis",
                std::to_string(accuracy), "use settings.transform = direct");
  const double ratio = width / oversampling * (oversampling - 0.5);
  beta = pi * std::sqrt(ratio * ratio - 0.8);

  // Interpolation at Chebyshev nodes of [-1, 1], then the coefficients of powers of z. The kernel is entire
  // but for its ends, where its slope is bounded.
  const int degree = width + extra_degree;
  coefficients.assign(degree + 1, {});
  for (int i = 0; i < width; ++i) {
    std::vector<double> chebyshev(degree + 1);
    for (int j = 0; j <= degree; ++j) {
      double sum = 0;
      for (int node = 0; node <= degree; ++node) {
        const double angle = pi * (node + 0.5) / (degree + 1);
        sum += value(-width / 2.0 + i + (std::cos(angle) + 1) / 2) * std::cos(j * angle);
      }
      chebyshev[j] = (j == 0 ? 1.0 : 2.0) / (degree + 1) * sum;
    }
    // T_{j+1} = 2 z T_j - T_{j-1}
    std::vector<double> previous(degree + 1), current(degree + 1);
    previous[0] = 1;
    current[1] = 1;
    for (int power = 0; power <= degree; ++power) coefficients[power][i] = chebyshev[0] * previous[power];
    for (int j = 1; j <= degree; ++j) {
      for (int power = 0; power <= degree; ++power) coefficients[power][i] += chebyshev[j] * current[power];
      std::vector<double> next(degree + 1);
      for (int power = 0; power <= degree; ++power)
        next[power] = (power > 0 ? 2 * current[power - 1] : 0) - previous[power];
      previous = current;
      current = next;
    }
  }
}

double KaiserBessel::value(double u) const {
  const double t = 2 * u / width;
  return t * t >= 1 ? (t * t <= 1 + 1e-12 ? 1 / bessel_i0(beta) : 0)
                    : bessel_i0(beta * std::sqrt(1 - t * t)) / bessel_i0(beta);
}

double KaiserBessel::transform(double xi) const {
  const double a = std::numbers::pi * width * xi;
  const double square = beta * beta - a * a, s = std::sqrt(std::abs(square));
  const double ratio = s < 1e-8 ? 1 : (square > 0 ? std::sinh(s) / s : std::sin(s) / s);
  return width / bessel_i0(beta) * ratio;
}

std::array<std::int64_t, 3> KaiserBessel::grid_size(std::array<int, 3> matrix_size) const {
  std::array<std::int64_t, 3> size{1, 1, 1};
  for (int axis = 0; axis < 3; ++axis)
    if (matrix_size[axis] > 1)
      size[axis] = good_fft_size(
          std::max(static_cast<int>(std::min(1e8, std::ceil(oversampling * matrix_size[axis]))), 2 * width));
  return size;
}

}  // namespace fhd
