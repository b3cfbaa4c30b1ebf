#include "data/coils.hpp"

#include <cmath>
#include <numbers>
#include <string>

namespace fhd::data {
namespace {

using std::numbers::pi;

constexpr int largest_coil_count = 32;

/// A circular loop that faces the z axis at `angle_rad`.
struct Loop {
  double angle_rad, z;
};

/// B_x - i B_y of a loop with a unit current (mu_0 / 4 pi left out), as a polygon.
Complex<double> receive_field(const Loop& loop, const Vector3& r) {
  constexpr double ring_radius = 0.75, loop_radius = 0.3;  // fractions of the FOV
  constexpr int segments = 48;
  const double c = std::cos(loop.angle_rad), s = std::sin(loop.angle_rad);
  Complex<double> field;
  for (int segment = 0; segment < segments; ++segment) {
    const double turn = 2 * pi * (segment + 0.5) / segments;
    // The loop's plane is spanned by the tangent of the ring, (-s, c, 0), and the z axis.
    const double u = loop_radius * std::cos(turn), v = loop_radius * std::sin(turn);
    const double du = -v * 2 * pi / segments, dv = u * 2 * pi / segments;
    const Vector3 d{r[0] - (ring_radius * c - u * s), r[1] - (ring_radius * s + u * c), r[2] - (loop.z + v)};
    const Vector3 dl{-du * s, du * c, dv};
    const double distance = std::sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
    const double scale = 1 / (distance * distance * distance);
    field += scale * Complex<double>{dl[1] * d[2] - dl[2] * d[1], -(dl[2] * d[0] - dl[0] * d[2])};
  }
  return field;
}

std::vector<Loop> place_loops(int dimensions, int coil_count) {
  const int ring_count = dimensions == 2 || coil_count < 6 ? 1 : coil_count < 18 ? 2 : 3;
  constexpr double ring_distance = 0.45;
  std::vector<Loop> loops;
  for (int coil = 0; coil < coil_count; ++coil) {
    const int ring = coil % ring_count;  // neighbours on different rings are turned against each other
    loops.push_back({2 * pi * coil / coil_count, (ring - (ring_count - 1) / 2.0) * ring_distance});
  }
  return loops;
}

/// The half-integer lattice within a ball: 29 points in 2D, 57 in 3D.
std::vector<Vector3> frequency_lattice(int dimensions) {
  const double largest = dimensions == 2 ? 1.5 : 1.2;
  std::vector<Vector3> lattice;
  for (int z = dimensions == 2 ? 0 : -3; z <= (dimensions == 2 ? 0 : 3); ++z)
    for (int y = -3; y <= 3; ++y)
      for (int x = -3; x <= 3; ++x)
        if (x * x + y * y + z * z <= 4 * largest * largest) lattice.push_back({x / 2.0, y / 2.0, z / 2.0});
  return lattice;
}

/// Points of a grid inside the FOV's inscribed disc (ball), symmetric about the centre.
std::vector<Vector3> fit_points(int dimensions) {
  const int count = dimensions == 2 ? 32 : 12, count_z = dimensions == 2 ? 1 : count;
  const auto position = [](int n, int of) { return (n + 0.5) / of - 0.5; };
  std::vector<Vector3> points;
  for (int z = 0; z < count_z; ++z)
    for (int y = 0; y < count; ++y)
      for (int x = 0; x < count; ++x) {
        const Vector3 r{position(x, count), position(y, count), position(z, count_z)};
        if (r[0] * r[0] + r[1] * r[1] + r[2] * r[2] <= 0.25) points.push_back(r);
      }
  return points;
}

/// Solves G x = b in place for a symmetric positive definite G [n][n], by Cholesky's factors.
class CholeskySolver {
 public:
  CholeskySolver(std::vector<double> matrix, int n) : lower_(std::move(matrix)), n_(n) {
    for (int column = 0; column < n_; ++column)
      for (int row = column; row < n_; ++row) {
        double sum = at(row, column);
        for (int i = 0; i < column; ++i) sum -= at(row, i) * at(column, i);
        at(row, column) = row == column ? std::sqrt(sum) : sum / at(column, column);
      }
  }
  void solve(std::span<Complex<double>> b) const {
    for (int row = 0; row < n_; ++row) {
      for (int i = 0; i < row; ++i) b[row] -= at(row, i) * b[i];
      b[row] *= 1 / at(row, row);
    }
    for (int row = n_ - 1; row >= 0; --row) {
      for (int i = row + 1; i < n_; ++i) b[row] -= at(i, row) * b[i];
      b[row] *= 1 / at(row, row);
    }
  }

 private:
  double& at(int row, int column) { return lower_[row * n_ + column]; }
  double at(int row, int column) const { return lower_[row * n_ + column]; }
  std::vector<double> lower_;
  int n_;
};

}  // namespace

CoilArray::CoilArray(int dimensions, int coil_count) : coil_count_(coil_count) {
  if (dimensions != 2 && dimensions != 3)
    throw Error("coils", "2 or 3 dimensions", std::to_string(dimensions));
  if (coil_count < 1 || coil_count > largest_coil_count)
    throw Error("coils", "1 ... " + std::to_string(largest_coil_count), std::to_string(coil_count));
  if (coil_count == 1) {
    frequencies_ = {{0, 0, 0}};
    coefficients_ = Array<Complex<double>>({1, 1});
    coefficients_[0] = {1, 0};
    return;
  }

  frequencies_ = frequency_lattice(dimensions);
  const int frequency_count = static_cast<int>(frequencies_.size());
  const auto points = fit_points(dimensions);
  const auto loops = place_loops(dimensions, coil_count);
  coefficients_ = Array<Complex<double>>({coil_count, frequency_count});

  // Normal equations of the fit. The points are symmetric about 0, so the sums of exponentials are real. A
  // ridge of 1e-6 of the diagonal keeps the coefficients small where exponentials are almost alike inside the
  // disc.
  std::vector<double> gram(static_cast<std::size_t>(frequency_count) * frequency_count);
  for (int j = 0; j < frequency_count; ++j)
    for (int i = 0; i < frequency_count; ++i) {
      const Vector3 difference{frequencies_[i][0] - frequencies_[j][0],
                               frequencies_[i][1] - frequencies_[j][1],
                               frequencies_[i][2] - frequencies_[j][2]};
      double sum = i == j ? 1e-6 * static_cast<double>(points.size()) : 0;
      for (const auto& r : points) sum += exponential(1, difference, r).re;
      gram[j * frequency_count + i] = sum;
    }
  const CholeskySolver solver(std::move(gram), frequency_count);
#pragma omp parallel for schedule(dynamic)
  for (int coil = 0; coil < coil_count; ++coil) {
    const std::span a(coefficients_.data() + coil * frequency_count, frequency_count);
    for (const auto& r : points) {
      const auto field = receive_field(loops[coil], r);
      for (int j = 0; j < frequency_count; ++j) a[j] += field * conj(exponential(1, frequencies_[j], r));
    }
    solver.solve(a);
  }

  double largest = 0;
  std::vector<Complex<double>> values(coil_count);
  for (const auto& r : points) {
    sensitivities(r, values);
    double square = 0;
    for (const auto& value : values) square += norm(value);
    largest = std::max(largest, square);
  }
  for (auto& coefficient : coefficients_) coefficient *= 1 / std::sqrt(largest);
}

void CoilArray::sensitivities(const Vector3& r, std::span<Complex<double>> values) const {
  for (auto& value : values) value = {};
  const auto frequency_count = static_cast<int>(frequencies_.size());
  for (int j = 0; j < frequency_count; ++j) {
    const auto e = exponential(1, frequencies_[j], r);
    for (int coil = 0; coil < coil_count_; ++coil)
      values[coil] += coefficients_.data()[coil * frequency_count + j] * e;
  }
}

SensitivityMaps CoilArray::maps(std::array<int, 3> matrix_size) const {
  SensitivityMaps maps;
  maps.values = Array<Complex<float>>({coil_count_, matrix_size[2], matrix_size[1], matrix_size[0]});
  const std::int64_t voxel_count = maps.values.size() / coil_count_;
#pragma omp parallel
  {
    std::vector<Complex<double>> values(coil_count_);
#pragma omp for schedule(static)
    for (std::int64_t voxel = 0; voxel < voxel_count; ++voxel) {
      const auto x = voxel % matrix_size[0], y = voxel / matrix_size[0] % matrix_size[1],
                 z = voxel / matrix_size[0] / matrix_size[1];
      const auto position = [&](std::int64_t n, int axis) {
        return static_cast<double>(n - matrix_size[axis] / 2) / matrix_size[axis];
      };
      sensitivities({position(x, 0), position(y, 1), position(z, 2)}, values);
      for (int coil = 0; coil < coil_count_; ++coil)
        maps.values.data()[coil * voxel_count + voxel] = Complex<float>(values[coil]);
    }
  }
  return maps;
}

CoilKSpace::CoilKSpace(Phantom phantom, CoilArray coils)
    : phantom_(std::move(phantom)), coils_(std::move(coils)) {
  for (const auto& part : phantom_.parts())
    for (const auto& kappa : coils_.frequencies()) shifts_.push_back(exponential(1, kappa, part.centre));
}

void CoilKSpace::values(const Vector3& k, std::span<Complex<double>> values) const {
  const auto& parts = phantom_.parts();
  const auto& frequencies = coils_.frequencies();
  const auto frequency_count = static_cast<std::int64_t>(frequencies.size());
  // exp(-i 2 pi (k - kappa) . centre) is a product of two: one for each part, one known beforehand.
  std::vector<Complex<double>> phases;
  for (const auto& part : parts) phases.push_back(exponential(-1, k, part.centre));
  for (auto& value : values) value = {};
  for (std::int64_t j = 0; j < frequency_count; ++j) {
    const Vector3 at{k[0] - frequencies[j][0], k[1] - frequencies[j][1], k[2] - frequencies[j][2]};
    Complex<double> integral;
    for (std::size_t i = 0; i < parts.size(); ++i)
      integral += phantom_.centred_integral(i, at) * (phases[i] * shifts_[i * frequencies.size() + j]);
    for (std::int64_t coil = 0; coil < coils_.coil_count(); ++coil)
      values[coil] += coils_.coefficients().data()[coil * frequency_count + j] * integral;
  }
}

}  // namespace fhd::data
