#include <algorithm>
#include <cmath>
#include <numbers>

#include "recon/array/parallel_failure.hpp"
#include "recon/coils/eigenvector_kernels_cpu.hpp"
#include "recon/coils/matrix_field.hpp"

namespace fhd {
namespace {

/// axis_phases, real and imaginary parts apart, rows padded with zeros.
struct AxisPhases {
  int terms;
  std::int64_t stride;
  std::vector<float> cosine, sine;

  AxisPhases(int degree, int voxels, std::int64_t padded)
      : terms(2 * degree + 1), stride(padded), cosine(terms * padded), sine(terms * padded) {
    const auto phases = axis_phases(degree, voxels);
    for (int t = 0; t < terms; ++t)
      for (int n = 0; n < voxels; ++n) {
        cosine[t * stride + n] = phases[t * voxels + n].re;
        sine[t * stride + n] = phases[t * voxels + n].im;
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

/// `to` [outer][rest] = `from` [outer][points][rest] at a place between two points.
void interpolate(const Complex<float>* from, std::int64_t outer, std::int64_t points, std::int64_t rest,
                 const GridPlace& at, Complex<float>* to) {
  for (std::int64_t o = 0; o < outer; ++o, to += rest) {
    const Complex<float>*low = from + (o * points + at.low) * rest,
          *high = from + (o * points + at.high) * rest;
    for (std::int64_t i = 0; i < rest; ++i) to[i] = (1 - at.share) * low[i] + at.share * high[i];
  }
}

/// A field summed along z, then along y, then a row of voxels at a time, and the reference interpolated likewise: the
/// scratch of one thread.
class RowsOfField {
 public:
  RowsOfField(const MatrixField& field, const EigenvectorRequest& request, const AxisPhases& along_x,
              const AxisPhases& along_y, const AxisPhases& along_z)
      : field_(field), request_(request), along_x_(along_x), along_y_(along_y), along_z_(along_z) {
    const auto& points = request.reference;
    reference_plane_.resize(points.extent(0) * points.extent(2) * points.extent(3));
    reference_row_.resize(points.extent(0) * points.extent(3));
    for (int x = 0; x < request.matrix_size[0]; ++x)
      place_.push_back(grid_place(x, request.matrix_size[0], static_cast<int>(points.extent(3))));
    start_real_.resize(field.coils * along_x.stride), start_imag_.resize(field.coils * along_x.stride);
    const std::int64_t row_terms = field.pair_count() * along_x.terms;
    plane_.resize(row_terms * along_y.terms);
    real_.resize(row_terms), imag_.resize(row_terms);
    sums_.resize(std::int64_t{along_x.terms} * along_y.terms);
    work_.resize(eigenvector_cpu::work_size(field.coils));
    value_.resize(along_x.stride), wanted_.resize(along_x.stride);
    v_real_.resize(field.coils * along_x.stride), v_imag_.resize(field.coils * along_x.stride);
  }

  /// Sums over D_z at plane z.
  void move_to_plane(int z) {
    const auto& from = request_.reference;
    interpolate(from.data(), from.extent(0), from.extent(1), from.extent(2) * from.extent(3),
                grid_place(z, request_.matrix_size[2], static_cast<int>(from.extent(1))),
                reference_plane_.data());
    contract(along_z_, z, std::int64_t{along_y_.terms} * along_x_.terms, field_.coefficients.data(),
             [&](std::int64_t at, Complex<float> sum) { plane_[at] = sum; });
  }
  /// Eigenvectors of the voxels of row y that `mask` [x] asks for, beside those at `beside` [coil][voxel], null for none.
  void solve_row(int y, const std::uint8_t* mask, const Complex<float>* beside) {
    const int voxels = request_.matrix_size[0];
    const std::int64_t volume = request_.mask.size();
    interpolate_row(y);
    std::copy_n(mask, voxels, wanted_.data());
    if (beside != nullptr) take_beside(beside, voxels, volume);
    const bool any_is_tissue = std::any_of(mask, mask + voxels, [](auto m) { return m == MapMask::tissue; });
    contract(along_y_, y, along_x_.terms, plane_.data(), [&](std::int64_t at, Complex<float> sum) {
      real_[at] = sum.re;
      imag_[at] = sum.im;
    });
    eigenvector_cpu::dominant_eigenvectors(
        {field_.coils, along_x_.terms, real_.data(), imag_.data(), along_x_.stride, along_x_.cosine.data(),
         along_x_.sine.data(), wanted_.data(), any_is_tissue ? 0 : request_.least, start_real_.data(),
         start_imag_.data(), beside != nullptr ? beside_real_.data() : nullptr, beside_imag_.data()},
        work_.data(), value_.data(), v_real_.data(), v_imag_.data());
  }
  /// 0 where none was wanted.
  float value(int x) const { return wanted_[x] != 0 ? value_[x] : 0; }
  Complex<float> vector(int coil, int x) const {
    const std::int64_t i = coil * along_x_.stride + x;
    return {v_real_[i], v_imag_[i]};
  }
  Complex<float> reference(int coil, int x) const {
    const std::int64_t i = coil * along_x_.stride + x;
    return {start_real_[i], start_imag_[i]};
  }

 private:
  void interpolate_row(int y) {
    const std::int64_t coils = request_.reference.extent(0), points_y = request_.reference.extent(2),
                       points_x = request_.reference.extent(3);
    const auto n = request_.matrix_size;
    interpolate(reference_plane_.data(), coils, points_y, points_x,
                grid_place(y, n[1], static_cast<int>(points_y)), reference_row_.data());
    for (std::int64_t c = 0; c < coils; ++c) {
      const Complex<float>* row = reference_row_.data() + c * points_x;
      float *real = start_real_.data() + c * along_x_.stride,
            *imag = start_imag_.data() + c * along_x_.stride;
      for (int x = 0; x < n[0]; ++x) {
        const GridPlace& at = place_[x];
        real[x] = (1 - at.share) * row[at.low].re + at.share * row[at.high].re;
        imag[x] = (1 - at.share) * row[at.low].im + at.share * row[at.high].im;
      }
    }
  }
  void take_beside(const Complex<float>* beside, int voxels, std::int64_t volume) {
    beside_real_.resize(v_real_.size()), beside_imag_.resize(v_real_.size());
    for (int x = 0; x < voxels; ++x) {
      bool is_there = false;
      for (int c = 0; c < field_.coils; ++c) {
        const Complex<float> u = beside[c * volume + x];
        beside_real_[c * along_x_.stride + x] = u.re, beside_imag_[c * along_x_.stride + x] = u.im;
        is_there = is_there || u.re != 0 || u.im != 0;
      }
      if (!is_there) wanted_[x] = 0;
    }
  }
  /// store([pair][rest], sum over the axis's terms of exp(-i 2 pi D r) of [pair][term][rest]) at one voxel.
  template <class Store>
  void contract(const AxisPhases& axis, std::int64_t voxel, std::int64_t rest, const Complex<float>* from,
                Store store) {
    Complex<float>* sums = sums_.data();
    for (std::int64_t pair = 0; pair < field_.pair_count(); ++pair) {
      std::fill_n(sums, rest, Complex<float>());
      for (int t = 0; t < axis.terms; ++t) {
        const Complex<float> phase = axis.at(t, voxel), *terms = from + (pair * axis.terms + t) * rest;
        for (std::int64_t i = 0; i < rest; ++i) sums[i] += phase * terms[i];
      }
      for (std::int64_t i = 0; i < rest; ++i) store(pair * rest + i, sums[i]);
    }
  }

  const MatrixField& field_;
  const EigenvectorRequest& request_;
  std::vector<Complex<float>> reference_plane_, reference_row_;
  std::vector<GridPlace> place_;  ///< of the reference along a row
  std::vector<float> start_real_, start_imag_;
  const AxisPhases &along_x_, &along_y_, &along_z_;
  std::vector<Complex<float>> plane_, sums_;
  std::vector<float> real_, imag_, work_, value_, v_real_, v_imag_, beside_real_, beside_imag_;
  std::vector<std::uint8_t> wanted_;
};

}  // namespace

void dominant_eigenvectors_cpu(const MatrixField& field, const EigenvectorRequest& request,
                               std::int64_t first_plane, Array<Complex<float>>& vectors) {
  const int nx = request.matrix_size[0], ny = request.matrix_size[1], nz = request.matrix_size[2];
  const AxisPhases along_x(field.degree[0], nx, padded_row(nx)), along_y(field.degree[1], ny, ny),
      along_z(field.degree[2], nz, nz);
  const std::int64_t volume = request.mask.size();
  constexpr int rows_together = 16;
  const int units_in_plane = (ny + rows_together - 1) / rows_together;
  /// Turned so that the projection onto the reference is real.
  const auto write = [&](const RowsOfField& rows, int x, std::int64_t p) {
    Complex<float> projection;
    for (int c = 0; c < field.coils; ++c) projection += conj(rows.reference(c, x)) * rows.vector(c, x);
    const float magnitude = std::sqrt(norm(projection));
    const Complex<float> turn = magnitude > 0 ? (1 / magnitude) * conj(projection) : Complex<float>(1);
    for (int c = 0; c < field.coils; ++c) vectors.data()[c * volume + p] = turn * rows.vector(c, x);
  };
  const auto clear = [&](std::int64_t p) {
    for (int c = 0; c < field.coils; ++c) vectors.data()[c * volume + p] = {};
  };
  ParallelFailure failure;
#pragma omp parallel
  {
    auto own = failure.made_by([&] { return RowsOfField(field, request, along_x, along_y, along_z); });
    const auto solve = [&](int unit) {
      RowsOfField& rows = *own;
      const int z = unit / units_in_plane, first_y = unit % units_in_plane * rows_together;
      bool is_summed = false;  // along z
      for (int y = first_y; y < std::min(ny, first_y + rows_together); ++y) {
        const std::int64_t first = ((first_plane + z) * ny + y) * nx;
        const std::uint8_t* mask = request.mask.data() + first;
        const bool any = std::any_of(mask, mask + nx, [](std::uint8_t wanted) { return wanted != 0; });
        if (any && !is_summed) rows.move_to_plane(z), is_summed = true;
        const auto* beside = request.beside != nullptr ? request.beside->data() + first : nullptr;
        if (any) rows.solve_row(y, mask, beside);
        for (int x = 0; x < nx; ++x)
          any&& rows.value(x) >= request.least_at(mask[x]) && mask[x] != 0 ? write(rows, x, first + x)
                                                                           : clear(first + x);
      }
    };
#pragma omp for schedule(dynamic)
    for (int unit = 0; unit < nz * units_in_plane; ++unit)
      if (own) failure.guard([&] { solve(unit); });
  }
  failure.rethrow();
}

std::array<double, 3> neighbourhood_radius(const CalibrationRegion& region, double wanted) {
  std::array<double, 3> radius{};
  for (int axis = 0; axis < 3; ++axis)
    if (region.radius[axis] != 0) radius[axis] = std::min(wanted, std::max(1.0, 0.4 * region.radius[axis]));
  return radius;
}

std::vector<Complex<float>> axis_phases(int degree, int voxels) {
  std::vector<Complex<float>> phases;
  for (int difference = -degree; difference <= degree; ++difference)
    for (int n = 0; n < voxels; ++n) {
      const double angle = -2 * std::numbers::pi * difference * static_cast<double>(n - voxels / 2) /
                           static_cast<double>(voxels);
      phases.push_back(Complex<float>(Complex<double>(std::cos(angle), std::sin(angle))));
    }
  return phases;
}

void dominant_eigenvectors(const MatrixField& field, const EigenvectorRequest& request,
                           std::int64_t first_plane, Device device, Array<Complex<float>>& vectors) {
  if (device.is_cpu() || request.beside != nullptr)
    return dominant_eigenvectors_cpu(field, request, first_plane, vectors);
  if constexpr (built_with_cuda)
    return dominant_eigenvectors_cuda(field, request, first_plane, device, vectors);
  refuse_cuda();
}

}  // namespace fhd
