#pragma once
// Units of k-space positions in files: their names, their conversion to cycles/FOV, and how a unit is
// inferred where a file states none.
#include <array>
#include <string>
#include <string_view>

#include "io/scan/scan_file.hpp"

namespace fhd::io {

/// "cycles/FOV", "cycles/voxel", "radians/voxel", "1/m"; "auto".
std::string_view name_of(TrajectoryUnit unit);
/// The inverse of `name_of`. Throws Error naming `subject` for any other text.
TrajectoryUnit parse_trajectory_unit(std::string_view text, const std::string& subject);

struct InferredUnit {
  TrajectoryUnit unit;
  std::string reason;  ///< one sentence for ScanSummary::inferred
};

/// Infers the unit from the largest |k| along x, y, z and the geometry in which the trajectory was made. An
/// axis of one voxel does not count. A unit is a candidate when it explains the extent E of k-space, with 0.5
/// % of rounding:
///
///   cycles/voxel    E <= 0.5
///   radians/voxel   0.5 < E <= pi
///   cycles/FOV      70 % of N/2 <= E <= N/2
///   1/m             70 % of N/2 <= E * FOV <= N/2
///
/// Throws Error naming `subject` unless exactly one candidate remains (candidates that convert to the same k
/// count once).
InferredUnit infer_trajectory_unit(const std::array<double, 3>& largest_k, const Geometry& geometry,
                                   const std::string& subject);

/// Factors along x, y, z that turn `unit` into cycles/FOV. Throws Error naming `subject` when a length that
/// is needed is unknown.
std::array<double, 3> scale_to_cycles_per_fov(TrajectoryUnit unit, const Geometry& geometry,
                                              const std::string& subject);

}  // namespace fhd::io
