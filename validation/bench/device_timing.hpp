#pragma once
// Time of work on a GPU, by its own events.
#include <algorithm>
#include <vector>

#include "recon/array/device.hpp"

namespace fhd {

/// Milliseconds of work() on the current device: the median of a few runs after one that warms up.
template <class Work>
double device_median_ms(const Work& work, int repetitions = 5) {
  work();
  std::vector<double> ms;
  for (int i = 0; i < repetitions; ++i) {
    if constexpr (built_with_cuda) {
      device::Event start(device::Event::Timing::on), stop(device::Event::Timing::on);
      start.record();
      work();
      stop.record();
      ms.push_back(stop.ms_since(start));
    } else {
      refuse_cuda();
    }
  }
  std::nth_element(ms.begin(), ms.begin() + repetitions / 2, ms.end());
  return ms[static_cast<std::size_t>(repetitions / 2)];
}

}  // namespace fhd
