#include "recon/transform/direct/sample_groups.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <parallel/algorithm>

namespace fhd {

SampleGroups::SampleGroups(const Trajectory& trajectory)
    : order_(static_cast<std::size_t>(trajectory.sample_count())) {
  const double *kx = trajectory.k.data(), *ky = kx + trajectory.sample_count();
  // Sorted where the positions lie beside each other: twice as fast as by index.
  struct Key {
    double x, y;
    std::int64_t sample;
  };
  std::vector<Key> keys(order_.size());
  const auto count = static_cast<std::int64_t>(order_.size());
#pragma omp parallel for schedule(static)
  for (std::int64_t m = 0; m < count; ++m) keys[static_cast<std::size_t>(m)] = {kx[m], ky[m], m};
  __gnu_parallel::sort(keys.begin(), keys.end(), [](const Key& a, const Key& b) {
    const double ax = std::abs(a.x), bx = std::abs(b.x);
    if (ax != bx) return ax < bx;
    if (a.y != b.y) return a.y < b.y;
    return a.x != b.x ? a.x < b.x : a.sample < b.sample;
  });
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < count; ++i)
    order_[static_cast<std::size_t>(i)] = keys[static_cast<std::size_t>(i)].sample;
  keys = {};

  std::vector<Place> places;
  std::vector<std::vector<Place>::size_type> starts;  // of groups
  const auto form_groups = [&](bool shared) {
    places.clear();
    starts.clear();
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const std::int64_t m = order_[i], before = i == 0 ? m : order_[i - 1];
      const bool same_x = shared && i > 0 && std::abs(kx[m]) == std::abs(kx[before]);
      if (same_x && kx[m] == kx[before] && ky[m] == ky[before]) {
        ++places.back().count;
        continue;
      }
      if (!same_x || places.size() - starts.back() == most_slots) starts.push_back(places.size());
      const std::int64_t first = order_[static_cast<std::size_t>(
          starts.back() == places.size() ? static_cast<std::int64_t>(i) : places[starts.back()].begin)];
      places.push_back({static_cast<std::int64_t>(i), 1, kx[m] == kx[first] ? 1 : -1});
    }
    starts.push_back(places.size());
  };
  form_groups(true);
  // A few shared positions are not worth leaving the order in memory.
  if (3 * (starts.size() - 1) > 2 * order_.size()) {
    std::iota(order_.begin(), order_.end(), std::int64_t{0});
    form_groups(false);
  }
  group_count_ = static_cast<std::int64_t>(starts.size()) - 1;
  place_count_ = static_cast<std::int64_t>(places.size());

  // Groups of one size together: no slot of a block is left empty without need. Among them the order of the
  // file: samples in the order of their positions would round their sums to the same side.
  std::vector<std::size_t> groups(starts.size() - 1);
  std::iota(groups.begin(), groups.end(), std::size_t{0});
  const auto size = [&](std::size_t group) { return starts[group + 1] - starts[group]; };
  const auto first_sample = [&](std::size_t group) {
    return order_[static_cast<std::size_t>(places[starts[group]].begin)];
  };
  std::sort(groups.begin(), groups.end(), [&](std::size_t a, std::size_t b) {
    return size(a) != size(b) ? size(a) > size(b) : first_sample(a) < first_sample(b);
  });
  for (std::size_t begin = 0; begin < groups.size(); begin += block_size) {
    const std::size_t end = std::min<std::size_t>(groups.size(), begin + block_size),
                      slots = size(groups[begin]);
    const auto first = places_.size();
    blocks_.push_back({static_cast<int>(end - begin), static_cast<int>(slots), slots == 1,
                       static_cast<std::int64_t>(first)});
    places_.resize(first + slots * block_size);
    for (std::size_t g = begin; g < end; ++g)
      for (std::size_t slot = 0; slot < size(groups[g]); ++slot)
        places_[first + slot * block_size + g - begin] = places[starts[groups[g]] + slot];
  }
}

}  // namespace fhd
