#include "validation/verdict/readout_set.hpp"

#include <algorithm>
#include <cmath>

#include "validation/verdict/algebra.hpp"
#include "validation/verdict/readouts.hpp"

namespace fhd::validation {
namespace {

/// Copies every `stride`-th sample of these readouts, of the first `coils`.
ReadoutSet copied(const VerifierInput<float>& e, const std::vector<Index>& starts, std::vector<Index> numbers,
                  Index coils, Index whole_length, Index stride) {
  ReadoutSet set;
  const Index all = e.trajectory.sample_count();
  set.coils = coils, set.readouts = static_cast<Index>(numbers.size()),
  set.length = (whole_length + stride - 1) / stride;
  set.numbers = std::move(numbers);
  set.axes = static_cast<int>(
      std::count_if(e.matrix_size.begin(), e.matrix_size.end(), [](int n) { return n > 1; }));
  const auto value = [](const auto& v) {
    return std::complex<float>(static_cast<float>(v.re), static_cast<float>(v.im));
  };
  const auto scale = static_cast<float>(e.sample_scale);
  const auto count = set.numbers.size() * static_cast<std::size_t>(set.length);
  set.data.reserve(count * static_cast<std::size_t>(coils));
  set.predicted.reserve(count * static_cast<std::size_t>(coils));
  set.radius.reserve(count), set.k.reserve(count);
  for (Index coil = 0; coil < coils; ++coil)
    for (const Index number : set.numbers)
      for (Index i = 0; i < set.length; ++i) {
        const Index m = coil * all + starts[static_cast<std::size_t>(number)] + i * stride;
        set.data.push_back(scale *
                           (e.samples_in_double ? value(e.samples_in_double[m]) : value(e.samples[m])));
        if (!e.predicted.empty()) set.predicted.push_back(value(e.predicted[m]));
      }
  std::vector<double> steps;
  steps.reserve(count);
  for (const Index number : set.numbers)
    for (Index i = 0; i < set.length; ++i) {
      const Index m = starts[static_cast<std::size_t>(number)] + i * stride;
      double square = 0, step = 0;
      std::array<float, 3> at{};
      for (int axis = 0; axis < 3; ++axis) {
        if (e.matrix_size[static_cast<std::size_t>(axis)] < 2) continue;
        const double* k = e.trajectory.k.data() + axis * all;
        at[static_cast<std::size_t>(axis)] = static_cast<float>(k[m]);
        square += std::pow(2 * k[m] / e.matrix_size[static_cast<std::size_t>(axis)], 2);
        if (i > 0) step += std::pow(k[m] - k[m - 1], 2);
      }
      set.radius.push_back(static_cast<float>(std::sqrt(square)));
      set.k.push_back(at);
      if (i > 0) steps.push_back(std::sqrt(step));
    }
  set.step = median(std::move(steps));
  return set;
}

/// Returns the readouts that have at least half the length of the longest, and the shortest length among them.
std::pair<std::vector<Index>, Index> long_readouts(const std::vector<Index>& starts) {
  Index longest = 0;
  for (std::size_t j = 0; j + 1 < starts.size(); ++j) longest = std::max(longest, starts[j + 1] - starts[j]);
  std::pair<std::vector<Index>, Index> found{{}, longest};
  for (std::size_t j = 0; j + 1 < starts.size(); ++j) {
    const Index length = starts[j + 1] - starts[j];
    if (2 * length < longest || length == 0) continue;
    found.first.push_back(static_cast<Index>(j));
    found.second = std::min(found.second, length);
  }
  return found;
}

}  // namespace

ReadoutSet whole_readouts(const VerifierInput<float>& e, const std::vector<Index>& starts, Index values) {
  constexpr Index enough_coils = 4;
  const auto [all, length] = long_readouts(starts);
  const Index coils = std::min(e.coil_count, enough_coils);
  const auto many = static_cast<Index>(all.size());
  const Index count = std::clamp(values / std::max<Index>(1, length * coils), std::min<Index>(many, 8), many);
  std::vector<Index> chosen;
  for (Index i = 0; i < count; ++i)
    chosen.push_back(all[static_cast<std::size_t>((2 * i + 1) * many / (2 * count))]);
  return copied(e, starts, std::move(chosen), coils, length, 1);
}

ReadoutSet thinned_readouts(const VerifierInput<float>& e, const std::vector<Index>& starts, Index values) {
  auto [all, length] = long_readouts(starts);
  const Index fewest = std::min<Index>(length, 8),
              readouts = std::max<Index>(1, static_cast<Index>(all.size()));
  const Index coils = std::clamp<Index>(values / (readouts * fewest), 1, e.coil_count);
  const Index kept = std::clamp<Index>(values / (readouts * coils), fewest, length);
  return copied(e, starts, std::move(all), coils, length,
                std::max<Index>(1, length / std::max<Index>(1, kept)));
}

}  // namespace fhd::validation
