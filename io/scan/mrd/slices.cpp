// Where the slices of a measurement lie, and their order.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>

#include "io/scan/mrd/volume_assembler.hpp"
#include "io/scan/scan_parts.hpp"
#include "io/scan/trajectory_axes.hpp"
#include "recon/domain/slice_stacks.hpp"

namespace fhd::io::mrd {
namespace {

std::array<double, 3> position_mm(const ReadoutHead& head) {
  std::array<double, 3> position{};
  for (int axis = 0; axis < 3; ++axis)
    position[axis] = std::isfinite(head.position[axis]) ? head.position[axis] : 0;
  return position;
}

/// Returns `geometry` with the directions that a readout states, along which its image lies; empty where they are not at
/// right angles.
std::optional<Geometry> with_directions(Geometry geometry, const ReadoutHead& head, const Header& header) {
  const auto stated = directions_of(head);
  if (!stated) return std::nullopt;
  std::tie(geometry.read_direction, geometry.phase_direction, geometry.slice_direction) =
      std::tuple_cat(*stated);
  return is_siemens(header.acquisition) ? turned_around(geometry) : geometry;
}

}  // namespace

/// Orders the slices by stack and place, and says where each lies.
void VolumeAssembler::order_slices(const std::function<int(const ReadoutHead&)>& slice_of) {
  std::map<int, const ReadoutHead*> first_heads;  // by the counter of the slice
  for (const auto& [number, head] : image_readouts_) first_heads.emplace(slice_of(*head), head);
  summary_.states_directions = std::ranges::all_of(first_heads, [&](const auto& slice) {
    return with_directions(summary_.geometry, *slice.second, header_).has_value();
  });
  if (!summary_.states_directions)
    say(summary_.inferred,
        "The directions of the image are not stated, or not at right angles: x, y, z are taken to be the "
        "patient's left, posterior and superior.");
  if (summary_.states_directions && is_siemens(header_.acquisition))
    say(summary_.inferred,
        "The image lies against the directions of the gradients, because Siemens counts the phase of its "
        "signal with the other sign.");
  std::vector<Geometry> geometries;
  std::vector<int> counters;
  for (const auto& [counter, head] : first_heads) {
    geometries.push_back(geometry_of(*head, summary_.geometry));
    counters.push_back(counter);
  }
  for (const auto& stack : stacks_of(geometries))
    for (const auto i : stack.slices) {
      summary_.slice_counters.push_back(counters[i]);
      summary_.slice_geometries.push_back(geometries[i]);
    }
  summary_.slice_count = std::ssize(counters);
  summary_.geometry = summary_.slice_geometries.front();
  if (counters != summary_.slice_counters)
    summary_.inferred.push_back(
        "The slices are in the order of their places in the patient, not of the file's slice counters.");
}

/// Returns the geometry of the volume that a readout is of; that of its slice where the readout states no directions.
Geometry VolumeAssembler::geometry_of(const ReadoutHead& head, const Geometry& slice) const {
  auto geometry = summary_.states_directions ? with_directions(slice, head, header_) : std::nullopt;
  if (!geometry) geometry = slice;
  geometry->position_mm = position_mm(head);
  return *geometry;
}

}  // namespace fhd::io::mrd
