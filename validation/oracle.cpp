#include "validation/oracle.hpp"

#include <cmath>
#include <numbers>
#include <string>

namespace fhd::oracle {
namespace {

struct Sizes {
  std::int64_t samples, points, coils;
};

Sizes check(const Array<double>& k, const Array<double>& r, const Values& values, bool values_are_samples,
            const std::optional<OffResonance>& off_resonance) {
  if (k.shape().rank() != 2 || k.extent(0) != 3) throw Error("oracle: k", "[3][sample]", k.shape().text());
  if (r.shape().rank() != 2 || r.extent(0) != 3) throw Error("oracle: r", "[3][point]", r.shape().text());
  Sizes sizes{k.extent(1), r.extent(1), 0};
  const auto per_coil = values_are_samples ? sizes.samples : sizes.points;
  if (per_coil == 0 || values.size() % per_coil != 0)
    throw Error("oracle: values", "a multiple of " + std::to_string(per_coil), values.shape().text());
  sizes.coils = values.size() / per_coil;
  if (off_resonance) {
    require_shape(off_resonance->omega_rad_per_s, {sizes.points}, "oracle: off-resonance");
    require_shape(off_resonance->time_s, {sizes.samples}, "oracle: sample times");
  }
  return sizes;
}

/// exp(sign i [2 pi k_m . r_p + omega(p) t_m])
class Exponential {
 public:
  Exponential(const Array<double>& k, const Array<double>& r,
              const std::optional<OffResonance>& off_resonance, int sign)
      : k_(k), r_(r), off_resonance_(off_resonance), sign_(sign) {}

  Complex<double> operator()(std::int64_t m, std::int64_t p) const {
    const auto samples = k_.extent(1), points = r_.extent(1);
    long double turns = 0;
    for (int axis = 0; axis < 3; ++axis)
      turns += static_cast<long double>(k_[axis * samples + m]) * r_[axis * points + p];
    if (off_resonance_)
      turns += static_cast<long double>(off_resonance_->omega_rad_per_s[p]) * off_resonance_->time_s[m] /
               (2 * std::numbers::pi_v<long double>);
    const double phase =
        static_cast<double>(2 * std::numbers::pi_v<long double> * (turns - std::rint(turns)));
    return {std::cos(phase), sign_ * std::sin(phase)};
  }

 private:
  const Array<double>& k_;
  const Array<double>& r_;
  const std::optional<OffResonance>& off_resonance_;
  int sign_;
};

}  // namespace

Array<double> voxel_positions(std::array<int, 3> matrix_size) {
  const auto [nx, ny, nz] = matrix_size;
  const std::int64_t points = std::int64_t{nx} * ny * nz;
  Array<double> r({3, points});
  std::int64_t p = 0;
  for (int z = 0; z < nz; ++z)
    for (int y = 0; y < ny; ++y)
      for (int x = 0; x < nx; ++x, ++p) {
        r[p] = static_cast<double>(x - nx / 2) / nx;
        r[points + p] = static_cast<double>(y - ny / 2) / ny;
        r[2 * points + p] = static_cast<double>(z - nz / 2) / nz;
      }
  return r;
}

Array<double> difference_positions(std::array<int, 3> matrix_size) {
  std::array<int, 3> extent{};
  std::int64_t points = 1;
  for (int axis = 0; axis < 3; ++axis)
    points *= extent[axis] = matrix_size[axis] == 1 ? 1 : 2 * matrix_size[axis];
  const auto position = [&](int axis, int index) {
    const int n = matrix_size[axis];
    return static_cast<double>(index < n ? index : index - 2 * n) / n;
  };
  Array<double> differences({3, points});
  std::int64_t p = 0;
  for (int z = 0; z < extent[2]; ++z)
    for (int y = 0; y < extent[1]; ++y)
      for (int x = 0; x < extent[0]; ++x, ++p) {
        differences[p] = position(0, x);
        differences[points + p] = position(1, y);
        differences[2 * points + p] = position(2, z);
      }
  return differences;
}

Values forward(const Array<double>& k, const Array<double>& r, const Values& values,
               const std::optional<OffResonance>& off_resonance) {
  const auto sizes = check(k, r, values, false, off_resonance);
  const auto samples = sizes.samples, points = sizes.points, coils = sizes.coils;
  const Exponential exponential(k, r, off_resonance, -1);
  Values result({coils, samples});
#pragma omp parallel for
  for (std::int64_t m = 0; m < samples; ++m)
    for (std::int64_t p = 0; p < points; ++p) {
      const auto e = exponential(m, p);
      for (std::int64_t c = 0; c < coils; ++c) result[c * samples + m] += values[c * points + p] * e;
    }
  return result;
}

Values adjoint(const Array<double>& k, const Array<double>& r, const Values& samples_in,
               const std::optional<OffResonance>& off_resonance) {
  const auto sizes = check(k, r, samples_in, true, off_resonance);
  const auto samples = sizes.samples, points = sizes.points, coils = sizes.coils;
  const Exponential exponential(k, r, off_resonance, +1);
  Values result({coils, points});
#pragma omp parallel for
  for (std::int64_t p = 0; p < points; ++p)
    for (std::int64_t m = 0; m < samples; ++m) {
      const auto e = exponential(m, p);
      for (std::int64_t c = 0; c < coils; ++c) result[c * points + p] += samples_in[c * samples + m] * e;
    }
  return result;
}

namespace {

/// exp(sign i phi(p, m)) D(p, t_m)
Complex<double> exponential(const AnyPhase& phase, int sign, std::int64_t m, std::int64_t p) {
  const auto samples = phase.coefficients.extent(1), points = phase.basis.extent(1);
  long double rad = 0;
  for (std::int64_t term = 0; term < phase.basis.extent(0); ++term)
    rad += static_cast<long double>(phase.coefficients[term * samples + m]) * phase.basis[term * points + p];
  double size = phase.decay_per_s.empty() ? 1 : std::exp(-phase.decay_per_s[p] * phase.time_s[m]);
  if (!phase.fraction.empty())
    size += (1 - phase.fraction[p]) * (std::exp(-phase.second_decay_per_s[p] * phase.time_s[m]) - size);
  constexpr long double turn = 2 * std::numbers::pi_v<long double>;
  const double rest = static_cast<double>(rad - turn * std::rint(rad / turn));
  return {size * std::cos(rest), sign * size * std::sin(rest)};
}

}  // namespace

Values forward(const AnyPhase& phase, const Values& values) {
  const auto samples = phase.coefficients.extent(1), points = phase.basis.extent(1),
             coils = values.size() / points;
  Values result({coils, samples});
#pragma omp parallel for
  for (std::int64_t m = 0; m < samples; ++m)
    for (std::int64_t p = 0; p < points; ++p) {
      const auto e = exponential(phase, -1, m, p);
      for (std::int64_t c = 0; c < coils; ++c) result[c * samples + m] += values[c * points + p] * e;
    }
  return result;
}

Values adjoint(const AnyPhase& phase, const Values& samples_in) {
  const auto samples = phase.coefficients.extent(1), points = phase.basis.extent(1),
             coils = samples_in.size() / samples;
  Values result({coils, points});
#pragma omp parallel for
  for (std::int64_t p = 0; p < points; ++p)
    for (std::int64_t m = 0; m < samples; ++m) {
      const auto e = exponential(phase, +1, m, p);
      for (std::int64_t c = 0; c < coils; ++c) result[c * points + p] += samples_in[c * samples + m] * e;
    }
  return result;
}

Values q(const Array<double>& k, const Array<double>& differences, const Array<double>& weights) {
  return adjoint(k, differences, converted<Complex<double>>(weights));
}

Values sense_forward(const Array<double>& k, const Array<double>& r, const Values& image, const Values& maps,
                     const std::optional<OffResonance>& off_resonance) {
  const auto points = check(k, r, maps, false, off_resonance).points;
  if (image.size() != points) throw Error("oracle: image", std::to_string(points), image.shape().text());
  Values coil_images = maps;
  for (std::int64_t i = 0; i < maps.size(); ++i) coil_images[i] = maps[i] * image[i % points];
  return forward(k, r, coil_images, off_resonance);
}

Values sense_adjoint(const Array<double>& k, const Array<double>& r, const Values& samples,
                     const Values& maps, const std::optional<OffResonance>& off_resonance) {
  const Values coil_images = adjoint(k, r, samples, off_resonance);
  if (maps.size() != coil_images.size())
    throw Error("oracle: maps", coil_images.shape().text(), maps.shape().text());
  const auto points = r.extent(1);
  Values image({points});
  for (std::int64_t i = 0; i < maps.size(); ++i) image[i % points] += conj(maps[i]) * coil_images[i];
  return image;
}

Values encoding_matrix(const Array<double>& k, const Array<double>& r, const Values& maps,
                       const std::optional<OffResonance>& off_resonance) {
  const auto [samples, points, coils] = check(k, r, maps, false, off_resonance);
  const Exponential exponential(k, r, off_resonance, -1);
  Values matrix({coils * samples, points});
  for (std::int64_t c = 0; c < coils; ++c)
    for (std::int64_t m = 0; m < samples; ++m)
      for (std::int64_t p = 0; p < points; ++p)
        matrix[(c * samples + m) * points + p] = maps[c * points + p] * exponential(m, p);
  return matrix;
}

Values identity_matrix(std::array<int, 3> matrix_size) {
  const std::int64_t points = std::int64_t{matrix_size[0]} * matrix_size[1] * matrix_size[2];
  Values matrix({points, points});
  for (std::int64_t p = 0; p < points; ++p) matrix[p * points + p] = 1.0;
  return matrix;
}

Values finite_difference_matrix(std::array<int, 3> matrix_size) {
  const auto [nx, ny, nz] = matrix_size;
  const std::int64_t points = std::int64_t{nx} * ny * nz;
  const std::array<std::int64_t, 3> stride{1, nx, std::int64_t{nx} * ny};
  std::int64_t rows = 0;
  for (int axis = 0; axis < 3; ++axis) rows += points / matrix_size[axis] * (matrix_size[axis] - 1);
  Values matrix({rows, points});
  std::int64_t row = 0;
  for (int axis = 0; axis < 3; ++axis)
    for (std::int64_t p = 0; p < points; ++p) {
      if (p / stride[axis] % matrix_size[axis] == matrix_size[axis] - 1)
        continue;  // no neighbour beyond the edge
      matrix[row * points + p] = -1.0;
      matrix[row * points + p + stride[axis]] = 1.0;
      ++row;
    }
  return matrix;
}

Values least_squares(const Values& a, const Values& b, double lambda, const Values& w) {
  if (a.shape().rank() != 2) throw Error("oracle: A", "[row][column]", a.shape().text());
  const auto columns = a.extent(1), penalty_rows = w.empty() ? 0 : w.extent(0),
             rows = a.extent(0) + penalty_rows;
  if (b.size() != a.extent(0)) throw Error("oracle: b", std::to_string(a.extent(0)), b.shape().text());
  if (!w.empty()) require_shape(w, {penalty_rows, columns}, "oracle: W");
  if (rows < columns) throw Error("oracle: A", "at least as many rows as columns", a.shape().text());

  // Column-major copy of [A; sqrt(lambda) W], with [b; 0] as one more column.
  Values stacked({columns + 1, rows});
  const auto at = [&](std::int64_t row, std::int64_t column) -> Complex<double>& {
    return stacked[column * rows + row];
  };
  for (std::int64_t i = 0; i < a.extent(0); ++i) {
    for (std::int64_t j = 0; j < columns; ++j) at(i, j) = a[i * columns + j];
    at(i, columns) = b[i];
  }
  for (std::int64_t i = 0; i < penalty_rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      at(a.extent(0) + i, j) = std::sqrt(lambda) * w[i * columns + j];

  // Householder QR (Golub & Van Loan, Matrix Computations, section 5.2.1): reflect column j onto alpha e_j.
  double largest = 0;
  for (std::int64_t j = 0; j < columns; ++j) {
    double squared = 0;
    for (std::int64_t i = j; i < rows; ++i) squared += norm(at(i, j));
    const double length = std::sqrt(squared), diagonal = abs(at(j, j));
    largest = std::max(largest, length);
    if (!(length > 1e-13 * largest))
      throw Error("oracle: A", "full column rank", "rank " + std::to_string(j),
                  "use more samples, or lambda > 0");
    const Complex<double> direction = diagonal > 0 ? (1 / diagonal) * at(j, j) : Complex<double>(1.0);
    const Complex<double> alpha = -(length * direction);
    const double reflector_squared = 2 * length * (length + diagonal);  // |v|^2 of v = a - alpha e_j
    at(j, j) -= alpha;
#pragma omp parallel for
    for (std::int64_t column = j + 1; column <= columns; ++column) {
      Complex<double> product;  // v^H a
      for (std::int64_t i = j; i < rows; ++i) product += conj(at(i, j)) * at(i, column);
      const Complex<double> factor = (2 / reflector_squared) * product;
      for (std::int64_t i = j; i < rows; ++i) at(i, column) -= factor * at(i, j);
    }
    at(j, j) = alpha;  // the diagonal of R; the reflector below it is not needed again
  }
  Values x({columns});
  for (std::int64_t j = columns - 1; j >= 0; --j) {
    Complex<double> sum = at(j, columns);
    for (std::int64_t i = j + 1; i < columns; ++i) sum -= at(j, i) * x[i];
    x[j] = (1 / norm(at(j, j))) * (sum * conj(at(j, j)));
  }
  return x;
}

}  // namespace fhd::oracle
