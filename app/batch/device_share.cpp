#include "app/batch/device_share.hpp"

#include <algorithm>

namespace fhd::app {

std::size_t DeviceShare::bytes_of_others(std::size_t engine, bool at_work) const {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < engines_.size(); ++i)
    if (i != engine && engines_[i].at_work == at_work) bytes += engines_[i].bytes;
  return bytes;
}

void DeviceShare::enter(std::size_t engine, std::size_t bytes, std::size_t available,
                        const std::function<void(std::size_t)>& free_engine) {
  bytes = std::min(bytes, available);
  const std::lock_guard entry(entry_);
  std::unique_lock lock(mutex_);
  left_.wait(lock, [&] {
    const bool alone =
        std::none_of(engines_.begin(), engines_.end(), [](const Place& p) { return p.at_work; });
    return alone || bytes_of_others(engine, true) <= available - bytes;
  });
  const std::size_t at_work = bytes_of_others(engine, true), at_rest = bytes_of_others(engine, false);
  if (at_work + at_rest > available - bytes)
    for (std::size_t i = 0; i < engines_.size(); ++i) {
      if (i == engine || engines_[i].at_work) continue;
      free_engine(i);
      engines_[i].bytes = 0;
    }
  engines_[engine] = {bytes, true};
}

void DeviceShare::leave(std::size_t engine) {
  {
    const std::lock_guard lock(mutex_);
    engines_[engine].at_work = false;
  }
  left_.notify_all();
}

}  // namespace fhd::app
