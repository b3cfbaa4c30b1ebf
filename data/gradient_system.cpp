#include "data/gradient_system.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "recon/array/fft.hpp"

namespace fhd::data {

Array<double> played_readout(const std::function<std::array<double, 3>(double sample)>& position,
                             std::int64_t length, double dwell_s, const GradientResponse& response) {
  constexpr std::int64_t finer = 4;
  constexpr double lead_s = 1e-3;
  const std::int64_t lead = finer * std::max<std::int64_t>(std::llround(lead_s / dwell_s), 16),
                     count = finer * length + 2 * lead, n = good_fft_size(static_cast<int>(count + 2 * lead));
  const double step_s = dwell_s / finer;
  std::vector<std::array<double, 3>> design;
  for (std::int64_t j = 0; j <= count; ++j) design.push_back(position(static_cast<double>(j - lead) / finer));
  Array<double> played({3, length});
  for (int axis = 0; axis < 3; ++axis) {
    const double gain = response.at(axis, 0).re;
    Array<Complex<double>> gradient({1, 1, n});
    for (std::int64_t j = 0; j < count; ++j) {
      // Rises over the first half of the lead, and falls over the last.
      const double edge = static_cast<double>(std::min(j, count - j)) / (0.5 * static_cast<double>(lead));
      const double window = edge < 1 ? 0.5 - 0.5 * std::cos(std::numbers::pi * edge) : 1;
      gradient[j] = {window * (design[j + 1][axis] - design[j][axis]) / static_cast<double>(n), 0};
    }
    fft_3d(gradient, -1);
    for (std::int64_t j = 0; j < n; ++j) {
      const double hz = static_cast<double>(2 * j < n ? j : j - n) / (static_cast<double>(n) * step_s);
      gradient[j] = (response.at(axis, hz) - Complex<double>(gain, 0)) * gradient[j];
    }
    fft_3d(gradient, 1);
    double added = 0;
    for (std::int64_t j = 0; j < count; ++j) {
      const std::int64_t m = (j - lead) / finer;
      if (j >= lead && (j - lead) % finer == 0 && m < length)
        played[axis * length + m] = gain * design[j][axis] + added;
      added += gradient[j].re;
    }
  }
  return played;
}

}  // namespace fhd::data
