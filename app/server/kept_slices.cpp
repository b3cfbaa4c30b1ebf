#include "app/server/kept_slices.hpp"

#include <algorithm>
#include <utility>

namespace fhd::app {
namespace {

template <class T>
std::size_t bytes_of(const Array<T>& values) {
  return static_cast<std::size_t>(values.size()) * sizeof(T);
}

template <class Held>  // of k-space or maps
std::size_t bytes_of_both(const Held& held) {
  return bytes_of(held.values) + bytes_of(held.in_double);
}

}  // namespace

std::size_t bytes_of(const Scan& scan) {
  std::size_t bytes = bytes_of(scan.trajectory.k) + bytes_of_both(scan.kspace);
  if (scan.sensitivity_maps) bytes += bytes_of_both(*scan.sensitivity_maps);
  if (scan.noise) bytes += bytes_of(*scan.noise);
  if (scan.calibration)
    bytes += bytes_of(scan.calibration->trajectory.k) + bytes_of_both(scan.calibration->kspace);
  if (scan.sample_time_s) bytes += bytes_of(*scan.sample_time_s);
  return bytes;
}

std::shared_ptr<SliceSeries> KeptSlices::find(int slice) {
  const auto found = slices_.find(slice);
  if (found == slices_.end()) return nullptr;
  found->second.used = ++use_;
  return found->second.series;
}

std::size_t KeptSlices::keep(int slice, std::shared_ptr<SliceSeries> series) {
  const auto made = series->preparation([](const Scan&) { return std::shared_ptr<const Preparation>(); });
  const Scan& reference = series->reference();
  std::size_t bytes = bytes_of(reference);
  if (made) bytes += made->changed ? bytes_of(*made->changed) : 0;
  Kept& kept = slices_[slice];
  bytes_ += bytes - kept.bytes;
  kept = {std::move(series), bytes, ++use_};
  std::size_t gone = 0;
  for (; bytes_ > most_bytes_ && slices_.size() > 1; ++gone) {
    const auto oldest = std::min_element(slices_.begin(), slices_.end(), [](const auto& a, const auto& b) {
      return a.second.used < b.second.used;
    });
    bytes_ -= oldest->second.bytes;
    slices_.erase(oldest);
  }
  return gone;
}

}  // namespace fhd::app
