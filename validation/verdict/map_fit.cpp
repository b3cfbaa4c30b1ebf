#include "validation/verdict/map_fit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numbers>

#include "recon/array/linear_algebra.hpp"

namespace fhd::validation {
namespace {

double norm_of(const std::vector<float>& re, const std::vector<float>& im) {
  double sum = 0;
  for (std::size_t i = 0; i < re.size(); ++i)
    sum += static_cast<double>(re[i]) * re[i] + static_cast<double>(im[i]) * im[i];
  return sum;
}

/// Returns Re a^H b.
double real_product(const std::vector<float>& a_re, const std::vector<float>& a_im,
                    const std::vector<float>& b_re, const std::vector<float>& b_im) {
  double sum = 0;
  for (std::size_t i = 0; i < a_re.size(); ++i)
    sum += static_cast<double>(a_re[i]) * b_re[i] + static_cast<double>(a_im[i]) * b_im[i];
  return sum;
}

}  // namespace

CentralCells central_cells(const Trajectory& trajectory, const std::array<int, 3>& full,
                           const std::array<double, 3>& radius, std::size_t enough) {
  const Index all = trajectory.sample_count();
  std::map<std::array<int, 3>, std::vector<Index>> cells;
  for (Index m = 0; m < all; ++m) {
    std::array<int, 3> cell{};
    bool inside = true;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if (full[axis] == 1) continue;
      const double k = trajectory.k[static_cast<Index>(axis) * all + m];
      inside = inside && std::abs(k) < std::min(radius[axis], 0.5 * full[axis]);
      cell[axis] = static_cast<int>(std::lround(k));
    }
    if (inside) cells[cell].push_back(m);
  }
  const std::size_t most = std::max<std::size_t>(1, enough / std::max<std::size_t>(1, cells.size()));
  CentralCells found;
  for (const auto& [cell, of_cell] : cells) {
    const std::size_t kept = std::min(most, of_cell.size());
    double weight = 1 / static_cast<double>(kept);
    for (std::size_t axis = 0; axis < 3; ++axis)
      if (full[axis] > 1)
        weight *= std::pow(std::cos(std::numbers::pi * cell[axis] / (2 * radius[axis] + 2)), 2);
    for (std::size_t i = 0; i < kept; ++i)
      found.samples.push_back(of_cell[i * of_cell.size() / kept]), found.weights.push_back(weight);
  }
  return found;
}

MapFit::MapFit(const Scan& scan) {
  const auto& full = scan.geometry.matrix_size;
  const bool is_3d = full[2] > 1;
  const double radius = is_3d ? 3 : 6;
  coils_ = scan.kspace.coil_count();
  for (std::size_t axis = 0; axis < 3; ++axis) {
    grid_.n[axis] = std::min(static_cast<int>(2 * radius) + (is_3d ? 2 : 4), full[axis]);
    grid_.field[axis] = 1;
  }
  constexpr std::size_t enough = 1500;
  auto [samples, weights] = central_cells(scan.trajectory, full, {radius, radius, radius}, enough);
  samples_ = std::move(samples);
  const auto count = static_cast<Index>(samples_.size()), voxels = grid_.count();
  double cells = 1;
  for (const int n : full) cells *= std::min<double>(2 * radius, n);
  if (static_cast<double>(count * coils_) < 2 * cells) return;
  const Index all = scan.trajectory.sample_count();
  SmallPositions k;
  for (const Index m : samples_)
    k.push_back({scan.trajectory.k[m], scan.trajectory.k[all + m], scan.trajectory.k[2 * all + m]});
  encoding_ = encoding_matrix(k, grid_);
  for (Index i = 0; i < count; ++i) {
    const double root = std::sqrt(weights[static_cast<std::size_t>(i)]);
    for (Index p = 0; p < voxels; ++p) {
      auto& e = encoding_[i * voxels + p];
      e = root * e;
      if (!scan.field_map || !scan.sample_time_s) continue;
      e = phasor(-(*scan.field_map)[nearest_voxel(grid_, p, full)] *
                 (*scan.sample_time_s)[samples_[static_cast<std::size_t>(i)]]) *
          e;
    }
  }
  data_ = Matrix({count, coils_});
  energy_.assign(static_cast<std::size_t>(coils_), 0);
  for (Index i = 0; i < count; ++i)
    for (Index c = 0; c < coils_; ++c) {
      auto& d = data_[i * coils_ + c];
      d = std::sqrt(weights[static_cast<std::size_t>(i)]) *
          Complex<double>(scan.kspace.values[c * all + samples_[static_cast<std::size_t>(i)]]);
      energy_[static_cast<std::size_t>(c)] += norm(d);
    }
  const auto back = adjoint(encoding_);
  adjoint_ = matrix_product(back, data_);
  const auto gram = matrix_product(back, encoding_);
  gram_ = Parts(static_cast<std::size_t>(gram.size()));
  for (std::size_t i = 0; i < gram_.re.size(); ++i)
    gram_.re[i] = static_cast<float>(gram[static_cast<Index>(i)].re),
    gram_.im[i] = static_cast<float>(gram[static_cast<Index>(i)].im);
}

double MapFit::solve(const Parts& normal, const Parts& right, Parts& x) {
  constexpr int most_steps = 24;
  constexpr double small = 1e-4;  // of the right side
  const std::size_t n = right.re.size();
  Parts rest(right), step(right), product(n);
  double square = norm_of(rest.re, rest.im);
  const double stop = small * small * square;
  for (int i = 0; i < most_steps && square > stop; ++i) {
    std::fill(product.re.begin(), product.re.end(), 0.f),
        std::fill(product.im.begin(), product.im.end(), 0.f);
    for (std::size_t q = 0; q < n; ++q) {  // columns of a Hermitian matrix are its conjugated rows
      const float a = step.re[q], b = step.im[q];
      const float *re = normal.re.data() + q * n, *im = normal.im.data() + q * n;
#pragma omp simd
      for (std::size_t p = 0; p < n; ++p) {
        product.re[p] += a * re[p] + b * im[p];
        product.im[p] += b * re[p] - a * im[p];
      }
    }
    const double curve = real_product(step.re, step.im, product.re, product.im);
    if (!(curve > 0)) break;
    const auto by = static_cast<float>(square / curve);
#pragma omp simd
    for (std::size_t p = 0; p < n; ++p) {
      x.re[p] += by * step.re[p], x.im[p] += by * step.im[p];
      rest.re[p] -= by * product.re[p], rest.im[p] -= by * product.im[p];
    }
    const double next = norm_of(rest.re, rest.im);
    const auto keep = static_cast<float>(next / square);
    square = next;
#pragma omp simd
    for (std::size_t p = 0; p < n; ++p)
      step.re[p] = rest.re[p] + keep * step.re[p], step.im[p] = rest.im[p] + keep * step.im[p];
  }
  return real_product(x.re, x.im, right.re, right.im) + real_product(x.re, x.im, rest.re, rest.im);
}

MapFit::Image MapFit::fit(const Matrix& maps, const Coils& without) const {
  const auto n = static_cast<std::size_t>(grid_.count());
  Parts normal(n * n), right(n), x(n), s(n);
  double energy = 0;
  for (Index c = 0; c < coils_; ++c) {
    if (std::find(without.begin(), without.end(), c) != without.end()) continue;
    energy += energy_[static_cast<std::size_t>(c)];
    for (std::size_t p = 0; p < n; ++p) {
      const auto& value = maps[c * static_cast<Index>(n) + static_cast<Index>(p)];
      const auto& b = adjoint_[static_cast<Index>(p) * coils_ + c];
      const auto back = conj(value) * b;
      s.re[p] = static_cast<float>(value.re), s.im[p] = static_cast<float>(value.im);
      right.re[p] += static_cast<float>(back.re), right.im[p] += static_cast<float>(back.im);
    }
    for (std::size_t p = 0; p < n; ++p) {
      const float a = s.re[p], b = s.im[p];
      float *re = normal.re.data() + p * n, *im = normal.im.data() + p * n;
#pragma omp simd
      for (std::size_t q = 0; q < n; ++q) {
        re[q] += a * s.re[q] + b * s.im[q];
        im[q] += a * s.im[q] - b * s.re[q];
      }
    }
  }
#pragma omp simd
  for (std::size_t i = 0; i < n * n; ++i) {
    const float re = normal.re[i] * gram_.re[i] - normal.im[i] * gram_.im[i];
    normal.im[i] = normal.re[i] * gram_.im[i] + normal.im[i] * gram_.re[i];
    normal.re[i] = re;
  }
  const double explained = solve(normal, right, x);
  Image image{Matrix({static_cast<Index>(n)}), energy > 0 ? explained / energy : 0};
  for (std::size_t p = 0; p < n; ++p) image.values[static_cast<Index>(p)] = {x.re[p], x.im[p]};
  return image;
}

MapFit::Image MapFit::images_of_coils() const {
  const auto n = static_cast<std::size_t>(grid_.count());
  double explained = 0, energy = 0;
  Image images{Matrix({grid_.count(), coils_}), 0};
  for (Index c = 0; c < coils_; ++c) {
    Parts right(n), x(n);
    for (std::size_t p = 0; p < n; ++p) {
      const auto& b = adjoint_[static_cast<Index>(p) * coils_ + c];
      right.re[p] = static_cast<float>(b.re), right.im[p] = static_cast<float>(b.im);
    }
    explained += solve(gram_, right, x), energy += energy_[static_cast<std::size_t>(c)];
    for (std::size_t p = 0; p < n; ++p)
      images.values[static_cast<Index>(p) * coils_ + c] = {x.re[p], x.im[p]};
  }
  images.explained = energy > 0 ? explained / energy : 0;
  return images;
}

Matrix MapFit::predicted(const Matrix& maps, const Matrix& image) const {
  Matrix images({grid_.count(), coils_});
  for (Index p = 0; p < grid_.count(); ++p)
    for (Index c = 0; c < coils_; ++c) images[p * coils_ + c] = maps[c * grid_.count() + p] * image[p];
  return matrix_product(encoding_, images);
}

}  // namespace fhd::validation
