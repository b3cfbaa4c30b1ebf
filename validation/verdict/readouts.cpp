#include "validation/verdict/readouts.hpp"

#include <algorithm>
#include <cmath>

#include "validation/verdict/algebra.hpp"

namespace fhd::validation {
namespace {

/// Returns where the readouts of EPI start: after a step that is perpendicular to those before and after it. {0}
/// where they would not be of one length.
std::vector<Index> starts_of_echoes(const Trajectory& trajectory) {
  const Index count = trajectory.sample_count();
  const double* k = trajectory.k.data();
  const auto cosine = [&](Index m) {  // of the steps before and after sample m
    double product = 0, before = 0, after = 0;
    for (Index i = m; i < 3 * count; i += count) {
      const double a = k[i] - k[i - 1], b = k[i + 1] - k[i];
      product += a * b, before += a * a, after += b * b;
    }
    return before > 0 && after > 0 ? product / std::sqrt(before * after) : 1;
  };
  constexpr double perpendicular = 0.1;
  std::vector<Index> starts{0};
  for (Index m = 1; m + 2 < count; ++m)
    if (std::abs(cosine(m)) < perpendicular && std::abs(cosine(m + 1)) < perpendicular)
      starts.push_back(m + 1);
  for (std::size_t j = 1; j < starts.size(); ++j)
    if ((j + 1 < starts.size() ? starts[j + 1] : count) - starts[j] != starts[1]) return {0};
  return starts;
}

}  // namespace

std::vector<Index> readout_starts(const Trajectory& trajectory) {
  const Index count = trajectory.sample_count();
  const double* k = trajectory.k.data();
  std::vector<double> steps(static_cast<std::size_t>(std::max<Index>(count - 1, 0)));
  for (Index m = 0; m + 1 < count; ++m) {
    const double x = k[m + 1] - k[m], y = k[count + m + 1] - k[count + m],
                 z = k[2 * count + m + 1] - k[2 * count + m];
    steps[static_cast<std::size_t>(m)] = std::sqrt(x * x + y * y + z * z);
  }
  std::vector<Index> starts{0};
  if (!steps.empty()) {
    const double usual = median(steps);
    for (Index m = 0; m + 1 < count; ++m)
      if (steps[static_cast<std::size_t>(m)] > 4 * usual) starts.push_back(m + 1);
  }
  if (starts.size() == 1) starts = starts_of_echoes(trajectory);
  starts.push_back(count);
  return starts;
}

std::vector<Index> readout_starts(const Trajectory& trajectory, Index stated_length) {
  const Index count = trajectory.sample_count();
  if (stated_length < 1 || count % stated_length != 0) return readout_starts(trajectory);
  std::vector<Index> starts;
  for (Index m = 0; m <= count; m += stated_length) starts.push_back(m);
  return starts;
}

Array<double> steps_along_readouts(const Trajectory& trajectory, const std::vector<Index>& starts) {
  const Index count = trajectory.sample_count();
  Array<double> steps(trajectory.k.shape());
  for (int axis = 0; axis < 3; ++axis) {
    const double* k = trajectory.k.data() + axis * count;
    for (std::size_t j = 0; j + 1 < starts.size(); ++j)
      for (Index m = starts[j]; m < starts[j + 1]; ++m) {
        const auto before = std::max(m - 1, starts[j]), after = std::min(m + 1, starts[j + 1] - 1);
        steps[axis * count + m] =
            after > before ? (k[after] - k[before]) / static_cast<double>(after - before) : 0;
      }
  }
  return steps;
}

}  // namespace fhd::validation
