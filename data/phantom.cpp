#include "data/phantom.hpp"

#include <fftw3.h>

#include <cmath>
#include <memory>
#include <numbers>
#include <span>
#include <string>

namespace fhd::data {
namespace {

using std::numbers::pi;

/// `v` in axes that are turned about z.
Vector3 in_turned_axes(double cosine, double sine, const Vector3& v) {
  return {cosine * v[0] + sine * v[1], cosine * v[1] - sine * v[0], v[2]};
}

/// Distance from the centre in half axes: at most 1 inside the part.
double scaled_distance(const PhantomPart& part, int dimensions, const Vector3& r) {
  const Vector3 d = in_turned_axes(std::cos(part.angle_rad), std::sin(part.angle_rad),
                                   {r[0] - part.centre[0], r[1] - part.centre[1], r[2] - part.centre[2]});
  double sum = 0, largest = 0;
  for (int axis = 0; axis < dimensions; ++axis) {
    const double scaled = d[axis] / part.half_axes[axis];
    sum += scaled * scaled;
    largest = std::max(largest, std::abs(scaled));
  }
  return part.form == PhantomPart::Form::box ? largest : std::sqrt(sum);
}

double part_size(const PhantomPart& part, int dimensions) {  // area or volume
  const auto& a = part.half_axes;
  if (part.form == PhantomPart::Form::box) return 4 * a[0] * a[1] * (dimensions == 3 ? 2 * a[2] : 1);
  return dimensions == 3 ? 4.0 / 3 * pi * a[0] * a[1] * a[2] : pi * a[0] * a[1];
}

double sinc(double x) { return x == 0 ? 1 : std::sin(x) / x; }

/// One row of the tables of Shepp-Logan heads, in their own units: the FOV is [-1, 1] and y points up.
struct HeadEllipsoid {
  double intensity, a, b, c, x, y, z, angle_degrees;
};

Phantom head(int dimensions, std::span<const HeadEllipsoid> rows) {
  std::vector<PhantomPart> parts;
  for (const auto& row : rows)
    parts.push_back({.form = PhantomPart::Form::ellipsoid,
                     .centre = {row.x / 2, -row.y / 2, row.z / 2},
                     .half_axes = {row.a / 2, row.b / 2, row.c / 2},
                     .angle_rad = -row.angle_degrees * pi / 180,
                     .intensity = row.intensity});
  return {dimensions, std::move(parts)};
}

/// The mean of rho over the voxel centred at `r` with half widths `half`.
double voxel_mean(const Phantom& phantom, const Vector3& r, const Vector3& half) {
  constexpr int points = 8;  // per axis
  const int dimensions = phantom.dimensions();
  const int points_z = dimensions == 3 ? points : 1;
  double half_diagonal = 0;
  for (int axis = 0; axis < dimensions; ++axis) half_diagonal += half[axis] * half[axis];
  half_diagonal = std::sqrt(half_diagonal);

  const auto offset = [&](int axis, int point, int count) {
    return half[axis] * ((2 * point + 1.0) / count - 1);
  };
  double mean = 0;
  for (const auto& part : phantom.parts()) {
    double smallest_axis = part.half_axes[0];
    for (int axis = 1; axis < dimensions; ++axis)
      smallest_axis = std::min(smallest_axis, part.half_axes[axis]);
    const double distance = scaled_distance(part, dimensions, r), margin = half_diagonal / smallest_axis;
    if (distance > 1 + margin) continue;
    if (distance < 1 - margin) {
      mean += part.intensity;
      continue;
    }
    int inside = 0;
    for (int z = 0; z < points_z; ++z)
      for (int y = 0; y < points; ++y)
        for (int x = 0; x < points; ++x)
          inside += scaled_distance(part, dimensions,
                                    {r[0] + offset(0, x, points), r[1] + offset(1, y, points),
                                     r[2] + offset(2, z, points_z)}) <= 1;
    mean += part.intensity * inside / (points * points * points_z);
  }
  return mean;
}

void require_matrix(const Phantom& phantom, const std::array<int, 3>& matrix_size) {
  for (int n : matrix_size)
    if (n < 1) throw Error("matrix size", "at least 1 voxel per axis", std::to_string(n));
  if (phantom.dimensions() == 2 && matrix_size[2] != 1)
    throw Error("matrix size", "1 voxel along z for a 2D phantom", std::to_string(matrix_size[2]));
}

}  // namespace

double disc_transform(double x) { return x == 0 ? 1 : 2 * ::j1(x) / x; }

double ball_transform(double x) {
  // sin x - x cos x loses 3 eps / x^2 of its value: 3e-15 at x = 1/2. The series' first omitted term is
  // 48/17! x^14 = 8e-18 there.
  if (std::abs(x) >= 0.5) return 3 * (std::sin(x) - x * std::cos(x)) / (x * x * x);
  const double u = x * x;
  return 1 + u * (-1.0 / 10 +
                  u * (1.0 / 280 + u * (-1.0 / 15120 + u * (1.0 / 1330560 + u * (-1.0 / 172972800 +
                                                                                 u * (1.0 / 31135104000))))));
}

Complex<double> exponential(int sign, const Vector3& k, const Vector3& r) {
  const double phase = sign * 2 * pi * (k[0] * r[0] + k[1] * r[1] + k[2] * r[2]);
  return {std::cos(phase), std::sin(phase)};
}

Phantom::Phantom(int dimensions, std::vector<PhantomPart> parts)
    : dimensions_(dimensions), parts_(std::move(parts)) {
  if (dimensions != 2 && dimensions != 3)
    throw Error("phantom", "2 or 3 dimensions", std::to_string(dimensions));
  for (auto& part : parts_) {
    if (dimensions == 2) part.centre[2] = 0;
    bool good = std::isfinite(part.angle_rad) && std::isfinite(part.intensity);
    for (int axis = 0; axis < dimensions; ++axis)
      good = good && std::isfinite(part.centre[axis]) && std::isfinite(part.half_axes[axis]) &&
             part.half_axes[axis] > 0;
    if (!good) throw Error("phantom", "finite parts with half axes > 0", "a part that is not");
    turns_.push_back({std::cos(part.angle_rad), std::sin(part.angle_rad)});
  }
}

Phantom Phantom::shepp_logan(int dimensions) {
  // Toft, The Radon Transform, PhD thesis (1996), table B.3.
  static constexpr HeadEllipsoid rows_2d[] = {
      {1.0, 0.69, 0.92, 1, 0, 0, 0, 0},        {-0.8, 0.6624, 0.874, 1, 0, -0.0184, 0, 0},
      {-0.2, 0.11, 0.31, 1, 0.22, 0, 0, -18},  {-0.2, 0.16, 0.41, 1, -0.22, 0, 0, 18},
      {0.1, 0.21, 0.25, 1, 0, 0.35, 0, 0},     {0.1, 0.046, 0.046, 1, 0, 0.1, 0, 0},
      {0.1, 0.046, 0.046, 1, 0, -0.1, 0, 0},   {0.1, 0.046, 0.023, 1, -0.08, -0.605, 0, 0},
      {0.1, 0.023, 0.023, 1, 0, -0.606, 0, 0}, {0.1, 0.023, 0.046, 1, 0.06, -0.605, 0, 0},
  };
  // Kak and Slaney, Principles of Computerized Tomographic Imaging (1988), table 3.1; intensities of Koay et
  // al.
  static constexpr HeadEllipsoid rows_3d[] = {
      {2.0, 0.69, 0.92, 0.9, 0, 0, 0, 0},
      {-0.8, 0.6624, 0.874, 0.88, 0, 0, 0, 0},
      {-0.2, 0.41, 0.16, 0.21, -0.22, 0, -0.25, 108},
      {-0.2, 0.31, 0.11, 0.22, 0.22, 0, -0.25, 72},
      {0.2, 0.21, 0.25, 0.5, 0, 0.35, -0.25, 0},
      {0.2, 0.046, 0.046, 0.046, 0, 0.1, -0.25, 0},
      {0.1, 0.046, 0.023, 0.02, -0.08, -0.65, -0.25, 0},
      {0.1, 0.046, 0.023, 0.02, 0.06, -0.65, -0.25, 90},
      {0.2, 0.056, 0.04, 0.1, 0.06, -0.105, 0.625, 90},
      {-0.2, 0.056, 0.056, 0.1, 0, 0.1, 0.625, 0},
  };
  return dimensions == 3 ? head(3, rows_3d) : head(dimensions, rows_2d);
}

Phantom Phantom::resolution(int dimensions) {
  constexpr double background = 0.5, bar = 0.5, radius = 0.45, gap = 0.02, half_depth = 0.15;
  constexpr double widths[] = {1.0 / 24, 1.0 / 32, 1.0 / 48, 1.0 / 64, 1.0 / 96, 1.0 / 128};
  using Form = PhantomPart::Form;
  std::vector<PhantomPart> parts{{Form::ellipsoid, {0, 0, 0}, {radius, radius, radius}, 0, background}};

  // A row of groups of three bars, laid along `row_axis` and centred; the bars of a group are narrow along
  // `narrow_axis` and have the half lengths `half_lengths` along the others.
  const auto add_row = [&](int row_axis, int narrow_axis, std::span<const double> group_widths,
                           Vector3 centre, Vector3 half_lengths) {
    double length = -gap;
    for (double width : group_widths) length += 5 * width + gap;
    double start = -length / 2;
    for (double width : group_widths) {
      Vector3 middle = centre, half = half_lengths;
      middle[row_axis] = start + 2.5 * width;
      if (row_axis != narrow_axis) half[row_axis] = 2.5 * width;
      half[narrow_axis] = width / 2;
      for (int i = -1; i <= 1; ++i) {
        Vector3 at = middle;
        at[narrow_axis] += 2 * width * i;
        parts.push_back({Form::box, at, half, 0, bar});
      }
      start += 5 * width + gap;
    }
  };
  add_row(0, 0, widths, {0, -0.12, 0}, {0, 0.08, half_depth});
  add_row(0, 1, widths, {0, 0.1, 0}, {0, 0, half_depth});
  if (dimensions == 3) add_row(2, 2, std::span(widths).first(4), {0, -0.3, 0}, {0.03, 0.03, 0});

  double x = -0.22;
  for (double hole : widths) {
    parts.push_back({Form::ellipsoid, {x, 0.3, 0}, {hole, hole, hole}, 0, -background});
    x += 2 * hole + 0.045;
  }
  return {dimensions, std::move(parts)};
}

Phantom Phantom::scaled(double factor) const {
  auto parts = parts_;
  for (auto& part : parts)
    for (std::size_t axis = 0; axis < 3; ++axis) {
      part.centre[axis] *= factor;
      part.half_axes[axis] *= factor;
    }
  return {dimensions_, std::move(parts)};
}

double Phantom::value(const Vector3& r) const {
  double sum = 0;
  for (const auto& part : parts_)
    if (scaled_distance(part, dimensions_, r) <= 1) sum += part.intensity;
  return sum;
}

double Phantom::centred_integral(std::size_t index, const Vector3& k) const {
  const PhantomPart& part = parts_[index];
  const Vector3 turned = in_turned_axes(turns_[index].cosine, turns_[index].sine, k);
  double square = 0, product = 1;
  for (int axis = 0; axis < dimensions_; ++axis) {
    const double x = 2 * pi * part.half_axes[axis] * turned[axis];
    square += x * x;
    if (part.form == PhantomPart::Form::box) product *= sinc(x);
  }
  if (part.form == PhantomPart::Form::ellipsoid)
    product = dimensions_ == 3 ? ball_transform(std::sqrt(square)) : disc_transform(std::sqrt(square));
  return part.intensity * part_size(part, dimensions_) * product;
}

Complex<double> Phantom::fourier_integral(const Vector3& k) const {
  Complex<double> sum;
  for (std::size_t i = 0; i < parts_.size(); ++i)
    sum += centred_integral(i, k) * exponential(-1, k, parts_[i].centre);
  return sum;
}

Array<double> ideal_image(const Phantom& phantom, std::array<int, 3> matrix_size) {
  require_matrix(phantom, matrix_size);
  const auto [nx, ny, nz] = matrix_size;
  Array<double> image({nz, ny, nx});
  const Vector3 half{0.5 / nx, 0.5 / ny, 0.5 / nz};
  const auto position = [](int n, int count) { return (n - count / 2) / double(count); };
#pragma omp parallel for collapse(2) schedule(dynamic, 8)
  for (int z = 0; z < matrix_size[2]; ++z)
    for (int y = 0; y < matrix_size[1]; ++y)
      for (int x = 0; x < matrix_size[0]; ++x)
        image.data()[(std::int64_t{z} * matrix_size[1] + y) * matrix_size[0] + x] = voxel_mean(
            phantom, {position(x, matrix_size[0]), position(y, matrix_size[1]), position(z, matrix_size[2])},
            half);
  return image;
}

Array<Complex<double>> band_limited_image(const Phantom& phantom, std::array<int, 3> matrix_size) {
  require_matrix(phantom, matrix_size);
  const auto [nx, ny, nz] = matrix_size;
  Array<Complex<double>> image({nz, ny, nx}), shifted({nz, ny, nx});
  // rho(n) = sum_k P(k) exp(+i 2 pi k (n - floor(N/2)) / N): position k of the spectrum lies at index k mod
  // N, and voxel n at index (n - floor(N/2)) mod N of its DFT.
  const auto index = [&](int x, int y, int z) {
    return (std::int64_t{z} * matrix_size[1] + y) * matrix_size[0] + x;
  };
  const auto wrapped = [](int n, int count) { return n < count / 2 ? n - count / 2 + count : n - count / 2; };
#pragma omp parallel for collapse(2) schedule(dynamic, 8)
  for (int z = 0; z < matrix_size[2]; ++z)
    for (int y = 0; y < matrix_size[1]; ++y)
      for (int x = 0; x < matrix_size[0]; ++x)
        shifted.data()[index(wrapped(x, matrix_size[0]), wrapped(y, matrix_size[1]),
                             wrapped(z, matrix_size[2]))] =
            phantom.fourier_integral({double(x - matrix_size[0] / 2), double(y - matrix_size[1] / 2),
                                      double(z - matrix_size[2] / 2)});

  auto* values = reinterpret_cast<fftw_complex*>(shifted.data());
  const std::unique_ptr<fftw_plan_s, decltype(&fftw_destroy_plan)> plan(
      fftw_plan_dft_3d(nz, ny, nx, values, values, FFTW_BACKWARD, FFTW_ESTIMATE), &fftw_destroy_plan);
  if (!plan)
    throw Error("band-limited image", "a Fourier transform by FFTW", "no plan for " + image.shape().text());
  fftw_execute(plan.get());

  for (int z = 0; z < nz; ++z)
    for (int y = 0; y < ny; ++y)
      for (int x = 0; x < nx; ++x)
        image[index(x, y, z)] = shifted[index(wrapped(x, nx), wrapped(y, ny), wrapped(z, nz))];
  return image;
}

}  // namespace fhd::data
