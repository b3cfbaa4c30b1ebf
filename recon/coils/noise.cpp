#include "recon/coils/noise.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <vector>

#include "recon/array/execution.hpp"
#include "recon/array/linear_algebra.hpp"
#include "recon/array/parallel_failure.hpp"
#include "recon/array/random_numbers.hpp"

namespace fhd {
namespace {

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// The share of samples with the largest normalised radius, sum_axis (2 k / N)^2, in ascending order.
std::vector<std::int64_t> outermost_samples(const Trajectory& trajectory,
                                            const std::array<int, 3>& matrix_size, double share) {
  const std::int64_t samples = trajectory.sample_count();
  std::vector<double> radius(samples);
  constexpr std::int64_t worth_threads = 1 << 17;
#pragma omp parallel for schedule(static) if (samples >= worth_threads)
  for (std::int64_t m = 0; m < samples; ++m)
    for (int axis = 0; axis < 3; ++axis) {
      if (matrix_size[axis] == 1) continue;
      const double of_edge = 2 * trajectory.k.data()[axis * samples + m] / matrix_size[axis];
      radius[m] += of_edge * of_edge;
    }
  const auto count =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(share * static_cast<double>(samples)));
  std::vector<double> sorted(radius);
  std::nth_element(sorted.begin(), sorted.begin() + (count - 1), sorted.end(), std::greater<>());
  const double least = sorted[count - 1];  // of which the first ones count
  std::int64_t at_least =
      count - std::count_if(sorted.begin(), sorted.begin() + count, [&](double r) { return r > least; });
  std::vector<std::int64_t> edge;
  edge.reserve(count);
  for (std::int64_t m = 0; m < samples; ++m)
    if (radius[m] > least || (radius[m] == least && at_least-- > 0)) edge.push_back(m);
  return edge;
}

/// Returns the samples whose energy is not above that of noise: see edge_noise_covariance.
std::vector<std::int64_t> without_signal(const std::vector<std::int64_t>& edge,
                                         const Array<Complex<float>>& kspace) {
  constexpr double outlier_deviations = 4, deviation_per_mad = 1.4826;
  const std::int64_t coils = kspace.extent(0), samples = kspace.extent(1);
  std::vector<double> energy(edge.size()), squares(edge.size()), distance(edge.size());
  for (std::int64_t coil = 0; coil < coils; ++coil) {
    for (std::size_t i = 0; i < edge.size(); ++i)
      squares[i] = norm(Complex<double>(kspace.data()[coil * samples + edge[i]]));
    const double variance = median(squares) / std::numbers::ln2;
    for (std::size_t i = 0; i < edge.size() && variance > 0; ++i) energy[i] += squares[i] / variance;
  }
  const double middle = median(energy);
  for (std::size_t i = 0; i < energy.size(); ++i) distance[i] = std::abs(energy[i] - middle);
  const double limit = middle + outlier_deviations * deviation_per_mad * median(distance);
  std::vector<std::int64_t> noise;
  for (std::size_t i = 0; i < edge.size(); ++i)
    if (!(energy[i] > limit)) noise.push_back(edge[i]);
  return noise;
}

/// Returns the exponent of the power of two below the largest value; 0 where all are zero.
int exponent_of(const Array<Complex<float>>& values) {
  float largest = 0;
  for (const auto& value : values) largest = std::max({largest, std::abs(value.re), std::abs(value.im)});
  return largest > 0 ? std::ilogb(largest) : 0;
}

}  // namespace

template <class T>
Array<Complex<T>> apply_mixing(const Array<Complex<double>>& matrix, const Array<Complex<T>>& values) {
  return matrix_product(converted<Complex<T>>(matrix), values);
}
template Array<Complex<float>> apply_mixing(const Array<Complex<double>>&, const Array<Complex<float>>&);
template Array<Complex<double>> apply_mixing(const Array<Complex<double>>&, const Array<Complex<double>>&);

template <class T>
void mix_in_place(const Array<Complex<double>>& matrix, Array<Complex<T>>& values) {
  multiply_in_place(converted<Complex<T>>(matrix), values);
}
template void mix_in_place(const Array<Complex<double>>&, Array<Complex<float>>&);
template void mix_in_place(const Array<Complex<double>>&, Array<Complex<double>>&);

NoiseCovariance noise_covariance(const Array<Complex<float>>& noise) {
  const std::int64_t samples = noise.extent(1);
  // Products of values far from 1 are beyond single precision.
  const int exponent = exponent_of(noise);
  Array<Complex<float>> scaled;
  if (std::abs(exponent) > 20) {
    scaled = noise;
    for (auto& value : scaled) value = {std::ldexp(value.re, -exponent), std::ldexp(value.im, -exponent)};
  }
  NoiseCovariance covariance{sum_of_outer_products(scaled.empty() ? noise : scaled), samples};
  const double unit = scaled.empty() ? 1 : std::ldexp(1.0, 2 * exponent);
  for (auto& value : covariance.values) value *= unit / static_cast<double>(samples);
  return covariance;
}

std::vector<std::int64_t> edge_samples(const Trajectory& trajectory, std::array<int, 3> matrix_size) {
  constexpr double edge_share = 0.05;
  return outermost_samples(trajectory, matrix_size, edge_share);
}

NoiseCovariance edge_noise_covariance(const std::vector<std::int64_t>& edge,
                                      const Array<Complex<float>>& kspace) {
  return noise_covariance(columns_of(kspace, without_signal(edge, kspace)));
}

NoiseCovariance edge_noise_covariance(const Trajectory& trajectory, std::array<int, 3> matrix_size,
                                      const Array<Complex<float>>& kspace) {
  return edge_noise_covariance(edge_samples(trajectory, matrix_size), kspace);
}

KnownNoise known_noise(const Scan& scan) {
  if (scan.noise) return {noise_covariance(*scan.noise), true};
  return {edge_noise_covariance(scan.trajectory, scan.geometry.matrix_size, scan.kspace.values), false};
}

Array<Complex<double>> covariance_to_draw(const KnownNoise& noise) {
  auto covariance = noise.covariance.values;
  const std::int64_t coils = covariance.extent(0);
  for (std::int64_t i = 0; i < covariance.size() && !noise.is_measured; ++i)
    if (i / coils != i % coils) covariance[i] = 0;
  return covariance;
}

namespace {

/// L of L L^H, lower triangular; a row that depends on those above it has 0 on its diagonal.
Array<Complex<double>> cholesky_factor(const Array<Complex<double>>& matrix) {
  const std::int64_t n = matrix.extent(0);
  Array<Complex<double>> factor({n, n});
  for (std::int64_t row = 0; row < n; ++row)
    for (std::int64_t column = 0; column <= row; ++column) {
      Complex<double> rest = matrix[row * n + column];
      for (std::int64_t i = 0; i < column; ++i) rest -= factor[row * n + i] * conj(factor[column * n + i]);
      const double pivot = factor[column * n + column].re;
      const bool is_new = rest.re > 1e-12 * matrix[row * n + row].re;
      if (row == column)
        factor[row * n + row] = is_new ? std::sqrt(rest.re) : 0.0;
      else if (pivot > 0)
        factor[row * n + column] = (1 / pivot) * rest;
    }
  return factor;
}

}  // namespace

Array<Complex<float>> noise_like(const Array<Complex<double>>& covariance, std::int64_t samples,
                                 std::uint64_t replica) {
  const std::int64_t coils = covariance.extent(0);
  auto factor = cholesky_factor(covariance);
  for (auto& value : factor) value *= std::sqrt(0.5);        // half of the variance is that of the real part
  constexpr std::uint64_t first_seed = 0x7265706c69636173u;  // far from those of simulated scans
  const RandomNumbers random(first_seed + replica);
  Array<Complex<float>> noise({coils, samples});
  ParallelFailure failure;
#pragma omp parallel
  {
    auto own = failure.made_by([&] { return std::vector<Complex<double>>(coils); });
#pragma omp for schedule(static)
    for (std::int64_t m = 0; m < samples; ++m) {
      if (!own) continue;
      auto& white = *own;
      for (std::int64_t coil = 0; coil < coils; ++coil)
        white[coil] = random.normal(static_cast<std::uint64_t>(m * coils + coil));
      for (std::int64_t coil = 0; coil < coils; ++coil) {
        Complex<double> sum = 0;
        for (std::int64_t i = 0; i <= coil; ++i) sum += factor.data()[coil * coils + i] * white[i];
        noise.data()[coil * samples + m] = Complex<float>(sum);
      }
    }
  }
  failure.rethrow();
  return noise;
}

Whitening whitening(const NoiseCovariance& covariance) {
  const std::int64_t coils = covariance.values.extent(0);
  Whitening result;
  double trace = 0, least = INFINITY;
  for (std::int64_t coil = 0; coil < coils; ++coil) {
    const double variance = covariance.values[coil * coils + coil].re;
    trace += variance;
    least = std::min(least, variance);
  }
  result.standard_deviation = std::sqrt(trace / static_cast<double>(coils));
  result.matrix = Array<Complex<double>>({coils, coils});
  if (!(least > 0)) {
    for (std::int64_t coil = 0; coil < coils; ++coil) result.matrix[coil * coils + coil] = 1;
    result.decorrelates = false;
    result.reason = "a coil has no noise: coils are left as they are";
    return result;
  }
  if (covariance.sample_count < 2 * coils) {
    result.reason = "there are only " + std::to_string(covariance.sample_count) + " noise samples for " +
                    std::to_string(coils) + " coils: coils are scaled by their noise and stay correlated";
  } else if (auto inverse = inverse_cholesky_factor(covariance.values)) {
    result.matrix = std::move(*inverse);
    for (auto& value : result.matrix) value *= result.standard_deviation;
    return result;
  } else {
    result.reason = "the noise covariance is singular: coils are scaled by their noise and stay correlated";
  }
  result.decorrelates = false;
  for (std::int64_t coil = 0; coil < coils; ++coil)
    result.matrix[coil * coils + coil] =
        result.standard_deviation / std::sqrt(covariance.values[coil * coils + coil].re);
  return result;
}

namespace {

/// Returns the energy of the first components.
double energy_of(const HermitianEigen<double>& eigen, std::int64_t count) {
  double energy = 0;
  for (std::int64_t i = 0; i < count; ++i) energy += std::max(0.0, eigen.values[i]);
  return energy;
}

/// Row v of the matrix is w_v^H, w_v being the v-th principal component: the virtual coil is w_v^H d.
Compression first_components(const HermitianEigen<double>& eigen, std::int64_t count) {
  const std::int64_t coils = eigen.values.size();
  Compression compression{Array<Complex<double>>({count, coils}), 1};
  for (std::int64_t v = 0; v < count; ++v) {
    const Complex<double>* w = eigen.vectors.data() + v * coils;
    const Complex<double>* largest =
        std::max_element(w, w + coils, [](auto a, auto b) { return norm(a) < norm(b); });
    const double magnitude = abs(*largest);
    const Complex<double> phase = (1 / magnitude) * *largest;
    for (std::int64_t coil = 0; coil < coils; ++coil)
      compression.matrix[v * coils + coil] = phase * conj(w[coil]);
  }
  const double total = energy_of(eigen, coils);
  compression.kept_energy = total > 0 ? energy_of(eigen, count) / total : 1;
  return compression;
}

}  // namespace

Compression compress_to_count(const Array<Complex<float>>& samples, std::int64_t count) {
  return first_components(hermitian_eigen(sum_of_outer_products(samples)), count);
}

Compression compress_to_energy(const Array<Complex<float>>& samples, double energy) {
  const auto eigen = hermitian_eigen(sum_of_outer_products(samples));
  const std::int64_t coils = eigen.values.size();
  const double enough = energy * energy_of(eigen, coils);
  std::int64_t count = 1;
  while (count < coils && energy_of(eigen, count) < enough) ++count;
  return first_components(eigen, count);
}

}  // namespace fhd
