#pragma once
// What the images of a slice share with its first, kept for those that follow: of as many slices as a limit of memory
// lets.
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "app/run/volume_reader.hpp"

namespace fhd::app {

/// Of a scan's arrays.
std::size_t bytes_of(const Scan& scan);

class KeptSlices {
 public:
  /// `bytes`: of all slices together.
  explicit KeptSlices(std::size_t bytes) : most_bytes_(bytes) {}
  /// Of a slice that is kept, which it counts as used; else null.
  std::shared_ptr<SliceSeries> find(int slice);
  /// Once its preparation is made. Those that were not used for longest give way; how many did. The last one stays,
  /// whatever it takes.
  std::size_t keep(int slice, std::shared_ptr<SliceSeries> series);
  std::size_t bytes() const { return bytes_; }

 private:
  struct Kept {
    std::shared_ptr<SliceSeries> series;
    std::size_t bytes = 0;
    std::uint64_t used = 0;  ///< when, as use_ counts
  };
  std::size_t most_bytes_, bytes_ = 0;
  std::uint64_t use_ = 0;
  std::map<int, Kept> slices_;
};

}  // namespace fhd::app
