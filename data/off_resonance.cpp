#include "data/off_resonance.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace fhd::data {
namespace {

using std::numbers::pi;

constexpr std::int64_t block = 256;

/// Orders beyond which J_n(x) is below 1e-8, the rounding of samples.
int order_count(double x) {
  return static_cast<int>(std::ceil(std::abs(x) + 5 * std::cbrt(std::abs(x)) + 5));
}

}  // namespace

WaveField WaveField::section(double z) const {
  return {largest_hz, {frequency[0], frequency[1], 0}, phase_rad + 2 * pi * frequency[2] * z};
}

Array<float> map_of(const WaveField& field, const std::array<int, 3>& matrix_size) {
  const auto [nx, ny, nz] = matrix_size;
  Array<float> omega({nz, ny, nx});
  std::int64_t i = 0;
  for (int z = 0; z < nz; ++z)
    for (int y = 0; y < ny; ++y)
      for (int x = 0; x < nx; ++x) {
        const double theta =
            2 * pi *
                (field.frequency[0] * (x - nx / 2) / nx + field.frequency[1] * (y - ny / 2) / ny +
                 field.frequency[2] * (z - nz / 2) / nz) +
            field.phase_rad;
        omega[i++] = static_cast<float>(2 * pi * field.largest_hz * std::cos(theta));
      }
  return omega;
}

void bessel_functions(double x, std::span<double> values) {
  const double size = std::abs(x);
  std::fill(values.begin(), values.end(), 0.0);
  if (size < 1e-300) {
    values[0] = 1;
    return;
  }
  const int start = 2 * ((std::max(order_count(size), static_cast<int>(values.size())) + 40) / 2);
  double above = 0, here = 1e-300, sum = 0;
  for (int n = start; n >= 0; --n) {
    if (n < static_cast<int>(values.size())) values[static_cast<std::size_t>(n)] = here;
    if (n % 2 == 0) sum += (n == 0 ? 1 : 2) * here;  // J_0 + 2 J_2 + 2 J_4 ... = 1
    const double below = 2 * n / size * here - above;
    above = here, here = below;
    if (std::abs(here) > 1e200) {
      above *= 1e-200, here *= 1e-200, sum *= 1e-200;
      for (double& value : values) value *= 1e-200;
    }
  }
  double sign = 1;
  for (double& value : values) value *= sign / sum, sign = x < 0 ? -sign : sign;
}

Array<Complex<float>> sampled_in_field(const CoilKSpace& kspace, const WaveField& field,
                                       const Trajectory& trajectory, const Array<double>& time_s,
                                       std::int64_t coil_count, double factor) {
  const std::int64_t samples = trajectory.sample_count();
  const double omega = 2 * pi * field.largest_hz;
  double longest = 0;
  for (const double t : time_s) longest = std::max(longest, std::abs(t));
  const int orders = order_count(omega * longest);
  Array<Complex<float>> result({coil_count, samples});
  /// Scratch of one thread.
  struct Scratch {
    std::vector<double> bessel, weights;
    std::array<std::vector<double>, 3> k;
    std::vector<Complex<double>> shifted, sum;
  };
  const auto make = [&] {
    const auto count = static_cast<std::size_t>(orders + 1),
               values = static_cast<std::size_t>(coil_count * block);
    Scratch scratch{std::vector<double>(count), std::vector<double>(block * count), {}, {}, {}};
    scratch.shifted.resize(values), scratch.sum.resize(values);
    return scratch;
  };
  for_each_with_scratch((samples + block - 1) / block, make, [&](std::int64_t number, Scratch& own) {
    auto& [bessel, weights, k, shifted, sum] = own;
    const auto first = number * block, count = std::min(block, samples - first);
    std::ranges::fill(sum, Complex<double>());
    for (std::int64_t m = 0; m < count; ++m)
      bessel_functions(omega * time_s[first + m],
                       std::span(weights).subspan(m * bessel.size(), bessel.size()));
    for (int n = -orders; n <= orders; ++n) {
      const auto order = static_cast<std::size_t>(std::abs(n));
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const double* nominal = trajectory.k.data() + static_cast<std::int64_t>(axis) * samples + first;
        k[axis].assign(nominal, nominal + count);
        for (double& value : k[axis]) value -= n * field.frequency[axis];
      }
      kspace.values({std::span<const double>(k[0]), k[1], k[2]},
                    std::span(shifted).first(coil_count * count));
      // (-i)^n J_n = (-i)^|n| J_|n|, since J_-n = (-1)^n J_n.
      const double angle = -pi / 2 * static_cast<double>(order) + n * field.phase_rad;
      const Complex<double> turn{std::cos(angle), std::sin(angle)};
      for (std::int64_t coil = 0; coil < coil_count; ++coil)
        for (std::int64_t m = 0; m < count; ++m)
          sum[coil * count + m] += weights[m * bessel.size() + order] * (turn * shifted[coil * count + m]);
    }
    for (std::int64_t coil = 0; coil < coil_count; ++coil)
      for (std::int64_t m = 0; m < count; ++m)
        result.data()[coil * samples + first + m] = Complex<float>(factor * sum[coil * count + m]);
  });
  return result;
}

}  // namespace fhd::data
