#include "recon/domain/slice_stacks.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <set>

namespace fhd {
namespace {

using Vector = std::array<double, 3>;
using Numbers = std::vector<std::size_t>;

constexpr double same_place_mm = 0.01, like_directions = 1e-4;

double dot(const Vector& a, const Vector& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

double distance(const Vector& a, const Vector& b) {
  return std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

bool are_alike(const Geometry& a, const Geometry& b) {
  return distance(a.read_direction, b.read_direction) <= like_directions &&
         distance(a.phase_direction, b.phase_direction) <= like_directions &&
         distance(a.slice_direction, b.slice_direction) <= like_directions;
}

/// Returns the numbers of slices of like directions. Directions that are alike have sums of components that are.
std::vector<Numbers> groups_of(const std::vector<Geometry>& slices) {
  constexpr Vector weights{0.8, 0.5, 0.3};  // shorter than 1
  constexpr double tolerance = (1 + 2 + 4) * like_directions;
  std::vector<Numbers> groups;
  std::multimap<double, std::size_t> by_sum;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const double sum = dot(slices[i].read_direction, weights) + 2 * dot(slices[i].phase_direction, weights) +
                       4 * dot(slices[i].slice_direction, weights);
    auto group = groups.size();
    if (std::isfinite(sum))
      for (auto at = by_sum.lower_bound(sum - tolerance); at != by_sum.end() && at->first <= sum + tolerance;
           ++at)
        if (at->second < group && are_alike(slices[groups[at->second].front()], slices[i]))
          group = at->second;
    if (group == groups.size()) {
      groups.emplace_back();
      if (std::isfinite(sum)) by_sum.emplace(sum, group);
    }
    groups[group].push_back(i);
  }
  return groups;
}

/// Returns slices of like directions by place, in as many lists as slices share a place.
std::vector<Numbers> layers_of(const std::vector<Geometry>& slices, Numbers group) {
  const auto normal = slices[group.front()].slice_direction;
  const auto place = [&](std::size_t i) {
    const double along = dot(slices[i].position_mm, normal);
    return std::isfinite(along) ? along : 0;
  };
  std::ranges::stable_sort(group, {}, place);
  std::vector<Numbers> layers;
  std::set<std::size_t> behind;       // layers whose last slice lies behind the place
  std::deque<std::size_t> alongside;  // those of which it does not, by this place
  for (const auto i : group) {
    for (; !alongside.empty() && place(i) - place(layers[alongside.front()].back()) > same_place_mm;
         alongside.pop_front())
      behind.insert(alongside.front());
    auto layer = layers.size();
    if (const bool is_volume = slices[i].matrix_size[2] > 1; is_volume || behind.empty())
      layers.emplace_back();
    else
      layer = behind.extract(behind.begin()).value();
    layers[layer].push_back(i);
    alongside.push_back(layer);
  }
  return layers;
}

SliceStack stack_of(const std::vector<Geometry>& slices, Numbers numbers, bool states_places) {
  const auto &first = slices[numbers.front()], &last = slices[numbers.back()];
  SliceStack stack{std::move(numbers), voxel_to_lps_mm(first), states_places};
  if (!states_places || stack.slices.size() < 2) return stack;
  const auto steps = static_cast<double>(stack.slices.size() - 1);
  auto& affine = stack.voxel_to_lps_mm;
  Vector step{};
  for (std::size_t row = 0; row < 3; ++row)
    affine[row][2] = step[row] = (last.position_mm[row] - first.position_mm[row]) / steps;
  stack.step_mm = std::hypot(step[0], step[1], step[2]);
  for (std::size_t i = 0; i < stack.slices.size(); ++i) {
    auto at = first.position_mm;
    for (std::size_t row = 0; row < 3; ++row) at[row] += static_cast<double>(i) * step[row];
    stack.misplaced_mm = std::max(stack.misplaced_mm, distance(at, slices[stack.slices[i]].position_mm));
  }
  return stack;
}

}  // namespace

std::vector<SliceStack> stacks_of(const std::vector<Geometry>& slices) {
  std::vector<SliceStack> stacks;
  for (auto& group : groups_of(slices)) {
    const auto& position = slices[group.front()].position_mm;
    const bool states_places = group.size() == 1 || std::ranges::any_of(group, [&](std::size_t i) {
                                 return distance(slices[i].position_mm, position) > same_place_mm;
                               });
    if (!states_places)
      stacks.push_back(stack_of(slices, std::move(group), false));
    else
      for (auto& layer : layers_of(slices, std::move(group)))
        stacks.push_back(stack_of(slices, std::move(layer), true));
  }
  return stacks;
}

}  // namespace fhd
