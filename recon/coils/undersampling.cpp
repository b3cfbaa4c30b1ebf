#include "recon/coils/undersampling.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

namespace fhd {
namespace {

constexpr int reach = 256, largest_reduction = 16;
constexpr std::int64_t fewest_places = 8, enough_places = 16;

/// Positions along one axis, from the first one's fraction of a cycle/FOV; empty where they do not lie on a lattice.
std::vector<int> places_along(const Trajectory& trajectory, int axis) {
  const std::int64_t samples = trajectory.sample_count();
  const double* k = trajectory.k.data() + axis * samples;
  const double offset = k[0] - std::rint(k[0]);
  std::vector<int> places(samples);
  for (std::int64_t m = 0; m < samples; ++m) {
    const double place = std::rint(k[m] - offset);
    if (!(std::abs(k[m] - offset - place) <= 1e-3)) return {};
    places[m] = static_cast<int>(std::clamp(place, -1e6, 1e6));
  }
  return places;
}

/// Which places of a plane (of a line: size 1 along the second axis) are sampled, -half ... size - half - 1.
struct Plane {
  std::array<int, 2> size{1, 1}, half{0, 0};
  std::vector<char> sampled;

  Plane(const std::array<const std::vector<int>*, 2>& places, const std::array<int, 2>& matrix_size) {
    for (int i = 0; i < 2; ++i)
      if (places[i] != nullptr) {
        half[i] = std::min(reach, matrix_size[i] / 2 + 1);
        size[i] = 2 * half[i] + 1;
      }
    sampled.resize(static_cast<std::size_t>(size[0]) * static_cast<std::size_t>(size[1]));
    for (std::size_t m = 0; m < places[0]->size(); ++m) {
      const int a = (*places[0])[m], b = places[1] != nullptr ? (*places[1])[m] : 0;
      if (std::abs(a) <= half[0] && std::abs(b) <= half[1]) sampled[index(a, b)] = 1;
    }
  }
  std::size_t index(int a, int b) const {
    return static_cast<std::size_t>(b + half[1]) * static_cast<std::size_t>(size[0]) +
           static_cast<std::size_t>(a + half[0]);
  }
  bool has(int a, int b) const {
    return std::abs(a) <= half[0] && std::abs(b) <= half[1] && sampled[index(a, b)] != 0;
  }
};

/// Places [first, last] along both axes; none where last < first.
struct Block {
  std::array<int, 2> first{0, 0}, last{-1, -1};
  bool holds(int a, int b) const { return a >= first[0] && a <= last[0] && b >= first[1] && b <= last[1]; }
  int width(int axis) const { return last[axis] - first[axis] + 1; }
};

/// The bounds of all sampled places.
Block extent_of(const Plane& plane) {
  Block all{{reach + 1, reach + 1}, {-reach - 1, -reach - 1}};
  for (int b = -plane.half[1]; b <= plane.half[1]; ++b)
    for (int a = -plane.half[0]; a <= plane.half[0]; ++a)
      if (plane.has(a, b)) {
        all.first = {std::min(all.first[0], a), std::min(all.first[1], b)};
        all.last = {std::max(all.last[0], a), std::max(all.last[1], b)};
      }
  return all;
}

bool is_full(const Plane& plane, const Block& block) {
  for (int b = block.first[1]; b <= block.last[1]; ++b)
    for (int a = block.first[0]; a <= block.last[0]; ++a)
      if (!plane.has(a, b)) return false;
  return true;
}

/// The largest block about k = 0 without gaps: it grows on all sides in turn, as long as it stays full.
Block reference_of(const Plane& plane, const Block& all) {
  if (!plane.has(0, 0)) return {};
  Block block{{0, 0}, {0, 0}};
  for (bool grows = true; grows;) {
    grows = false;
    for (int side = 0; side < 4; ++side) {
      Block wider = block, edge = block;
      const int axis = side / 2;
      if (side % 2 == 0)
        wider.first[axis] = edge.first[axis] = edge.last[axis] = block.first[axis] - 1;
      else
        wider.last[axis] = edge.first[axis] = edge.last[axis] = block.last[axis] + 1;
      if (wider.first[axis] < all.first[axis] || wider.last[axis] > all.last[axis] || !is_full(plane, edge))
        continue;
      block = wider;
      grows = true;
    }
  }
  return block;
}

int modulo(int value, int n) { return ((value % n) + n) % n; }

/// Returns whether nine in ten `places` lie on one sublattice { o + i (a, 0) + j (s, b) }; all of them, where they are few.
bool is_regular(const std::vector<std::array<int, 2>>& places, int a, int b, int s) {
  std::vector<std::int64_t> count(static_cast<std::size_t>(a) * static_cast<std::size_t>(b));
  for (const auto& place : places) {
    const int row = modulo(place[1], b), rows = (place[1] - row) / b;
    ++count[row * a + modulo(place[0] - s * rows, a)];
  }
  const auto all = static_cast<std::int64_t>(places.size()),
             most = *std::max_element(count.begin(), count.end());
  return all >= enough_places ? 10 * most >= 9 * all : most == all;
}

/// The largest reduction of a sublattice on which the places lie, or 1.
int reduction_of(const std::vector<std::array<int, 2>>& places, bool is_line) {
  for (int reduction = largest_reduction; reduction > 1; --reduction)
    for (int a = is_line ? reduction : 1; a <= reduction; ++a)
      for (int s = 0; s < (is_line ? 1 : a) && reduction % a == 0; ++s)
        if (is_regular(places, a, reduction / a, s)) return reduction;
  return 1;
}

LatticeSampling sampling_of(const Plane& plane) {
  const Block all = extent_of(plane);
  if (all.width(0) < 1) return {};
  const Block reference = reference_of(plane, all);
  std::vector<std::array<int, 2>> places;
  for (int b = all.first[1]; b <= all.last[1]; ++b)
    for (int a = all.first[0]; a <= all.last[0]; ++a)
      if (plane.has(a, b) && !reference.holds(a, b)) places.push_back({a, b});
  const std::int64_t area = std::int64_t{all.width(0)} * all.width(1),
                     inside = std::int64_t{reference.width(0)} * reference.width(1),
                     outside = static_cast<std::int64_t>(places.size());
  if (outside < fewest_places || 4 * outside > 3 * (area - inside)) return {};
  LatticeSampling sampling{reduction_of(places, plane.size[1] == 1), reach};
  for (int axis = 0; axis < 2; ++axis)
    if (plane.size[axis] > 1 && reference.width(axis) < all.width(axis))
      sampling.reference_width = std::min(sampling.reference_width, reference.width(axis));
  if (2 * inside > area) sampling.reduction = 1;  // little is left to fold
  return sampling;
}

}  // namespace

LatticeSampling lattice_sampling(const Trajectory& trajectory, std::array<int, 3> matrix_size) {
  std::array<std::vector<int>, 3> places;
  for (int axis = 0; axis < 3; ++axis)
    if (matrix_size[axis] > 1) places[axis] = places_along(trajectory, axis);
  LatticeSampling regular;
  const auto look = [&](int a, int b) {
    if (places[a].empty() || (b >= 0 && places[b].empty())) return;
    const auto found = sampling_of(
        Plane({&places[a], b >= 0 ? &places[b] : nullptr}, {matrix_size[a], b >= 0 ? matrix_size[b] : 1}));
    if (found.reduction > regular.reduction)
      regular = found;
    else if (found.reduction == regular.reduction)
      regular.reference_width = std::min(regular.reference_width, found.reference_width);
  };
  for (int axis = 0; axis < 3; ++axis) {
    look(axis, -1);
    look(axis, (axis + 1) % 3);
  }
  return regular;
}

}  // namespace fhd
