#include "recon/domain/slice_stacks.hpp"

#include <algorithm>
#include <cmath>

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

/// Returns the numbers of slices of like directions.
std::vector<Numbers> groups_of(const std::vector<Geometry>& slices) {
  std::vector<Numbers> groups;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    auto group = std::ranges::find_if(
        groups, [&](const Numbers& each) { return are_alike(slices[each.front()], slices[i]); });
    if (group == groups.end()) group = groups.insert(group, Numbers{});
    group->push_back(i);
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
  for (const auto i : group) {
    const bool is_volume = slices[i].matrix_size[2] > 1;
    auto layer = std::ranges::find_if(layers, [&](const Numbers& each) {
      return !is_volume && place(i) - place(each.back()) > same_place_mm;
    });
    if (layer == layers.end()) layer = layers.insert(layer, Numbers{});
    layer->push_back(i);
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
