#include "recon/coils/matrix_field.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "recon/coils/eigenvector_kernels_cpu.hpp"

namespace fhd {
namespace {

/// exp(-i 2 pi D r) of the voxels of one axis, [D + degree][voxel].
struct AxisPhases {
  int terms;
  std::int64_t stride;
  std::vector<float> cosine, sine;

  AxisPhases(int degree, int voxels, std::int64_t padded)
      : terms(2 * degree + 1), stride(padded), cosine(terms * padded), sine(terms * padded) {
    for (int t = 0; t < terms; ++t)
      for (int n = 0; n < voxels; ++n) {
        const double angle = -2 * std::numbers::pi * (t - degree) * static_cast<double>(n - voxels / 2) /
                             static_cast<double>(voxels);
        cosine[t * stride + n] = static_cast<float>(std::cos(angle));
        sine[t * stride + n] = static_cast<float>(std::sin(angle));
      }
  }
  Complex<float> at(int term, std::int64_t voxel) const {
    return {cosine[term * stride + voxel], sine[term * stride + voxel]};
  }
};

std::int64_t padded_row(int voxels) {
  constexpr std::int64_t lanes = eigenvector_cpu::lanes;
  return (voxels + lanes - 1) / lanes * lanes;
}

/// A field summed along z, then along y, then a row of voxels at a time: the scratch of one thread.
class RowsOfField {
 public:
  RowsOfField(const MatrixField& field, const AxisPhases& along_x, const AxisPhases& along_y,
              const AxisPhases& along_z)
      : field_(field), along_x_(along_x), along_y_(along_y), along_z_(along_z) {
    const std::int64_t row_terms = field.pair_count() * along_x.terms;
    plane_.resize(row_terms * along_y.terms);
    real_.resize(row_terms), imag_.resize(row_terms);
    work_.resize(eigenvector_cpu::work_size(field.coils));
    value_.resize(along_x.stride);
    v_real_.resize(field.coils * along_x.stride), v_imag_.resize(field.coils * along_x.stride);
  }

  /// sum over D_z of h(D) exp(-i 2 pi D_z z)
  void move_to_plane(int z) {
    const std::int64_t per_plane = std::int64_t{along_y_.terms} * along_x_.terms;
    for (std::int64_t pair = 0; pair < field_.pair_count(); ++pair)
      for (std::int64_t i = 0; i < per_plane; ++i) {
        Complex<float> sum;
        for (int t = 0; t < along_z_.terms; ++t)
          sum += along_z_.at(t, z) * field_.coefficients.data()[(pair * along_z_.terms + t) * per_plane + i];
        plane_[pair * per_plane + i] = sum;
      }
  }
  /// Eigenvectors of the voxels of row y.
  void solve_row(int y, float least) {
    for (std::int64_t pair = 0; pair < field_.pair_count(); ++pair)
      for (int i = 0; i < along_x_.terms; ++i) {
        Complex<float> sum;
        for (int t = 0; t < along_y_.terms; ++t)
          sum += along_y_.at(t, y) * plane_[(pair * along_y_.terms + t) * along_x_.terms + i];
        real_[pair * along_x_.terms + i] = sum.re;
        imag_[pair * along_x_.terms + i] = sum.im;
      }
    eigenvector_cpu::dominant_eigenvectors(
        {field_.coils, along_x_.terms, real_.data(), imag_.data(), along_x_.stride, along_x_.cosine.data(),
         along_x_.sine.data(), least},
        work_.data(), value_.data(), v_real_.data(), v_imag_.data());
  }
  float value(int x) const { return value_[x]; }
  Complex<float> vector(int coil, int x) const {
    const std::int64_t i = coil * along_x_.stride + x;
    return {v_real_[i], v_imag_[i]};
  }

 private:
  const MatrixField& field_;
  const AxisPhases &along_x_, &along_y_, &along_z_;
  std::vector<Complex<float>> plane_;
  std::vector<float> real_, imag_, work_, value_, v_real_, v_imag_;
};

}  // namespace

std::array<double, 3> neighbourhood_radius(const CalibrationRegion& region, double wanted) {
  std::array<double, 3> radius{};
  for (int axis = 0; axis < 3; ++axis)
    if (region.radius[axis] != 0) radius[axis] = std::min(wanted, std::max(1.0, 0.4 * region.radius[axis]));
  return radius;
}

void dominant_eigenvectors(const MatrixField& field, const std::vector<Complex<float>>& reference,
                           std::array<int, 3> matrix_size, float least, std::int64_t first_plane,
                           Array<Complex<float>>& vectors, Array<float>& values) {
  const auto [nx, ny, nz] = matrix_size;
  const AxisPhases along_x(field.degree[0], nx, padded_row(nx)), along_y(field.degree[1], ny, ny),
      along_z(field.degree[2], nz, nz);
  const std::int64_t volume = values.size();
  constexpr int rows_together = 16;
  const int units_in_plane = (ny + rows_together - 1) / rows_together;
  /// Turned so that the projection onto the reference is real.
  const auto write = [&](const RowsOfField& rows, int x, std::int64_t p) {
    Complex<float> projection;
    for (int c = 0; c < field.coils; ++c) projection += conj(reference[c]) * rows.vector(c, x);
    const float magnitude = std::sqrt(norm(projection));
    const Complex<float> turn = magnitude > 0 ? (1 / magnitude) * conj(projection) : Complex<float>(1);
    for (int c = 0; c < field.coils; ++c) vectors.data()[c * volume + p] = turn * rows.vector(c, x);
    values.data()[p] = rows.value(x);
  };
#pragma omp parallel
  {
    RowsOfField rows(field, along_x, along_y, along_z);
#pragma omp for schedule(dynamic)
    for (int unit = 0; unit < nz * units_in_plane; ++unit) {
      const int z = unit / units_in_plane, first_y = unit % units_in_plane * rows_together;
      rows.move_to_plane(z);
      for (int y = first_y; y < std::min(ny, first_y + rows_together); ++y) {
        rows.solve_row(y, least);
        for (int x = 0; x < nx; ++x) write(rows, x, ((first_plane + z) * ny + y) * nx + x);
      }
    }
  }
}

}  // namespace fhd
