#pragma once
// Shared by several tests: random numbers, trajectories, inner products, the matrices and sample counts on
// which every Fourier transform is tried.
#include <array>
#include <cmath>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "recon/domain/scan.hpp"
#include "validation/metrics.hpp"

namespace fhd::tests {

/// Complex standard normal numbers.
template <class T>
Array<Complex<T>> random_values(Shape shape, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal;
  Array<Complex<T>> values(shape);
  for (auto& value : values) {
    value.re = static_cast<T>(normal(generator));
    value.im = static_cast<T>(normal(generator));
  }
  return values;
}

/// [3][count], uniform in +-half_width on every axis.
inline Array<double> random_positions(std::int64_t count, double half_width, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> uniform(-half_width, half_width);
  Array<double> positions({3, count});
  for (auto& value : positions) value = uniform(generator);
  return positions;
}

/// Random samples that fill k-space to its edge: the first two lie in opposite corners, the third in the
/// centre. Axes of one voxel get positions too, which must have no effect.
inline Trajectory random_trajectory(std::array<int, 3> matrix_size, std::int64_t samples, unsigned seed) {
  Trajectory trajectory{random_positions(samples, 0.5, seed)};
  for (int axis = 0; axis < 3; ++axis) {
    double* k = trajectory.k.data() + axis * samples;
    for (std::int64_t m = 0; m < samples; ++m) {
      if (m < 3) k[m] = 0.5 * std::array{-1.0, 1.0, 0.0}[static_cast<std::size_t>(m)];
      k[m] *= matrix_size[static_cast<std::size_t>(axis)];
    }
  }
  return trajectory;
}

/// Returns the largest |a - b|; not a number where a difference is none.
inline double largest_difference(const Array<double>& a, const Array<double>& b) {
  double largest = 0;
  for (std::int64_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(a[i] - b[i]);
    if (!(difference <= largest)) largest = difference;
    if (std::isnan(largest)) break;
  }
  return largest;
}

/// Returns a host copy in double precision.
template <class T>
Array<Complex<double>> in_double(const Array<Complex<T>>& values) {
  return converted<Complex<double>>(values);
}
/// Returns |found - expected| / |expected|, l2 norms.
template <class T, class U>
double relative_error(const Array<Complex<T>>& found, const Array<Complex<U>>& expected) {
  return metrics::relative_l2(in_double(found), in_double(expected));
}

/// sum of conj(a) b, in double.
template <class T>
Complex<double> dot(const Array<Complex<T>>& a, const Array<Complex<T>>& b) {
  Complex<double> sum;
  for (std::int64_t i = 0; i < a.size(); ++i) sum += conj(Complex<double>(a[i])) * Complex<double>(b[i]);
  return sum;
}

template <class T>
double length(const Array<Complex<T>>& a) {
  return std::sqrt(dot(a, a).re);
}

/// |<A x, y> - <x, A^H y>| / (|A x| |y|): blind to the sizes of A, x and y.
template <class T>
double adjointness_error(const Array<Complex<T>>& x, const Array<Complex<T>>& ax, const Array<Complex<T>>& y,
                         const Array<Complex<T>>& ahy) {
  return abs(dot(ax, y) - dot(x, ahy)) / (length(ax) * length(y));
}

struct TransformCase {
  std::array<int, 3> matrix_size;
  std::int64_t samples, coils;
  std::string text() const {
    return std::to_string(matrix_size[0]) + "x" + std::to_string(matrix_size[1]) + "x" +
           std::to_string(matrix_size[2]) + ", " + std::to_string(samples) + " samples, " +
           std::to_string(coils) + " coils";
  }
};

/// Odd and even, one to three axes, one voxel, one sample, non-cubic, counts just off powers of two, many
/// coils.
inline std::vector<TransformCase> transform_cases() {
  return {{{1, 1, 1}, 1, 1},       {{1, 1, 1}, 5, 3},     {{8, 1, 1}, 1, 1},       {{7, 1, 1}, 30, 2},
          {{1, 9, 1}, 12, 1},      {{1, 1, 6}, 20, 1},    {{2, 2, 2}, 3, 1},       {{64, 64, 1}, 1, 1},
          {{64, 64, 1}, 1025, 1},  {{63, 65, 1}, 777, 5}, {{256, 256, 1}, 127, 1}, {{255, 3, 1}, 513, 2},
          {{16, 16, 16}, 2049, 1}, {{5, 9, 7}, 1023, 4},  {{33, 17, 12}, 300, 3},  {{12, 1, 20}, 400, 9},
          {{40, 30, 3}, 500, 17},  {{256, 1, 1}, 4097, 1}};
}

/// The scan with every sample given twice.
inline Scan with_samples_twice(const Scan& scan) {
  const std::int64_t samples = scan.kspace.sample_count(), coils = scan.kspace.coil_count();
  Scan twice(scan);
  twice.trajectory.k = Array<double>({3, 2 * samples});
  twice.kspace.values = Array<Complex<float>>({coils, 2 * samples});
  twice.sample_time_s.reset();
  for (std::int64_t m = 0; m < 2 * samples; ++m) {
    for (int axis = 0; axis < 3; ++axis)
      twice.trajectory.k[axis * 2 * samples + m] = scan.trajectory.k[axis * samples + m % samples];
    for (std::int64_t coil = 0; coil < coils; ++coil)
      twice.kspace.values[coil * 2 * samples + m] = scan.kspace.values[coil * samples + m % samples];
  }
  return twice;
}

}  // namespace fhd::tests
