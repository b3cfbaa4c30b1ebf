#pragma once
// Units of k-space positions in files: their names, their conversion to cycles/FOV, and how a unit is
// inferred where a file states none.
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "io/scan/scan_file.hpp"

namespace fhd::io {

/// "cycles/FOV", "cycles/reconFOV", "cycles/voxel", "radians/voxel", "1/m", "1/mm", "radians/m", "radians/mm", "kmax"; "auto".
std::string_view name_of(TrajectoryUnit unit);
/// Returns the unit of a name, in any case; also pixel for voxel, rad for radians, cycles/m for 1/m. Throws Error naming
/// `subject`.
TrajectoryUnit parse_trajectory_unit(std::string_view text, const std::string& subject);

/// The space in which the trajectory was made, to which a unit refers.
struct UnitReference {
  Geometry encoded;
  std::array<double, 3> recon_fov_mm{0, 0, 0};  ///< of the reconstructed space; 0 where none is stated
};

/// Properties of a trajectory and its k-space that tell the unit.
struct TrajectoryEvidence {
  std::array<double, 3> largest_k{};      ///< |k| along x, y, z
  std::array<double, 3> object_length{};  ///< 1 / unit of k (ObjectExtent); 0 where unknown
};

struct InferredUnit {
  TrajectoryUnit unit;
  std::string reason;  ///< one sentence for ScanSummary::inferred
};

/// Infers the unit of a trajectory. An axis of one voxel does not count. Every unit is judged
///
///   - by the share of N/2 that it lets k reach: none beyond 1 (0.5 % of rounding); all of it is likelier than
///     a part, the same on all axes likelier than a half on one;
///   - by the length that it gives to the object: about one FOV (of the reconstructed space), not far longer;
///   - by how usual it is: kmax, 1/mm and cycles/reconFOV are not, nor are radians/m and radians/mm, which have to
///     reach the edge.
///
/// Throws Error naming `subject` when none explains the trajectory (k reaches less than 38 % of the edge; with an
/// object of the right length less than 15 %), and, naming the candidates, when the second is nearly as likely;
/// units that convert to the same k count once.
InferredUnit infer_trajectory_unit(const TrajectoryEvidence& evidence, const UnitReference& reference,
                                   const std::string& subject);

/// Infers, where the file states cycles/FOV, which FOV it means: the encoded one (as its standard says) or the
/// reconstructed one. Throws nothing.
InferredUnit infer_fov_of_unit(const TrajectoryEvidence& evidence, const UnitReference& reference);

/// Returns the unit that k is in where `stated` is not credible: the unit in which k reaches the edge of k-space though in
/// the stated one it stays within 38 % of the edge or goes beyond it; where it stays within 12 %, also one in which it
/// reaches more than 38 %. Returns nothing where the stated unit is credible, or no unit fits better.
std::optional<TrajectoryUnit> likelier_unit(TrajectoryUnit stated, const std::array<double, 3>& largest_k,
                                            const Geometry& geometry);
/// Throws Error naming `subject`, and the other unit, where there is a likelier_unit() than the one that a file, its format
/// or the documentation states.
void require_credible_unit(TrajectoryUnit stated, const std::array<double, 3>& largest_k,
                           const Geometry& geometry, const std::string& subject);

/// Returns factors along x, y, z that turn `unit` into cycles/FOV (of the encoded space). Throws Error naming `subject`
/// when a length that is needed is unknown.
std::array<double, 3> scale_to_cycles_per_fov(TrajectoryUnit unit, const UnitReference& reference,
                                              const std::string& subject);

}  // namespace fhd::io
