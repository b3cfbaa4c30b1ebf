#include "io/scan/trajectory_unit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <vector>

#include "recon/error.hpp"

namespace fhd::io {
namespace {

constexpr std::array all_units{TrajectoryUnit::cycles_per_fov, TrajectoryUnit::cycles_per_voxel,
                               TrajectoryUnit::radians_per_voxel, TrajectoryUnit::cycles_per_metre};
constexpr double rounding = 1.005;
constexpr double least_fill =
    0.7;  // share of N/2 that a trajectory reaches at least when it is meant for the matrix

/// Factor to cycles/FOV along one axis; 0 where a length is unknown.
double scale_of(TrajectoryUnit unit, const Geometry& geometry, int axis) {
  const int n = geometry.matrix_size[axis];
  if (unit == TrajectoryUnit::cycles_per_voxel) return n;
  if (unit == TrajectoryUnit::radians_per_voxel) return n / (2 * std::numbers::pi);
  return unit == TrajectoryUnit::cycles_per_metre ? geometry.fov_mm[axis] / 1000 : 1;
}

/// Largest share of N/2 that the trajectory reaches along an axis, were it in `unit`; none where a length is
/// unknown.
std::optional<double> fill_of(TrajectoryUnit unit, const std::array<double, 3>& largest_k,
                              const Geometry& geometry) {
  double fill = 0;
  for (int axis = 0; axis < 3; ++axis) {
    const int n = geometry.matrix_size[axis];
    if (n == 1 || largest_k[axis] == 0) continue;
    const double scale = scale_of(unit, geometry, axis);
    if (scale == 0) return std::nullopt;
    fill = std::max(fill, largest_k[axis] * scale / (n / 2.0));
  }
  return fill;
}

}  // namespace

std::string_view name_of(TrajectoryUnit unit) {
  switch (unit) {
    case TrajectoryUnit::automatic:
      return "auto";
    case TrajectoryUnit::cycles_per_fov:
      return "cycles/FOV";
    case TrajectoryUnit::cycles_per_voxel:
      return "cycles/voxel";
    case TrajectoryUnit::radians_per_voxel:
      return "radians/voxel";
    case TrajectoryUnit::cycles_per_metre:
      return "1/m";
  }
  return "unknown";
}

TrajectoryUnit parse_trajectory_unit(std::string_view text, const std::string& subject) {
  if (text == name_of(TrajectoryUnit::automatic)) return TrajectoryUnit::automatic;
  for (const auto unit : all_units)
    if (text == name_of(unit)) return unit;
  throw Error(subject, "cycles/FOV, cycles/voxel, radians/voxel or 1/m", "'" + std::string(text) + "'");
}

InferredUnit infer_trajectory_unit(const std::array<double, 3>& largest_k, const Geometry& geometry,
                                   const std::string& subject) {
  double extent = 0;
  for (int axis = 0; axis < 3; ++axis)
    if (geometry.matrix_size[axis] > 1) {
      extent = std::max(extent, largest_k[axis]);
    }
  const std::string remedy = "tell the unit with --trajectory-unit";
  const std::string found =
      fmt::format("|k| up to {:.6g} for a matrix of {} x {} x {}", extent, geometry.matrix_size[0],
                  geometry.matrix_size[1], geometry.matrix_size[2]);
  if (!(extent > 0))
    throw Error(subject, "k-space positions that differ from 0", found, "the trajectory is empty");

  std::vector<TrajectoryUnit> candidates;
  for (const auto unit : all_units) {
    const auto fill = fill_of(unit, largest_k, geometry);
    if (!fill || *fill > rounding) continue;
    const bool explains = unit == TrajectoryUnit::cycles_per_voxel    ? true
                          : unit == TrajectoryUnit::radians_per_voxel ? extent > 0.5 * rounding
                                                                      : *fill >= least_fill;
    if (!explains) continue;
    const bool same_k = std::any_of(candidates.begin(), candidates.end(), [&](TrajectoryUnit other) {
      return std::abs(*fill_of(other, largest_k, geometry) - *fill) <= (rounding - 1) * *fill;
    });
    if (!same_k) candidates.push_back(unit);
  }
  if (candidates.empty())
    throw Error(subject, "k-space positions in a unit that can be inferred", found, remedy);
  if (candidates.size() > 1) {
    std::string names;
    for (const auto unit : candidates) names.append(names.empty() ? "" : " or ").append(name_of(unit));
    throw Error(subject, "k-space positions that fit one unit", found + ", which may be " + names, remedy);
  }
  const double percent = 100 * *fill_of(candidates[0], largest_k, geometry);
  return {candidates[0],
          fmt::format("The trajectory is taken to be in {}: {}, which reaches {:.0f} % of the edge of "
                      "k-space.",
                      name_of(candidates[0]), found, percent)};
}

std::array<double, 3> scale_to_cycles_per_fov(TrajectoryUnit unit, const Geometry& geometry,
                                              const std::string& subject) {
  std::array<double, 3> scale{1, 1, 1};
  for (int axis = 0; axis < 3; ++axis) {
    if (unit == TrajectoryUnit::cycles_per_metre && geometry.fov_mm[axis] == 0 &&
        geometry.matrix_size[axis] > 1)
      throw Error(subject, "a known FOV to convert k-space positions from 1/m",
                  "none along " + std::string(1, "xyz"[axis]), "give it with --fov-mm X,Y,Z");
    scale[axis] = scale_of(unit, geometry, axis);
  }
  return scale;
}

}  // namespace fhd::io
