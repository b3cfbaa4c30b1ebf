#include "data/full_equation.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "recon/array/fft.hpp"

namespace fhd::data {
namespace {

constexpr double two_pi = 2 * std::numbers::pi;
constexpr int oversampling = 3;

/// Returns the weight of k at index i of n frequencies: 1 up to 0.6 of the largest, then falling to 0.
double taper(std::int64_t i, std::int64_t n) {
  constexpr double flat = 0.6;
  if (n == 1) return 1;
  const double k = static_cast<double>(std::min(i, n - i)) / (0.5 * static_cast<double>(n));
  const double turned = std::clamp((k - flat) / (1 - flat), 0.0, 1.0);
  return 0.5 + 0.5 * std::cos(std::numbers::pi * turned);
}

/// Returns the phantom at the points, without what rings.
Array<Complex<double>> smooth_object(const Phantom& phantom, const std::array<int, 3>& matrix_size) {
  auto object = band_limited_image(phantom, matrix_size);
  const std::int64_t nx = matrix_size[0], ny = matrix_size[1], nz = matrix_size[2];
  fft_3d(object, -1);
  for (std::int64_t p = 0; p < object.size(); ++p)
    object.data()[p] *= taper(p % nx, nx) * taper(p / nx % ny, ny) * taper(p / nx / ny, nz) /
                        static_cast<double>(object.size());
  fft_3d(object, +1);
  return object;
}

/// Phases in turns, sum_l coefficients(l, m) basis(l, p).
struct Terms {
  std::int64_t samples, points;
  std::vector<std::vector<double>> coefficients, basis;  ///< [term][sample], [term][point]

  /// Adds a term of f(m) and b(p), whose product is in turns.
  template <class OfSample, class OfPoint>
  void add(const OfSample& f, const OfPoint& b) {
    auto& row = coefficients.emplace_back(static_cast<std::size_t>(samples));
    for (std::int64_t m = 0; m < samples; ++m) row[static_cast<std::size_t>(m)] = f(m);
    auto& values = basis.emplace_back(static_cast<std::size_t>(points));
    for (std::int64_t p = 0; p < points; ++p) values[static_cast<std::size_t>(p)] = b(p);
  }
};

Terms terms_of(const Scan& scan, const Geometry& fine, const WaveField& field, const Array<double>& time_s) {
  Terms terms{scan.trajectory.sample_count(), fine.voxel_count(), {}, {}};
  const auto& n = fine.matrix_size;
  const std::array<std::int64_t, 3> stride{1, n[0], std::int64_t{n[0]} * n[1]};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::int64_t size = n[axis];
    if (size == 1) continue;
    const double* const k = scan.trajectory.k.data() + static_cast<std::int64_t>(axis) * terms.samples;
    terms.add([&](std::int64_t m) { return k[m]; },
              [&](std::int64_t p) {
                return static_cast<double>(p / stride[axis] % size - size / 2) / static_cast<double>(size);
              });
  }
  if (field.largest_hz > 0) {
    const auto omega = map_of(field, n);
    terms.add([&](std::int64_t m) { return time_s.data()[m]; },
              [&](std::int64_t p) { return static_cast<double>(omega.data()[p]) / two_pi; });
  }
  if (!scan.fields) return terms;
  const auto r = positions_in_magnet_m(fine, *scan.fields);
  for (std::size_t i = 0; i < scan.fields->functions.size(); ++i) {
    const double* const kappa =
        scan.fields->coefficients.data() + static_cast<std::int64_t>(i) * terms.samples;
    terms.add([&](std::int64_t m) { return kappa[m]; },
              [&](std::int64_t p) {
                return value_of(scan.fields->functions[i],
                                {r.data()[p], r.data()[terms.points + p], r.data()[2 * terms.points + p]}) /
                       two_pi;
              });
  }
  return terms;
}

/// Sums images [coil][point] over the points for sample m, sums[coil]; `decay` [point], of which `time_s` is the time, may be
/// empty.
void sum_sample(const Terms& terms, const Array<Complex<double>>& images, const Array<float>& decay,
                double time_s, std::int64_t m, std::vector<Complex<double>>& sums) {
  constexpr std::int64_t block = 512;
  const std::int64_t points = terms.points;
  double turns[block], re[block], im[block];
  for (std::int64_t first = 0; first < points; first += block) {
    const std::int64_t count = std::min(block, points - first);
    std::fill_n(turns, count, 0.0);
    for (std::size_t term = 0; term < terms.basis.size(); ++term) {
      const double kappa = terms.coefficients[term][static_cast<std::size_t>(m)];
      const double* const b = terms.basis[term].data() + first;
      for (std::int64_t i = 0; i < count; ++i) turns[i] += kappa * b[i];
    }
    for (std::int64_t i = 0; i < count; ++i) {
      const double phase = -two_pi * (turns[i] - std::rint(turns[i]));
      const double size =
          decay.empty() ? 1 : std::exp(-static_cast<double>(decay.data()[first + i]) * time_s);
      re[i] = size * std::cos(phase), im[i] = size * std::sin(phase);
    }
    for (std::size_t coil = 0; coil < sums.size(); ++coil) {
      const auto* const v = images.data() + static_cast<std::int64_t>(coil) * points + first;
      double sum_re = 0, sum_im = 0;
      for (std::int64_t i = 0; i < count; ++i) {
        sum_re += v[i].re * re[i] - v[i].im * im[i];
        sum_im += v[i].re * im[i] + v[i].im * re[i];
      }
      sums[coil] += Complex<double>(sum_re, sum_im);
    }
  }
}

}  // namespace

Array<float> decay_of(double largest, const std::array<int, 3>& matrix_size) {
  const WaveField wave{1 / two_pi, {0.35, -0.4, 0.25}, 0.4};
  auto decay = map_of(wave, matrix_size);
  for (float& rate : decay)
    rate = static_cast<float>(std::max(0.0, largest * 0.5 * (1 + static_cast<double>(rate))));
  return decay;
}

Array<Complex<float>> sampled_with_fields(const Phantom& phantom, const CoilArray& coils, const Scan& scan,
                                          const WaveField& field, double largest_decay_per_s,
                                          const Array<double>& time_s, double factor) {
  Geometry fine = scan.geometry;
  for (int& n : fine.matrix_size)
    if (n > 1) n *= oversampling;
  const auto terms = terms_of(scan, fine, field, time_s);
  const auto decay =
      largest_decay_per_s > 0 ? decay_of(largest_decay_per_s, fine.matrix_size) : Array<float>();
  const auto object = smooth_object(phantom, fine.matrix_size);
  auto images = converted<Complex<double>>(coils.maps(fine.matrix_size).values);
  const double scale = factor / static_cast<double>(terms.points);
  for (std::int64_t i = 0; i < images.size(); ++i)
    images.data()[i] = scale * (images.data()[i] * object.data()[i % terms.points]);
  const std::int64_t coil_count = coils.coil_count();
  Array<Complex<float>> samples({coil_count, terms.samples});
  for_each_with_scratch(
      terms.samples, [&] { return std::vector<Complex<double>>(static_cast<std::size_t>(coil_count)); },
      [&](std::int64_t m, std::vector<Complex<double>>& sums) {
        std::ranges::fill(sums, Complex<double>());
        sum_sample(terms, images, decay, time_s.data()[m], m, sums);
        for (std::int64_t coil = 0; coil < coil_count; ++coil)
          samples.data()[coil * terms.samples + m] = Complex<float>(sums[static_cast<std::size_t>(coil)]);
      });
  return samples;
}

}  // namespace fhd::data
