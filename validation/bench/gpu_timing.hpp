#pragma once
// Shared by measurements on a GPU.
#include <algorithm>
#include <random>
#include <vector>

#include "recon/array/array.hpp"
#include "recon/array/device.hpp"

namespace fhd {

/// Random numbers, the same on every run: zeros would be faster than data.
inline Array<Complex<float>> random_values_of(Shape shape) {
  std::mt19937 generator(7);
  Array<Complex<float>> values(shape);
  for (auto& v : values)
    v = {static_cast<float>(generator() * 0x1p-32 - 0.5), static_cast<float>(generator() * 0x1p-32 - 0.5)};
  return values;
}
inline Array<Complex<float>> random_on_device(Shape shape) {
  return random_values_of(shape).to(Device::cuda());
}

/// Milliseconds of `work` on the default stream, the median of five after one run.
template <class Work>
double median_ms(Work work) {
  constexpr int repetitions = 5;
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
  return ms[repetitions / 2];
}

}  // namespace fhd
