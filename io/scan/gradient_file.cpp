#include "io/scan/gradient_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>

#include "io/files/atomic_file.hpp"
#include "recon/error.hpp"

namespace fhd::io {
namespace {

constexpr int largest_degree = 40;

/// Returns N P_n^m(x) without the sign (-1)^m.
double siemens_legendre(int n, int m, double x) {
  double square = 1;
  if (m > 0) {
    square = (2 * n + 1) / 2.0;
    for (int i = n - m + 1; i <= n + m; ++i) square /= i;
  }
  return std::sqrt(square) *
         std::assoc_legendre(static_cast<unsigned>(n), static_cast<unsigned>(m), std::clamp(x, -1.0, 1.0));
}

/// Returns Delta along x, y, z, in metres, at a place in metres.
std::array<double, 3> displacement_at(const GradientHarmonics& harmonics, const std::array<double, 3>& at) {
  const double r = std::hypot(at[0], at[1], at[2]), phi = std::atan2(at[1], at[0]),
               cosine = r > 0 ? at[2] / r : 1;
  std::array<double, 3> moved{};
  for (const auto& [is_sine, degree, order, axis, value] : harmonics.terms)
    moved[static_cast<std::size_t>(axis)] +=
        harmonics.radius_m * value * std::pow(r / harmonics.radius_m, degree) *
        siemens_legendre(degree, order, cosine) * (is_sine ? std::sin(order * phi) : std::cos(order * phi));
  return moved;
}

}  // namespace

GradientHarmonics read_gradient_harmonics(const std::string& path) {
  require_regular_file(path);
  std::ifstream file(path, std::ios::binary);
  GradientHarmonics harmonics;
  std::int64_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.size() > 1024) throw Error(path, "lines of at most 1024 characters", "a longer one");
    if (line.find("R0") != std::string::npos && harmonics.radius_m == 0)
      std::sscanf(line.c_str(), " %lf m", &harmonics.radius_m);
    const auto begin = std::min(line.find("A("), line.find("B("));
    if (begin == std::string::npos) continue;
    GradientHarmonic term{line[begin] == 'B'};
    char axis = 0;
    if (std::sscanf(line.c_str() + begin + 2, " %d , %d ) %lf %c", &term.degree, &term.order, &term.value,
                    &axis) != 4)
      continue;  // a comment
    term.axis = axis - 'x';
    const bool is_sane = term.degree >= 0 && term.degree <= largest_degree && term.order >= 0 &&
                         term.order <= term.degree && std::isfinite(term.value) && term.axis >= 0 &&
                         term.axis < 3;
    if (!is_sane)
      throw Error(
          fmt::format("{}, line {}", path, number),
          fmt::format("A or B (n, m) of 0 <= m <= n <= {}, a finite number and x, y or z", largest_degree),
          "'" + line.substr(0, 60) + "'");
    harmonics.terms.push_back(term);
  }
  if (!(harmonics.radius_m > 0.01 && harmonics.radius_m < 10))
    throw Error(path, "a reference radius in m, such as '0.25 m = R0'",
                harmonics.radius_m == 0 ? "none" : fmt::format("{:g} m", harmonics.radius_m));
  if (harmonics.terms.empty()) throw Error(path, "coefficients of harmonics, A(n,m) or B(n,m)", "none");
  return harmonics;
}

Array<float> displacement_of(const GradientHarmonics& harmonics, const Geometry& geometry,
                             const std::array<std::array<double, 3>, 3>& axes) {
  const Fields of_siemens{{}, {}, {{{1, 0, 0}, {0, -1, 0}, {0, 0, -1}}}};
  const auto positions = positions_in_magnet_m(geometry, of_siemens);
  const auto voxels = geometry.voxel_count();
  const Shape image = geometry.image_shape();
  Array<float> displacement({3, image[0], image[1], image[2]});
#pragma omp parallel for schedule(static)
  for (std::int64_t p = 0; p < voxels; ++p) {
    const auto moved = displacement_at(
        harmonics, {positions.data()[p], positions.data()[voxels + p], positions.data()[2 * voxels + p]});
    for (std::size_t to = 0; to < 3; ++to) {
      double along = 0;
      for (std::size_t from = 0; from < 3; ++from)
        for (std::size_t i = 0; i < 3; ++i) along += axes[to][i] * of_siemens.axes[from][i] * moved[from];
      displacement.data()[static_cast<std::int64_t>(to) * voxels + p] = static_cast<float>(1e3 * along);
    }
  }
  return displacement;
}

}  // namespace fhd::io
