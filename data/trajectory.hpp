#pragma once
// Trajectories, designed within a scanner's limits on gradient and slew rate.
//
// Every readout has the same number of samples, evenly spaced in time; readouts follow each other in the
// sample order. On every axis of N voxels |k| <= N/2. Axes of different size stretch the pattern to an
// ellipse (ellipsoid). One voxel along z is a 2D scan, k_z = 0.
#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

#include "recon/array/array.hpp"
#include "recon/domain/gradient_response.hpp"
#include "recon/domain/scan.hpp"

namespace fhd::data {

enum class TrajectoryKind {
  cartesian,      ///< lines along x; 2D and 3D
  radial,         ///< 2D, diameters at uniform angles over 180 degrees
  golden_radial,  ///< 2D, diameters that advance by 111.246 degrees (Winkelmann et al., IEEE TMI 26:68, 2007)
  spiral,         ///< 2D, Archimedean from the centre outwards, interleaved
  variable_density_spiral,  ///< 2D, turns half as far apart as needed at the centre, wider outwards
  stack_of_stars,           ///< 3D, golden-angle radial in every k_z plane
  stack_of_spirals,         ///< 3D, Archimedean spiral in every k_z plane
  golden_means_radial_3d,   ///< 3D, diameters in the order of golden means (Chan et al., MRM 61:354, 2009)
  phyllotaxis_radial_3d,    ///< 3D, diameters on a spiral phyllotaxis (Piccini et al., MRM 66:1049, 2011)
  twisted_projection,  ///< 3D, from the centre outwards, twisted on cones (Boada et al., MRM 37:706, 1997)
};

inline constexpr auto trajectory_kinds = [] {
  std::array<TrajectoryKind, static_cast<std::size_t>(TrajectoryKind::twisted_projection) + 1> kinds{};
  for (std::size_t i = 0; i < kinds.size(); ++i) kinds[i] = static_cast<TrajectoryKind>(i);
  return kinds;
}();

/// Returns the word of the command line.
constexpr std::string_view name_of(TrajectoryKind kind) {
  return std::array<std::string_view, trajectory_kinds.size()>{
      "cartesian",      "radial",           "golden-radial", "spiral",         "variable-density-spiral",
      "stack-of-stars", "stack-of-spirals", "radial-3d",     "phyllotaxis-3d", "twisted-projections"}
      [static_cast<std::size_t>(kind)];
}
/// Returns 2 or 3; 0 where both are possible.
constexpr int dimensions_of(TrajectoryKind kind) {
  return kind == TrajectoryKind::cartesian ? 0 : kind < TrajectoryKind::stack_of_stars ? 2 : 3;
}

struct TrajectorySettings {
  TrajectoryKind kind = TrajectoryKind::golden_radial;
  std::array<int, 3> matrix_size{128, 128, 1};
  std::array<double, 3> fov_mm{240, 240, 5};
  /// Diameters, or interleaves, per k_z plane (3D radial: in all). 0: as many as Nyquist's criterion and
  /// `undersampling` say; for spirals an eighth of the matrix.
  std::int64_t readout_count = 0;
  /// Samples per readout. 0: Cartesian the matrix; radial twice the matrix; spirals what the gradients need; twisted projections
  /// one for each 0.8 cycles/FOV.
  std::int64_t readout_length = 0;
  /// >= 1. Cartesian: distance of lines along y, the centre line included. Radial: divides the count of
  /// diameters. Spirals: distance of turns (variable density: at the edge) in units of 1 cycle/FOV.
  double undersampling = 1;
  /// (0.5, 1], Cartesian: the share of k-space along y, from its +k side on, whose lines are kept.
  double partial_fourier = 1;
  double dwell_s = 2.5e-6;  ///< between samples; radial and Cartesian readouts slow down if the gradient asks
  double largest_gradient_t_per_m = 0.04;
  double largest_slew_t_per_m_s = 150;
  /// Gradients play so many samples later than designed, along x, y and z: sample m lies where sample m - delay was
  /// designed to lie. Ahead of a spiral it rests at the centre; other readouts move on at their speed.
  std::array<double, 3> delay_samples{};
  /// The responses of the gradients to the design, applied after the delays; null: none. Ahead of its first sample a readout
  /// has gone on as designed for a millisecond.
  std::shared_ptr<const GradientResponse> response{};
};

struct DesignedTrajectory {
  Trajectory trajectory;  ///< [axis][readout * readout_length + sample]
  std::int64_t readout_count = 0, readout_length = 0;
  double dwell_s = 0;
  double undersampling = 1;     ///< in the settings' sense, as it came out
  Array<double> sample_time_s;  ///< from the start of each readout, [sample]
};

/// Throws Error when the settings contradict each other.
DesignedTrajectory design_trajectory(const TrajectorySettings& settings);

}  // namespace fhd::data
