#include "data/coils.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "recon/array/for_processors.hpp"
#include "recon/error.hpp"

namespace fhd::data {
namespace {

using std::numbers::pi;

constexpr int largest_coil_count = 32;

/// sum_i += a b_i, complex numbers in two parts.
FHD_FOR_PROCESSORS void add_products(std::int64_t count, const Complex<double>& a, const double* b_re,
                                     const double* b_im, double* sum_re, double* sum_im) {
  for (std::int64_t i = 0; i < count; ++i) {
    sum_re[i] += a.re * b_re[i] - a.im * b_im[i];
    sum_im[i] += a.re * b_im[i] + a.im * b_re[i];
  }
}

/// sum_i += a share_i phase_i
FHD_FOR_PROCESSORS void add_shares(std::int64_t count, const Complex<double>& a, const double* share,
                                   const Complex<double>* phase, double* sum_re, double* sum_im) {
  for (std::int64_t i = 0; i < count; ++i) {
    sum_re[i] += share[i] * (a.re * phase[i].re - a.im * phase[i].im);
    sum_im[i] += share[i] * (a.re * phase[i].im + a.im * phase[i].re);
  }
}

/// Returns the position of voxel n of an axis, in fractions of the FOV.
double voxel_position(int n, int count) { return static_cast<double>(n - count / 2) / count; }

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

CoilArray CoilArray::section(double z) const {
  CoilArray flat = *this;
  flat.frequencies_.clear();
  std::vector<std::int64_t> places;  // of each kappa among those of the section
  for (const auto& [x, y, along_z] : frequencies_) {
    const Vector3 kappa{x, y, 0};
    const auto found = std::find(flat.frequencies_.begin(), flat.frequencies_.end(), kappa);
    places.push_back(found - flat.frequencies_.begin());
    if (found == flat.frequencies_.end()) flat.frequencies_.push_back(kappa);
  }
  const auto all = static_cast<std::int64_t>(frequencies_.size()),
             count = static_cast<std::int64_t>(flat.frequencies_.size());
  flat.coefficients_ = Array<Complex<double>>({coil_count_, count});
  for (std::int64_t j = 0; j < all; ++j) {
    const auto index = static_cast<std::size_t>(j);
    const auto turn = exponential(1, {0, 0, frequencies_[index][2]}, {0, 0, z});
    for (std::int64_t coil = 0; coil < coil_count_; ++coil)
      flat.coefficients_[coil * count + places[index]] += coefficients_.data()[coil * all + j] * turn;
  }
  return flat;
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
  SensitivityMaps maps{Array<Complex<float>>({coil_count_, matrix_size[2], matrix_size[1], matrix_size[0]})};
  const std::int64_t voxel_count = maps.values.size() / coil_count_;
  const MapRows rows(*this, matrix_size);
  const auto length = static_cast<std::size_t>(matrix_size[0]);
  for_each_with_scratch(
      std::int64_t{matrix_size[1]} * matrix_size[2], [&] { return rows.scratch(); },
      [&](std::int64_t line, MapRows::Scratch& scratch) {
        rows.fill(line, scratch);
        for (std::size_t coil = 0; coil < static_cast<std::size_t>(coil_count_); ++coil) {
          auto* row =
              maps.values.data() + static_cast<std::int64_t>(coil) * voxel_count + line * matrix_size[0];
          for (std::size_t x = 0; x < length; ++x)
            row[x] = Complex<float>(
                Complex<double>{scratch.real[coil * length + x], scratch.imaginary[coil * length + x]});
        }
      });
  return maps;
}

MapRows::MapRows(const CoilArray& coils, std::array<int, 3> matrix_size)
    : coils_(coils), matrix_size_(matrix_size) {
  for (const auto& kappa : coils.frequencies()) {
    if (std::any_of(waves_.begin(), waves_.end(), [&](const Wave& wave) { return wave.kappa_x == kappa[0]; }))
      continue;
    Wave wave{kappa[0], {}, {}};
    for (int x = 0; x < matrix_size[0]; ++x) {
      const auto e = exponential(1, {kappa[0], 0, 0}, {voxel_position(x, matrix_size[0]), 0, 0});
      wave.real.push_back(e.re);
      wave.imaginary.push_back(e.im);
    }
    waves_.push_back(std::move(wave));
  }
}

MapRows::Scratch MapRows::scratch() const {
  const auto count =
      static_cast<std::size_t>(coils_.coil_count()) * static_cast<std::size_t>(matrix_size_[0]);
  return {std::vector<double>(count), std::vector<double>(count)};
}

void MapRows::fill(std::int64_t line, Scratch& scratch) const {
  auto& [real, imaginary] = scratch;
  const int y = static_cast<int>(line % matrix_size_[1]), z = static_cast<int>(line / matrix_size_[1]);
  const auto& frequencies = coils_.frequencies();
  const auto length = static_cast<std::size_t>(matrix_size_[0]);
  const Vector3 at{0, voxel_position(y, matrix_size_[1]), voxel_position(z, matrix_size_[2])};
  std::ranges::fill(real, 0);
  std::ranges::fill(imaginary, 0);
  std::vector<Complex<double>> of_coils(static_cast<std::size_t>(coils_.coil_count()));
  for (const auto& wave : waves_) {
    // Constant in a row: the sum over the frequencies that share kappa_x.
    std::fill(of_coils.begin(), of_coils.end(), Complex<double>{});
    for (std::size_t j = 0; j < frequencies.size(); ++j) {
      if (frequencies[j][0] != wave.kappa_x) continue;
      const auto e = exponential(1, frequencies[j], at);
      for (std::size_t coil = 0; coil < of_coils.size(); ++coil)
        of_coils[coil] += coils_.coefficients().data()[coil * frequencies.size() + j] * e;
    }
    for (std::size_t coil = 0; coil < of_coils.size(); ++coil)
      add_products(matrix_size_[0], of_coils[coil], wave.real.data(), wave.imaginary.data(),
                   real.data() + coil * length, imaginary.data() + coil * length);
  }
}

CoilKSpace::CoilKSpace(Phantom phantom, CoilArray coils)
    : phantom_(std::move(phantom)), coils_(std::move(coils)) {
  for (const auto& part : phantom_.parts())
    for (const auto& kappa : coils_.frequencies()) shifts_.push_back(exponential(1, kappa, part.centre));
}

void CoilKSpace::values(const Vector3& k, std::span<Complex<double>> result) const {
  values({std::span(&k[0], 1), std::span(&k[1], 1), std::span(&k[2], 1)}, result);
}

void CoilKSpace::values(const std::array<std::span<const double>, 3>& k,
                        std::span<Complex<double>> result) const {
  const auto count = static_cast<std::int64_t>(k[0].size());
  for (std::int64_t first = 0; first < count; first += block) {
    const auto from = static_cast<std::size_t>(first),
               length = static_cast<std::size_t>(std::min(block, count - first));
    fill_block({k[0].subspan(from, length), k[1].subspan(from, length), k[2].subspan(from, length)},
               result.subspan(from), count);
  }
}

void CoilKSpace::fill_block(const std::array<std::span<const double>, 3>& k,
                            std::span<Complex<double>> result, std::int64_t stride) const {
  using Numbers = std::array<double, block>;
  const auto& parts = phantom_.parts();
  const auto& frequencies = coils_.frequencies();
  const auto coils = static_cast<std::size_t>(coils_.coil_count()), count = k[0].size();
  const auto length = static_cast<std::int64_t>(count);
  // exp(-i 2 pi (k - kappa) . centre) is a product of two: one for each part, one known beforehand.
  std::vector<std::array<Complex<double>, block>> phases(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i)
    for (std::size_t m = 0; m < count; ++m)
      phases[i][m] = exponential(-1, {k[0][m], k[1][m], k[2][m]}, parts[i].centre);
  std::vector<Numbers> sum_re(coils, Numbers{}), sum_im(coils, Numbers{});
  std::array<Numbers, 3> at;
  Numbers shares;
  for (std::size_t j = 0; j < frequencies.size(); ++j) {
    for (std::size_t axis = 0; axis < 3; ++axis)
      for (std::size_t m = 0; m < count; ++m) at[axis][m] = k[axis][m] - frequencies[j][axis];
    Numbers integral_re{}, integral_im{};
    for (std::size_t i = 0; i < parts.size(); ++i) {
      phantom_.centred_integrals(
          i, {std::span(at[0]).first(count), std::span(at[1]).first(count), std::span(at[2]).first(count)},
          std::span(shares).first(count));
      add_shares(length, shifts_[i * frequencies.size() + j], shares.data(), phases[i].data(),
                 integral_re.data(), integral_im.data());
    }
    for (std::size_t coil = 0; coil < coils; ++coil)
      add_products(length, coils_.coefficients().data()[coil * frequencies.size() + j], integral_re.data(),
                   integral_im.data(), sum_re[coil].data(), sum_im[coil].data());
  }
  for (std::size_t coil = 0; coil < coils; ++coil)
    for (std::size_t m = 0; m < count; ++m)
      result[coil * static_cast<std::size_t>(stride) + m] = {sum_re[coil][m], sum_im[coil][m]};
}

}  // namespace fhd::data
