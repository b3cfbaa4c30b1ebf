#include "data/phantom.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <numeric>
#include <string>
#include <utility>

#include "recon/array/fft.hpp"
#include "recon/array/for_processors.hpp"

namespace fhd::data {
namespace {

using std::numbers::pi;

constexpr double negligible_from = 3;  ///< half axes of a bump: exp(-pi d^2) < 1e-12

/// `v` in axes that are turned about z.
Vector3 in_turned_axes(double cosine, double sine, const Vector3& v) {
  return {cosine * v[0] + sine * v[1], cosine * v[1] - sine * v[0], v[2]};
}

/// Distance from the centre in half axes: at most 1 inside the part, which is turned by an angle of this
/// cosine and sine.
double scaled_distance(const PhantomPart& part, int dimensions, double cosine, double sine,
                       const Vector3& r) {
  const Vector3 d =
      in_turned_axes(cosine, sine, {r[0] - part.centre[0], r[1] - part.centre[1], r[2] - part.centre[2]});
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
  if (part.form == PhantomPart::Form::bump) return a[0] * a[1] * (dimensions == 3 ? a[2] : 1);
  if (part.form == PhantomPart::Form::box) return 4 * a[0] * a[1] * (dimensions == 3 ? 2 * a[2] : 1);
  return dimensions == 3 ? 4.0 / 3 * pi * a[0] * a[1] * a[2] : pi * a[0] * a[1];
}

/// 3 (sin x - x cos x) / x^3 for x^2 = u <= 1/4, where the difference would lose 3 eps / x^2 of its value; the first term
/// left out is 48/17! x^14 = 8e-18.
[[gnu::always_inline]] inline double ball_series(double u) {
  return 1 + u * (-1.0 / 10 +
                  u * (1.0 / 280 + u * (-1.0 / 15120 + u * (1.0 / 1330560 + u * (-1.0 / 172972800 +
                                                                                 u * (1.0 / 31135104000))))));
}

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

// --- Vectors of sines. Compiled for several instruction sets, without fused operations: the same bits on all.

struct SineCosine {
  double sine, cosine;
};

/// sin x and cos x to 1 ulp for |x| < 1e6, free of branches. Reduction to |r| <= pi/4 with pi/2 in three
/// parts, of which n times the first two are exact (Cody and Waite); the polynomials are those of fdlibm
/// (k_sin.c, k_cos.c).
[[gnu::always_inline]] inline SineCosine sine_cosine(double x) {
  constexpr double round = 0x1.8p52;  // x + round ends with the nearest whole number
  const double shifted = x * (2 / pi) + round, n = shifted - round;
  const double r = ((x - n * 0x1.921fb544p0) - n * 0x1.0b4611a6p-34) - n * 0x1.3198a2e037073p-69;
  const double u = r * r;
  const double sine =
      r + r * u *
              (-1.66666666666666324348e-01 +
               u * (8.33333333332248946124e-03 +
                    u * (-1.98412698298579493134e-04 +
                         u * (2.75573137070700676789e-06 +
                              u * (-2.50507602534068634195e-08 + u * 1.58969099521155010221e-10)))));
  const double cosine =
      1 - 0.5 * u +
      u * u *
          (4.16666666666666019037e-02 +
           u * (-1.38888888888741095749e-03 +
                u * (2.48015872894767294178e-05 +
                     u * (-2.75573143513906633035e-07 +
                          u * (2.08757232129817482790e-09 - u * 1.13596475577881948265e-11)))));
  const auto quarter = std::bit_cast<std::uint64_t>(shifted);
  const bool swapped = quarter & 1;
  const double s = swapped ? cosine : sine, c = swapped ? sine : cosine;
  return {quarter & 2 ? -s : s, (quarter + 1) & 2 ? -c : c};
}

/// Constants of the transform of a part, with 2 pi (half axis) in the rows of its turn: x = matrix k, x_z =
/// depth k_z.
struct PartTransform {
  double xx, xy, yx, yy, depth, factor;
};

FHD_FOR_PROCESSORS void ball_transforms(const PartTransform& part, std::int64_t count, const double* kx,
                                        const double* ky, const double* kz, double* shares) {
  for (std::int64_t i = 0; i < count; ++i) {
    const double x = part.xx * kx[i] + part.xy * ky[i], y = part.yx * kx[i] + part.yy * ky[i],
                 z = part.depth * kz[i];
    const double u = x * x + y * y + z * z, radius = std::sqrt(u);
    const auto [sine, cosine] = sine_cosine(radius);
    const double far = 3 * (sine - radius * cosine) / (u * radius), near = ball_series(u);
    shares[i] = part.factor * (u < 0.25 ? near : far);
  }
}

FHD_FOR_PROCESSORS void box_transforms(const PartTransform& part, bool three, std::int64_t count,
                                       const double* kx, const double* ky, const double* kz, double* shares) {
  for (std::int64_t i = 0; i < count; ++i) {
    const double x = part.xx * kx[i] + part.xy * ky[i], y = part.yx * kx[i] + part.yy * ky[i],
                 z = three ? part.depth * kz[i] : 0;
    const double sx = sine_cosine(x).sine, sy = sine_cosine(y).sine, sz = sine_cosine(z).sine;
    const double along_x = x == 0 ? 1 : sx / x, along_y = y == 0 ? 1 : sy / y, along_z = z == 0 ? 1 : sz / z;
    shares[i] = part.factor * along_x * along_y * along_z;
  }
}

void bump_transforms(const PartTransform& part, bool three, std::int64_t count, const double* kx,
                     const double* ky, const double* kz, double* shares) {
  for (std::int64_t i = 0; i < count; ++i) {
    const double x = part.xx * kx[i] + part.xy * ky[i], y = part.yx * kx[i] + part.yy * ky[i],
                 z = three ? part.depth * kz[i] : 0;
    shares[i] = part.factor * std::exp(-(x * x + y * y + z * z) / (4 * pi));
  }
}

/// sum += exp(-i 2 pi k . centre) share
FHD_FOR_PROCESSORS void add_shifted(const Vector3& centre, std::int64_t count, const double* kx,
                                    const double* ky, const double* kz, const double* shares,
                                    Complex<double>* sum) {
  for (std::int64_t i = 0; i < count; ++i) {
    const auto [sine, cosine] =
        sine_cosine(2 * pi * (kx[i] * centre[0] + ky[i] * centre[1] + kz[i] * centre[2]));
    sum[i].re += shares[i] * cosine;
    sum[i].im -= shares[i] * sine;
  }
}

// --- Voxel averages

constexpr int points = 8;  ///< per axis of a voxel

/// Position of point `i` of all points of an axis with n voxels: the middle of an eighth of a voxel.
double point_position(std::int64_t i, int n) {
  const double voxel = static_cast<double>(i / points - n / 2) / n;
  return voxel + 0.5 / n * ((2 * static_cast<double>(i % points) + 1.0) / points - 1);
}

/// A part, as a row of points along x sees it.
class PartOnLine {
 public:
  PartOnLine(const PhantomPart& part, int dimensions, int voxels)
      : part_(part),
        dimensions_(dimensions),
        voxels_(voxels),
        cosine_(std::cos(part.angle_rad)),
        sine_(std::sin(part.angle_rad)) {}

  /// Half the extent along y.
  double reach_y() const {
    return std::abs(sine_) * part_.half_axes[0] + std::abs(cosine_) * part_.half_axes[1];
  }

  /// The points inside, [first, last), of the line at y, z; which is one run, because parts are convex.
  std::pair<std::int64_t, std::int64_t> inside(double y, double z) const {
    const auto [from, to] = interval(y - part_.centre[1], z - part_.centre[2]);
    const std::int64_t count = std::int64_t{points} * voxels_;
    if (!(from <= to)) return {0, 0};
    const auto index = [&](double dx) {
      const double at = ((part_.centre[0] + dx) * voxels_ + voxels_ / 2 + 0.5) * points;
      return static_cast<std::int64_t>(std::clamp(at, 0.0, static_cast<double>(count)));
    };
    std::int64_t first = index(from), last = index(to);
    // The interval is rounded: its ends are as the definition of a part has them.
    const auto is_inside = [&](std::int64_t i) {
      return scaled_distance(part_, dimensions_, cosine_, sine_, {point_position(i, voxels_), y, z}) <= 1;
    };
    while (first > 0 && is_inside(first - 1)) --first;
    while (first < last && !is_inside(first)) ++first;
    while (last < count && is_inside(last)) ++last;
    while (last > first && !is_inside(last - 1)) --last;
    return {first, last};
  }

 private:
  /// Returns the interval of x - centre inside the part.
  std::pair<double, double> interval(double dy, double dz) const {
    const auto& [a, b, c] = part_.half_axes;
    constexpr std::pair<double, double> none{1, 0};
    const double depth = dimensions_ == 3 ? dz / c : 0;
    if (part_.form == PhantomPart::Form::box) {
      if (std::abs(depth) > 1) return none;
      double from = -INFINITY, to = INFINITY;
      const auto bound = [&](double slope, double offset, double half) {  // |slope dx + offset| <= half
        if (slope == 0) return void(std::abs(offset) <= half || (to = -INFINITY));
        const double one = (-half - offset) / slope, other = (half - offset) / slope;
        from = std::max(from, std::min(one, other));
        to = std::min(to, std::max(one, other));
      };
      bound(cosine_, sine_ * dy, a);
      bound(-sine_, cosine_ * dy, b);
      return {from, to};
    }
    const double ca = cosine_ / a, sa = sine_ / a, cb = cosine_ / b, sb = sine_ / b;
    const double square = ca * ca + sb * sb, middle = dy * (ca * sa - cb * sb),
                 rest = dy * dy * (sa * sa + cb * cb) + depth * depth - 1;
    const double root = std::sqrt(middle * middle - square * rest);  // NaN: the line passes by
    return {(-middle - root) / square, (-middle + root) / square};
  }

  const PhantomPart& part_;
  int dimensions_, voxels_;
  double cosine_, sine_;
};

/// Adds a bump to the voxels (*, y, z): its mean over their points, along z by itself.
void add_bump_to_row(const PhantomPart& part, const std::array<int, 3>& n, bool three, int y, int z,
                     double* row) {
  const double cosine = std::cos(part.angle_rad), sine = std::sin(part.angle_rad);
  const double reach = negligible_from * std::max(part.half_axes[0], part.half_axes[1]);
  const auto far = [&](int axis, int voxel, double most) {
    const double middle = static_cast<double>(voxel - n[axis] / 2) / n[axis];
    return std::abs(middle - part.centre[axis]) > most + 0.5 / n[axis];
  };
  if (far(1, y, reach) || (three && far(2, z, negligible_from * part.half_axes[2]))) return;
  double along_z = three ? 0 : 1;
  for (int p = 0; three && p < points; ++p) {
    const double d =
        (point_position(std::int64_t{z} * points + p, n[2]) - part.centre[2]) / part.half_axes[2];
    along_z += std::exp(-pi * d * d) / points;
  }
  for (int x = 0; x < n[0]; ++x) {
    if (far(0, x, reach)) continue;
    double sum = 0;
    for (int p = 0; p < points * points; ++p) {
      const double d = scaled_distance(part, 2, cosine, sine,
                                       {point_position(std::int64_t{x} * points + p % points, n[0]),
                                        point_position(std::int64_t{y} * points + p / points, n[1]), 0});
      sum += std::exp(-pi * d * d);
    }
    row[x] += part.intensity * along_z * sum / (points * points);
  }
}

/// Adds a part to the voxels (*, y, z): its intensity times the share of their points that lie inside. `changes`:
/// scratch of nx + 1 zeros, left so.
void add_part_to_row(const PhantomPart& part, const PartOnLine& line, const std::array<int, 3>& n, bool three,
                     int y, int z, std::span<int> changes, double* row) {
  if (part.form == PhantomPart::Form::bump) return add_bump_to_row(part, n, three, y, z, row);
  const int points_z = three ? points : 1;
  const auto y_of = [&](int p) { return point_position(std::int64_t{y} * points + p, n[1]); };
  const double half = 0.5 / n[1], middle = static_cast<double>(y - n[1] / 2) / n[1];
  if (std::abs(middle - part.centre[1]) > line.reach_y() + half) return;
  bool any = false;
  for (int pz = 0; pz < points_z; ++pz) {
    const double at_z = three ? point_position(std::int64_t{z} * points + pz, n[2]) : 0;
    if (three && std::abs(at_z - part.centre[2]) > part.half_axes[2] * (1 + 1e-12)) continue;
    for (int py = 0; py < points; ++py) {
      const auto [first, last] = line.inside(y_of(py), at_z);
      if (first >= last) continue;
      any = true;
      // The running sum of `changes` is the number of points of each voxel: all between the two at the ends.
      const auto voxel = first / points, behind = last / points;
      const int left_out = static_cast<int>(first % points), more = static_cast<int>(last % points);
      changes[voxel] += points - left_out;
      changes[voxel + 1] += left_out;
      changes[behind] -= points - more;
      if (more > 0) changes[behind + 1] -= more;
    }
  }
  if (!any) return;
  int inside = 0;
  for (int x = 0; x < n[0]; ++x) {
    inside += changes[x];
    changes[x] = 0;
    if (inside > 0) row[x] += part.intensity * inside / (points * points * points_z);
  }
  changes[n[0]] = changes[n[0] + 1] = 0;
}

}  // namespace

double disc_transform(double x) { return x == 0 ? 1 : 2 * ::j1(x) / x; }

Complex<double> exponential(int sign, const Vector3& k, const Vector3& r) {
  const double phase = sign * 2 * pi * (k[0] * r[0] + k[1] * r[1] + k[2] * r[2]);
  return {std::cos(phase), std::sin(phase)};
}

Phantom::Phantom(int dimensions, std::vector<PhantomPart> parts)
    : dimensions_(dimensions), parts_(std::move(parts)) {
  for (auto& part : parts_) {
    if (dimensions == 2) part.centre[2] = 0;
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

Phantom Phantom::weighted(double of_tissue, double of_fluid) const {
  auto parts = parts_;
  for (auto& part : parts) part.intensity *= part.is_fluid ? of_fluid : of_tissue;
  return {dimensions_, std::move(parts)};
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

Phantom Phantom::section(double z) const {
  std::vector<PhantomPart> parts;
  for (PhantomPart part : parts_) {
    const double depth = (z - part.centre[2]) / part.half_axes[2], square = depth * depth;
    if (part.form == PhantomPart::Form::bump) {
      if (std::abs(depth) > negligible_from) continue;
      part.intensity *= std::exp(-pi * square);
    } else {
      if (!(square < 1)) continue;
      if (part.form == PhantomPart::Form::ellipsoid)
        for (std::size_t axis = 0; axis < 2; ++axis) part.half_axes[axis] *= std::sqrt(1 - square);
    }
    parts.push_back(part);
  }
  return {2, std::move(parts)};
}

double Phantom::value(const Vector3& r) const {
  double sum = 0;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const double d = scaled_distance(parts_[i], dimensions_, turns_[i].cosine, turns_[i].sine, r);
    if (parts_[i].form == PhantomPart::Form::bump)
      sum += parts_[i].intensity * std::exp(-pi * d * d);
    else if (d <= 1)
      sum += parts_[i].intensity;
  }
  return sum;
}

void Phantom::centred_integrals(std::size_t index, const std::array<std::span<const double>, 3>& k,
                                std::span<double> shares) const {
  const PhantomPart& part = parts_[index];
  const auto [cosine, sine] = turns_[index];
  const double a = 2 * pi * part.half_axes[0], b = 2 * pi * part.half_axes[1], c = 2 * pi * part.half_axes[2];
  const PartTransform transform{a * cosine, a * sine, -b * sine,
                                b * cosine, c,        part.intensity * part_size(part, dimensions_)};
  const auto count = static_cast<std::int64_t>(shares.size());
  if (part.form == PhantomPart::Form::box) {
    box_transforms(transform, dimensions_ == 3, count, k[0].data(), k[1].data(), k[2].data(), shares.data());
  } else if (part.form == PhantomPart::Form::bump) {
    bump_transforms(transform, dimensions_ == 3, count, k[0].data(), k[1].data(), k[2].data(), shares.data());
  } else if (dimensions_ == 3) {
    ball_transforms(transform, count, k[0].data(), k[1].data(), k[2].data(), shares.data());
  } else {
    for (std::size_t i = 0; i < shares.size(); ++i)
      shares[i] =
          transform.factor * disc_transform(std::hypot(transform.xx * k[0][i] + transform.xy * k[1][i],
                                                       transform.yx * k[0][i] + transform.yy * k[1][i]));
  }
}

void Phantom::fourier_integrals(const std::array<std::span<const double>, 3>& k,
                                std::span<Complex<double>> values) const {
  std::vector<double> shares(values.size());
  std::fill(values.begin(), values.end(), Complex<double>{});
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    centred_integrals(i, k, shares);
    add_shifted(parts_[i].centre, static_cast<std::int64_t>(shares.size()), k[0].data(), k[1].data(),
                k[2].data(), shares.data(), values.data());
  }
}

Complex<double> Phantom::fourier_integral(const Vector3& k) const {
  Complex<double> value;
  fourier_integrals({std::span(&k[0], 1), std::span(&k[1], 1), std::span(&k[2], 1)}, {&value, 1});
  return value;
}

Array<double> ideal_image(const Phantom& phantom, std::array<int, 3> matrix_size) {
  const int nx = matrix_size[0], ny = matrix_size[1], nz = matrix_size[2];
  const bool three = phantom.dimensions() == 3;
  Array<double> image({nz, ny, nx});
  std::vector<PartOnLine> lines;
  for (const auto& part : phantom.parts()) lines.emplace_back(part, phantom.dimensions(), nx);
  for_each_with_scratch(
      std::int64_t{ny} * nz, [&] { return std::vector<int>(static_cast<std::size_t>(nx) + 2); },
      [&](std::int64_t row, std::vector<int>& changes) {
        for (std::size_t i = 0; i < lines.size(); ++i)
          add_part_to_row(phantom.parts()[i], lines[i], matrix_size, three, static_cast<int>(row % ny),
                          static_cast<int>(row / ny), changes, image.data() + row * nx);
      });
  return image;
}

Array<Complex<double>> band_limited_image(const Phantom& phantom, std::array<int, 3> matrix_size) {
  const auto [nx, ny, nz] = matrix_size;
  Array<Complex<double>> image({nz, ny, nx}), spectrum({nz, ny, nx});
  // rho(n) = sum_k P(k) exp(+i 2 pi k (n - floor(N/2)) / N): position k of the spectrum lies at index k mod
  // N, and voxel n at index (n - floor(N/2)) mod N of its DFT.
  const auto wrapped = [](int n, int count) { return n < count / 2 ? n - count / 2 + count : n - count / 2; };
  const auto row_of = [&](int y, int z) {
    return (std::int64_t{wrapped(z, matrix_size[2])} * matrix_size[1] + wrapped(y, matrix_size[1])) *
           matrix_size[0];
  };
  const auto length = static_cast<std::size_t>(matrix_size[0]);
  struct Row {
    std::vector<double> kx, ky, kz;
    std::vector<Complex<double>> values;
  };
  for_each_with_scratch(
      std::int64_t{matrix_size[1]} * matrix_size[2],
      [&] {
        Row row{std::vector<double>(length), std::vector<double>(length), std::vector<double>(length),
                std::vector<Complex<double>>(length)};
        std::iota(row.kx.begin(), row.kx.end(), -static_cast<double>(length / 2));
        return row;
      },
      [&](std::int64_t line, Row& row) {
        const int y = static_cast<int>(line % matrix_size[1]), z = static_cast<int>(line / matrix_size[1]);
        std::ranges::fill(row.ky, y - matrix_size[1] / 2);
        std::ranges::fill(row.kz, z - matrix_size[2] / 2);
        phantom.fourier_integrals({row.kx, row.ky, row.kz}, row.values);
        for (int x = 0; x < matrix_size[0]; ++x)
          spectrum.data()[row_of(y, z) + wrapped(x, matrix_size[0])] =
              row.values[static_cast<std::size_t>(x)];
      });
  fft_3d(spectrum, +1);
#pragma omp parallel for collapse(2) schedule(static)
  for (int z = 0; z < matrix_size[2]; ++z)
    for (int y = 0; y < matrix_size[1]; ++y)
      for (int x = 0; x < matrix_size[0]; ++x)
        image.data()[(std::int64_t{z} * matrix_size[1] + y) * matrix_size[0] + x] =
            spectrum.data()[row_of(y, z) + wrapped(x, matrix_size[0])];
  return image;
}

}  // namespace fhd::data
