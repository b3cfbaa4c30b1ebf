#include "recon/transform/direct/sample_groups.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <parallel/algorithm>

namespace fhd {
namespace {

/// The samples by |k_x|, k_y, k_x and number.
void sort_by_position(const Trajectory& trajectory, std::vector<std::int64_t>& order) {
  const double *kx = trajectory.k.data(), *ky = kx + trajectory.sample_count();
  // Sorted where the positions lie beside each other: twice as fast as by index.
  struct Key {
    double x, y;
    std::int64_t sample;
  };
  std::vector<Key> keys(order.size());
  const auto count = static_cast<std::int64_t>(order.size());
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
    order[static_cast<std::size_t>(i)] = keys[static_cast<std::size_t>(i)].sample;
}

}  // namespace

/// Places one after the other, and the first place of each group, with the end.
struct SampleGroups::Formed {
  std::vector<Place> places;
  std::vector<std::size_t> starts;
};

SampleGroups::SampleGroups(const Trajectory& trajectory) { lay_out(form(trajectory)); }

SampleCount SampleGroups::count_of(const Trajectory& trajectory) {
  SampleGroups groups;
  groups.form(trajectory);
  return groups.count_;
}

/// Sorts the samples, and returns the groups of those that agree.
SampleGroups::Formed SampleGroups::form(const Trajectory& trajectory) {
  order_.resize(static_cast<std::size_t>(trajectory.sample_count()));
  sort_by_position(trajectory, order_);
  Formed groups = formed(trajectory, order_, true);
  // A few shared positions are not worth leaving the order in memory.
  if (3 * (groups.starts.size() - 1) > 2 * order_.size()) {
    std::iota(order_.begin(), order_.end(), std::int64_t{0});
    groups = formed(trajectory, order_, false);
  }
  count_ = {trajectory.sample_count(), static_cast<std::int64_t>(groups.starts.size()) - 1,
            static_cast<std::int64_t>(groups.places.size())};
  return groups;
}

/// Neighbours in `order` that agree; every sample alone unless `shared`.
SampleGroups::Formed SampleGroups::formed(const Trajectory& trajectory,
                                          const std::vector<std::int64_t>& order, bool shared) {
  const double *kx = trajectory.k.data(), *ky = kx + trajectory.sample_count();
  Formed result;
  auto& [places, starts] = result;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::int64_t m = order[i], before = i == 0 ? m : order[i - 1];
    const bool same_x = shared && i > 0 && std::abs(kx[m]) == std::abs(kx[before]);
    if (same_x && kx[m] == kx[before] && ky[m] == ky[before]) {
      ++places.back().count;
      continue;
    }
    if (!same_x || places.size() - starts.back() == most_slots) starts.push_back(places.size());
    const std::int64_t first = order[static_cast<std::size_t>(
        starts.back() == places.size() ? static_cast<std::int64_t>(i) : places[starts.back()].begin)];
    places.push_back({static_cast<std::int64_t>(i), 1, kx[m] == kx[first] ? 1 : -1});
  }
  starts.push_back(places.size());
  return result;
}

/// Groups of one size together: no slot of a block is left empty without need. Among them the order of the
/// file: samples in the order of their positions would round their sums to the same side.
void SampleGroups::lay_out(const Formed& formed) {
  const auto& places = formed.places;
  const auto& starts = formed.starts;
  std::vector<std::size_t> groups(starts.size() - 1);
  std::iota(groups.begin(), groups.end(), std::size_t{0});
  const auto size = [&](std::size_t group) { return starts[group + 1] - starts[group]; };
  const auto first_sample = [&](std::size_t group) {
    return order_[static_cast<std::size_t>(places[starts[group]].begin)];
  };
  const auto is_before = [&](std::size_t a, std::size_t b) {
    return size(a) != size(b) ? size(a) > size(b) : first_sample(a) < first_sample(b);
  };
  if (!std::is_sorted(groups.begin(), groups.end(), is_before))  // as they are where nothing is shared
    std::sort(groups.begin(), groups.end(), is_before);
  std::size_t all_slots = 0;
  for (std::size_t begin = 0; begin < groups.size(); begin += block_size) all_slots += size(groups[begin]);
  places_.reserve(all_slots * block_size);
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
