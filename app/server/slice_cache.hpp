#pragma once
// Caches what the images of a slice share with its first image, for as many slices as a limit of memory allows.
#include <cstddef>
#include <list>
#include <memory>

#include "app/run/volume_reader.hpp"

namespace fhd::app {

/// Returns the bytes of a scan's arrays.
std::size_t bytes_of(const Scan& scan);

class SliceCache {
 public:
  /// `bytes`: of all slices together.
  explicit SliceCache(std::size_t bytes) : most_bytes_(bytes) {}
  /// Returns the series of a slice and counts it as used; null: it is not cached.
  std::shared_ptr<SliceSeries> find(int slice);
  /// Adds a series whose preparation is made. Removes the slices that were not used for longest where they take too much
  /// together, and returns how many; the last one stays, whatever it takes.
  std::size_t add(int slice, std::shared_ptr<SliceSeries> series);
  std::size_t bytes() const { return bytes_; }

 private:
  struct Entry {
    int slice;
    std::shared_ptr<SliceSeries> series;
    std::size_t bytes;
  };
  std::size_t most_bytes_, bytes_ = 0;
  std::list<Entry> entries_;  ///< the one used last first
};

}  // namespace fhd::app
