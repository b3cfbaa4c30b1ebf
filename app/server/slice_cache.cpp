#include "app/server/slice_cache.hpp"

#include <algorithm>
#include <utility>

namespace fhd::app {
namespace {

template <class T>
std::size_t bytes_of(const Array<T>& values) {
  return static_cast<std::size_t>(values.size()) * sizeof(T);
}

template <class Values>  // k-space or maps
std::size_t bytes_of_both(const Values& values) {
  return bytes_of(values.values) + bytes_of(values.in_double);
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

std::shared_ptr<SliceSeries> SliceCache::find(int slice) {
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& one) { return one.slice == slice; });
  if (found == entries_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found);
  return entries_.front().series;
}

std::size_t SliceCache::add(int slice, std::shared_ptr<SliceSeries> series) {
  const auto made = series->preparation([](const Scan&) { return std::shared_ptr<const Preparation>(); });
  const Scan& reference = series->reference();
  std::size_t bytes = bytes_of(reference);
  if (made && made->changed) bytes += bytes_of(*made->changed);
  entries_.push_front({slice, std::move(series), bytes});
  bytes_ += bytes;
  std::size_t removed = 0;
  for (; bytes_ > most_bytes_ && entries_.size() > 1; ++removed) {
    bytes_ -= entries_.back().bytes;
    entries_.pop_back();
  }
  return removed;
}

}  // namespace fhd::app
