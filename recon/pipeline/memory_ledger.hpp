#pragma once
// Arrays that a walk through a reconstruction meets: what is held now, and at most together.
#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace fhd {

class MemoryLedger {
 public:
  struct Item {
    std::string what;
    std::size_t bytes = 0;
  };

  /// Until release(mark()) of a mark taken before. Sizes beyond 2^63 count as that.
  void hold(std::string what, double bytes) {
    if (!(bytes >= 1)) return;
    items_.push_back({what, static_cast<std::size_t>(std::min(bytes, 0x1p63))});
    held_.push_back(items_.back().bytes);
    now_ = std::min(now_ + static_cast<double>(items_.back().bytes), 0x1p63);
    peak_ = std::max(peak_, now_);
  }
  std::size_t mark() const { return held_.size(); }
  void release(std::size_t mark) {
    for (; held_.size() > mark; held_.pop_back()) now_ -= static_cast<double>(held_.back());
  }
  /// Held whenever the most is.
  void hold_beside_peak(std::string what, double bytes) {
    if (!(bytes >= 1)) return;
    items_.push_back({std::move(what), static_cast<std::size_t>(bytes)});
    peak_ = std::min(peak_ + bytes, 0x1p63);
  }
  const std::vector<Item>& items() const { return items_; }
  std::size_t peak_bytes() const { return static_cast<std::size_t>(peak_); }

 private:
  std::vector<Item> items_;
  std::vector<std::size_t> held_;
  double now_ = 0, peak_ = 0;
};

}  // namespace fhd
